"""Capped weights: the projection, what it hides, what it costs, and that draws have its law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from tests.analysts import Charged
from tests.games import bits

from equipoise.errors import LedgerError, SettingError
from equipoise.privacy import Private
from equipoise.privacy import capped as module
from equipoise.privacy.accountant import cost
from equipoise.privacy.capped import SLACK, CappedDraws, capped, draw_proportional
from equipoise.privacy.events import CappedHedge, Event
from equipoise.privacy.private_rows import PrivateRows
from equipoise.queries.query import Query

weights = st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=12).map(np.array)


@given(weights, st.floats(0.1, 0.95), st.floats(1e-3, 1e3))
def test_the_projection_adds_up_is_capped_and_ignores_scale(measure: np.ndarray, share: float, factor: float) -> None:
    density = share * len(measure)
    found = capped(measure, density)
    assert found.sum() == pytest.approx(density, rel=1e-9)
    assert found.max() <= 1
    assert capped(measure * factor, density) == pytest.approx(found, rel=1e-9)


def test_the_projection_is_nearest_in_divergence() -> None:
    """A convex solver agrees (MECHANISMS 3.2 iv)."""
    measure = np.array([4.0, 2.0, 1.0, 0.5, 0.25])
    found = capped(measure, 2.5)
    solved = optimize.minimize(
        lambda a: float((a * np.log(a / measure) - a).sum()),
        np.full(5, 0.5),
        jac=lambda a: np.log(a / measure),
        bounds=[(1e-9, 1)] * 5,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 2.5},
        tol=1e-12,
    )
    assert found == pytest.approx(solved.x, abs=1e-5)


@given(weights, st.floats(0.1, 0.95), st.floats(0.01, 1.0), st.integers(0, 2**32 - 1))
def test_lemma_b_the_log_ratio_spans_twice_the_shift(measure: np.ndarray, share: float, h: float, seed: int) -> None:
    density = share * len(measure)
    moved = measure * np.exp(np.random.default_rng(seed).uniform(-h, h, len(measure)))
    ratio = np.log(capped(measure, density) / capped(moved, density))
    assert np.ptp(ratio) <= 2 * h + 1e-9
    assert np.abs(ratio).max() <= 2 * h + 1e-9


others = st.lists(st.floats(1e-3, 1e3), max_size=3).map(np.array)


@given(weights, others, others, st.floats(0.3, 0.95))
def test_lemma_c_actions_are_hidden_among_the_density(
    shared: np.ndarray, mine: np.ndarray, theirs: np.ndarray, share: float
) -> None:
    """Some actions replaced by others, added or removed: at most k/s, k the larger number of them."""
    density = share * len(shared)
    laws = [capped(np.append(shared, own), density) / density for own in (mine, theirs)]
    common = np.abs(laws[0][: len(shared)] - laws[1][: len(shared)]).sum()
    distance = (common + laws[0][len(shared) :].sum() + laws[1][len(shared) :].sum()) / 2
    assert distance <= max(len(mine), len(theirs)) / density + 1e-9


def test_draws_follow_their_floats_exactly() -> None:
    """Chi-square of 40,000 draws fails by chance with probability 1e-10; half the smallest share is seen."""
    shares = np.array([1.0, 0.5, 0.25, 0.25, 0.1])
    found = np.bincount([draw_proportional(shares) for _ in range(40_000)], minlength=5)
    assert stats.chisquare(found, 40_000 * shares / shares.sum()).pvalue > 1e-10
    shares[-1] /= 2
    assert stats.chisquare(found, 40_000 * shares / shares.sum()).pvalue < 1e-10


def draws(event: Event, truth: Private | None = None, *, owners: np.ndarray | None = None) -> CappedDraws:
    game = bits(3, 10)
    return CappedDraws(Charged(event), truth or game.truth(), num_rows=10, density=1.5, owners=owners, num_actions=4)


def test_nothing_is_drawn_that_was_not_paid_for() -> None:
    paid = CappedHedge(Fraction(1, 10), 2, 1, SLACK)
    game = draws(paid)
    game.draw(np.zeros(2), 0)
    game.draw(np.ones(2), 1)
    with pytest.raises(SettingError, match="paid for"):
        game.draw(np.ones(2), 2)
    with pytest.raises(LedgerError, match="not been charged"):
        draws(CappedHedge(Fraction(1, 10), 2, 2, SLACK))
    with pytest.raises(LedgerError, match="not been charged"):
        draws(paid, owners=np.zeros(2, dtype=np.int64))


def test_the_price_is_that_of_the_ranges() -> None:
    """T = n = 1000 at the rate of the theorem: 0.00075285 (MECHANISMS, golden values), but for the slack."""
    eta = Fraction(1 / (2 * (1000 * np.log(1e6)) ** 0.5))
    price = cost(CappedHedge(eta / 1000, 1000, 1, SLACK))
    exact = float(eta) ** 2 * 999 * 1000 * 1999 / (48 * 1000**2)
    assert float(price.rho) == pytest.approx(exact, rel=1e-3)
    assert float(price.rho) >= exact
    assert exact == pytest.approx(0.00075285, rel=2e-3)


def laws(
    monkeypatch: pytest.MonkeyPatch, masks: list[list[int]], owners: list[int] | None, *, density: float
) -> np.ndarray:
    """The exact law of a draw after one update, of queries on a digit and then of negations."""
    rows = PrivateRows([np.array([[0] * 5 + [1] * 3 + [2] * 2], dtype=np.uint8)], (3,))
    queries = [Query((0,), (np.array(mask, dtype=bool),)) for mask in masks]
    paid = Charged(CappedHedge(Fraction(1, 5), 2, 1 if owners is None else 2, SLACK))
    owned = None if owners is None else np.array(owners)
    num_actions = 2 * len(queries) if owners is None else max(owners) + 1
    game = CappedDraws(paid, rows.count(queries), num_rows=10, density=density, owners=owned, num_actions=num_actions)
    answers = np.array([mask[2] for mask in masks], dtype=np.float64)
    found = np.zeros(2 * len(queries))
    for first in range(num_actions):
        seen: list[np.ndarray] = []

        def scripted(shares: np.ndarray, first: int = first, seen: list[np.ndarray] = seen) -> int:
            seen.append(shares / shares.sum())
            return first if len(seen) == 1 else 0

        monkeypatch.setattr(module, "draw_proportional", scripted)
        game.draw(answers, 1)
        if owned is None:
            return seen[0]
        found[np.flatnonzero(np.tile(owned, 2) == first)] = seen[0][first] * seen[1]
    return found


MASKS = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]


def test_analysts_of_one_query_each_are_the_game_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no cap binds, the two games draw alike (MECHANISMS 7.3)."""
    queries = laws(monkeypatch, MASKS, None, density=1)
    analysts = laws(monkeypatch, MASKS, list(range(6)), density=1)
    assert analysts == pytest.approx(queries, rel=1e-12)
    assert queries.sum() == pytest.approx(1)


