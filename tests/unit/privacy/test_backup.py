"""Copies of a ledger cannot be used to spend twice: older ones are refused, and put back only with the gap charged."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from tests.noise import NoNoise
from tests.unit.privacy.test_ledger import RHO, SELECT, open_account, pay, start

from equipoise.errors import BudgetError, LedgerError
from equipoise.privacy import store
from equipoise.privacy.anchor import FOLDER_VARIABLE, Anchor, Head, anchor_of
from equipoise.privacy.backup import backup, missing, restore
from equipoise.privacy.cost import Cost
from equipoise.privacy.gate import Gate
from equipoise.privacy.ledger import Account, Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "people.sqlite"


def released(ledger: Path | str, run: str, rho: Fraction) -> Account:
    account = open_account(str(ledger))
    book = start(account, rho, run)
    Gate(book, noise=NoNoise()).play(pay(SELECT))
    book.finish()
    return account


def copy_of(ledger: Path) -> Path:
    copy = ledger.with_name("copy.sqlite")
    assert backup(ledger, copy) > 0
    return copy


def replace(ledger: Path, copy: Path) -> None:
    for ending in ("-wal", "-shm"):
        Path(f"{ledger}{ending}").unlink(missing_ok=True)
    shutil.copyfile(copy, ledger)


def test_an_older_copy_in_place_of_the_ledger_is_refused(ledger: Path) -> None:
    released(ledger, "one", RHO / 4)
    copy = copy_of(ledger)
    released(ledger, "two", RHO / 4)
    replace(ledger, copy)
    account = open_account(str(ledger))
    with pytest.raises(LedgerError, match="older than its anchor"):
        start(account, RHO / 100, "three")
    with pytest.raises(LedgerError, match="older than its anchor"):
        account.verify()
    assert [row["run"] for row in account.runs()] == ["one"]


def test_what_others_write_while_the_ledger_is_read_is_no_alarm(
    ledger_location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))  # so that both databases have an anchor
    whole = store.read
    written: list[str] = []

    @contextmanager
    def read(engine: sa.Engine) -> Iterator[sa.Connection]:
        with whole(engine) as connection:
            connection.execute(sa.select(store.entries.c.id)).all()  # from here on, what is seen stands still
            written.append(f"run {len(written)}")
            with monkeypatch.context() as patch:
                patch.setattr(store, "read", whole)
                released(ledger_location, written[-1], RHO / 4)
            yield connection

    account = released(ledger_location, "one", RHO / 4)
    monkeypatch.setattr(store, "read", read)
    assert account.verify() == 4
    assert Ledger(ledger_location).existing("people") is not None
    assert set(Ledger(ledger_location).verify()) == {"people"}
    assert len(written) == 4
    monkeypatch.setattr(store, "read", whole)
    assert account.verify() == 4 + 3 * len(written)


def test_a_ledger_that_was_removed_does_not_begin_anew(ledger: Path) -> None:
    released(ledger, "one", RHO / 4)
    for ending in ("", "-wal", "-shm"):
        Path(f"{ledger}{ending}").unlink(missing_ok=True)
    with pytest.raises(LedgerError, match="older than its anchor"):
        open_account(str(ledger))


def test_rolling_back_one_transaction_is_enough(ledger: Path) -> None:
    account = open_account(str(ledger))
    gate = Gate(start(account, RHO / 4), noise=NoNoise())
    copy = copy_of(ledger)
    gate.play(pay(SELECT))
    replace(ledger, copy)
    again = open_account(str(ledger)).run("r1")
    assert again is not None
    with pytest.raises(LedgerError, match="older"):
        Gate(again, noise=NoNoise()).play(pay(SELECT))
    assert again.moves() == []


def test_a_copy_is_put_back_with_what_was_spent_since(ledger: Path) -> None:
    released(ledger, "one", RHO / 4)
    copy = copy_of(ledger)
    account = released(ledger, "two", RHO / 4)
    start(account, RHO / 2, "open")
    held = account.held()
    ledger.write_bytes(b"not a ledger any more" * 500)
    charged = restore(copy, ledger)
    assert ledger.stat().st_mode & 0o777 == 0o600
    again = open_account(str(ledger))
    assert again.held().rho == held.rho
    assert charged["people"].rho == held.rho - Fraction(1, 800)
    assert again.verify() > 0
    with pytest.raises(BudgetError):
        start(again, RHO - held.rho + Fraction(1, 10**6), "more")
    start(again, (RHO - held.rho) / 2, "less")
    assert any(path.name.endswith(".damaged") for path in ledger.parent.iterdir())
    assert not [path for path in ledger.parent.iterdir() if path.name.endswith("-wal") and "people" not in path.name]


def test_an_unfinished_release_of_a_copy_is_written_off(ledger: Path) -> None:
    """Its later answers may have been seen: they must not be drawn again."""
    account = open_account(str(ledger))
    gate = Gate(start(account, RHO / 2), noise=NoNoise())
    copy = copy_of(ledger)
    gate.play(pay(SELECT))
    ledger.unlink()
    restore(copy, ledger)
    again = open_account(str(ledger))
    run = again.run("r1")
    assert run is not None
    assert (run.status, run.spent().rho, again.held().rho) == ("closed", RHO / 2, RHO / 2)
    assert again.verify() > 0
    with pytest.raises(LedgerError, match="no further move"):
        Gate(run, noise=NoNoise()).play(pay(SELECT))


def test_a_table_that_the_copy_does_not_know_is_charged_too(ledger: Path) -> None:
    released(ledger, "one", RHO / 4)
    copy = copy_of(ledger)
    other = Ledger(ledger).account("other", epsilon=2.0, delta=1e-6)
    other.start(run="x", plan={"seed": 1}, reserve=Cost(Fraction(1, 100), None), unit_seed=7)
    ledger.unlink()
    assert restore(copy, ledger)["other"].rho == Fraction(1, 100)
    assert Ledger(ledger).account("other", epsilon=2.0, delta=1e-6).held().rho == Fraction(1, 100)


def test_what_is_whole_or_unknown_is_not_replaced(ledger: Path) -> None:
    released(ledger, "one", RHO / 4)
    copy = copy_of(ledger)
    with pytest.raises(LedgerError, match="whole"):
        restore(copy, ledger)
    with pytest.raises(LedgerError, match="exists"):
        backup(ledger, copy)
    anchor = anchor_of(f"sqlite:///{ledger}")
    assert anchor is not None
    ledger.unlink()
    anchor.path.unlink()
    with pytest.raises(LedgerError, match="assume-all-spent"):
        restore(copy, ledger)
    assert restore(copy, ledger, assume_all_spent=True)["people"].epsilon is None, "nor is any pure epsilon left"
    with pytest.raises(BudgetError):
        start(open_account(str(ledger)), Fraction(1, 10**12), "more")
    with pytest.raises(LedgerError, match="no ledger"):
        backup(ledger.with_name("nosuch"), ledger.with_name("copy2"))
    with pytest.raises(LedgerError, match="no copy"):
        restore(ledger.with_name("nosuch"), ledger)
    with pytest.raises(LedgerError, match="pg_dump"):
        backup("postgresql://127.0.0.1/nosuch", ledger.with_name("copy2"))


def test_a_damaged_copy_is_not_put_back(ledger: Path) -> None:
    released(ledger, "one", RHO / 4)
    copy = copy_of(ledger)
    engine = store.connect(copy)
    with engine.begin() as connection:
        connection.execute(sa.update(store.runs).values(spent="0 0 0"))
    engine.dispose()
    ledger.unlink()
    before = sorted(path.name for path in ledger.parent.iterdir())
    with pytest.raises(LedgerError, match="does not add up"):
        restore(copy, ledger)
    assert sorted(path.name for path in ledger.parent.iterdir()) == before, "and nothing of it is left"


def test_the_anchor_may_be_elsewhere_and_guards_postgresql_too(
    ledger_location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "anchors"
    elsewhere.mkdir()
    monkeypatch.setenv(FOLDER_VARIABLE, str(elsewhere))
    account = open_account(ledger_location)
    start(account, RHO / 4).finish()
    [anchor] = elsewhere.glob("*.anchor")
    assert "people" in json.loads(anchor.read_text())
    with store.connect(ledger_location).begin() as connection:
        connection.execute(sa.delete(store.entries).where(store.entries.c.body.contains('"done"')))
        connection.execute(sa.update(store.runs).values(status="open"))
    with pytest.raises(LedgerError, match="older than its anchor"):
        start(account, RHO / 100, "two")


@contextmanager
def crash_after_the_promise(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    honest = Anchor.promise

    def crash(anchor: Anchor, name: str, sure: Head | None, coming: Head) -> None:
        honest(anchor, name, sure, coming)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Anchor, "promise", crash)
        with pytest.raises(KeyboardInterrupt):
            yield


def test_a_crash_between_promise_and_commit_is_no_rollback(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = open_account(str(ledger))
    gate = Gate(start(account, RHO / 4), noise=NoNoise())
    with crash_after_the_promise(monkeypatch):
        gate.play(pay(SELECT))
    again = open_account(str(ledger)).run("r1")
    assert again is not None
    assert again.moves() == []
    Gate(again, noise=NoNoise()).play(pay(SELECT))
    assert account.verify() == 3


def test_a_crash_in_the_very_first_transaction_is_no_rollback(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with crash_after_the_promise(monkeypatch):
        open_account(str(ledger))
    assert Ledger(ledger).existing("people") is None
    with pytest.raises(LedgerError, match="nothing was released yet"):
        Ledger(ledger).verify()
    open_account(str(ledger))
    assert Ledger(ledger).verify() == {"people": 1}


def test_a_ledger_that_lost_a_table_is_told_from_one_that_never_had_it(ledger: Path) -> None:
    released(ledger, "one", RHO / 4)
    assert Ledger(ledger).existing("others") is None
    for ending in ("", "-wal", "-shm"):
        Path(f"{ledger}{ending}").unlink(missing_ok=True)
    for look in (lambda: Ledger(ledger).existing("people"), lambda: Ledger(ledger).verify()):
        with pytest.raises(LedgerError, match="older than its anchor"):
            look()


def test_a_damaged_anchor_is_told(ledger: Path) -> None:
    released(ledger, "one", RHO / 4)
    anchor = anchor_of(f"sqlite:///{ledger}")
    assert anchor is not None
    for text in ("", "[]", '{"people": 3}', '{"people": {"sure": {}, "next": {}}}'):
        anchor.path.write_text(text)
        with pytest.raises(LedgerError, match="damaged"):
            start(open_account(str(ledger)), RHO / 100, "two")


amounts = st.fractions(min_value=0, max_value=3, max_denominator=50)
costs = st.builds(
    Cost, amounts, st.one_of(st.none(), amounts), amounts, amounts, amounts.map(lambda x: x + 1), amounts, amounts
)


@given(costs, costs)
def test_what_is_missing_makes_up_for_the_difference(then: Cost, now: Cost) -> None:
    after = now + missing(then, now)
    for name in ("rho", "delta", "shift", "factor", "conditional_rho", "conditional_epsilon"):
        assert getattr(after, name) >= getattr(then, name)
    assert after.epsilon is None or (then.epsilon is not None and after.epsilon >= then.epsilon)
    same = missing(now, now)
    assert (same.rho, same.delta, same.shift, same.factor) == (0, 0, 0, 1)
    assert (same.conditional_rho, same.conditional_epsilon, same.epsilon or 0) == (0, 0, 0)


def test_the_anchor_may_be_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = anchor_of(f"sqlite:///{tmp_path / 'people.sqlite'}")
    assert beside is not None
    assert beside.path == tmp_path / "people.sqlite.anchor"
    assert anchor_of("sqlite://") is None
    assert anchor_of("other://host/people") is None
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "anchors"))
    found = [anchor_of(url) for url in (f"sqlite:///{tmp_path / 'people.sqlite'}", "other://host/people")]
    assert all(anchor is not None and anchor.path.parent == tmp_path / "anchors" for anchor in found)
    assert len({anchor.path for anchor in found if anchor is not None}) == 2
    names = (str((tmp_path / "people.sqlite").resolve()), "other://host/people")
    digests = [hashlib.sha256(name.encode()).hexdigest()[:32] for name in names]
    assert [anchor.path.stem for anchor in found if anchor is not None] == digests
    assert all(len(anchor.path.stem) == 32 and anchor.path.suffix == ".anchor" for anchor in found if anchor)
    assert anchor_of("sqlite://") is None


def test_another_tables_entries_do_not_stand_for_those_that_are_missing(ledger: Path) -> None:
    """Both tables' chains are looked up by their own account."""
    one = Ledger(str(ledger)).account("one", epsilon=2.0, delta=1e-6)
    two = Ledger(str(ledger)).account("two", epsilon=2.0, delta=1e-6)
    for account, name in ((one, "a"), (two, "b")):
        start(account, RHO / 4, name).finish()
    copy = copy_of(ledger)
    start(two, RHO / 4, "c").finish()
    replace(ledger, copy)
    assert Ledger(str(ledger)).account("one", epsilon=2.0, delta=1e-6).verify() > 0
    start(Ledger(str(ledger)).account("one", epsilon=2.0, delta=1e-6), RHO / 4, "d")
    again = Ledger(str(ledger)).existing("two")
    assert again is not None
    with pytest.raises(LedgerError, match="older than its anchor"):
        again.verify()
    with pytest.raises(LedgerError, match="older than its anchor"):
        start(again, RHO / 4, "e")


