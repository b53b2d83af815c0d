"""The games of rounds with analysts on toys: the sign, the repair, what is enumerated, what the printed versions do."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.analysts import Charged

from equipoise.analysts import hypotheses
from equipoise.analysts.game import play_records
from equipoise.analysts.per_query import printed, theory
from equipoise.core import FloatArray, IntArray, silent
from equipoise.privacy import Private
from equipoise.privacy import capped as privacy_capped
from equipoise.privacy.accountant import cost, epsilon_of
from equipoise.privacy.capped import SLACK, CappedDraws, capped
from equipoise.privacy.events import CappedHedge as Event
from equipoise.privacy.private_rows import PrivateRows
from equipoise.queries.query import Query
from equipoise.query_players.capped_hedge import CappedHedge

SHAPE = (2, 2, 2)
RATE, NUM_ROUNDS = 0.05, 6000


class PrintedSign(CappedDraws):
    """Negative control: the update as printed, exp(-(eta/2)(q(P) - q(x))) (E-004-2)."""

    def exponents(self, sums: FloatArray, num_updates: int) -> FloatArray:
        return -super().exponents(sums, num_updates)


def cells_of(columns: tuple[int, ...]) -> list[Query]:
    """All cells of a marginal of bits."""
    return [
        Query(columns, tuple(np.arange(2) == bit for bit in codes))
        for codes in itertools.product((0, 1), repeat=len(columns))
    ]


def toy(ones: float = 0.9, equal: tuple[float, float] = (0.9, 0.8), num_rows: int = 2000) -> PrivateRows:
    """Three bits, mostly one and mostly equal to each other."""
    rng = np.random.default_rng(7)
    a = rng.random(num_rows) < ones
    b = np.where(rng.random(num_rows) < equal[0], a, ~a)
    c = np.where(rng.random(num_rows) < equal[1], b, ~b)
    return PrivateRows([np.stack([a, b, c]).astype(np.uint8)], SHAPE)


def errors(
    kind: type[CappedDraws],
    queries: list[Query],
    rows: PrivateRows,
    *,
    rate: float,
    num_rounds: int,
    density: float,
    owners: np.ndarray | None,
) -> FloatArray:
    eta = Fraction(rate)
    draws = kind(
        Charged(Event(eta / rows.num_rows, num_rounds, 1 if owners is None else 2, SLACK)),
        rows.count(queries),
        num_rows=rows.num_rows,
        density=density,
        owners=owners,
        num_actions=2 * len(queries) if owners is None else int(owners.max()) + 1,
    )
    _, shares = play_records(
        CappedHedge(draws, queries, SHAPE),
        queries,
        shape=SHAPE,
        rules=None,
        rate=eta,
        num_rounds=num_rounds,
        progress=silent,
    )
    truth = np.array([int(query.selects(rows._codes) @ rows._counts) for query in queries]) / rows.num_rows
    return np.abs(shares - truth)


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> np.random.Generator:
    """The laws of both players' draws from a seeded generator, so that a game is the same in every run."""
    rng = np.random.default_rng(11)

    def cells(scores: IntArray, scale: float, num_draws: int) -> IntArray:
        return rng.choice(len(scores), num_draws, p=softmax(scores / scale)).astype(np.int64)

    monkeypatch.setattr(
        privacy_capped, "draw_proportional", lambda shares: rng.choice(len(shares), p=shares / shares.sum())
    )
    monkeypatch.setattr(hypotheses, "draw", cells)
    return rng


def softmax(exponents: FloatArray) -> FloatArray:
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.usefixtures("seeded")
def test_the_plus_sign_learns_and_the_printed_one_diverges() -> None:
    """Seen: 0.007 and 0.88; with six other seeds 0.009 to 0.018, and 0.88 (the toy of E-004-2: 0.015 and 0.88)."""
    queries = cells_of((0, 1)) + cells_of((1, 2)) + cells_of((0, 2))
    rows = toy(0.95, (0.93, 0.85))
    learnt = errors(CappedDraws, queries, rows, rate=RATE, num_rounds=NUM_ROUNDS, density=2, owners=None)
    assert learnt.max() < 0.02
    lost = errors(PrintedSign, queries, rows, rate=RATE, num_rounds=NUM_ROUNDS, density=2, owners=None)
    assert lost.max() == pytest.approx(0.88, abs=0.02)


