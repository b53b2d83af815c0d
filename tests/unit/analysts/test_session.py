"""Sessions: what is answered from where, what is kept, counted and charged, and by whom it can be seen."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysts import MANY, QUERIES, table, true_share

from equipoise.analysts import Answer, Session
from equipoise.errors import BudgetError, CapacityError, LedgerError, QueryError, SettingError
from equipoise.privacy.analyst_book import SessionBook, State, Update
from equipoise.privacy.analyst_opening import give_up, open_book
from equipoise.privacy.cost import Cost
from equipoise.privacy.ledger import Ledger

SETTINGS: dict[str, Any] = {"epsilon": 50.0, "analyst_epsilon": 50.0, "num_analysts": 3, "queries_each": MANY}


def opened(mode: Any, ledger: Path | str | None = None, run: str | None = None, **changes: Any) -> Session:
    return Session.open(table(), mode=mode, ledger=ledger, run=run, **SETTINGS | changes)


@pytest.mark.parametrize("mode", ["online", "pmw"])
def test_a_hypothesis_learns_and_every_half_width_holds(mode: str) -> None:
    """All half-widths hold with probability 0.95 by the bound, which for 30 of 3e9 queries is beyond 1 - 1e-9."""
    session = opened(mode)
    assert session.plan.mode == mode
    truth = {text: true_share(table(), text) for text in QUERIES}
    answers = [session.ask("ada", QUERIES[i % 5]) for i in range(30)]
    for answer in answers:
        assert answer.half_width is not None
        assert abs(answer.share - truth[answer.text]) <= answer.half_width
    assert {answer.source for answer in answers} == {"paid", "hypothesis"}
    assert session.status().num_paid == sum(answer.source == "paid" for answer in answers)
    assert [answer.left for answer in answers] == list(range(MANY - 1, MANY - 31, -1))


def test_private_multiplicative_weights_come_near_the_truth() -> None:
    session = opened("pmw")
    for i in range(200):
        session.ask("ada", QUERIES[i % 5])
    found = session.hypothesis()
    assert abs(float(found.marginal((0,))[1]) - true_share(table(), "a = true")) <= session.plan.half_width
    assert session.status().num_paid <= session.plan.max_paid


def test_online_changes_the_hypothesis_only_at_the_end_of_an_epoch(tmp_path: Path) -> None:
    session = opened("online", tmp_path / "ledger.sqlite")
    uniform = session.hypothesis().marginal((0, 1, 2))
    assert np.allclose(uniform, 1 / 8)
    longest = session.plan.number("epoch") + session.plan.number("margin")
    paid = 0
    while session.status().version == 0:
        assert paid <= longest
        session.ask_many("ada", ["a = false and b = false"] * 20, key=f"{paid}")  # the share is 0.09, uniform 0.25
        session.ask_many("ada", ["a = true and b = true"] * 20, key=f"again {paid}")  # 0.81 against 0.25: pays
        paid = session.status().num_paid
    assert session.hypothesis().marginal((0, 1))[1, 1] > 0.25


def test_a_session_resumes_where_it_was(tmp_path: Path) -> None:
    for mode in ("online", "pmw", "noise"):
        size = 100 if mode == "noise" else MANY
        first = opened(mode, tmp_path / "ledger.sqlite", mode, queries_each=size)
        asked = [first.ask("ada", text, key=text) for text in QUERIES]
        second = opened(mode, tmp_path / "ledger.sqlite", mode, queries_each=size)
        assert [second.ask("ada", text, key=text) for text in QUERIES] == asked
        assert np.array_equal(first.hypothesis().marginal((0, 1)), second.hypothesis().marginal((0, 1)))
        assert first.status() == second.status()
        assert first.statement()["events"] == second.statement()["events"]


def test_a_key_pays_once_and_belongs_to_one_query_and_analyst(tmp_path: Path) -> None:
    session = opened("noise", tmp_path / "ledger.sqlite", "r", queries_each=10)
    first = session.ask("ada", "a = true", key="1")
    assert session.ask("ada", "a = true", key="1") == first
    assert session.status().num_paid == 1
    with pytest.raises(SettingError, match="another query"):
        session.ask("ada", "b = true", key="1")
    assert session.ask("bob", "b = true", key="1").left == 9
    assert session.left("ada") == 9


def test_no_analyst_asks_more_than_allowed_or_takes_a_place_that_is_not_there() -> None:
    session = opened("noise", queries_each=4)
    session.ask_many("ada", ["a = true", "b = true", "c = true"])
    with pytest.raises(BudgetError, match="1 of 4"):
        session.ask_many("ada", ["a = true", "b = true"])
    session.ask("ada", "a = true")
    with pytest.raises(BudgetError, match="0 of 4"):
        session.ask("ada", "a = true")
    assert session.left("bob") == 4
    session.ask("bob", "a = true")
    session.ask("carol", "a = true")
    with pytest.raises(BudgetError, match="places"):
        session.ask("dave", "a = true")


def test_what_is_left_tells_nothing_of_others() -> None:
    alone, together = opened("pmw"), opened("pmw")
    for text in QUERIES:
        together.ask("bob", text)
    assert alone.ask("ada", "a = true").left == together.ask("ada", "a = true").left


def test_a_marginal_is_its_cells() -> None:
    session = opened("noise", queries_each=10)
    answers = session.ask_many("ada", [("b", "a")])
    assert [answer.text for answer in answers] == [
        "a = false and b = false",
        "a = false and b = true",
        "a = true and b = false",
        "a = true and b = true",
    ]
    with pytest.raises(QueryError, match="8 cells"):
        opened("noise", queries_each=7).ask_many("ada", [("a", "b", "c")])


def test_refusals_spend_nothing(tmp_path: Path) -> None:
    session = opened("noise", tmp_path / "ledger.sqlite", "r", queries_each=10)
    for wrong in ("a = perhaps", "z = true", "a ="):
        with pytest.raises(QueryError):
            session.ask("ada", wrong)
    assert session.status().analysts == {}
    with pytest.raises(SettingError, match="mode"):
        opened("offline")
    with pytest.raises(SettingError, match="at least 1"):
        opened("pmw", num_analysts=0)
    with pytest.raises(CapacityError, match="memory"):
        opened("pmw", memory_limit=100)
    with pytest.raises(LedgerError, match="another"):
        opened("noise", tmp_path / "ledger.sqlite", "r", queries_each=11)
    with pytest.raises(SettingError, match="ledger"):
        opened("noise", None, "r", queries_each=11)


def test_a_closed_session_answers_nobody(tmp_path: Path) -> None:
    session = opened("pmw", tmp_path / "ledger.sqlite", "r")
    other = opened("pmw", tmp_path / "ledger.sqlite", "r")
    session.ask("ada", "a = true")
    session.close()
    with pytest.raises(LedgerError, match="closed"):
        session.ask("ada", "a = true")
    for asked in (session, other):
        with pytest.raises(LedgerError, match="closed"):
            asked.ask("ada", "a = true", key="k")


@pytest.mark.parametrize("mode", ["pmw", "online"])
def test_a_session_that_another_process_just_closed_tells_no_hit(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it has seen that, every answer is one of the hypothesis, whatever the records say."""
    monkeypatch.setattr("equipoise.analysts.session.REFRESH_SECONDS", 3600.0)
    session = opened(mode, tmp_path / "ledger.sqlite", "r")
    other = opened(mode, tmp_path / "ledger.sqlite", "r")
    expected = other.ask("ada", "a = true and b = true").source
    assert expected == "paid"
    session.close()
    late = [other.ask("ada", text) for text in ("a = true and b = true", "a = false and b = false", "c = true")]
    assert {answer.source for answer in late} == {"hypothesis"}
    assert [answer.spent for answer in late] == [0, 0, 0]
    with pytest.raises(LedgerError, match="closed"):
        session.status()


