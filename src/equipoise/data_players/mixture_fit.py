"""Fitting a mixture of products to noisy marginals: sweeps over the columns, with momentum from sweep to sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from equipoise.core import FloatArray, report
from equipoise.data_players.mixture_block import Block, Columns, Factors, Measured, Singles
from equipoise.data_players.mixture_one_ways import as_marginals, pooled_one_ways
from equipoise.data_players.mixture_pairs import PairBlock, pair_blocks, suits
from equipoise.data_players.mixture_pooled import pooled_pairs
from equipoise.data_players.mixture_prior import prepared
from equipoise.data_players.mixture_start import starting_tables, values_together
from equipoise.data_players.mixture_threads import side_by_side

__all__ = ["Fit", "best_num_sweeps"]

MOMENTUM = 0.9
"""Part of a column's last change that its next update starts with. Without it the fit needs several times the sweeps;
0.95 and more overshoot when updates take few steps."""

NUM_STEPS = 3
"""Proximal steps an update: building its matrix costs about one, and more of them fit the block, not the mixture."""

MOST_PILOTS, CHEAP = 3, 24
"""Pilot fits at most, and the sweeps of all of them together after which there is no further one."""

THINNING = 0.5
"""a of `_pilot`: the pilot's noise has 1 + a² of the variance, what judges it 1 + 1/a²."""

PATIENCE = 6
"""Sweeps, at least, that the pilot goes on without improving."""


class Fit:
    """A mixture being fitted. Its methods change it in place.

    Attributes:
        factors: The components as they are now.
    """

    def __init__(self, measured: Mapping[Columns, Measured], tables: Sequence[FloatArray]) -> None:
        sizes = [table.shape[1] for table in tables]
        self.factors = Factors.of(tables)
        self._blocks: Sequence[Block | PairBlock]
        if suits(sizes, measured):
            self._blocks = pair_blocks(self.factors, measured)
        else:
            self._blocks = [
                Block.build(column, sizes, {c: marginal for c, marginal in measured.items() if column in c})
                for column in range(len(sizes))
            ]
        self._earlier: list[Singles | None] = [None] * len(sizes)
        self._last_loss = np.inf

    def sweep(self, rng: np.random.Generator) -> tuple[float, float]:
        """Update every column once, in random order; returns the losses of `Block.improve`, seen along the way."""
        losses = np.zeros(2)
        with side_by_side() as run:
            for column in rng.permutation(len(self._blocks)):
                block, table = self._blocks[column], self.factors.tables[column]
                if not len(block.orders):
                    continue
                earlier = self._earlier[column]
                start = table if earlier is None else table + np.float32(MOMENTUM) * (table - earlier)
                self._earlier[column] = table
                losses += block.improve(self.factors, start, NUM_STEPS, run)
        if losses[0] > self._last_loss:
            self._earlier = [None] * len(self._blocks)  # Overshot: go on without momentum.
        self._last_loss = losses[0]
        return float(losses[0]), float(losses[1])


def best_num_sweeps(
    rng: np.random.Generator,
    measured: Mapping[Columns, Measured],
    sizes: Sequence[int],
    num_components: int,
    max_sweeps: int,
) -> int:
    """How many sweeps fit the measurements best, without their noise: what pilot fits say.

    One pilot's loss is nearly flat where it is least, so it may stop at a third of what another says, or go on for
    twice as long. Short ones are cheap: then there are up to three, and their middle counts.
    """
    found: list[int] = []
    while len(found) < MOST_PILOTS and sum(map(_stops, found)) < CHEAP:
        pilot = _pilot(rng, measured, sizes, num_components)
        found.append(_best_sweep(rng, pilot, max_sweeps, number=len(found)))
    low, high = sorted(found)[(len(found) - 1) // 2], sorted(found)[len(found) // 2]
    return math.ceil(math.sqrt(low * high))


def _stops(best: int) -> int:
    """The sweep after which a pilot ends that has not improved since its best one."""
    return best + max(PATIENCE, best // 4)


def _pilot(
    rng: np.random.Generator, measured: Mapping[Columns, Measured], sizes: Sequence[int], num_components: int
) -> Fit:
    """A fit to noisier measurements, to be judged by others whose noise is independent.

    With y = x + σe and fresh z, all standard normal, y + aσz and y - (σ/a)z have independent noise. So the one can be
    fitted, with all that precedes a fit, and the other tells how far the fit is from x. Uses nothing but the
    measurements (as measured, not `prepared`).
    """
    noisier, judges = {}, {}
    for columns, marginal in measured.items():
        z = rng.standard_normal(marginal.shares.shape)
        z *= np.divide(1.0, np.sqrt(marginal.precisions), out=np.zeros_like(z), where=marginal.precisions > 0)
        noisier[columns] = Measured(marginal.shares + THINNING * z, marginal.precisions)
        judges[columns] = Measured(marginal.shares - z / THINNING, marginal.precisions)
    fitted, one_ways = prepared(noisier, sizes)
    # Pairs that were not measured are there for their empty cells, columns for what all of the others tell of them.
    own = as_marginals(pooled_one_ways(judges, sizes, one_ways), judges)
    judged = pooled_pairs(judges, one_ways) | judges | own
    halves = {c: marginal._replace(apart=marginal.shares - judged[c].shares) for c, marginal in fitted.items()}
    together = values_together(noisier, one_ways)
    return Fit(halves, starting_tables(rng, one_ways, num_components, together))


def _best_sweep(rng: np.random.Generator, pilot: Fit, max_sweeps: int, *, number: int) -> int:
    """The sweep at which a pilot is best by what judges it; `number` of them were before."""
    best, best_loss = 1, np.inf
    for done in range(max_sweeps):
        # The fit itself is the rest; most often there are fewer pilots, and what they would have taken is skipped.
        report(number * max_sweeps + done, 3 * MOST_PILOTS * max_sweeps)
        _, loss = pilot.sweep(rng)
        if loss < best_loss:
            # The losses are those that the sweep started from.
            best, best_loss = max(done, 1), loss
        elif done >= _stops(best):
            break
    return best
