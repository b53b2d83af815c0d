"""A mixture of products and public tables, pooled by what each is worth: the data player of `mixture_pub`.

Every source is a guess at the private table, and is worth as many records as a sample that would be as far off:

- the mixture, fitted to what was measured (`mixture`): what its error is expected to be, from public facts alone;
- each public table: how far it is off, by the measurements, noise aside (`public_support.trusted_rows`); never more
  than its own number of rows. So a table of other people loses its say as the measurements contradict it.

The pool of all their rows, weighted by worth, is then tilted towards the measurements, against a penalty of the pool's
whole worth times the divergence from it (`entropy_projection`). Rows of the mixture are everywhere, so no support
limits the pool; a tilt moves weight between sources where one of them is wrong.

A public row that lacks columns is completed by the mixture: its other values are drawn given those it has.
Post-processing of the moves, all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from equipoise.core import Codes, Conclusion, Distribution, FloatArray, IntArray, Move, code_type
from equipoise.data.distributions import MixtureOfProducts, WeightedRows
from equipoise.data.public import PublicRows
from equipoise.data_players.measurements import Measurements
from equipoise.data_players.mixture import Mixed, Mixture
from equipoise.data_players.public_support import SoftRows, trusted_rows
from equipoise.queries.rounding import round_rows
from equipoise.queries.workload import Workload

__all__ = ["Pooled", "PublicMixture", "Source", "complete", "memory_bytes"]

MIXTURE_ROWS = 10_000
"""Rows that stand for the mixture, rounded to answer like it; the tilt repairs what rounding cost."""

NUM_COPIES = 3
"""Times that a row which lacks columns is completed at least: one guess at them would be taken for knowledge. All of a
table's rows together have at least as many completions as the mixture has rows."""

CHUNK = 2**23
"""Row-by-component probabilities kept at a time (64 MiB)."""

CONVERGED = 0.1
"""The tilt stops when no answer is further than this many standard deviations from where it belongs."""

MAX_EVALUATIONS = 300
"""Gradients of the tilt at most; 50 are usual."""


@dataclass(frozen=True, eq=False)
class Source:
    """One guess at the private table.

    Attributes:
        codes: Its rows, of all columns.
        shares: Their weights, summing to 1.
        columns: The columns it knows; the others were filled in.
        worth: How many private records it is worth.
    """

    codes: Codes
    shares: FloatArray
    columns: tuple[int, ...]
    worth: float


@dataclass
class Pooled:
    """The player's state. `step` changes it in place and returns it: hand a state to one game only."""

    mixed: Mixed
    measurements: Measurements
    pool: Distribution | None = None
    worths: tuple[float, ...] = field(default=())


def memory_bytes(publics: Sequence[PublicRows], workload: Workload) -> int:
    """Memory that the pool needs: which rows each measured cell accepts, and the fit's own vectors."""
    rows = MIXTURE_ROWS
    for public in publics:
        whole = len(public.columns) == len(workload.domain.sizes)
        rows += public.num_distinct if whole else (NUM_COPIES + 1) * public.num_distinct + MIXTURE_ROWS
    return 40 * rows * len(workload.groups) + 300 * workload.num_queries + 8 * CHUNK


@dataclass(frozen=True)
class PublicMixture:
    """Plays the tilted pool of a fitted mixture and public tables.

    Attributes:
        mixture: The player of the mixture.
        publics: The public tables, of all columns or of some.
        expected_error: Of the mixture: squared error, summed over the cells of a marginal and averaged over marginals.
    """

    mixture: Mixture
    publics: tuple[PublicRows, ...]
    expected_error: float

    def init(self, rng: np.random.Generator) -> Pooled:
        """Nothing is measured: the uniform distribution."""
        return Pooled(self.mixture.init(rng), Measurements(self.mixture.num_rows))

    def step(self, rng: np.random.Generator, state: Pooled, moves: Sequence[Move]) -> Pooled:
        """Take in the moves that the state has not seen, fit the mixture, then pool and tilt."""
        for move in moves[state.measurements.num_moves :]:
            state.measurements.absorb(move)
        state.mixed = self.mixture.step(rng, state.mixed, moves)
        mixture = self.mixture.play(state.mixed)
        sources = [self._of_mixture(rng, mixture)]
        sources += [self._of_public(rng, mixture, public, state.measurements) for public in self.publics]
        state.worths = tuple(source.worth for source in sources)
        state.pool = self._tilted(sources, state.measurements)
        return state

    def play(self, state: Pooled) -> Distribution:
        """The tilted pool."""
        return self.mixture.play(state.mixed) if state.pool is None else state.pool

    def conclude(self, state: Pooled) -> Conclusion:
        """The tilted pool, and how much each public table had to say: a function of noisy measurements, so public."""
        named = zip(self.publics, state.worths[1:], strict=False)  # No worths before the first move.
        notes = [
            f"{public.name} was given the weight of {worth:,.0f} of its {public.num_rows:,} rows"
            + ("" if worth >= public.num_rows else ": the measurements contradict the rest")
            for public, worth in named
        ]
        return Conclusion(self.play(state), tuple(notes))

    def _of_mixture(self, rng: np.random.Generator, mixture: MixtureOfProducts) -> Source:
        rows = round_rows(rng, mixture, self.mixture.workload, MIXTURE_ROWS)
        sets = self.mixture.workload.column_sets
        spread = float(np.mean([1.0 - np.sum(mixture.marginal(columns) ** 2) for columns in sets]))
        every = tuple(range(len(mixture.shape)))
        return Source(rows, np.full(MIXTURE_ROWS, 1.0 / MIXTURE_ROWS), every, max(1.0, spread / self.expected_error))

    def _of_public(
        self, rng: np.random.Generator, mixture: MixtureOfProducts, public: PublicRows, measured: Measurements
    ) -> Source:
        codes, shares = complete(rng, public, mixture)
        answers, targets, stddevs = _compared(self.mixture.workload, public, codes, shares, measured)
        worth = trusted_rows(public.num_rows, answers, targets, stddevs) if len(answers) else float(public.num_rows)
        return Source(codes, shares, public.columns, worth)

    def _tilted(self, sources: Sequence[Source], measured: Measurements) -> WeightedRows:
        workload, total = self.mixture.workload, sum(source.worth for source in sources)
        codes = np.concatenate([source.codes for source in sources], axis=1)
        shares = np.concatenate([source.shares * (source.worth / total) for source in sources])
        pool = PublicRows(codes, np.ones(len(shares), dtype=np.int64), sources[0].columns, "pool")
        model = SoftRows(pool, workload.domain.sizes, start=shares)
        ids = np.fromiter(measured.positions, dtype=np.int64, count=len(measured.positions))
        reached = model.reachable(workload, Move(ids, np.zeros_like(ids), None, 0.0)).ids
        inside = np.flatnonzero(np.isin(ids, reached))
        stddevs = measured.stddevs[inside]
        worths = _worths(workload, ids[inside], sources)
        least = 1e-3 / self.mixture.num_rows  # Measurements without noise, in tests.
        model.extend(workload, ids[inside].tolist())
        model.fit(
            measured.targets[inside],
            np.maximum(worths * stddevs**2, np.maximum(stddevs, least)),
            tolerance=CONVERGED * max(float(stddevs.min()), least),
            max_evaluations=MAX_EVALUATIONS,
        )
        return model.distribution()