def test_both_accounts_are_charged_what_the_plan_says(ledger_location: str) -> None:
    """And the chains add up to their events, on both databases; the noise mode charges answer by answer."""
    for mode in ("online", "pmw", "noise"):
        session = opened(mode, ledger_location, mode, queries_each=50 if mode == "noise" else MANY)
        session.ask_many("ada", QUERIES, key="k")
        ledger = Ledger(ledger_location)
        people, analysts = ledger.existing("people"), ledger.existing("people (analysts)")
        assert people is not None
        assert analysts is not None
        people.verify()
        analysts.verify()
        spent = people.run(mode).spent()  # type: ignore[union-attr]
        if mode == "noise":
            assert spent.rho == session.plan.reserve.rho * 5 / 150
        else:
            assert spent == session.plan.reserve
        second = analysts.run(f"{mode}.analysts").spent()  # type: ignore[union-attr]
        assert (second.rho > 0) == (mode == "online")
        assert float(session.statement()["guarantee"]["rho"]) == pytest.approx(float(spent.rho))
        session.close()


def test_a_total_refuses_a_session_before_a_row_is_read(tmp_path: Path) -> None:
    total = table(epsilon=1.0)
    with pytest.raises(BudgetError, match="does not cover"):
        Session.open(total, mode="noise", ledger=tmp_path / "l.sqlite", **SETTINGS | {"queries_each": 10})
    with pytest.raises(BudgetError, match="analysts"):
        opened("online", tmp_path / "other.sqlite", analyst_total=(1.0, 1e-9))
    account = Ledger(tmp_path / "other.sqlite").existing("people")
    assert account is not None
    assert account.runs() == []


