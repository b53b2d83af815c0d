"""Transactions of a ledger: what they lock, and what is told of one that failed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.noise import NoNoise
from tests.unit.privacy.test_ledger import RHO, SELECT, open_account, pay, start

from equipoise.core import Move
from equipoise.errors import LedgerError
from equipoise.privacy import store
from equipoise.privacy.gate import Gate
from equipoise.privacy.stored_moves import move_from_bytes, move_to_bytes


def test_a_failed_write_is_told_in_the_databases_words_without_the_statement(tmp_path: Path) -> None:
    account = open_account(str(tmp_path / "people.sqlite"))
    with pytest.raises(LedgerError) as error:  # noqa: SIM117
        with store.write(account._engine):
            raise sa.exc.OperationalError("INSERT INTO secrets", {"a": 1}, Exception("disk full\nand more"))
    assert str(error.value).startswith("the ledger could not be written: disk full; nothing was spent")


def test_whatever_writes_to_an_account_locks_its_row_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writers on PostgreSQL would else both see what was spent before the other."""
    account, locked, whole = open_account(str(tmp_path / "people.sqlite")), [], store.write

    def noting(engine: sa.Engine, key: int | None = None) -> Any:
        locked.append(key)
        return whole(engine, key)

    monkeypatch.setattr(store, "write", noting)
    one, two = start(account, RHO / 4, "one"), start(account, RHO / 4, "two")
    Gate(one, noise=NoNoise()).play(pay(SELECT))
    one.finish()
    two.close()
    account.change_total(epsilon=4.0, delta=1e-9)
    assert locked == [account._key] * 6
    said: list[str] = []
    sa.event.listen(account._engine, "before_cursor_execute", lambda *given: said.append(given[2]))
    with whole(account._engine, account._key) as connection:
        connection.execute(sa.text("SELECT 1"))
    first = next(text for text in said if not text.startswith(("PRAGMA", "BEGIN")))
    assert "FROM accounts" in first
    assert first.endswith("WHERE accounts.id = ?")


def test_a_move_keeps_a_standard_deviation_for_each_value() -> None:
    move = Move(np.array([4, 5]), np.array([1, 1]), np.array([17, 3]), np.array([2.5, 7.0]))
    again = move_from_bytes(move_to_bytes(move))
    assert np.asarray(again.stddev).tolist() == [2.5, 7.0]
    one = move_from_bytes(move_to_bytes(Move(np.array([4]), np.array([1]), None, np.array([2.5]))))
    assert np.asarray(one.stddev).tolist() == [2.5]


class Opened:
    """Something that does harm when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("a move was unpickled",)


def test_a_move_that_would_be_unpickled_is_refused() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, ids=np.array([Opened()], dtype=object), signs=np.array([1]), stddev=np.array(1.0))
    with pytest.raises(LedgerError, match="cannot be read"):
        move_from_bytes(buffer.getvalue())
