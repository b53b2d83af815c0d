"""Statistics of whole tables: the same as queries where they are queries, enumerated where they are not, audited."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.noise import log_laplace_pmf

import equipoise as eq
from equipoise.analysts import Catalogue, Session, Statistic
from equipoise.analysts.statistics import STEPS, Tables
from equipoise.analysts.world import Records
from equipoise.core import Codes
from equipoise.data.listed import Ordinal
from equipoise.errors import CapacityError, QueryError, SettingError
from equipoise.privacy.keyed_noise import KeyedNoise
from equipoise.privacy.private import reveal
from equipoise.privacy.private_rows import PrivateRows
from equipoise.queries.query import Query

NUM_ROWS = 20_000
SETTINGS: dict[str, Any] = {"epsilon": 50.0, "analyst_epsilon": 50.0, "num_analysts": 3, "queries_each": 10**9}
SCHEMA = eq.Schema("digits", (Ordinal(name="x", values=("0", "1", "2")),))
RATE = Fraction(1, 7)


def digits() -> eq.Table:
    """Digits with shares 0.6, 0.3 and 0.1."""
    values = np.repeat(["0", "1", "2"], [NUM_ROWS * 6 // 10, NUM_ROWS * 3 // 10, NUM_ROWS // 10])
    return eq.read(pa.table({"x": values}), schema=SCHEMA)


def median(codes: Codes) -> Fraction:
    return Fraction(int(np.sort(codes[0])[codes.shape[1] // 2]), 2)


def most_common(codes: Codes) -> Fraction:
    return Fraction(int(np.bincount(codes[0]).max()), codes.shape[1])


def share_of(digit: int) -> Callable[[Codes], Fraction]:
    return lambda codes: Fraction(int((codes[0] == digit).sum()), codes.shape[1])


def catalogue(num_records: int = 3, **values: Callable[[Codes], Fraction | int]) -> Catalogue:
    each = tuple(Statistic(name, value, Fraction(1, NUM_ROWS)) for name, value in values.items())
    return Catalogue(each, num_records)


SHARES = {f"share {digit}": share_of(digit) for digit in range(3)}


def query_of(digit: int) -> Query:
    return Query((0,), (np.arange(3) == digit,))


def test_shares_of_single_records_are_the_queries_on_records() -> None:
    """Scores, weights and samples' laws of 7.4, for linear queries and n' = 1; and what is held of the truth."""
    tables, records = Tables(catalogue(1, **SHARES), SCHEMA), Records(SCHEMA, NUM_ROWS)
    assert (tables.units, tables.num_tables) == (records.units, 3)
    here, there = tables.scores(), records.scores()
    updates = [(0, -1), (1, 1), (1, 1), (2, -1)]
    here.add(updates)
    there.add([(query_of(digit), sign) for digit, sign in updates])
    for digit in range(3):
        assert here.weights(RATE).share(digit) == pytest.approx(there.weights(RATE).share(query_of(digit)), abs=1e-12)
    assert (here._sums == STEPS * there._sums).all()  # drawn at a scale that is STEPS times larger
    rows = PrivateRows(digits().batches(), (3,))
    held = rows.statistics([statistic.value for statistic in tables.statistics], tables.units)
    assert (reveal(held) == reveal(rows.count([query_of(digit) for digit in range(3)]))).all()


def test_a_session_on_shares_is_a_session_on_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same noise every answer, and every change of the hypothesis, is the same."""
    shares = Session.open(digits(), mode="pmw", catalogue=catalogue(1, **SHARES), **SETTINGS)
    queries = Session.open(digits(), mode="pmw", **SETTINGS)
    assert shares.plan.mode == queries.plan.mode == "pmw"
    assert shares.plan.events == queries.plan.events
    found = []
    for session, form in ((shares, "share {}"), (queries, "x = {}")):
        rng = np.random.default_rng(3)
        monkeypatch.setattr(KeyedNoise, "laplace", lambda _, __, scale, rng=rng: round(rng.laplace() * float(scale)))
        answers = [session.ask("ada", form.format(i % 3)) for i in range(30)]
        found.append([(answer.share, answer.source, answer.spent, answer.left) for answer in answers])
        assert {answer.source for answer in answers} == {"paid", "hypothesis"}
    assert found[0] == found[1]
    assert shares.status() == queries.status()
    assert shares.hypothesis().marginal((0,)) == pytest.approx(queries.hypothesis().marginal((0,)))