BLOCKS = [cells_of((0, 1, 2)), *[cells_of((column,)) for column in (0, 1, 2, 0, 1)]]
"""Six analysts, one of them with hard queries."""
OWNERS = np.repeat(np.arange(len(BLOCKS)), [len(block) for block in BLOCKS])
OWNED = [query for block in BLOCKS for query in block]


def worst_analyst(found: FloatArray) -> float:
    return max(float(found[owner == OWNERS].max()) for owner in range(len(BLOCKS)))


@pytest.mark.usefixtures("seeded")
def test_capping_analysts_serves_the_worst_of_them() -> None:
    """Seen: 0.011, with six other seeds up to 0.022; the printed game is 0.32 off (of E-004-4: 0.05 and 0.31)."""
    found = errors(CappedDraws, OWNED, toy(), rate=RATE, num_rounds=NUM_ROUNDS, density=2, owners=OWNERS)
    assert worst_analyst(found) <= 0.06


def test_the_printed_game_of_algorithm_4_leaves_the_worst_analyst_far_off(seeded: np.random.Generator) -> None:
    """G(x, id) = max_q (1 + q(P) - q(x))/2, sign repaired: its best record answers no mixture of records (E-004-4)."""
    rows = toy()
    records = np.array(list(itertools.product((0, 1), repeat=3))).T
    answers = np.array([query.selects(records) for query in OWNED], dtype=np.float64)
    truth = np.array([int(query.selects(rows._codes) @ rows._counts) for query in OWNED]) / rows.num_rows
    distances = np.abs(truth[:, None] - answers)  # the larger of a query's and its negation's
    payoffs = np.array([(1 + distances[owner == OWNERS].max(axis=0)) / 2 for owner in range(len(BLOCKS))])
    analysts, weights = np.zeros(len(BLOCKS)), np.zeros(len(records.T))
    played = np.zeros(len(records.T))
    for _ in range(NUM_ROUNDS):
        drawn = seeded.choice(len(BLOCKS), p=capped(softmax(analysts), 2) / 2)
        weights -= RATE * payoffs[drawn]
        record = seeded.choice(len(weights), p=softmax(weights))
        analysts += RATE * payoffs[:, record]
        played[record] += 1
    assert worst_analyst(np.abs(answers @ played / NUM_ROUNDS - truth)) > 0.31


def test_two_rounds_cost_what_is_charged_by_enumeration() -> None:
    """|X| = 2, the queries x and 1 with negations, s = 2: the log-ratio of the second draw is at most eta/n (iv)."""
    rate, n = 0.8, 5
    queries = [Query((0,), (np.array([False, True]),)), Query((0,), (np.array([True, True]),))]
    laws = []
    for ones in range(n + 1):
        counts = np.array([ones, n])
        law = {}
        for record in (0, 1):
            answers = np.array([record, 1.0])
            payoff = counts / n - answers
            exponents = rate / 2 * np.concatenate([payoff, -payoff])
            law[record] = capped(np.exp(exponents), 2) / 2
        laws.append(law)
        # The mechanism's own exponents are these.
        truth = Private(counts, PrivateRows([np.zeros((1, n), dtype=np.uint8)], (2,)).count(queries)._source)
        draws = CappedDraws(
            Charged(Event(Fraction(rate) / n, 2, 1, SLACK)), truth, num_rows=n, density=2, owners=None, num_actions=4
        )
        assert draws.exponents(answers, 1) == pytest.approx(exponents, abs=1e-3 * rate)
    worst = 0.0
    for one, two in itertools.pairwise(laws):
        for record in (0, 1):
            ratio = np.log(one[record] / two[record])
            worst = max(worst, np.abs(ratio).max(), np.ptp(ratio))
    charged = cost(Event(Fraction(rate) / n, 2, 1, SLACK))
    assert worst <= float(charged.epsilon or 0) <= rate / n + 1e-6
    assert worst > 0.5 * rate / n  # half the price would not do


