"""`Account.verify` says what is broken, whatever it is."""

from __future__ import annotations

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
from equipoise.privacy.stored_moves import move_to_bytes

runs, moves, accounts, entries = store.runs, store.moves, store.accounts, store.entries

OTHER = Move(np.array([4]), np.array([1]), None, 0.0)

DAMAGES: dict[str, tuple[Any, str]] = {
    "spent": (sa.update(runs).values(spent="0 0 0"), "does not add up to its events"),
    "reserved": (sa.update(runs).values(reserved="5 - 0"), "another reservation"),
    "status": (sa.update(runs).values(status="closed"), "marked closed"),
    "answer changed": (
        sa.update(moves).values(body=move_to_bytes(pay(SELECT)(type("T", (), {"debit": print})()))[:-1]),
        "lost or changed answer",
    ),
    "answer removed": (sa.delete(moves), "lost or changed answer"),
    "free answer changed": (
        sa.update(moves).where(moves.c.number == 1).values(body=move_to_bytes(OTHER)),
        "lost or changed answer 1",
    ),
    "free answer removed": (sa.delete(moves).where(moves.c.number == 1), "lost or changed answer 1"),
    "plan": (sa.update(runs).values(plan='{"seed":2}'), "another plan"),
    "table": (sa.update(accounts).values(name="others"), "table"),
    "total": (sa.update(accounts).values(epsilon="9.0"), "total"),
    "rows a unit": (sa.update(accounts).values(rows_per_unit=2), "rows a unit"),
    "entry": (sa.update(entries).where(entries.c.id == 3).values(body="{}"), "broken at entry 3"),
    "digest": (sa.update(entries).where(entries.c.id == 2).values(digest="0" * 64), "broken at entry 2"),
    "unreadable cost": (sa.update(runs).values(spent="much"), "cannot be read"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told(tmp_path: Path, damage: str) -> None:
    account = open_account(str(tmp_path / "ledger.sqlite"))
    book = start(account, RHO / 2)
    gate = Gate(book, noise=NoNoise())
    gate.play(pay(SELECT))
    gate.play(lambda _: Move(np.array([5]), np.array([1]), None, 0.0))  # as a choice that its debit was paid before
    book.finish()
    assert account.verify() == 5
    statement, told = DAMAGES[damage]
    with store.connect(tmp_path / "ledger.sqlite").begin() as connection:
        connection.execute(statement)
    with pytest.raises(LedgerError, match=told):
        account.verify()


def test_what_several_moves_cost_adds_up(tmp_path: Path) -> None:
    account = open_account(str(tmp_path / "ledger.sqlite"))
    gate = Gate(start(account, RHO / 2), noise=NoNoise())
    gate.play(pay(SELECT))
    gate.play(pay(SELECT))
    assert account.verify() == 4
