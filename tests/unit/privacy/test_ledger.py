from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.games import pairs
from tests.noise import NoNoise

from equipoise.core import Move
from equipoise.errors import BudgetError, LedgerError
from equipoise.privacy import accountant, chain, store
from equipoise.privacy.accountant import Cost, cost
from equipoise.privacy.analyst_opening import close_session
from equipoise.privacy.events import Exponential, Gaussian, Group
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.ledger import Account, Ledger
from equipoise.privacy.mechanisms import measure, select
from equipoise.privacy.run import Run

RHO = accountant.rho_of(epsilon=3.0, delta=1e-9)


def open_account(location: str, **changes: Any) -> Account:
    declared = {"epsilon": 3.0, "delta": 1e-9, "rows_per_unit": 1} | changes
    return Ledger(location).account("people", **declared)


def start(account: Account, rho: Fraction, run: str = "r1") -> Run:
    return account.start(run=run, plan={"seed": 1}, reserve=Cost(rho, None), unit_seed=7)


def pay(event: Any) -> Any:
    def draw(turn: Turn) -> Move:
        turn.debit(event)
        return Move(np.array([3]), np.array([1]), np.array([17]), 2.5)

    return draw


SELECT = Exponential(Fraction(1, 10))


def test_a_run_reserves_spends_and_gives_the_rest_back(ledger_location: str) -> None:
    account = open_account(ledger_location)
    run = start(account, RHO / 2)
    assert account.held().rho == RHO / 2
    Gate(run, noise=NoNoise()).play(pay(SELECT))
    assert run.spent() == cost(SELECT)
    assert account.held().rho == RHO / 2
    run.finish()
    assert account.held().rho == Fraction(1, 800)
    assert account.verify() == 4  # account, reserve, event, done
    with pytest.raises(LedgerError, match="finished"):
        Gate(run, noise=NoNoise()).play(pay(SELECT))


def test_a_plan_that_does_not_fit_is_refused_with_spent_asked_left(ledger_location: str) -> None:
    account = open_account(ledger_location)
    start(account, RHO * 2 / 3)
    for attempt in (lambda: account.check(Cost(RHO / 2, None)), lambda: start(account, RHO / 2, "r2")):
        with pytest.raises(BudgetError) as error:
            attempt()
        for word in ("total", "spent", "asked", "left", "Nothing was spent"):
            assert word in str(error.value)
    assert [run["run"] for run in account.runs()] == ["r1"]
    start(account, RHO / 3, "r3")  # to the last bit
    assert account.held().rho == RHO


def test_a_move_over_the_reservation_leaves_no_trace(ledger_location: str) -> None:
    account = open_account(ledger_location)
    run = start(account, Fraction(1, 800))
    gate = Gate(run, noise=NoNoise())
    gate.play(pay(SELECT))
    with pytest.raises(BudgetError, match="more than it reserved"):
        gate.play(pay(SELECT))
    assert len(run.moves()) == 1
    assert run.spent().rho == Fraction(1, 800)
    account.verify()


def test_a_failure_between_debit_and_commit_releases_and_charges_nothing(ledger_location: str) -> None:
    account = open_account(ledger_location)
    run = start(account, RHO)

    def broken(turn: Turn) -> Move:
        turn.debit(SELECT)
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError):
        Gate(run, noise=NoNoise()).play(broken)
    assert run.moves() == []
    assert run.spent() == Cost()
    assert account.verify() == 2


def test_a_stored_move_is_returned_and_not_drawn_again(ledger_location: str) -> None:
    run = start(open_account(ledger_location), RHO)
    early, late = Gate(run, noise=NoNoise()), Gate(run, noise=NoNoise())  # two processes that both read no moves
    first = early.play(pay(SELECT))

    def never(turn: Turn) -> Move:
        raise AssertionError("drawn twice")

    second = late.play(never)
    assert np.array_equal(first.ids, second.ids)
    assert np.array_equal(np.asarray(first.values), np.asarray(second.values))
    assert run.spent().rho == Fraction(1, 800)
    assert len(Gate(run, noise=NoNoise()).moves) == 1