def test_answers_survive_json() -> None:
    answer = Answer("a = true", 0.5, 10.0, None, "unverified", Fraction(1, 3), 7)
    assert Answer.from_json(answer.to_json()) == answer


def test_a_book_that_is_released_keeps_nothing_open_and_keys_are_told_apart(tmp_path: Path) -> None:
    session = opened("noise", tmp_path / "ledger.sqlite", "r", queries_each=10)
    told = {key: session.ask("ada", text, key=key) for key, text in (("1", "a = true"), ("2", "b = true"))}
    account = Ledger(tmp_path / "ledger.sqlite").existing("people")
    analysts = Ledger(tmp_path / "ledger.sqlite").existing("people (analysts)")
    assert account is not None
    assert analysts is not None
    people, others = account.run("r"), analysts.run("r.analysts")
    assert people is not None
    assert others is not None
    book = SessionBook(people, others)
    assert book.kept("ada", "3") is None
    assert book.kept("bob", "1") is None
    kept = [book.kept("ada", key) for key in told]
    assert None not in kept
    paid = [entry for entry in people.entries() if entry["what"] == "paid"]
    assert paid == [{"what": "paid", "run": "r", "number": n, "analyst": "ada"} for n in range(2)]
    assert [entry["move"] for entry in people.entries() if entry["what"] == "event"] == [0, 1]
    assert book.places() == {"ada": (2, 2)}
    assert kept[0] != kept[1]
    assert book._idle is not None
    book.release()
    assert book._idle is None
    book.release()


def test_what_is_due_at_the_start_belongs_to_the_first_move(tmp_path: Path) -> None:
    opened("pmw", tmp_path / "ledger.sqlite", "p")
    account = Ledger(tmp_path / "ledger.sqlite").existing("people")
    assert account is not None
    people = account.run("p")
    assert people is not None
    events = [entry for entry in people.entries() if entry["what"] == "event"]
    assert [entry["move"] for entry in events] == [0]
    assert events[0]["event"]["kind"] == "conditional_release"
    opened("online", tmp_path / "ledger.sqlite", "o")
    analysts = Ledger(tmp_path / "ledger.sqlite").existing("people (analysts)")
    assert analysts is not None
    others = analysts.run("o.analysts")
    assert others is not None
    moves = [entry["move"] for entry in others.entries() if entry["what"] == "event"]
    assert set(moves) == {0}


