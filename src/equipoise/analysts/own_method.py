"""A method of one analyst's own: the library's default for their queries, held to a share of the budget."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction

from equipoise.analysts.terms import FAILURE, Terms
from equipoise.core import silent
from equipoise.data.table import Table
from equipoise.game.error_bars import error_bars
from equipoise.pipeline import Request, play_game, prepare
from equipoise.privacy.capped import Paid
from equipoise.privacy.gate import Gate
from equipoise.privacy.paid_book import PaidBook
from equipoise.privacy.private_rows import PrivateRows
from equipoise.queries.build import build
from equipoise.queries.query import Query
from equipoise.queries.workload import Workload
from equipoise.request import Limits

__all__ = ["answer_own"]


def answer_own(
    table: Table, rows: PrivateRows, terms: Terms, paid: Paid, budget: Fraction, queries: Sequence[Query], memory: int
) -> list[tuple[float, float | None]]:
    """The share of each query and its half-width, for one analyst; half-widths of all analysts hold together."""
    distinct = list(dict.fromkeys(queries))
    workload = build(distinct, table.schema)
    assert isinstance(workload, Workload)
    request = Request(table, epsilon=terms.epsilon, workload=workload, accept_inferred=True, memory_limit=memory)
    prepared = prepare(request, Limits(terms.num_rows, terms.delta, budget, None))
    truth = rows.counts_of(prepared.plan.asked)
    seed = secrets.randbits(63)
    game = play_game(prepared, Gate(PaidBook(paid)), truth, seed=seed, progress=silent)
    evidence = game.players.evidence
    bars = None
    if evidence is not None:
        failure = FAILURE / terms.num_analysts
        bars = error_bars(game.outcome, prepared.plan.asked, terms.num_rows, evidence, failure=failure)
    places = {workload.query(place): place for place in range(workload.num_queries)}
    found: dict[Query, tuple[float, float | None]] = {}
    for query in distinct:
        width = None if bars is None else float(bars[places[query]])
        found[query] = query.answer(game.outcome.distribution), None if width is None or width >= 1 else width
    return [found[query] for query in queries]