def test_closing_an_unfinished_run_frees_what_it_did_not_spend(ledger_location: str) -> None:
    account = open_account(ledger_location)
    run = start(account, RHO)
    Gate(run, noise=NoNoise()).play(pay(SELECT))
    run.close()
    run.close()  # saying it twice changes nothing
    assert account.held().rho == Fraction(1, 800)
    with pytest.raises(LedgerError, match="already closed"):
        run.finish()


def test_the_total_cannot_change_silently(ledger_location: str) -> None:
    account = open_account(ledger_location)
    with pytest.raises(LedgerError, match="change-total"):
        open_account(ledger_location, epsilon=30.0)
    with pytest.raises(LedgerError, match="rows_per_unit"):
        open_account(ledger_location, rows_per_unit=5)
    account.change_total(epsilon=30.0, delta=1e-9)
    assert open_account(ledger_location, epsilon=30.0).declared == (30.0, 1e-9, 1)
    account.verify()


def test_units_are_charged_as_groups(ledger_location: str) -> None:
    game = pairs()
    run = start(open_account(ledger_location, rows_per_unit=3), RHO)

    def draw(turn: Turn) -> Move:
        chosen = select(turn, game.truth().distance(np.zeros(8)), epsilon=Fraction(1, 100))
        values = measure(turn, game.truth().take(chosen), stddev=50.0)
        return Move(chosen, np.sign(values), values, 50.0)

    Gate(run, noise=NoNoise()).play(draw)
    assert run.events() == [Group(Exponential(Fraction(1, 100)), 3), Group(Gaussian(Fraction(1), Fraction(2500)), 3)]
    assert run.spent().rho == 9 * (Fraction(1, 80000) + Fraction(1, 5000))


def test_a_pure_account_refuses_what_is_not_pure(ledger_location: str) -> None:
    account = open_account(ledger_location, epsilon=1.0, delta=0.0)
    account.check(Cost(Fraction(1), Fraction(1)))
    with pytest.raises(BudgetError, match="pure"):
        account.check(Cost(Fraction(1, 10**6), None))
    with pytest.raises(BudgetError, match="pure"):
        account.check(Cost(Fraction(1), Fraction(2)))


def test_without_a_total_everything_is_recorded_and_nothing_refused(ledger_location: str) -> None:
    account = Ledger(ledger_location).account("free", epsilon=None, delta=None)
    account.check(Cost(Fraction(10**9), None))


@pytest.mark.parametrize("damage", ["body", "spent", "delete"])
def test_tampering_is_found(ledger_location: str, damage: str) -> None:
    account = open_account(ledger_location)
    run = start(account, RHO)
    gate = Gate(run, noise=NoNoise())
    gate.play(pay(SELECT))
    gate.play(pay(SELECT))
    engine = store.connect(ledger_location)
    with engine.begin() as connection:
        if damage == "body":
            row = connection.execute(sa.select(store.entries).order_by(store.entries.c.id.desc())).first()
            assert row is not None
            cheaper = row.body.replace('"epsilon":"1/10"', '"epsilon":"1/99"')
            assert cheaper != row.body
            connection.execute(sa.update(store.entries).where(store.entries.c.id == row.id).values(body=cheaper))
        elif damage == "spent":
            connection.execute(sa.update(store.runs).values(spent="0 0 0"))
        else:
            last = connection.execute(sa.select(sa.func.max(store.entries.c.id))).scalar()
            connection.execute(sa.delete(store.entries).where(store.entries.c.id == last))
    with pytest.raises(LedgerError):
        account.verify()


def test_conditional_delta_counts_against_the_total(ledger_location: str) -> None:
    account = open_account(ledger_location)
    account.check(Cost(RHO / 2, None, Fraction(1, 10**12)))
    with pytest.raises(BudgetError):
        account.check(Cost(RHO / 2, None, Fraction(1, 10**9)))


