"""Best response in whole marginals: pick the marginal with the largest error, measure all of it.

All cells of a marginal cost twice what one cell costs (a replaced record leaves one and enters another), however
many they are: far more information for the price than the papers' single cells. A marginal's score is one of

    largest               the largest error of a cell: sensitivity one count
    agreement             of a pair, the largest error of how many records have both of two values or neither: twice a
                          cell's error where the columns' own counts are right, at the same sensitivity, so what two
                          columns have to do with one another is found for a quarter of the price; and, besides, how
                          far off it is likely to be by what was played (`likely_errors`)
    largest_less_noise    less what the noise of measuring it may be expected to leave: σ √(2 log 2m) for m cells, a
                          bound on the mean of the largest of m
    total_less_noise      the sum of all errors: sensitivity two counts (MECHANISMS section 10, item 7), less the
                          m σ √(2/π) that measuring would leave (mckenna2022aim, equation 1 in v2)

A marginal that could not be improved is then not picked in vain. What is taken off, or added, is public and the same
on neighbouring tables, so it changes no sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from equipoise.core import FloatArray, IntArray, Move
from equipoise.privacy import mechanisms
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.queries.queries import Queries
from equipoise.queries.workload import Workload
from equipoise.query_players.best_response import Seen, laplace_stddev

__all__ = ["BestMarginal", "MeasureAll", "PairScore", "Score", "likely_errors"]

Score: TypeAlias = Literal["largest", "largest_less_noise", "total_less_noise"]
PairScore: TypeAlias = Literal["agreement"]

LIKELY = 15.0
"""How much `likely_errors` count, in scales of the selection's noise: where that drowns the scores, what is likely
decides, and where it does not, the scores do. From 10 to 18 does as well."""


@dataclass(frozen=True)
class BestMarginal:
    """Select one marginal (or other group of the workload) a round and measure all of it.

    Attributes:
        num_rows: Records in the private table (public).
        sensitivity_squared: Squared L2 sensitivity that a measurement is charged for: the largest of any group.
        sensitivity: Its L1 counterpart, for the pure variant.
        selection_epsilon: Parameter of one selection.
        measurement_stddev: Standard deviation of the discrete Gaussian noise, in counts; None in the pure variant.
        measurement_epsilon: Pure epsilon of one measurement; None in the zCDP variant.
        score: See the module's docstring.
        repeats: Whether a measured marginal may be selected again.
        candidates: The marginals (numbers of groups) that may be selected; None: all.
    """

    num_rows: int
    sensitivity_squared: int
    sensitivity: int
    selection_epsilon: Fraction
    measurement_stddev: float | None = None
    measurement_epsilon: Fraction | None = None
    score: Score | PairScore = "largest"
    repeats: bool = False
    candidates: tuple[int, ...] | None = None

    def init(self, truth: Private) -> Seen:
        """Remember the truth."""
        return Seen(truth, np.zeros(0, dtype=np.int64))

    def step(self, gate: Gate, state: Seen, played: Played) -> tuple[Seen, Move]:
        """Select and measure in one transaction of the gate."""
        move = gate.play(lambda turn: self.draw(turn, state, played))
        return self.recall(state, played, move), move

    def draw(self, turn: Turn, state: Seen, played: Played) -> Move:
        """The move, in the making."""
        workload = played.workload
        counts = self.num_rows * played.answers
        scores = self._scores(state, counts, workload)
        if self.candidates is not None:
            scores = scores.take(np.array(self.candidates, dtype=np.int64))
        left = scores.ids if self.repeats else np.setdiff1d(scores.ids, state.measured)
        group = int(self._select(turn, scores.take(left) if len(left) else scores)[0])
        ids = np.arange(workload.starts[group], workload.starts[group + 1], dtype=np.int64)
        values, stddev = self._measure(turn, state.truth.take(ids))
        return Move(ids, np.sign(values - counts[ids]).astype(np.int64), values, stddev)

    def recall(self, state: Seen, played: Played, move: Move) -> Seen:
        """Remember which group a move measured."""
        return Seen(state.truth, np.union1d(state.measured, played.workload.group_of(move.ids[:1])))

    def _scores(self, state: Seen, counts: FloatArray, workload: Queries) -> Private:
        """One score a group, from what was played of all queries."""
        weights = workload.weights()
        if self.score == "agreement":
            assert isinstance(workload, Workload)
            scores = state.truth.agreements(counts, [group.shape for group in workload.groups])
            likely = likely_errors(counts / self.num_rows, workload)
            likely[state.measured] = 0.0  # measured again, it is no longer off for being guessed
            noise = 2.0 * float(weights.max(initial=1)) / float(self.selection_epsilon)
            return scores.weighted(weights[workload.starts[:-1]]).less(-LIKELY * noise * likely)
        errors = state.truth.distance(counts)
        if weights.max(initial=1) > 1:
            errors = errors.weighted(weights)
        scores = errors.sums(workload.starts) if self.score == "total_less_noise" else errors.maxima(workload.starts)
        if self.score == "largest":
            return scores
        return scores.less(weights[workload.starts[:-1]] * self._expected_noise(np.diff(workload.starts)))

    def _expected_noise(self, num_cells: IntArray) -> FloatArray:
        """What measuring would leave, in counts: of the largest error of so many cells, or of their sum."""
        if self.measurement_epsilon is not None:
            spread = float(self.sensitivity / self.measurement_epsilon)  # the mean absolute value of Laplace noise
            largest, each = spread * (1 + np.log(num_cells)), spread
        else:
            assert self.measurement_stddev is not None
            largest = self.measurement_stddev * np.sqrt(2 * np.log(2 * num_cells))
            each = self.measurement_stddev * math.sqrt(2 / math.pi)
        return np.asarray(each * num_cells if self.score == "total_less_noise" else largest, dtype=np.float64)

    def _select(self, turn: Turn, scores: Private) -> IntArray:
        if self.measurement_epsilon is not None:
            return mechanisms.select_pure(turn, scores, epsilon=self.selection_epsilon)
        return mechanisms.select(turn, scores, epsilon=self.selection_epsilon)

    def _measure(self, turn: Turn, counts: Private) -> tuple[IntArray, float]:
        if self.measurement_epsilon is not None:
            values = mechanisms.measure_pure(turn, counts, epsilon=self.measurement_epsilon, at_least=self.sensitivity)
            return values, laplace_stddev(self.sensitivity / self.measurement_epsilon)
        assert self.measurement_stddev is not None
        values = mechanisms.measure(turn, counts, stddev=self.measurement_stddev, at_least=self.sensitivity_squared)
        return values, self.measurement_stddev


def likely_errors(played: FloatArray, workload: Workload) -> FloatArray:
    """For each marginal, how far off a fit is likely to be that plays these shares, relative to others; 0 if no pair.

    A fit to noisy measurements does not go all of the way, so it is most off where columns depend most, as far as it
    knows, and where their own distributions leave room for that: the geometric mean of the distance of the pair from
    independence and of the largest product of two values' standard deviations.

    Example:
        >>> from equipoise.data.domain import Domain
        >>> from equipoise.queries.workload import Group
        >>> pair = Workload(Domain(("a", "b"), (2, 2)), (Group((0, 1), (2, 2)),))
        >>> likely_errors(np.array([0.5, 0.0, 0.0, 0.5]), pair), likely_errors(np.full(4, 0.25), pair)
        (array([0.35355339]), array([0.]))
    """
    likely = np.zeros(len(workload.groups))
    for number, group in enumerate(workload.groups):
        if len(group.columns) == 2:
            pair = played[workload.starts[number] : workload.starts[number + 1]].reshape(group.shape)
            a, b = pair.sum(axis=1), pair.sum(axis=0)
            distance = 0.5 * np.abs(pair - np.multiply.outer(a, b)).sum()
            room = math.sqrt(max((a * (1.0 - a)).max() * (b * (1.0 - b)).max(), 0.0))
            likely[number] = math.sqrt(distance * room)
    return likely


@dataclass(frozen=True)
class MeasureAll:
    """Measure every query of the workload at once: when the budget allows, there is nothing to select.

    Attributes:
        num_rows: Records in the private table (public).
        measurement_stddev: Standard deviation of the discrete Gaussian noise, in counts; None in the pure variant.
        measurement_epsilon: Pure epsilon of the whole measurement; None in the zCDP variant.
    """

    num_rows: int
    measurement_stddev: float | None = None
    measurement_epsilon: Fraction | None = None

    def init(self, truth: Private) -> Private:
        """Remember the truth."""
        return truth

    def step(self, gate: Gate, state: Private, played: Played) -> tuple[Private, Move]:
        """Measure everything in one transaction of the gate."""
        counts = self.num_rows * played.answers

        def draw(turn: Turn) -> Move:
            if self.measurement_epsilon is not None:
                values = mechanisms.measure_pure(turn, state, epsilon=self.measurement_epsilon)
                stddev = laplace_stddev(state.norms.l1 / self.measurement_epsilon)
            else:
                assert self.measurement_stddev is not None
                stddev = self.measurement_stddev
                values = mechanisms.measure(turn, state, stddev=stddev)
            return Move(state.ids, np.sign(values - counts).astype(np.int64), values, stddev)

        return state, gate.play(draw)

    def recall(self, state: Private, played: Played, move: Move) -> Private:
        """Nothing to remember but the truth."""
        return state