def test_an_analyst_is_capped_and_other_queries_leave_theirs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = [0, 0, 1, 1, 2, 3]
    for density in (1.5, 3.9):
        here = laws(monkeypatch, MASKS, owners, density=density)
        there = laws(monkeypatch, [[0, 0, 1], [0, 1, 0], *MASKS[2:]], owners, density=density)
        blocks = [np.bincount(np.tile(owners, 2), weights=law) for law in (here, there)]
        assert max(block.max() for block in blocks) <= 1 / density * (1 + 1e-12)
        others = np.tile(np.array(owners) > 0, 2)
        owner_of = np.tile(owners, 2)[others]
        within = [law[others] / block[owner_of] for law, block in zip((here, there), blocks, strict=True)]
        assert within[0] == pytest.approx(within[1], rel=1e-12)
        assert 0.5 * np.abs(blocks[0] - blocks[1]).sum() <= 1 / density


def test_added_actions_are_drawn_as_often_as_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any update all actions weigh the same: two queries with their negations, and three that were added."""
    seen: list[np.ndarray] = []

    def last(shares: np.ndarray) -> int:
        seen.append(shares / shares.sum())
        return len(shares) - 1

    monkeypatch.setattr(module, "draw_proportional", last)
    paid = Charged(CappedHedge(Fraction(1, 10), 2, 1, SLACK))
    game = CappedDraws(paid, bits(3, 10).truth(), num_rows=10, density=1.5, owners=None, num_actions=7)
    assert game.draw(np.zeros(2), 0) is None
    assert seen[0] == pytest.approx(np.array([1, 1, 1, 1, 3]) / 7)
    whole = CappedDraws(paid, bits(3, 10).truth(), num_rows=10, density=1.5, owners=None, num_actions=4)
    assert whole.draw(np.zeros(2), 0) == 3
    assert seen[1] == pytest.approx(np.full(4, 1 / 4))


def test_the_exponents_are_half_the_rate_times_what_was_played_too_little() -> None:
    """Three records of ten have x = 1: of x and then of its negation (t c - n sum q(x)) rate/2."""
    game, rows = draws(CappedHedge(Fraction(1, 10), 3, 1, SLACK)), bits(3, 10)
    counts, sums = rows.counts(), np.array([0.5, 1.25])
    payoffs = 2 * counts - 10 * sums
    assert game.exponents(sums, 2) == pytest.approx(np.concatenate([payoffs, -payoffs]) / 20, abs=1e-6)


def test_added_actions_are_capped_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine of ten actions are added and weigh little: the cap of the tenth leaves them the rest, each alike."""
    seen: list[np.ndarray] = []
    monkeypatch.setattr(module, "draw_proportional", lambda shares: seen.append(shares / shares.sum()) or 0)
    paid = Charged(CappedHedge(Fraction(10), 2, 1, SLACK))
    game = CappedDraws(paid, bits(3, 10).truth(), num_rows=10, density=4, owners=None, num_actions=24)
    game.draw(np.array([0.0, 1.0]), 1)
    assert seen[0][:4].max() == pytest.approx(1 / 4)
    assert seen[0].sum() == pytest.approx(1)
    actions = np.exp(game.exponents(np.array([0.0, 1.0]), 1))
    capped_all = capped(np.append(actions, np.ones(20)), 4)
    assert seen[0][-1] == pytest.approx(capped_all[4:].sum() / capped_all.sum())