def test_the_median_of_three_digits_by_enumeration() -> None:
    tables = Tables(catalogue(3, median=median), SCHEMA)
    states = list(itertools.product(range(3), repeat=3))
    assert tables.num_tables == len(states) == 27
    medians = np.array([sorted(state)[1] / 2 for state in states])
    scores = tables.scores()
    scores.add([(0, -1)] * 5)
    weights = np.exp(float(RATE) * 5 * medians)
    weights /= weights.sum()
    found = scores.weights(RATE)
    assert found.weights == pytest.approx(weights, abs=1e-12)
    assert found.share(0) == pytest.approx(weights @ medians, abs=1e-12)
    digit_shares = [sum(w * s.count(d) / 3 for w, s in zip(weights, states, strict=True)) for d in range(3)]
    assert found.distribution().marginal((0,)) == pytest.approx(digit_shares)
    assert tables.uniform().marginal((0,)) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("mode", ["online", "pmw", "noise"])
def test_every_half_width_holds(mode: Any) -> None:
    """The share of the most common digit, 0.6, is no mean over records. All half-widths hold but with 30 of 3e9."""
    size = 100 if mode == "noise" else 10**9
    made = catalogue(3, most=most_common, **SHARES)
    session = Session.open(digits(), mode=mode, catalogue=made, **SETTINGS | {"queries_each": size})
    assert session.plan.mode == mode
    truth = {"most": 0.6, "share 0": 0.6, "share 1": 0.3, "share 2": 0.1}
    for i in range(30):
        answer = session.ask("ada", list(truth)[i % 4])
        assert answer.half_width is not None
        assert abs(answer.share - truth[answer.text]) <= answer.half_width
    statement = session.statement()
    assert statement["method"]["parameters"]["statistics"] == list(truth)
    assert any("1/20000 is the steward's word" in line for line in statement["outside_the_guarantee"])


def test_statistics_are_refused_beyond_toys() -> None:
    with pytest.raises(CapacityError, match=r"3 \*\* 13 tables of 13 records"):
        Session.open(digits(), catalogue=catalogue(13, median=median), **SETTINGS)
    with pytest.raises(SettingError, match="from 0 to 1"):
        Session.open(digits(), catalogue=catalogue(2, twice=lambda codes: 2 * median(codes)), **SETTINGS)
    with pytest.raises(SettingError, match="different names"):
        Catalogue((Statistic("m", median, Fraction(1)), Statistic("m", most_common, Fraction(1))), 1)
    with pytest.raises(SettingError, match="sensitivity"):
        Catalogue((Statistic("m", median, Fraction(0)),), 1)
    session = Session.open(digits(), catalogue=catalogue(2, median=median), **SETTINGS)
    for wrong in ("x = 1", query_of(1)):
        with pytest.raises(QueryError, match="by name: median"):
            session.ask("ada", wrong)
    assert session.status().analysts == {}


def test_a_statistic_that_fails_tells_nothing_of_the_table() -> None:
    def fails(codes: Codes) -> int:
        if codes.shape[1] > 2:
            raise ValueError(f"secret {int(codes.sum())}")
        return 1

    with pytest.raises(SettingError, match="has no value") as caught:
        Session.open(digits(), catalogue=catalogue(2, fails=fails), **SETTINGS)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def held_by(rows: PrivateRows, value: Any, units: int) -> int:
    return int(reveal(rows.statistics([value], units))[0])


