"""What the rounds of Algorithm 4 and the hits of Algorithm 5 tell of one record: enumerated, and made many times.

Rounds: the product's own game, an analyst drawn under the cap and then one of their queries; only the samplers are
scripted. Hits: the product's own tests and noise against the closed form of discrete Laplace noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from tests.analysts import Charged
from tests.audits.test_analyst_adjacency import BIT, ONE, ORDERS
from tests.games import bits

from equipoise.analysts import hypotheses
from equipoise.analysts.game import play_records
from equipoise.audit.sampling import epsilon_bound
from equipoise.core import FloatArray, IntArray, silent
from equipoise.privacy import capped
from equipoise.privacy.accountant import cost
from equipoise.privacy.capped import SLACK, CappedDraws
from equipoise.privacy.conditional import WindowTest
from equipoise.privacy.events import CappedHedge as Event
from equipoise.privacy.events import ConditionalRelease
from equipoise.privacy.keyed_noise import KeyedNoise, new_secret
from equipoise.privacy.private_rows import PrivateRows
from equipoise.query_players.capped_hedge import CappedHedge

QUERIES = [BIT, ONE, BIT, ONE]
OWNERS = np.array([0, 0, 1, 2])
"""The first analyst has two queries, the others one each; each query comes with its negation."""
NUM_ROWS, NUM_ROUNDS, RATE = 5, 2, Fraction(4, 5)
EVENT = Event(RATE / NUM_ROWS, NUM_ROUNDS, 2, SLACK)


class _Needed(Exception):
    """The script is too short: so many outcomes might follow."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Script:
    """Stands for both samplers: what is drawn is scripted, and the laws' log-probabilities are added up."""

    def __init__(self) -> None:
        self.left: list[int] = []
        self.log_probability = 0.0

    def _next(self, law: FloatArray) -> int:
        if not self.left:
            raise _Needed(len(law))
        chosen = self.left.pop(0)
        self.log_probability += math.log(law[chosen] / law.sum())
        return chosen

    def proportional(self, shares: FloatArray) -> int:
        return self._next(shares)

    def cells(self, scores: IntArray, scale: float, _: int) -> IntArray:
        return np.array([self._next(np.exp((scores - scores.max()) / scale))])


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    made = Script()
    monkeypatch.setattr(capped, "draw_proportional", made.proportional)
    monkeypatch.setattr(hypotheses, "draw", made.cells)
    return made


def _play(script: Script, path: list[int], ones: int, kind: type[CappedDraws]) -> float:
    script.left, script.log_probability = list(path), 0.0
    rows = PrivateRows([(np.arange(NUM_ROWS) < ones).astype(np.uint8)[None, :]], (2,))
    draws = kind(
        Charged(EVENT), rows.count(QUERIES), num_rows=NUM_ROWS, density=2, owners=OWNERS, num_actions=OWNERS.max() + 1
    )
    player = CappedHedge(draws, QUERIES, (2,))
    play_records(player, QUERIES, shape=(2,), rules=None, rate=RATE, num_rounds=NUM_ROUNDS, progress=silent)
    return script.log_probability


def _paths(script: Script, prefix: list[int]) -> Iterator[list[int]]:
    """Every transcript of the game, the analysts drawn and their queries among it."""
    try:
        _play(script, prefix, 0, CappedDraws)
        yield prefix
    except _Needed as needed:
        for outcome in range(needed.number):
            yield from _paths(script, [*prefix, outcome])


class ThreeTimesTheRate(CappedDraws):
    """Negative control: exponents three times as large as is paid for."""

    def exponents(self, sums: FloatArray, num_updates: int) -> FloatArray:
        return 3 * super().exponents(sums, num_updates)


def _worst(script: Script, kind: type[CappedDraws]) -> tuple[float, float]:
    """The largest D_a/a and log-ratio between neighbours, of all tables of five bits."""
    paths = list(_paths(script, []))
    laws = [np.array([_play(script, path, ones, kind) for path in paths]) for ones in range(NUM_ROWS + 1)]
    for law in laws:
        assert np.exp(law).sum() == pytest.approx(1, abs=1e-9)
    pairs = [(a, b) for one, two in itertools.pairwise(laws) for a, b in ((one, two), (two, one))]
    rho = max(np.logaddexp.reduce(o * a + (1 - o) * b) / (o - 1) / o for a, b in pairs for o in ORDERS)
    return float(rho), max(float(np.abs(a - b).max()) for a, b in pairs)


def test_rounds_by_analysts_cost_people_at_most_what_is_charged(script: Script) -> None:
    charged = cost(EVENT)
    rho, pure = _worst(script, CappedDraws)
    assert 0.1 * float(charged.rho) < rho <= float(charged.rho)
    assert 0.2 * float(charged.epsilon or 0) < pure <= float(charged.epsilon or 0)


def test_rounds_by_analysts_at_a_larger_rate_are_caught(script: Script) -> None:
    charged = cost(EVENT)
    rho, pure = _worst(script, ThreeTimesTheRate)
    assert rho > float(charged.rho)
    assert pure > float(charged.epsilon or 0)


EPSILON, LOW, HIGH = Fraction(1), 8, 12


def _miss(count: int, epsilon: float) -> float:
    """Pr[LOW <= count + Z <= HIGH], Z discrete Laplace."""
    law = np.exp(-epsilon * np.abs(np.arange(LOW, HIGH + 1) - count)) * math.tanh(epsilon / 2)
    return float(law.sum())


def test_a_hit_tells_its_epsilon_at_most_whatever_the_count() -> None:
    """Both outcomes, at every distance from the window; with half the noise it is more."""
    for factor, fails in ((1.0, False), (2.0, True)):
        misses = np.array([_miss(count, factor * float(EPSILON)) for count in range(-20, 41)])
        worst = max(float(np.abs(np.diff(law)).max()) for law in (np.log(misses), np.log1p(-misses)))
        assert (worst > float(EPSILON) + 1e-9) == fails


def _hits(ones: int, num_runs: int, scale: float = 1.0) -> FloatArray:
    paid = ConditionalRelease(EPSILON / Fraction(scale), num_runs, Fraction(1, 10**9))
    tests = WindowTest(Charged(paid), KeyedNoise(new_secret()))
    count = bits(ones, 20).truth().take(np.array([1]))
    found = [tests.test(count, ("ada", i), low=LOW, high=HIGH) is not None for i in range(num_runs)]
    return np.array(found, dtype=np.float64)


def test_the_real_hits_have_that_law_and_tell_no_more() -> None:
    """20,000 tests of a count at the window's edge and of its neighbour: a share is off by more than 6.3 standard
    deviations with probability below 1e-9, the bound fails with 1e-10. With .4 of the noise the shares
    are .924 and .076: not seeing 1 means both missed by 40 standard deviations and more."""
    worlds = [_hits(ones, 20_000) for ones in (13, 12)]
    for ones, found in zip((13, 12), worlds, strict=True):
        assert 1 - found.mean() == pytest.approx(_miss(ones, float(EPSILON)), abs=6.3 * 0.5 / math.sqrt(20_000))
    assert 0.3 < epsilon_bound(*worlds, delta=0.0) <= 1
    control = [_hits(ones, 20_000, scale=0.4) for ones in (13, 12)]
    assert epsilon_bound(*control, delta=0.0) > 1