def test_an_anchor_that_cannot_be_written_leaves_nothing_behind(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released(ledger, "one", RHO / 4)
    before = sorted(path.name for path in ledger.parent.iterdir())
    anchor = ledger.with_name("people.sqlite.anchor").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("equipoise.privacy.anchor.os.replace", full)
    with pytest.raises(LedgerError, match=r"anchor .* cannot be written: No space left on device; nothing was spent"):
        start(open_account(str(ledger)), RHO / 4, "two")
    monkeypatch.undo()
    assert sorted(path.name for path in ledger.parent.iterdir() if "-" not in path.name) == [
        name for name in before if "-" not in name
    ]
    assert ledger.with_name("people.sqlite.anchor").read_bytes() == anchor
    account = open_account(str(ledger))
    assert account.run("two") is None
    assert account.verify() > 0


def test_an_anchor_that_cannot_be_locked_is_told(ledger: Path) -> None:
    account = released(ledger, "one", RHO / 4)
    lock = ledger.with_name("people.sqlite.anchor.lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(LedgerError, match=r"anchor .*anchor cannot be written: Is a directory; nothing was spent"):
        start(account, RHO / 4, "two")
    assert account.run("two") is None


def test_an_anchor_that_fails_after_the_commit_keeps_its_promise(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account, whole, times = released(ledger, "one", RHO / 4), Anchor._write, []

    def once(self: Anchor, body: dict[str, object]) -> None:
        times.append(1)
        if len(times) > 1:
            raise LedgerError("no space")
        whole(self, body)

    with monkeypatch.context() as patched:
        patched.setattr(Anchor, "_write", once)
        start(account, RHO / 4, "two")
    assert len(times) == 2
    before = account.verify()
    start(account, RHO / 4, "three")
    assert account.verify() == before + 1


def test_the_journal_of_a_damaged_ledger_does_not_outlive_it(ledger: Path) -> None:
    """SQLite would take the journal of the damaged ledger for that of the restored one."""
    released(ledger, "one", RHO / 4)
    copy = copy_of(ledger)
    ledger.write_bytes(b"not a ledger any more" * 500)
    for ending in ("-wal", "-shm"):
        Path(f"{ledger}{ending}").write_bytes(b"of the old one")
    restore(copy, ledger)
    assert [path for path in ledger.parent.iterdir() if path.name.endswith(".damaged")]
    beside = [Path(f"{ledger}{ending}") for ending in ("-wal", "-shm")]
    assert not any(path.exists() and path.read_bytes() == b"of the old one" for path in beside)
    assert open_account(str(ledger)).verify() > 0
