"""What putting a copy back does to each table, and what the anchor is worth then."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.unit.privacy.test_backup import copy_of, released
from tests.unit.privacy.test_ledger import RHO, open_account, start
from tests.unit.privacy.test_sealed import begun

from equipoise.privacy import store
from equipoise.privacy.anchor import anchor_of
from equipoise.privacy.backup import restore
from equipoise.privacy.cost import Cost
from equipoise.privacy.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "people.sqlite"


def test_sealed_trials_of_a_copy_are_gone_and_the_loss_is_named(ledger: Path) -> None:
    account = open_account(str(ledger))
    begun(account)
    copy = copy_of(ledger)
    start(account, RHO / 4, "later")
    ledger.unlink()
    restore(copy, ledger)
    again = open_account(str(ledger))
    with store.read(again._engine) as connection:
        assert connection.execute(sa.select(store.sealed)).all() == []
        plans = connection.execute(sa.select(store.runs.c.plan).where(store.runs.c.id.startswith("lost-"))).scalars()
        assert [json.loads(plan)["plan"]["method"] for plan in plans] == ["lost (a copy was put back)"]


def test_a_table_that_is_made_anew_has_the_terms_that_the_anchor_kept(ledger: Path) -> None:
    released(ledger, "one", RHO / 4)
    copy = copy_of(ledger)
    Ledger(ledger).account("other", epsilon=2.0, delta=0.0, rows_per_unit=3)
    Ledger(ledger).account("other", epsilon=2.0, delta=0.0, rows_per_unit=3).start(
        run="x", plan={}, reserve=Cost(Fraction(1, 8), Fraction(1, 2)), unit_seed=7
    )
    ledger.unlink()
    restore(copy, ledger)
    account = Ledger(ledger).account("other", epsilon=2.0, delta=0.0, rows_per_unit=3)
    assert account.verify() > 0
    with store.read(account._engine) as connection:
        bodies = connection.execute(sa.select(store.entries.c.body).where(store.entries.c.account == account._key))
        first = json.loads(bodies.scalars().first() or "")
    assert (first["what"], first["name"], first["rows_per_unit"]) == ("account", "other", 3)


def test_without_an_anchor_a_pure_total_is_taken_as_spent_in_epsilon(ledger: Path) -> None:
    account = Ledger(ledger).account("pure", epsilon=2.0, delta=0.0)
    account.start(run="x", plan={}, reserve=Cost(Fraction(1, 8), Fraction(1, 2)), unit_seed=7).finish()
    copy = copy_of(ledger)
    for path in ledger.parent.iterdir():
        if path != copy:
            path.unlink()
    charged = restore(copy, ledger, assume_all_spent=True)
    assert charged == {"pure": Cost(Fraction(0), Fraction(2))}


def test_an_anchor_that_is_older_than_the_ledger_is_no_alarm(ledger: Path) -> None:
    released(ledger, "one", RHO / 8)
    anchor = anchor_of(f"sqlite:///{ledger}")
    assert anchor is not None
    before = anchor.path.read_bytes()
    released(ledger, "two", RHO / 8)
    account = released(ledger, "three", RHO / 8)
    anchor.path.write_bytes(before)
    assert account.verify() > 0
    start(account, RHO / 8, "four")


def test_each_table_of_a_copy_writes_off_its_own(ledger: Path) -> None:
    start(open_account(str(ledger)), RHO / 4, "mine")
    other = Ledger(ledger).account("other", epsilon=2.0, delta=1e-6)
    other.start(run="theirs", plan={}, reserve=Cost(Fraction(1, 100), None), unit_seed=7)
    copy = copy_of(ledger)
    ledger.unlink()
    assert restore(copy, ledger) == {}, "all that was held is written off already"
    assert set(Ledger(ledger).verify()) == {"people", "other"}
    for name, run in (("people", "mine"), ("other", "theirs")):
        account = Ledger(ledger).existing(name)
        assert account is not None
        with store.read(account._engine) as connection:
            rows = connection.execute(sa.select(store.entries.c.body).where(store.entries.c.account == account._key))
            told = [json.loads(body) for body in rows.scalars()]
        assert [body["run"] for body in told if body["what"] == "closed"] == [run]


def test_the_anchor_is_on_the_disk_before_it_takes_the_old_ones_place(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, done = open_account(str(ledger)), []
    sync, put = os.fsync, os.replace
    monkeypatch.setattr("equipoise.privacy.anchor.os.fsync", lambda file: done.append("sync") or sync(file))
    monkeypatch.setattr("equipoise.privacy.anchor.os.replace", lambda *names: done.append("put") or put(*names))
    start(account, RHO / 4)
    assert done == ["sync", "put"] * 2, "promised, then kept"