def test_the_printed_parameters_of_algorithm_3_do_not_protect_people() -> None:
    """E-004-1: at epsilon 1, delta 1e-6 the game needs 0.59, 1.51, 3.09 by the simple conversion; 1/3 is allowed."""
    delta = 1e-6 / 3
    for cells, expected in ((2**4, 0.59), (2**10, 1.51), (2**20, 3.09)):
        rho = printed(num_rows=1000, num_cells=cells, epsilon=1.0, delta=1e-6)["rho"]
        assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) == pytest.approx(expected, abs=0.01)
        assert epsilon_of(rho=rho, delta=delta) > 1 / 3
    assert epsilon_of(rho=theory(num_rows=1000, epsilon=1.0, delta=1e-6)["rho"], delta=delta) < 1 / 3


def losses(num_rounds: int, num_runs: int) -> np.ndarray:
    """Log-ratios of transcripts of Algorithm 3 at the printed rate for that many rounds, 500 or 501 of 1,000 records 1.

    The queries are so many copies of x, and of its negation, that no cap binds: only which of the two is drawn matters.
    The data player's records are no look at the table (E-004-1; the sign of E-004-2 repaired).
    """
    eta, rng = 1 / (2 * math.sqrt(num_rounds * math.log(1e6))), np.random.default_rng(0)
    ones, drawn, loss = np.zeros(num_runs), np.zeros(num_runs), np.zeros(num_runs)
    for t in range(num_rounds):
        here, there = (1 / (1 + np.exp(-eta * (t * share - ones))) for share in (0.5, 0.501))
        is_x = rng.random(num_runs) < here
        loss += np.log(np.where(is_x, here / there, (1 - here) / (1 - there)))
        drawn += np.where(is_x, 1, -1)
        ones += rng.random(num_runs) < 1 / (1 + np.exp(-eta / 2 * drawn))
    return loss


def test_the_printed_rounds_of_algorithm_3_are_found_out_by_playing_them() -> None:
    """E-004-1: (1/3, 3.3e-7) is claimed; of 1,000 games about 73 are the delta at 1/3, so to see fewer than 10 has
    probability below 1e-18. With n rounds the loss has standard deviation .04: one game beyond 1/3, below 1e-13."""
    found = losses(11_877, 1000)
    assert np.maximum(0, -np.expm1(1 / 3 - found)).sum() > 10
    assert found.mean() == pytest.approx(0.1064, abs=0.1)  # 7 standard deviations of the mean
    assert losses(1000, 1000).max() < 1 / 3


def test_an_epoch_lowers_the_divergence_and_a_flipped_sign_fails() -> None:
    """KL(P|D) - KL(P|D') >= eta (u(D) - u(P)) - eta^2/2 for u the mean of at most s signed queries (7.4 ii)."""
    rng = np.random.default_rng(0)
    failed = 0
    for _ in range(500):
        truth, here = rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(8))
        eta = rng.uniform(0.01, 0.5)
        queries = rng.integers(0, 2, size=(5, 8))
        signs = np.where(queries @ here > queries @ truth, 1, -1)
        mean = (signs[:, None] * queries).mean(axis=0)
        for direction in (1, -1):
            there = here * np.exp(-direction * eta * mean)
            there /= there.sum()
            drop = float((truth * np.log(there / here)).sum())
            holds = drop >= eta * float(mean @ here - mean @ truth) - eta**2 / 2 - 1e-12
            assert holds or direction == -1
            failed += not holds
    assert failed > 100


def test_the_printed_game_of_algorithm_4_has_not_the_value_that_its_proof_needs() -> None:
    """E-004-4: X = {0, 1}, P = (1/2, 1/2), one analyst with x and not x: 3/4 whatever is played, not 1/2.

    With the maximum outside the mean over records, as here, the uniform distribution has the value 1/2.
    """
    answers = np.array([[0.0, 1.0], [1.0, 0.0]])  # x and not x, on the records 0 and 1
    payoffs = (1 + 0.5 - answers) / 2
    assert payoffs.max(axis=0).tolist() == [0.75, 0.75]
    assert (payoffs @ np.array([0.5, 0.5])).max() == 0.5