def _spender(location: str, name: str, barrier: Any, results: Any) -> None:
    account = open_account(location)
    barrier.wait()
    try:
        run = start(account, RHO * 2 / 5, name)
    except BudgetError:
        results.put("refused")
        return
    gate = Gate(run, noise=NoNoise())
    for _ in range(10):
        gate.play(pay(SELECT))
    run.finish()
    results.put("spent")


def test_processes_at_once_cannot_overspend(ledger_location: str) -> None:
    """Six real processes ask for two fifths each: two can have it while they run; the total is never exceeded."""
    open_account(ledger_location)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(6), context.Queue()
    workers = [context.Process(target=_spender, args=(ledger_location, f"p{i}", barrier, results)) for i in range(6)]
    for worker in workers:
        worker.start()
    outcomes = [results.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    account = open_account(ledger_location)
    spent = outcomes.count("spent")
    assert spent >= 2
    assert account.held().rho == spent * 10 * Fraction(1, 800)
    assert account.held().rho <= RHO
    account.verify()


def test_not_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_text("this is not a database, but it is long enough to be taken for one" * 100)
    with pytest.raises(LedgerError, match="cannot open the ledger"):
        Ledger(path)
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger(tmp_path / "nowhere" / "ledger.sqlite")


def test_the_entries_of_a_release_are_these_and_no_others(tmp_path: Path) -> None:
    """The format of the chain, word by word: other programs, and old ledgers, rely on it."""
    path = tmp_path / "ledger.sqlite"
    account = open_account(str(path))
    run = start(account, RHO / 2)
    Gate(run, noise=NoNoise()).play(pay(SELECT))
    run.finish()
    account.change_total(epsilon=4.0, delta=1e-8)
    with store.read(store.connect(path)) as connection:
        rows = connection.execute(sa.select(store.entries).order_by(store.entries.c.id)).all()
        (body,) = connection.execute(sa.select(store.moves.c.body)).scalars()
    answer = hashlib.sha256(body).hexdigest()
    seed = hashlib.sha256(b'["r1", "7"]').hexdigest()
    event = {"kind": "exponential", "epsilon": "1/10", "num_selected": 1}
    price = f"1/800 1/10 0 g{cost(SELECT).gaussian}"
    assert [json.loads(row.body) for row in rows] == [
        {"what": "account", "name": "people", "epsilon": "3.0", "delta": "1e-09", "rows_per_unit": 1},
        {"what": "reserve", "run": "r1", "cost": f"{RHO / 2} - 0", "plan": {"seed": 1}, "unit_seed": seed},
        {"what": "event", "run": "r1", "move": 0, "event": event, "cost": price, "answer": answer},
        {"what": "done", "run": "r1", "spent": price},
        {"what": "total", "epsilon": "4.0", "delta": "1e-08"},
    ]
    assert [row.run for row in rows] == [None, "r1", "r1", "r1", None]
    digest = ""
    for row in rows:
        assert row.body == json.dumps(json.loads(row.body), sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256((digest + row.body).encode()).hexdigest()
        assert row.digest == digest


def test_what_is_told_of_runs(tmp_path: Path) -> None:
    account = open_account(str(tmp_path / "ledger.sqlite"))
    start(account, RHO / 4, "later").finish()
    start(account, RHO / 8, "open")
    first, second = account.runs()
    assert (first["run"], first["status"], first["spent"]) == ("later", "done", Cost())
    assert (second["run"], second["status"], second["reserved"]) == ("open", "open", Cost(RHO / 8, None))
    assert first["plan"] == {"seed": 1}
    assert first["created"].endswith("+00:00")
    assert account.declared == (3.0, 1e-9, 1)
    assert account.run("open") is not None
    assert account.run("nobody") is None
    other = Ledger(tmp_path / "ledger.sqlite").account("other", epsilon=None, delta=None)
    assert other.run("open") is None
    assert other.declared == (None, None, 1)


def test_a_run_of_a_table_without_analysts_is_closed_like_any(tmp_path: Path) -> None:
    account = open_account(str(tmp_path / "ledger.sqlite"))
    run = start(account, RHO / 4)
    close_session(account, None, "r1")
    assert run.status == "closed"
    with pytest.raises(LedgerError, match="already closed"):
        run.finish()


def test_reading_waits_for_nobody(tmp_path: Path) -> None:
    """Within a transaction that writes, another connection reads what was there before."""
    location = tmp_path / "people.sqlite"
    account = open_account(str(location))
    other = Ledger(str(location))
    assert other.location == str(location)
    with chain.write(account._engine, account._key) as connection:
        connection.execute(sa.update(store.accounts).values(name="another"))
        with store.read(other.engine) as reading:
            assert reading.execute(sa.select(store.accounts.c.name)).scalars().all() == ["people"]
    with store.read(other.engine) as reading:
        assert reading.execute(sa.select(store.accounts.c.name)).scalars().all() == ["another"]


def test_a_ledger_is_durable_and_forgets_what_it_deletes(tmp_path: Path) -> None:
    engine = store.connect(tmp_path / "people.sqlite")
    with store.read(engine) as connection:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names}
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


def test_what_is_known_of_spending_after_a_failed_write_is_said(tmp_path: Path) -> None:
    account = open_account(str(tmp_path / "people.sqlite"))
    with pytest.raises(LedgerError, match=r"could not be written: .*; nothing was spent\. Look whether disk"):  # noqa: SIM117
        with store.write(account._engine):
            raise sa.exc.OperationalError("INSERT", {}, Exception("disk full"))
    with pytest.raises(LedgerError, match="that is paid for and kept: repeat the command"):  # noqa: SIM117
        with store.write(account._engine):
            raise sa.exc.OperationalError("INSERT", {}, Exception("gone"), connection_invalidated=True)


def test_a_gate_knows_the_moves_that_were_made_before_it_and_by_it(tmp_path: Path) -> None:
    run = start(open_account(str(tmp_path / "people.sqlite")), RHO / 2)
    gate = Gate(run, noise=NoNoise())
    made = [gate.play(pay(SELECT)) for _ in range(2)]
    assert [move.ids.tolist() for move in gate.moves] == [move.ids.tolist() for move in made]
    again = Gate(run, noise=NoNoise())
    assert [move.ids.tolist() for move in again.moves] == [move.ids.tolist() for move in made]
    assert len(gate.moves) == len(run.moves()) == 2


def test_a_ledger_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        open_account(str(tmp_path / "people.sqlite"))
    finally:
        os.umask(before)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir() if "people" in path.name} == {
        path.name: 0o600 for path in tmp_path.iterdir()
    }