def complete(rng: np.random.Generator, public: PublicRows, mixture: MixtureOfProducts) -> tuple[Codes, FloatArray]:
    """Public rows with all columns, and their shares: what a row lacks is drawn from the mixture, given what it has.

    Example: nobody in the mixture's first component has x = 1, so the row's y comes from the second.
        >>> mixture = MixtureOfProducts((np.eye(2), np.eye(2)), np.array([0.5, 0.5]))
        >>> rows = PublicRows(np.array([[1]], dtype=np.uint8), np.array([7]), (0,), "example")
        >>> np.unique(complete(np.random.default_rng(0), rows, mixture)[0], axis=1).tolist()
        [[1], [1]]
    """
    shares = public.counts / public.num_rows
    missing = [column for column in range(len(mixture.shape)) if column not in public.columns]
    if not missing:
        return public.codes, shares
    copies = np.maximum(NUM_COPIES, np.ceil(MIXTURE_ROWS * shares)).astype(np.int64)
    codes = np.zeros((len(mixture.shape), int(copies.sum())), dtype=code_type(max(mixture.shape)))
    codes[list(public.columns)] = np.repeat(public.codes, copies, axis=1)
    step = max(1, CHUNK // len(mixture.weights))
    for start in range(0, codes.shape[1], step):
        part = codes[:, start : start + step]
        components = _components(rng, part, public.columns, mixture)
        for column in missing:
            cumulative = np.cumsum(mixture.factors[column], axis=1)[components]
            points = rng.random(len(components)) * cumulative[:, -1]
            part[column] = np.minimum((cumulative <= points[:, None]).sum(axis=1), mixture.shape[column] - 1)
    return codes, np.repeat(shares / copies, copies)


def _components(rng: np.random.Generator, codes: Codes, columns: Sequence[int], mixture: MixtureOfProducts) -> IntArray:
    """For each row a component, drawn by how likely it is to have made the row's values."""
    # A row that no component could have made goes to those that make most of its values.
    odds = np.tile(np.log(mixture.weights), (codes.shape[1], 1))
    for column in columns:
        odds += np.log(mixture.factors[column] + 1e-6)[:, codes[column]].T
    odds += rng.gumbel(size=odds.shape)
    found: IntArray = np.argmax(odds, axis=1).astype(np.int64)
    return found


def _compared(
    workload: Workload, public: PublicRows, codes: Codes, shares: FloatArray, measured: Measurements
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The public rows' answers, noisy ones, and their standard deviations, where both tell of the same columns.

    A measured marginal with columns that the public table lacks is summed over them.
    """
    rows = WeightedRows(codes, shares, workload.domain.sizes)
    found: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    ids = np.fromiter(measured.positions, dtype=np.int64, count=len(measured.positions))
    places = np.full(workload.num_queries, -1)
    places[ids] = np.arange(len(ids))
    for number, group in enumerate(workload.groups):
        place = places[workload.starts[number] : workload.starts[number + 1]]
        known = tuple(column for column in group.columns if column in public.columns)
        if group.masks is not None or not known or place.min() < 0:
            continue
        axes = tuple(axis for axis, column in enumerate(group.columns) if column not in public.columns)
        targets = measured.targets[place].reshape(group.shape).sum(axis=axes)
        variances = (measured.stddevs[place] ** 2).reshape(group.shape).sum(axis=axes)
        found.append((rows.marginal(known).ravel(), targets.ravel(), np.sqrt(variances).ravel()))
    empty = np.zeros(0)
    answers, noisy, stddevs = zip(*found, strict=True) if found else ((empty,), (empty,), (empty,))
    return np.concatenate(answers), np.concatenate(noisy), np.concatenate(stddevs)


def _worths(workload: Workload, ids: IntArray, sources: Sequence[Source]) -> FloatArray:
    """For each query, the worth of the sources that know all its columns."""
    each = [
        sum(source.worth for source in sources if set(group.columns) <= set(source.columns))
        for group in workload.groups
    ]
    return np.array(each, dtype=np.float64)[workload.group_of(ids)]
