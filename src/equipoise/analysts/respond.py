"""Answering a round, once it is paid for: the game, its tests, and who gets noise or a method of their own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from equipoise.analysts.answer import Answer, Source
from equipoise.analysts.asking import Parsed, canonical
from equipoise.analysts.game import play_records
from equipoise.analysts.hypotheses import to_bytes
from equipoise.analysts.own_method import answer_own
from equipoise.analysts.round_plan import RoundPlan
from equipoise.analysts.terms import Terms
from equipoise.core import FloatArray, IntArray, Progress
from equipoise.data.table import Table
from equipoise.privacy.analyst_book import SessionBook
from equipoise.privacy.capped import CappedDraws
from equipoise.privacy.conditional import WindowTest
from equipoise.privacy.noisy_stop import NoisyLimit
from equipoise.privacy.private_rows import PrivateRows
from equipoise.queries.query import Query
from equipoise.queries.text import describe
from equipoise.query_players.asked import AskedQueries, measure_paid
from equipoise.query_players.capped_hedge import CappedHedge

__all__ = ["Work", "respond"]


@dataclass(frozen=True)
class Work:
    """A round that is paid for and not answered yet."""

    table: Table
    terms: Terms
    plan: RoundPlan
    book: SessionBook
    rows: PrivateRows
    asked: Mapping[str, list[Parsed]]
    memory_limit: int
    progress: Progress

    @property
    def queries(self) -> list[Query]:
        """Of all analysts, one after the other."""
        return [each.query for parsed in self.asked.values() for each in parsed]

    @property
    def owners(self) -> IntArray:
        """The analyst of each of them, by place."""
        return np.repeat(np.arange(len(self.asked)), [len(parsed) for parsed in self.asked.values()])

    def answer(self, each: Parsed, share: float, half_width: float | None, source: Source, spent: Fraction) -> Answer:
        """An answer in its final form."""
        kept = min(1.0, max(0.0, share))
        text = each.text or describe(each.query, self.table.schema)
        return Answer(text, kept, kept * self.terms.num_rows, half_width, source, spent, 0)


def respond(work: Work) -> tuple[dict[str, list[Answer]], bytes]:
    """Every analyst's answers, and the synopsis to be stored; empty without one."""
    match work.plan.mode:
        case "noise":
            return _with_noise(work), b""
        case "apart":
            return {name: _own(work, name) for name in work.asked}, b""
    cells, shares = _play(work)
    answers = _per_query(work, shares) if work.plan.mode == "per-query" else _per_analyst(work, shares)
    return answers, to_bytes(cells)


def _with_noise(work: Work) -> dict[str, list[Answer]]:
    spent = work.plan.cost.rho * work.terms.rows_per_unit**2 / work.terms.num_queries
    found = {}
    for name, parsed in work.asked.items():
        noisy = measure_paid(work.book.run, work.rows, [each.query for each in parsed])
        shares = noisy / work.terms.num_rows
        found[name] = [
            work.answer(each, float(share), work.plan.half_width, "paid", spent)
            for each, share in zip(parsed, shares, strict=True)
        ]
    return found


def _own(work: Work, name: str) -> list[Answer]:
    parsed, budget = work.asked[name], Fraction(work.plan.parameters["budget"])
    queries = [each.query for each in parsed]
    answers = answer_own(work.table, work.rows, work.terms, work.book.run, budget, queries, work.memory_limit)
    spent = budget / len(parsed)
    return [
        work.answer(each, share, width, "paid", spent) for each, (share, width) in zip(parsed, answers, strict=True)
    ]


def _play(work: Work) -> tuple[IntArray, FloatArray]:
    plan, terms, queries = work.plan, work.terms, work.queries
    domain, apart = work.table.schema.domain, plan.mode == "per-analyst"
    draws = CappedDraws(
        work.book.run,
        work.rows.count(queries),
        num_rows=terms.num_rows,
        density=float(plan.parameters["density"]),
        owners=work.owners if apart else None,
        num_actions=terms.num_analysts if apart else 2 * terms.num_queries,
    )
    return play_records(
        CappedHedge(draws, queries, domain.sizes),
        queries,
        shape=domain.sizes,
        rules=work.table.schema.rules,
        rate=Fraction(plan.parameters["rate"]),
        num_rounds=int(plan.parameters["num_rounds"]),
        progress=work.progress,
    )


def _per_query(work: Work, shares: FloatArray) -> dict[str, list[Answer]]:
    """Each query tested by its own noise; each analyst has a public number of values that may be sent."""
    plan, terms = work.plan, work.terms
    tests, player = WindowTest(work.book.run, work.book.noise), AskedQueries(work.rows)
    threshold, reach = int(plan.parameters["threshold"]), int(plan.parameters["noise_reach"]) / terms.num_rows
    price = plan.cost.rho / 2 / tests.max_hits
    found: dict[str, list[Answer]] = {}
    position = 0
    for name, parsed in work.asked.items():
        left, found[name], before = int(plan.parameters["values_each"]), [], Counter[str]()
        for each in parsed:
            share = float(shares[position])
            position += 1
            around = share * terms.num_rows
            if left == 0:
                found[name].append(work.answer(each, share, None, "unverified", Fraction(0)))
                continue
            # Not by its place in the batch: a query put in before it does not change its noise.
            text = canonical(each.query)
            label = (name, "round", before[text], text)
            before[text] += 1
            low, high = math.ceil(around - threshold), math.floor(around + threshold)
            noisy = player.test(tests, each.query, label, low=low, high=high)
            if noisy is None:
                found[name].append(work.answer(each, share, plan.half_width, "hypothesis", Fraction(0)))
            else:
                left -= 1
                found[name].append(work.answer(each, noisy / terms.num_rows, reach, "paid", price))
    return found


def _per_analyst(work: Work, shares: FloatArray) -> dict[str, list[Answer]]:
    """One noisy bit an analyst: whether their worst answer is bad; who has a bad one gets a method of their own."""
    plan, terms = work.plan, work.terms
    tests, player = WindowTest(work.book.run, work.book.noise), AskedQueries(work.rows)
    limit = NoisyLimit(
        Fraction(plan.parameters["stop_epsilon"]), int(plan.parameters["limit"]), int(plan.parameters["margin"])
    )
    threshold, stop = int(plan.parameters["threshold"]), limit.threshold()
    num_bad, stopped, position = 0, False, 0
    found: dict[str, list[Answer]] = {}
    for name, parsed in work.asked.items():
        own = shares[position : position + len(parsed)]
        position += len(parsed)
        bad = False
        if not stopped:
            queries = [each.query for each in parsed]
            bad = player.test_worst(tests, queries, own * terms.num_rows, (name, "worst"), threshold=threshold)
            num_bad += bad
        if bad:
            found[name] = _own(work, name)
        else:
            source: Source = "unverified" if stopped else "hypothesis"
            width = None if stopped else plan.half_width
            found[name] = [
                work.answer(each, float(share), width, source, Fraction(0))
                for each, share in zip(parsed, own, strict=True)
            ]
        stopped = stopped or num_bad >= tests.max_hits or limit.reached(num_bad, stop)
    return found
