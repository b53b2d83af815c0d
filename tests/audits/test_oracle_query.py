"""OracleQuery's choice by a solver, on one bit: its law in closed form, what it tells of one record, less noise caught.

The queries are x and not x. The separators, "all ones but x" and the zero point, are the same point, so with c records
of n that have x, and a of n played, F(x) = a - c and F(not x) = c - a + S, where S is the sum of two noises: x is
chosen exactly when S >= 2 (a - c). A record moves c by 1, so the threshold by 2.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import signal
from tests.noise import SeededNoise

from equipoise.audit.book import MemoryBook
from equipoise.data.distributions import WeightedRows
from equipoise.data.domain import Domain
from equipoise.oracles.classes.branching import ByBranching
from equipoise.oracles.classes.workloads import WorkloadClass
from equipoise.privacy.accountant import Cost
from equipoise.privacy.gate import Gate
from equipoise.privacy.learner import Learner
from equipoise.privacy.perturbed import GRID
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.recorded import Recorded
from equipoise.queries.played import Played
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.oracle_response import OracleResponse

NUM_ROWS = 6
WORKLOAD = Workload(Domain(("x",), (2,)), (Group((0,), (2,), (np.array([[False, True]]),)),))
QUERIES = WorkloadClass.of(WORKLOAD)
LEARNER = Learner(QUERIES.query_class, "rspm", Fraction(1), Fraction(0), ByBranching(), NUM_ROWS)
PLENTY = Cost(Fraction(10**6), None, conditional_rho=Fraction(10**6))


def tail_of_the_sum(scale: float) -> np.ndarray:
    """Pr[S >= k] of the sum of two discrete Laplace noises, for k from -reach to reach."""
    reach = math.ceil(25 * scale)
    each = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    each /= each.sum()
    law = signal.fftconvolve(each, each)  # errors of 1e-15, far below the chances that are compared
    return np.asarray(law[::-1].cumsum()[::-1][reach : 3 * reach + 1])


def chance_of_x(tail: np.ndarray, ones: int, played: int) -> float:
    return float(tail[len(tail) // 2 + 2 * GRID * (played - ones)])


@pytest.mark.parametrize(("factor", "fails"), [(1.0, False), (0.4, True)])
def test_the_choice_tells_no_more_of_a_record_than_its_event_claims(factor: float, fails: bool) -> None:
    """On all pairs of neighbouring tables and all played records; with 0.4 of the noise, some pair tells more."""
    tail = tail_of_the_sum(float(LEARNER.event.scale) * factor)  # type: ignore[union-attr]
    worst = 0.0
    for played in range(NUM_ROWS + 1):
        chances = [chance_of_x(tail, ones, played) for ones in range(NUM_ROWS + 1)]
        for one, other in itertools.pairwise(chances):
            worst = max(worst, abs(math.log(one / other)), abs(math.log((1 - one) / (1 - other))))
    assert (worst > float(LEARNER.epsilon)) == fails
    assert worst > 0.3 * float(LEARNER.epsilon)


def share_of_x(ones: int, played: int, noise: SeededNoise, num_runs: int) -> float:
    """How often the real query player says x."""
    player = OracleResponse(NUM_ROWS, QUERIES, LEARNER)
    bits = (np.arange(NUM_ROWS) < ones).astype(np.int64)
    records = PrivatePoints(bits[:, None], np.full(NUM_ROWS, -1))
    state = player.init(Recorded(np.array([ones]), WORKLOAD, records))
    rows = WeightedRows(np.array([[0, 1]], dtype=np.uint8), np.array([NUM_ROWS - played, played]) / NUM_ROWS, (2,))
    said = 0
    for _ in range(num_runs):
        _, move = player.step(Gate(MemoryBook(PLENTY), noise=noise), state, Played(rows, WORKLOAD))
        said += int(move.signs[0]) > 0
    return said / num_runs


@pytest.mark.parametrize(("ones", "played"), [(6, 0), (1, 4)])
def test_the_real_query_player_has_that_law(ones: int, played: int) -> None:
    """600 runs: a share is off by more than 6.3 standard deviations with probability below 1e-9."""
    noise = SeededNoise(10 * ones + played)
    expected = chance_of_x(tail_of_the_sum(float(LEARNER.event.scale)), ones, played)  # type: ignore[union-attr]
    found = share_of_x(ones, played, noise, 600)
    assert found == pytest.approx(expected, abs=6.3 * 0.5 / math.sqrt(600))
