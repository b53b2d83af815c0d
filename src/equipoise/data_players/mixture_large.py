"""What a fit goes on with when it would begin to follow noise: its large cells. Post-processing.

Most cells are small, and together they say when to stop (`best_num_sweeps`). By then the large ones, where a
measurement is mostly signal, are not yet where they were measured. So a fit goes on with other targets: every cell as
it is now, at its precision, and the large ones as measured besides. Small cells are held, large ones are drawn half of
the way. On tables of people and loans this saves 2 to 5 % of the mean error and up to a third of the largest; going on
with all cells saves as much of the largest, and costs a tenth of the mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from equipoise.core import FloatArray
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data_players.mixture_block import Columns, Measured
from equipoise.data_players.mixture_pooled import Pooled, pooled_pairs

__all__ = ["drawn_to_large", "equally_weighted"]

LARGE = 2.0
"""Standard deviations of a cell that counts as large. From 1.5 to 3 does about as well; all cells, or none below 6, do
worse."""


def equally_weighted(tables: Sequence[FloatArray]) -> MixtureOfProducts:
    """The mixture of the components that the columns' tables have, each as likely."""
    num_components = len(tables[0])
    return MixtureOfProducts(
        tuple(table / table.sum(axis=1, keepdims=True) for table in tables),
        np.full(num_components, 1.0 / num_components),
    )


def drawn_to_large(
    to_fit: Mapping[Columns, Measured],
    measured: Mapping[Columns, Measured],
    one_ways: Sequence[FloatArray],
    fitted: MixtureOfProducts,
) -> dict[Columns, Measured]:
    """Targets for going on from `fitted`, which was fitted to `to_fit`, made of `measured`.

    Pairs are taken from all marginals that have them (`pooled_pairs`): a cell that is lost in the noise of each may be
    large in all together.

    Example:
        >>> seen = Measured(np.array([[0.60, 0.01], [-0.02, 0.41]]), np.full((2, 2), 1e4))
        >>> half = np.array([[0.5, 0.5]])
        >>> halves = [half[0], half[0]]
        >>> drawn_to_large({(0, 1): seen}, {(0, 1): seen}, halves, equally_weighted([half, half]))[0, 1].shares.round(2)
        array([[0.38, 0.12],
               [0.12, 0.38]])
    """
    seen: dict[Columns, Pooled] = dict(pooled_pairs(measured, one_ways).items())
    for columns, marginal in measured.items():
        if len(columns) > 2 and marginal.precisions.min() > 0.0:
            seen[columns] = Pooled(marginal.shares, float(marginal.precisions.max()) ** -0.5)
    return {
        columns: _drawn(fitted.marginal(columns), to_fit.get(columns), seen.get(columns))
        for columns in {**to_fit, **seen}
    }


def _drawn(now: FloatArray, held: Measured | None, seen: Pooled | None) -> Measured:
    """A marginal as it is now, with the precisions of `held`, and its large cells as `seen` besides."""
    before = np.zeros(now.shape) if held is None else held.precisions
    if seen is None:
        return Measured(now, before)
    drawn = np.where(now > LARGE * seen.stddev, seen.stddev**-2.0, 0.0)
    precisions = before + drawn
    part = np.divide(drawn, precisions, out=np.zeros(now.shape), where=precisions > 0.0)
    return Measured(now + part * (seen.shares - now), precisions)
