"""A round: all analysts hand in their queries, and all are answered at once.

Paid for when it begins; nothing is seen by anybody before all answers are committed, in one transaction. Killed
before, a second call with the same id does the work again at no further cost; after, it finds the answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.analysts.answer import Answer
from equipoise.analysts.asking import Asked, Parsed, canonical, parse_all
from equipoise.analysts.hypotheses import Sampled, memory_bytes
from equipoise.analysts.opening import accounts_of, checked_id, checked_name, read_and_open, statement_of
from equipoise.analysts.per_analyst import plan_per_analyst
from equipoise.analysts.per_query import plan_per_query
from equipoise.analysts.respond import Work, respond
from equipoise.analysts.round_plan import RoundMode, RoundPlan, plan_apart, plan_noisy
from equipoise.analysts.terms import Terms, terms_of
from equipoise.core import Distribution
from equipoise.data.table import Table
from equipoise.errors import BudgetError, CapacityError, QueryError, SettingError
from equipoise.pipeline import DEFAULT_MEMORY, Steps, no_progress
from equipoise.privacy.accountant import Cost, total
from equipoise.privacy.analyst_book import SessionBook, State
from equipoise.privacy.events import Group

__all__ = ["Round", "answer_round"]

KEY = "round"
PROTECTS: Mapping[RoundMode, str] = {
    "per-query": "one query of one analyst, added, left out or replaced, from all other analysts together",
    "per-analyst": "all queries of one analyst, from all other analysts together",
    "apart": "all queries of one analyst, perfectly: no answer depends on another analyst's queries",
    "noise": "all queries of one analyst, perfectly: no answer depends on another query",
}


@dataclass(frozen=True)
class Round:
    """An answered round.

    Attributes:
        answers: For each analyst, in the order of their queries (cells of a marginal in its order). Each analyst may
            see only their own.
        synopsis: The shared synthetic data, free to publish to all analysts; None when every answer has noise of its
            own.
        mode: What was done: "noise" or "apart" where the mode asked for cannot do better.
        reason: Why, in a sentence, when that is not what was asked for; else empty.
        statement: The guarantee to people and to analysts.
        run: Its id in the ledger.
    """

    answers: Mapping[str, list[Answer]]
    synopsis: Distribution | None
    mode: RoundMode
    reason: str
    statement: dict[str, Any]
    run: str


def answer_round(
    table: Table,
    batches: Mapping[str, Sequence[Asked]],
    *,
    epsilon: float,
    analyst_epsilon: float,
    num_analysts: int,
    queries_each: int,
    mode: RoundMode = "per-query",
    delta: float | None = None,
    analyst_delta: float | None = None,
    analyst_total: tuple[float, float] | None = None,
    run: str | None = None,
    ledger: str | Path | None = None,
    accept_inferred: bool = False,
    memory_limit: int = DEFAULT_MEMORY,
    only_if_better: bool = True,
    steps: Steps = no_progress,
) -> Round:
    """Answer every analyst's queries at once.

    Args:
        table: The private table.
        batches: The queries of each analyst: texts, `Query` objects, or lists of column names for all cells of a
            marginal.
        epsilon: Data budget of the round.
        analyst_epsilon: Budget that protects the analysts from each other.
        num_analysts: Public bound on the number of analysts.
        queries_each: Public bound on the queries of one analyst. Parameters depend on these bounds, never on the
            batches.
        mode: "per-query" hides any one query from the other analysts, "per-analyst" all queries of any one analyst,
            "apart" everything, by a method of each analyst's own for an equal share of the budget, "noise" everything,
            by noise on every answer.
        delta: 1/n^2 unless given.
        analyst_delta: 1/k^2 unless given, k the number of all analysts' queries.
        analyst_total: Total (epsilon, delta) of the analysts' account in the ledger, declared on first use.
        run: The round's id: a second call with the same id and queries gives the same answers and costs nothing.
        ledger: Path or URL; by default the schema's.
        accept_inferred: Accept bounds and categories that were read from the data.
        memory_limit: Bytes that the game may use.
        only_if_better: Answer with noise where "per-query" promises no more than noise on every answer does.
        steps: Shows progress.

    Raises:
        BudgetError: a ledger does not cover it, or a batch is larger than its bound; nothing was spent.
        QueryError: a query does not parse or does not fit the schema; says whose.
        SettingError: a number or name is out of range, or the id is of a round with other queries.
    """
    terms = terms_of(
        table,
        epsilon=epsilon,
        delta=delta,
        analyst_epsilon=analyst_epsilon,
        analyst_delta=analyst_delta,
        num_analysts=num_analysts,
        queries_each=queries_each,
        accept_inferred=accept_inferred,
        analyst_total=analyst_total,
    )
    asked = _parsed(table, batches, terms)
    plan = _plan(terms, mode, only_if_better)
    if plan.mode != "noise" and memory_bytes(terms.num_cells) > memory_limit:
        raise CapacityError(
            "a model of this table does not fit the memory limit; name fewer columns, or use mode 'noise'"
        )
    with steps("Reading"):
        book, rows = read_and_open(
            table,
            terms,
            accounts_of(table, ledger=ledger, analyst_total=analyst_total, run=run),
            run=checked_id(run),
            plan=plan.to_json(),
            reserve=_reserve(plan, terms.rows_per_unit),
            events=plan.events,
            analyst_events=plan.analyst_events,
            first=State(0, 0, 0, 0, False),
        )
    if book.hypothesis(1) is None:
        with steps("Answering") as progress:
            work = Work(table, terms, plan, book, rows, asked, memory_limit, progress)
            _commit(book, table, terms, asked, *respond(work))
    return _round(table, terms, plan, book, asked)


def _parsed(table: Table, batches: Mapping[str, Sequence[Asked]], terms: Terms) -> dict[str, list[Parsed]]:
    if len(batches) > terms.num_analysts:
        raise BudgetError(f"there are {len(batches)} analysts, and the public bound is {terms.num_analysts}")
    found = {}
    for name in sorted(batches):
        checked_name("an analyst's name", name)
        try:
            found[name] = parse_all(batches[name], table.schema, limit=terms.queries_each)
        except QueryError as error:
            raise QueryError(f"a query of {name}: {error}") from error
        if not 0 < len(found[name]) <= terms.queries_each:
            raise BudgetError(
                f"{name} asks {len(found[name])} queries; it must be at least 1 and at most {terms.queries_each}"
            )
    if not found:
        raise SettingError("a round needs the queries of at least one analyst")
    return found


def _plan(terms: Terms, mode: RoundMode, only_if_better: bool) -> RoundPlan:
    match mode:
        case "per-query":
            return plan_per_query(terms, only_if_better=only_if_better)
        case "per-analyst":
            return plan_per_analyst(terms)
        case "apart":
            return plan_apart(terms)
        case "noise":
            return plan_noisy(terms)
    raise SettingError(f"there is no mode {mode!r}; the modes are per-query, per-analyst, apart and noise")


def _reserve(plan: RoundPlan, rows_per_unit: int) -> Cost:
    charged = [Group(event, rows_per_unit) if rows_per_unit > 1 else event for event in plan.events]
    return total((event, 1) for event in charged).impure


def _commit(
    book: SessionBook,
    table: Table,
    terms: Terms,
    asked: Mapping[str, list[Parsed]],
    answers: Mapping[str, list[Answer]],
    synopsis: bytes,
) -> None:
    with book.page() as page:
        if page.state.version:  # another process was faster: its answers are the round's
            return
        for name, parsed in asked.items():
            page.lease(name, len(parsed), len(parsed), limit=terms.queries_each, num_places=terms.num_analysts)
            page.keep(name, KEY, _text(parsed), json.dumps([answer.to_json() for answer in answers[name]]))
        page.move(page.state._replace(version=1, halted=True), synopsis)
    book.run.finish()
    book.analysts.finish()


def _text(parsed: Sequence[Parsed]) -> str:
    return "; ".join(canonical(each.query) for each in parsed)


def _round(table: Table, terms: Terms, plan: RoundPlan, book: SessionBook, asked: Mapping[str, list[Parsed]]) -> Round:
    answers = {}
    for name, parsed in asked.items():
        kept = book.kept(name, KEY)
        if kept is None or kept[0] != _text(parsed):
            raise SettingError("the id is of a round with other queries; a new round needs a new id")
        answers[name] = [Answer.from_json(body) for body in json.loads(kept[1])]
    stored = book.hypothesis(1)
    synopsis: Distribution | None = None
    if stored:
        synopsis = Sampled.from_bytes(stored, table.schema.domain.sizes).distribution()
    statement = statement_of(table, terms, book, plan.to_json(), PROTECTS[plan.mode])
    book.release()
    return Round(answers, synopsis, plan.mode, plan.reason, statement, book.run.key)
