"""Pages of a session: what is leased, kept, charged, written down, and read again, each session by itself."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.unit.privacy.test_ledger import RHO, open_account

from equipoise.errors import BudgetError, LedgerConflict, LedgerError
from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.analyst_book import Page, SessionBook, State, Update
from equipoise.privacy.analyst_opening import analysts_name, close_session, give_up, open_book
from equipoise.privacy.events import Exponential, Gaussian, Group, Laplace
from equipoise.privacy.ledger import Account, Ledger

START, DUE = Exponential(Fraction(1, 10)), Laplace(Fraction(1), Fraction(20))
EACH = Gaussian(Fraction(1), 16 / RHO)
FIRST = State(version=0, num_paid=0, waiting=0, threshold=5, halted=False)
PLAN = {"mode": "online", "queries": 7}


def accounts(folder: Path, rows_per_unit: int = 1) -> tuple[Account, Account]:
    place = str(folder / "people.sqlite")
    people = open_account(place, rows_per_unit=rows_per_unit)
    analysts = Ledger(place).account(analysts_name("people"), epsilon=3.0, delta=1e-9, rows_per_unit=1)
    return people, analysts


def session(folder: Path, run: str = "s", rows_per_unit: int = 1, **changes: Any) -> SessionBook:
    settings: dict[str, Any] = {
        "plans": (PLAN, {"analysts": 2}),
        "reserve": (Cost(RHO / 4, None), Cost(RHO / 8, None)),
        "due": ([START], [DUE]),
        "first": FIRST,
        "unit_seed": 7,
    }
    return open_book(*accounts(folder, rows_per_unit), run=run, **settings | changes)


def test_both_runs_are_charged_once_and_the_session_is_found_again(tmp_path: Path) -> None:
    first = session(tmp_path)
    again = session(tmp_path, due=([START, START], [DUE, DUE]), first=FIRST._replace(threshold=9))
    for book in (first, again):
        assert (book.run.events(), book.analysts.events()) == ([START], [DUE])
        assert (book.run.spent(), book.analysts.spent()) == (accountant.cost(START), accountant.cost(DUE))
        assert (book.run.reserved.rho, book.analysts.reserved.rho) == (RHO / 4, RHO / 8)
        assert (book.run.plan, book.analysts.plan, book.run.unit_seed) == (PLAN, {"analysts": 2}, 7)
        assert book.state() == FIRST
    assert first.noise.laplace(("ada", 1), Fraction(50)) == again.noise.laplace(("ada", 1), Fraction(50))
    other = session(tmp_path, "t")
    drawn = [[book.noise.laplace(("ada", n), Fraction(50)) for n in range(20)] for book in (first, other)]
    assert drawn[0] != drawn[1], "each session has a secret of its own"
    with pytest.raises(LedgerConflict, match="another mode, queries;"):
        session(tmp_path, plans=({"mode": "pmw", "queries": 8}, {"analysts": 2}))


def test_what_an_account_does_not_cover_is_opened_in_neither(tmp_path: Path) -> None:
    with pytest.raises(BudgetError):
        session(tmp_path, reserve=(Cost(2 * RHO, None), Cost(RHO, None)))
    people, analysts = accounts(tmp_path)
    assert people.run("s") is None
    (left,) = analysts.runs()
    assert (left["run"], left["status"]) == ("s.analysts", "closed")
    session(tmp_path, "t", reserve=(Cost(RHO, None), Cost(RHO, None)))  # nothing of either is held


def test_the_id_of_a_release_is_no_session(tmp_path: Path) -> None:
    people, _ = accounts(tmp_path)
    people.start(run="s", plan=PLAN, reserve=Cost(), unit_seed=7)
    with pytest.raises(LedgerConflict, match="something else than a session"):
        session(tmp_path)


def test_leases_never_exceed_the_limit_and_places_are_taken_once(tmp_path: Path) -> None:
    book, other = session(tmp_path), session(tmp_path, "t")
    with book.page() as page:
        assert page.lease("ada", 1, 4, limit=6, num_places=2) == (0, 4)
        assert page.lease("ada", 2, 4, limit=6, num_places=2) == (4, 6)
        assert page.lease("bob", 6, 6, limit=6, num_places=2) == (0, 6)
        with pytest.raises(BudgetError, match="0 of 6"):
            page.lease("ada", 1, 4, limit=6, num_places=2)
        with pytest.raises(BudgetError, match="all places"):
            page.lease("carol", 1, 4, limit=6, num_places=2)
    with other.page() as page:
        assert page.lease("ada", 1, 1, limit=6, num_places=1) == (0, 1)
        with pytest.raises(BudgetError, match="all places"):
            page.lease("bob", 1, 1, limit=6, num_places=1)
        page.paid("ada", None)
        page.paid("ada", None)
    assert book.places() == {"ada": (6, 0), "bob": (6, 0)}
    assert other.places() == {"ada": (1, 2)}


def test_answers_are_kept_by_session_analyst_and_key(tmp_path: Path) -> None:
    book, other = session(tmp_path), session(tmp_path, "t")
    with book.page() as page:
        page.keep("ada", "k", "a = true", "[1]")
        page.keep("ada", "l", "b = true", "[2]")
        page.keep("bob", "k", "c = true", "[3]")
        assert page.kept("ada", "l") == ("b = true", "[2]")
        assert page.kept("bob", "l") is None
    assert book.kept("ada", "k") == ("a = true", "[1]")
    assert book.kept("bob", "k") == ("c = true", "[3]")
    assert book.kept("carol", "k") is None
    assert other.kept("ada", "k") is None


def test_paid_answers_move_the_state_and_leave_their_updates(tmp_path: Path) -> None:
    book, other = session(tmp_path), session(tmp_path, "t")
    one, two = Update(0, "a = true", 1), Update(0, "b = true", -1)
    with book.page() as page:
        page.lease("ada", 3, 3, limit=9, num_places=2)
        page.lease("bob", 3, 3, limit=9, num_places=2)
        page.paid("ada", one)
        page.paid("bob", None)
        page.paid("ada", two)
        assert page.state == State(0, 3, 2, 5, False)
        assert page.updates(0) == [(0, one), (2, two)]
        assert page.updates(1) == [(2, two)]
    assert book.state() == State(0, 3, 2, 5, False)
    assert book.updates(0) == [(0, one), (2, two)]
    assert book.updates(3) == other.updates(0) == []
    assert book.places() == {"ada": (3, 2), "bob": (3, 1)}
    told = [(entry["number"], entry["analyst"]) for entry in book.run.entries() if entry["what"] == "paid"]
    assert told == [(0, "ada"), (1, "bob"), (2, "ada")]
    assert other.state() == FIRST


def test_hypotheses_are_kept_by_version_and_the_state_goes_with_them(tmp_path: Path) -> None:
    book, other = session(tmp_path), session(tmp_path, "t")
    moved = State(version=1, num_paid=4, waiting=0, threshold=-3, halted=True)
    with book.page() as page:
        page.move(moved._replace(version=0))
        page.move(moved, b"one")
        assert page.state == moved
    with other.page() as page:
        page.move(FIRST._replace(version=1), b"other")
    assert book.state() == moved
    assert (book.hypothesis(0), book.hypothesis(1), book.hypothesis(2)) == (None, b"one", None)
    assert other.hypothesis(1) == b"other"


@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_charges_are_those_of_all_rows_of_a_unit_and_end_at_the_reservation(tmp_path: Path, rows_per_unit: int) -> None:
    reserve = Cost(RHO if rows_per_unit > 1 else RHO / 8, None)
    book = session(tmp_path, rows_per_unit=rows_per_unit, due=([], []), reserve=(reserve, reserve))
    price = accountant.cost(EACH).rho * rows_per_unit**2
    seen = EACH if rows_per_unit == 1 else Group(EACH, rows_per_unit)
    most = int(book.run.reserved.rho / price)
    for number in range(most):
        with book.page() as page:
            page.debit(EACH, number=number)
    with pytest.raises(BudgetError, match="nothing further was released"), book.page() as page:
        page.debit(EACH, number=most)
    assert most == (4 if rows_per_unit == 1 else 3)
    assert book.run.events() == [seen] * most
    assert book.run.spent().rho == most * price
    assert [entry["move"] for entry in book.run.entries() if entry["what"] == "event"] == list(range(most))


def spoil(page: Page) -> None:
    page.debit(EACH)
    page.lease("ada", 1, 1, limit=2, num_places=2)
    page.keep("ada", "k", "q", "a")
    page.move(FIRST._replace(version=1), b"one")
    raise ZeroDivisionError


def test_an_error_undoes_the_whole_page(tmp_path: Path) -> None:
    book = session(tmp_path)
    with pytest.raises(ZeroDivisionError), book.page() as page:
        spoil(page)
    assert (book.state(), book.places(), book.kept("ada", "k"), book.hypothesis(1)) == (FIRST, {}, None, None)
    assert book.run.spent() == accountant.cost(START)


def test_giving_up_frees_what_is_open_and_leaves_the_rest(tmp_path: Path) -> None:
    book, (people, analysts) = session(tmp_path), accounts(tmp_path)
    book.analysts.finish()
    for _ in range(2):
        give_up(people, analysts, "s")
        assert (book.run.status, book.analysts.status) == ("closed", "done")
    people.start(run="r", plan=PLAN, reserve=Cost(), unit_seed=7)
    give_up(people, None, "r")
    give_up(people, analysts, "nosuch")
    assert [each["status"] for each in people.runs()] == ["closed", "closed"]


def test_an_analysts_run_that_is_done_stays_so(tmp_path: Path) -> None:
    book = session(tmp_path)
    book.analysts.finish()
    close_session(*accounts(tmp_path), "s")
    assert (book.run.status, book.analysts.status) == ("closed", "done")


def test_two_that_begin_at_the_same_moment_share_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, found, asked = session(tmp_path), Account.run, []

    def late(self: Account, run: str) -> Any:
        """As a process sees it that looked before the other one had written."""
        asked.append(run)
        return None if len(asked) <= 2 else found(self, run)

    with monkeypatch.context() as patched:
        patched.setattr(Account, "run", late)
        again = session(tmp_path)
    assert (again.run.key, again.run.events()) == ("s", [START])
    assert again.noise.laplace(("ada", 1), Fraction(50)) == first.noise.laplace(("ada", 1), Fraction(50))

    def lost(*_: object, **__: object) -> None:
        raise LedgerError("the connection was lost")

    asked.clear()
    monkeypatch.setattr(Account, "run", late)
    monkeypatch.setattr(Account, "start", lost)
    with pytest.raises(LedgerError, match="connection was lost"):
        session(tmp_path)


def test_a_closed_session_says_so_everywhere(tmp_path: Path) -> None:
    book = session(tmp_path)
    close_session(*accounts(tmp_path), "s")
    assert (book.run.status, book.analysts.status) == ("closed", "closed")
    with pytest.raises(LedgerConflict):
        book.state()
    with pytest.raises(LedgerConflict), book.page():
        pass
    with pytest.raises(LedgerConflict):
        session(tmp_path, "s").state()
    half = session(tmp_path, "t")
    half.analysts.close()
    close_session(*accounts(tmp_path), "t")
    assert half.run.status == "closed"
    other = session(tmp_path, "u")
    other.run.close()
    close_session(*accounts(tmp_path), "u")
    assert other.analysts.status == "closed"
    finished = session(tmp_path, "v")
    finished.run.finish()
    finished.analysts.finish()
    with pytest.raises(LedgerConflict, match="already done"):
        close_session(*accounts(tmp_path), "v")


def test_an_account_knows_what_each_analyst_asked_and_was_paid_in_all_its_sessions(tmp_path: Path) -> None:
    for run in ("s", "t"):
        book = session(tmp_path, run)
        with book.page() as page:
            page.lease("ada", 1, 3, limit=7, num_places=2)
            page.lease("bob", 1, 2, limit=7, num_places=2)
            page.paid("ada", None)
    people, analysts = accounts(tmp_path)
    assert people.analysts() == {"ada": (6, 2), "bob": (4, 0)}
    assert analysts.analysts() == {}