def test_updates_places_and_pages_of_a_book(tmp_path: Path) -> None:
    session = opened("pmw", tmp_path / "ledger.sqlite", "p")
    book = session._book
    with book.page() as page:
        assert page.lease("ada", 2, 5, limit=7, num_places=2) == (0, 5)
        assert page.lease("ada", 2, 5, limit=7, num_places=2) == (5, 7)
        with pytest.raises(BudgetError, match="0 of 7"):
            page.lease("ada", 1, 5, limit=7, num_places=2)
        assert page.lease("bob", 7, 7, limit=7, num_places=2) == (0, 7)
        with pytest.raises(BudgetError, match="places"):
            page.lease("carol", 1, 1, limit=7, num_places=2)
        for sign in (1, -1):
            page.paid("ada", Update(0, f"query {sign}", sign))
        page.paid("bob", None)
        assert page.state == State(0, 3, 2, page.state.threshold, False)
        assert [number for number, _ in page.updates(0)] == [0, 1]
        page.move(page.state._replace(version=1, waiting=0), b"hypothesis")
    assert book.updates(0) == [(0, Update(0, "query 1", 1)), (1, Update(0, "query -1", -1))]
    assert book.updates(1) == book.updates(0)[1:]
    assert book.updates(2) == []
    assert book.hypothesis(1) == b"hypothesis"
    assert book.hypothesis(0) is None
    assert book.places() == {"ada": (7, 2), "bob": (7, 1)}
    assert (book.state().version, book.state().num_paid, book.state().waiting) == (1, 3, 0)

    def undone() -> None:
        with book.page() as page:
            page.paid("bob", None)
            raise RuntimeError("undone")

    with pytest.raises(RuntimeError, match="undone"):
        undone()
    assert book.state().num_paid == 3
    session.close()


def test_a_refused_table_leaves_nothing_reserved_of_the_analysts_account(tmp_path: Path) -> None:
    """The analysts' is made first; if the table's is refused, as when others were faster, it is given back."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    account = ledger.account("people", epsilon=1.0, delta=1e-6)
    analysts = ledger.account("people (analysts)", epsilon=10.0, delta=1e-6)
    with pytest.raises(BudgetError, match="does not cover"):
        open_book(
            account,
            analysts,
            run="r",
            plans=({}, {}),
            reserve=(Cost(Fraction(1), None), Cost(Fraction(1, 100), None)),
            due=((), ()),
            first=State(0, 0, 0, 0, False),
            unit_seed=1,
        )
    assert analysts.held() == account.held() == Cost()
    assert [run["status"] for run in analysts.runs()] == ["closed"]


def test_giving_up_frees_both_accounts_and_counts_stay(tmp_path: Path) -> None:
    session = opened("noise", tmp_path / "ledger.sqlite", "r", queries_each=10)
    session.ask_many("ada", ["a = true", "b = true"])
    other = opened("noise", tmp_path / "ledger.sqlite", "s", queries_each=10)
    other.ask("ada", "a = true")
    other.ask("bob", "a = true")
    ledger = Ledger(tmp_path / "ledger.sqlite")
    account, analysts = ledger.existing("people"), ledger.existing("people (analysts)")
    assert account is not None
    assert analysts is not None
    for _ in range(2):
        give_up(account, analysts, "r")
        give_up(account, analysts, "there is none of this")
    assert {row["run"]: row["status"] for row in account.runs()} == {"r": "closed", "s": "open"}
    assert {row["run"]: row["status"] for row in analysts.runs()} == {"r.analysts": "closed", "s.analysts": "open"}
    assert account.analysts() == {"ada": (3, 3), "bob": (1, 1)}
    assert analysts.analysts() == {}