def test_a_density_of_all_actions_or_none_is_refused() -> None:
    assert capped(np.ones(4), 3.99).sum() == pytest.approx(3.99)
    for density in (4.0, 5.0, 0.0, -1.0):
        with pytest.raises(SettingError, match="density"):
            capped(np.ones(4), density)
    assert capped(np.ones(2), 3.0, np.array([2, 2])) == pytest.approx(np.full(2, 0.75))


def test_a_proposal_is_kept_with_its_exact_share_of_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares 1 and .3: bounds floor(2^40 p) + 1; the second proposal is a share .3 2^40 of its bound."""
    first, second = 2**40 + 1, int(0.3 * 2**40) + 1
    kept = Fraction(0.3) * 2**40 / second
    asked: list[int] = []
    script = iter([first, kept.numerator, first, kept.numerator - 1, first - 1, 0])

    def below(limit: int) -> int:
        asked.append(limit)
        return next(script)

    monkeypatch.setattr(module.secrets, "randbelow", below)
    assert draw_proportional(np.array([10.0, 3.0])) == 1, "thrown away once, then kept"
    assert draw_proportional(np.array([10.0, 3.0])) == 0
    whole, share = first + second, Fraction(2**40, first)
    assert asked == [whole, kept.denominator, whole, kept.denominator, whole, share.denominator]