def worst_ratio(held: Callable[[PrivateRows], int], epsilon: float) -> float:
    """Of any noisy value, between any two tables of three digits that differ in one: by enumeration of all pairs."""
    worst = 0.0
    for state in itertools.product(range(3), repeat=3):
        for digit in range(3):
            one, two = (
                held(PrivateRows([np.array([codes], dtype=np.uint8)], (3,))) for codes in (state, (digit, *state[1:]))
            )
            for seen in range(-8, 9):
                laws = [log_laplace_pmf(seen - value, 1 / epsilon) for value in (one, two)]
                worst = max(worst, abs(laws[0] - laws[1]))
    return worst


def test_one_record_moves_a_noisy_statistic_as_far_as_is_paid_for() -> None:
    """The median moves by 1 (of 1), a shifted share by 1/4 (and lies half-way between units)."""
    shifted = lambda codes: (share_of(0)(codes) * 3 + Fraction(1, 2)) / 4  # noqa: E731
    for value, units in ((median, 1), (shifted, 4)):
        assert worst_ratio(lambda rows, v=value, u=units: held_by(rows, v, u), 0.5) == pytest.approx(0.5)


def test_a_sensitivity_declared_too_small_and_rounding_to_even_are_caught() -> None:
    assert worst_ratio(lambda rows: held_by(rows, median, 2), 0.5) > 0.9
    # A count and a half, which a record moves by 1: to the nearest even number, 0.5 and 1.5 become 0 and 2.
    assert worst_ratio(lambda rows: round(int(reveal(rows.count([query_of(0)]))[0]) + 0.5), 0.5) > 0.9


def test_one_statistic_replaced_moves_a_sampled_table_as_far_as_is_paid_for() -> None:
    """Exact laws over the 27 tables: the log-likelihood moves in an interval of 2 rate; not in one of 1.4 rate."""
    tables = Tables(catalogue(3, median=median, most=most_common, **SHARES), SCHEMA)
    worst = 0.0
    for one, two in itertools.product(itertools.product(range(5), (1, -1)), repeat=2):
        laws = []
        for update in (one, two):
            scores = tables.scores()
            scores.add([(0, 1), (3, -1), update])
            laws.append(np.log(scores.weights(RATE).weights))
        worst = max(worst, float(np.ptp(laws[0] - laws[1])))
    assert 1.4 * RATE < worst <= 2 * RATE * (1 + 1e-9)


def test_a_statistic_beyond_one_would_move_it_further() -> None:
    """Negative control: twice the median, which `Tables` refuses, and its opposite are caught by the same bound."""
    tables = Tables(catalogue(3, median=median), SCHEMA)
    tables._values[0] = 2 * tables._values[0]
    laws = []
    for sign in (1, -1):
        scores = tables.scores()
        scores.add([(0, sign)])
        laws.append(np.log(scores.weights(RATE).weights))
    assert np.ptp(laws[0] - laws[1]) > 2 * RATE * 1.5


def test_the_plan_is_that_for_as_many_cells_as_tables() -> None:
    """Potential n' log|X|, noise in units of the sensitivity."""
    small = Session.open(digits(), mode="pmw", catalogue=catalogue(1, median=median), **SETTINGS)
    large = Session.open(digits(), mode="pmw", catalogue=catalogue(5, median=median), **SETTINGS)
    assert large.plan.half_width > small.plan.half_width
    ratio = large.plan.max_paid * large.plan.parameters["tau"] ** 2 / small.plan.max_paid
    assert ratio / small.plan.parameters["tau"] ** 2 == pytest.approx(5, rel=0.05)
    rough = dataclasses.replace(catalogue(1, median=median).statistics[0], sensitivity=Fraction(1, 10))
    assert (
        Session.open(digits(), mode="pmw", catalogue=Catalogue((rough,), 1), **SETTINGS).plan.parameters["units"] == 10
    )
    assert math.isclose(small.plan.paid_half_width, (small.plan.number("noise_reach") + 0.5) / NUM_ROWS)
