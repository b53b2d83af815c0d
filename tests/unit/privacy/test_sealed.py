"""Trials of a tuned release: drawn and paid once, sealed apart from each other, and forgotten but for one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from tests.unit.privacy.test_ledger import RHO, open_account, start

from equipoise.core import Move
from equipoise.errors import BudgetError, LedgerConflict, LedgerError
from equipoise.privacy import accountant, store
from equipoise.privacy.accountant import Cost
from equipoise.privacy.events import Exponential, Tuned
from equipoise.privacy.ledger import Account
from equipoise.privacy.run import Run
from equipoise.privacy.sealed import Chosen, SealedBook, Trials

EVENT = Tuned(RHO / 8, False, "geometric", Fraction(1, 3))
FIRST, SECOND = Exponential(Fraction(1, 10)), Exponential(Fraction(1, 5))
SHARE = Cost(RHO / 8, None)


def account_in(folder: Path) -> Account:
    return open_account(str(folder / "people.sqlite"))


def begun(account: Account, name: str = "r1", candidates: tuple[int, ...] = (4, 0, 4)) -> tuple[Run, Trials]:
    price = accountant.cost(EVENT)
    run = account.start(run=name, plan={"seed": 1}, reserve=price, unit_seed=7)
    trials = Trials(run)
    assert trials.begin(EVENT, lambda: candidates) == candidates
    return run, trials


def never() -> tuple[int, ...]:
    raise AssertionError("the dice are thrown once")


def play(book: SealedBook, number: int, value: int, event: Exponential = FIRST) -> Cost:
    """Record a move; what had been spent before."""
    seen: list[Cost] = []

    def draw(debit, spent):  # type: ignore[no-untyped-def]
        seen.append(spent)
        debit(event, accountant.cost(event))
        return Move(np.array([value]), np.array([1]), np.array([10 * value]), 2.5)

    move = book.record(number, draw)
    assert (move.ids.tolist(), seen != []) == ([value], True)
    return seen[0]


def sealed(run: Run) -> list[tuple[int, int]]:
    with store.read(run.engine) as connection:
        table = store.sealed
        found = connection.execute(
            sa.select(table.c.part, table.c.number).where(table.c.run == run.key).order_by(table.c.part, table.c.number)
        )
        return [(row.part, row.number) for row in found]


def test_candidates_are_drawn_and_paid_for_once(tmp_path: Path) -> None:
    run, trials = begun(account_in(tmp_path))
    assert run.spent() == accountant.cost(EVENT)
    assert run.events() == [EVENT]
    found = account_in(tmp_path).run(run.key)
    assert found is not None
    assert Trials(found).begin(EVENT, never) == (4, 0, 4)
    assert run.spent() == accountant.cost(EVENT)
    assert run.events() == [EVENT]
    assert trials.chosen is None


def test_what_was_not_reserved_is_not_drawn(tmp_path: Path) -> None:
    run = start(account_in(tmp_path), RHO / 8)
    with pytest.raises(BudgetError, match="more than it reserved"):
        Trials(run).begin(EVENT, never)
    assert (run.spent(), sealed(run)) == (Cost(), [])


def test_parts_of_trials_are_kept_apart_and_add_up_by_themselves(tmp_path: Path) -> None:
    account = account_in(tmp_path)
    run, trials = begun(account)
    other, others = begun(account, "r2", (1,))
    games = [trials.game(number, SHARE) for number in range(2)]
    score = trials.score(0, Cost(RHO / 16, None))
    assert (games[0].reserved, score.reserved, score.rows_per_unit) == (SHARE, Cost(RHO / 16, None), 1)
    one, two = accountant.cost(FIRST), accountant.cost(SECOND)
    assert play(games[0], 0, 3) == Cost()
    assert play(games[0], 1, 5, SECOND) == one
    assert play(games[0], 2, 6) == one + two
    assert play(games[1], 0, 7) == Cost()
    assert play(score, 0, 8) == Cost()
    assert play(others.game(0, SHARE), 0, 9) == Cost()
    assert [move.ids.tolist() for move in games[0].moves()] == [[3], [5], [6]]
    assert [move.ids.tolist() for move in games[1].moves()] == [[7]]
    assert [move.values.tolist() for move in score.moves()] == [[80]]  # type: ignore[union-attr]
    assert trials.score(1, SHARE).moves() == []
    assert sealed(run) == [(-1, 0), (0, 0), (0, 1), (0, 2), (1, 0), (2, 0)]
    assert run.spent() == accountant.cost(EVENT) == other.spent(), "the whole was paid for"
    assert run.moves() == []


def test_a_move_that_is_sealed_is_not_drawn_again(tmp_path: Path) -> None:
    run, trials = begun(account_in(tmp_path))
    play(trials.game(1, SHARE), 0, 3)
    again = trials.game(1, SHARE).record(0, lambda debit, spent: never())  # type: ignore[arg-type, return-value]
    assert again.ids.tolist() == [3]
    play(trials.score(1, SHARE), 0, 4)
    assert sealed(run) == [(-1, 0), (2, 0), (3, 0)], "a score never takes the place of another trial's game"
    run.finish()
    with pytest.raises(LedgerConflict):
        play(trials.game(1, SHARE), 1, 3)


def test_the_chosen_trial_becomes_the_release_and_the_rest_is_gone(tmp_path: Path) -> None:
    account = account_in(tmp_path)
    run, trials = begun(account)
    other, others = begun(account, "r2", (1,))
    for trial in range(2):
        play(trials.game(trial, SHARE), 0, 3 + trial)
        play(trials.game(trial, SHARE), 1, 5 + trial)
        play(trials.score(trial, SHARE), 0, 7 + trial)
    play(others.game(0, SHARE), 0, 9)
    trials.choose(1, Chosen(candidate=0, score=-12))
    assert [move.ids.tolist() for move in run.moves()] == [[4], [6]]
    assert sealed(run) == []
    assert sealed(other) == [(-1, 0), (0, 0)], "another release keeps its own"
    assert Trials(run).chosen == Chosen(0, -12)
    assert others.chosen is None
    assert run.spent() == accountant.cost(EVENT)
    run.finish()
    account.verify()
    with store.connect(tmp_path / "people.sqlite").begin() as connection:
        where = (store.moves.c.run == run.key, store.moves.c.number == 1)
        connection.execute(sa.update(store.moves).where(*where).values(body=b"another"))
    with pytest.raises(LedgerError, match="lost or changed answer 1"):
        account.verify()


def test_closing_gives_nothing_back_and_leaves_nothing(tmp_path: Path) -> None:
    account = account_in(tmp_path)
    run, trials = begun(account)
    other, _ = begun(account, "r2", (1,))
    play(trials.game(0, SHARE), 0, 3)
    run.close()
    assert (sealed(run), run.spent()) == ([], accountant.cost(EVENT))
    assert sealed(other) == [(-1, 0)]
    with pytest.raises(LedgerConflict):
        trials.choose(0, Chosen(4, 1))
    with pytest.raises(LedgerConflict):
        trials.begin(EVENT, never)


def test_a_sealed_move_locks_the_account_before_anything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account, locked, whole = account_in(tmp_path), [], store.write
    _, trials = begun(account)
    monkeypatch.setattr(store, "write", lambda engine, key=None: locked.append(key) or whole(engine, key))
    play(trials.game(0, SHARE), 0, 3)
    trials.choose(0, Chosen(4, 1))
    assert locked == [account._key] * 2