def test_a_ledger_by_an_accounts_own_connection_is_the_same_one(tmp_path: Path) -> None:
    account = open_account(str(tmp_path / "people.sqlite"))
    shared = Ledger.sharing(account)
    assert shared.engine is account._engine
    assert shared.location == f"sqlite:///{tmp_path / 'people.sqlite'}"
    found = shared.existing("people")
    assert found is not None
    assert found._key == account._key


def test_a_ledger_in_memory_has_no_anchor_and_counts_all_the_same() -> None:
    account = open_account(store.IN_MEMORY)
    Gate(start(account, RHO / 2), noise=NoNoise()).play(pay(SELECT))
    assert account.verify() == 3
    assert account.held().rho == RHO / 2
    with pytest.raises(BudgetError):
        start(account, RHO, "r2")


def test_a_ledger_of_a_version_that_knew_no_mu_goes_on(ledger_location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its entries and sums have no such term; what comes after has, and a sum with both has none."""
    from equipoise.privacy import run as run_module

    written = run_module.cost_to_text
    account = open_account(ledger_location)
    begun = start(account, RHO / 2)
    with monkeypatch.context() as earlier:
        earlier.setattr(run_module, "cost_to_text", lambda price: written(replace(price, gaussian=None)))
        Gate(begun, noise=NoNoise()).play(pay(SELECT))
    assert begun.spent() == replace(cost(SELECT), gaussian=None)
    account.verify()
    Gate(begun, noise=NoNoise()).play(pay(SELECT))
    assert begun.spent() == replace(cost(SELECT) * 2, gaussian=None)
    begun.finish()
    account.verify()
    assert account.held().gaussian is None
