"""A mixture of products of categorical distributions, fitted to noisy marginals: the data player of `mixture`.

The model is D = (1/K) Σ_k Π_c P_kc: K components, each with independent columns. It is fitted to everything measured
by minimising Σ (answer - noisy share)² / variance, small cells counting less (`mixture_prior`). Given the other columns
the answers are linear in one column's factors, so each column's update is a convex quadratic problem on simplices
(`mixture_block`); sweeps over the columns with momentum do the rest (`mixture_fit`), the last of them for large cells
alone (`mixture_large`). Memory and time grow with the
measured cells and with K, not with the domain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from equipoise.core import FloatArray, Move, report
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data_players.mixture_block import Columns, Measured
from equipoise.data_players.mixture_fit import Fit, best_num_sweeps
from equipoise.data_players.mixture_kernels import filled_up
from equipoise.data_players.mixture_large import drawn_to_large, equally_weighted
from equipoise.data_players.mixture_pairs import suits
from equipoise.data_players.mixture_pooled import pooled_pairs, share_missed
from equipoise.data_players.mixture_prior import prepared
from equipoise.data_players.mixture_start import starting_tables, values_together
from equipoise.data_players.mixture_targets import Targets
from equipoise.errors import SettingError
from equipoise.queries.workload import Workload

__all__ = ["Mixed", "Mixture", "Objective", "memory_bytes", "usual_num_components"]

Objective = Literal["both", "max", "mean"]

BEYOND: dict[Objective, float] = {"mean": 1.0, "both": 1.2, "max": 1.4}
"""Sweeps relative to the best for squared error. On all tables tried the mean error is least at about that many or a
few less; then it grows slowly while the largest error still falls."""

SHORT_OF = 0.65
"""The same where the noise is so coarse that there are drafts, whatever the objective. There every sweep follows noise,
too, so what is large is left to the sweeps for large cells: the largest error is the same, the mean error a twentieth
smaller."""

LEAST = 4
"""Sweeps at least. Where noise outweighs all else the pilot cannot tell two sweeps from eight, and fewer do not reach
the largest cells."""

COARSE = 6
"""Drafts from which it is so: no pilot is asked, and there are no more than the least. With six sweeps in place of four
the mean error is one to six per cent larger."""

MOST: dict[Objective, int] = {"mean": 0, "both": 30, "max": 45}
"""Sweeps up to which a fit goes on beyond that while it misses large cells (`share_missed`). The pilot's loss is nearly
flat where it is least, so now and then it stops at a third of the sweeps of other runs, with twice their largest error.
More sweeps than that no longer make it smaller. Where the noise is so coarse that there are drafts, going on would
follow the noise; then none does."""

BY_CHANCE: dict[Objective, float] = {"mean": 1.0, "both": 0.007, "max": 0.0}
"""Share of the large cells that may be missed by chance: noise alone misses 7 of 1,000; where only the largest error
matters, none is excused."""

TO_LARGE: dict[Objective, int] = {"mean": 4, "both": 6, "max": 12}
"""Sweeps after that, drawn to the large cells alone (`mixture_large`). The mean error falls for four to eight, then it
grows again. Where there are drafts the largest error does not fall further: with twelve, and two sweeps more before
them, it is up to a fifth larger. So the largest error's objective makes no more there than both errors'."""

LOOK_EVERY = 4
"""Sweeps between two looks at what is missed."""

MAX_SWEEPS, MAX_CHEAP_SWEEPS = 150, 600
"""Sweeps of the pilot fit at most, to bound the time: precise measurements of large tables could use more. So they get
more where sweeps are cheap (`max_sweeps`)."""

LARGE = 1000
"""Values of all columns together, from which sweeps over all their pairs are no longer cheap: a second each."""

GO_ON = 0.25
"""Sweeps of a later round, relative to the first: it starts from a fitted mixture."""

NUM_COMPONENTS, WITH_DRAFTS = 1000, 1500
"""K, and K where the noise is so coarse that there are drafts: a fit is of few sweeps then, so that more components
cost little, and the mean error is a hundredth less. Elsewhere they cost a quarter to a half more time."""

FEWER = 500
"""Components of pilots and drafts, at most: half of what a fit has otherwise."""

MOST_VALUES = 8
"""Values of a column that a component gives a probability, on average at most. It starts with five draws, has a few
values more after some sweeps, and two or three in the end."""

DRAFT_SWEEPS = 4
"""Sweeps of a draft, which has fewer components: enough to tell what later measurements should repair."""


def memory_bytes(sizes: Sequence[int], column_sets: Sequence[tuple[int, ...]], num_components: int) -> int:
    """Memory that the player needs at most for measurements of these marginals.

    Each cell is kept with its precision, as measured, as prepared and as the pilot has it, in double precision and, in
    single, once for each of its columns. A component gives at most about `MOST_VALUES` values of a column a
    probability, so a marginal of w columns has up to that to the power of w-1 entries a component.

    Example:
        >>> memory_bytes((10, 20), [(0, 1)], num_components=100) / 2**10
        113.75
    """
    num_cells = [math.prod(sizes[c] for c in columns) for columns in column_sets]
    stored = sum(cells * (6 * 8 + 2 * 4 * len(columns)) for cells, columns in zip(num_cells, column_sets, strict=True))
    of_column = [0] * len(sizes)
    for cells, columns in zip(num_cells, column_sets, strict=True):
        for column in columns:
            entries = num_components * math.prod(min(sizes[c], MOST_VALUES) for c in columns if c != column)
            of_column[column] += 4 * cells // sizes[column] * filled_up(sizes[column]) + 8 * entries
    return stored + max(of_column, default=0) + num_components * sum(sizes) * 4 * 8


def usual_num_components(num_drafts: int) -> int:
    """K of a fit after so many drafts."""
    return WITH_DRAFTS if num_drafts else NUM_COMPONENTS


def max_sweeps(sizes: Sequence[int], measured: Mapping[Columns, Measured]) -> int:
    """Sweeps of the pilot fit at most. A sweep over pairs costs as the square of the number of values."""
    if not suits(sizes, measured):
        return MAX_SWEEPS
    return max(MAX_SWEEPS, min(MAX_CHEAP_SWEEPS, round(MAX_SWEEPS * (LARGE / sum(sizes)) ** 2)))


@dataclass
class Mixed:
    """The player's state. `step` changes it in place and returns it: hand a state to one game only.

    Attributes:
        tables: For each column, the distributions of its values in the components.
        targets: What was measured.
        num_sweeps: Sweeps of the first fit; 0 before it.
    """

    tables: list[FloatArray]
    targets: Targets
    num_sweeps: int = 0


@dataclass(frozen=True)
class Mixture:
    """Plays a mixture of products fitted to all measurements so far.

    Attributes:
        workload: The queries that moves refer to: cells of marginals.
        num_rows: n; moves carry counts out of n.
        num_components: K.
        num_sweeps: Sweeps over the columns in the first round; later rounds make a quarter of them. None: as many as a
            pilot fit says (`best_num_sweeps`), times what the objective asks for; as few as will do where there are
            many drafts. A few for the large cells follow.
        num_to_large: Those; None: as many as the objective asks for.
        num_drafts: Rounds, from the first, that are answered by a draft: a quick fit from scratch, for a query player
            that will look at it and measure more.
        objective: Whether the mean or the largest error of the answers matters more: the fit leaves small cells alone
            when it begins to follow the noise ("mean"), well after and not while it misses large ones ("max"), or in
            between ("both"). After drafts "max" is "both": following noise makes the largest error larger as well.
    """

    workload: Workload
    num_rows: int
    num_components: int = NUM_COMPONENTS
    num_sweeps: int | None = None
    num_to_large: int | None = None
    objective: Objective = "both"
    num_drafts: int = 0

    def __post_init__(self) -> None:
        if self.num_components < 1 or self.num_rows < 1:
            raise SettingError("num_components and num_rows must be at least 1")
        if self.num_sweeps is not None and self.num_sweeps < 1:
            raise SettingError("num_sweeps must be at least 1; leave it out to have it worked out")
        if self.objective not in get_args(Objective):
            raise SettingError(f"the objective must be one of {', '.join(get_args(Objective))}")

    def init(self, rng: np.random.Generator) -> Mixed:
        """The uniform distribution."""
        tables = [np.full((1, size), 1.0 / size) for size in self.workload.domain.sizes]
        return Mixed(tables, Targets(self.workload, self.num_rows))

    def step(self, rng: np.random.Generator, state: Mixed, moves: Sequence[Move]) -> Mixed:
        """Take in the moves that the state has not seen, then fit, starting from what was played."""
        targets = state.targets
        if len(moves) == targets.num_moves:
            return state
        for move in moves[targets.num_moves :]:
            targets.absorb(move)
        measured = {c: Measured(targets.shares(c), precisions) for c, precisions in targets.precisions.items()}
        if targets.num_moves <= self.num_drafts:
            return self._fitted(rng, state, measured, DRAFT_SWEEPS, self._fewer_components)
        if state.num_sweeps == 0:
            state.num_sweeps = self._num_sweeps(rng, measured)
            return self._fitted(rng, state, measured, state.num_sweeps, self.num_components, whole=True)
        return self._fitted(rng, state, measured, math.ceil(GO_ON * state.num_sweeps), None)

    def _fitted(
        self,
        rng: np.random.Generator,
        state: Mixed,
        measured: Mapping[Columns, Measured],
        num_sweeps: int,
        num_components: int | None,
        *,
        whole: bool = False,
    ) -> Mixed:
        """The state fitted from scratch with so many components; None: from where it is.

        A fit that is neither a draft nor a later round's is a `whole` one: it goes on as long as it should.
        """
        to_fit, one_ways = prepared(measured, self.workload.domain.sizes)
        if num_components is not None:
            state.tables = starting_tables(rng, one_ways, num_components, values_together(measured, one_ways))
        fit = Fit(to_fit, state.tables)
        most = max(num_sweeps, self._most if whole else 0)
        to_large = self._to_large if whole else 0
        pairs = pooled_pairs(measured, one_ways) if most > num_sweeps else {}
        for done in range(most):
            looks = done >= num_sweeps and (done - num_sweeps) % LOOK_EVERY == 0
            if looks and share_missed(pairs, fit.factors.tables) <= BY_CHANCE[self.objective]:
                break
            report(most + to_large + 2 * done, 3 * (most + to_large))  # a third is left to the pilot
            fit.sweep(rng)
        if whole:
            now = equally_weighted([table.astype(np.float64) for table in fit.factors.tables])
            del fit  # two at once would be twice the memory
            fit = Fit(drawn_to_large(to_fit, measured, one_ways, now), now.factors)
        for done in range(to_large):
            report(most + to_large + 2 * (most + done), 3 * (most + to_large))
            fit.sweep(rng)
        state.tables = [table.astype(np.float64) for table in fit.factors.tables]
        return state

    @property
    def _most(self) -> int:
        goes_on = self.num_sweeps is None and self.num_drafts == 0
        return MOST[self.objective] if goes_on else 0

    @property
    def _to_large(self) -> int:
        if self.num_to_large is not None:
            return self.num_to_large
        usual = TO_LARGE[self.objective]
        return min(usual, TO_LARGE["both"]) if self.num_drafts else usual

    @property
    def _fewer_components(self) -> int:
        return max(1, min(FEWER, self.num_components // 2))

    def _num_sweeps(self, rng: np.random.Generator, measured: Mapping[Columns, Measured]) -> int:
        if self.num_sweeps is not None:
            return self.num_sweeps
        if self.num_drafts >= COARSE:
            return LEAST
        # Fewer components overfit at about the same sweep, in less time.
        sizes = self.workload.domain.sizes
        best = best_num_sweeps(rng, measured, sizes, self._fewer_components, max_sweeps(sizes, measured))
        relative = SHORT_OF if self.num_drafts else BEYOND[self.objective]
        return max(LEAST, math.ceil(relative * best))

    def play(self, state: Mixed) -> MixtureOfProducts:
        """The fitted mixture."""
        return equally_weighted(state.tables)
