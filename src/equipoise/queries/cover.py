"""A cover: fewer, larger marginals from which all wanted ones follow by summing.

Counting a row into one marginal costs about the same for any marginal whose counts stay in the processor's cache. So a
scan counts a few larger marginals, the blocks, and the wanted ones are summed out of them afterwards, exactly: they are
integers. The 286 three-way marginals of 13 columns of 2 to 42 values need 36 blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray

__all__ = ["Block", "cover", "sum_out"]

BLOCK_CELLS = 2**17
"""Cells that a block may have beyond the largest marginal it must hold: 512 KB of counts, half of a usual
second-level cache."""

CELLS_LOG2 = (12.0, 14.0, 17.0, 19.0, 21.0, 23.0, 31.0)
NANOSECONDS = (0.55, 0.8, 1.05, 2.6, 3.3, 4.7, 12.0)
"""Cost of counting one row into a marginal with 2**CELLS_LOG2 cells, measured on a 2023 server core. Only their
ratios matter."""

SUM_NANOSECONDS = 3.0
"""Cost of a block's cell in the sums that follow the scan."""

PLANNING_WORTH = 10**8
"""Rows times marginals below which counting each marginal by itself (under 0.1 s) beats planning."""

LOOK_AHEAD = 0.1
"""Worth of a marginal that would need one column more, relative to one that is covered; breaks ties towards growth."""

Columns = tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """A marginal to count, and the wanted marginals that are summed out of it.

    Attributes:
        columns: Its columns, increasing.
        wanted: Subsets of them, each increasing.
    """

    columns: Columns
    wanted: tuple[Columns, ...]


def cover(column_sets: Sequence[Columns], sizes: Sequence[int], num_rows: int) -> tuple[Block, ...]:
    """Blocks that together hold every wanted marginal exactly once, cheap to count for about that many rows.

    Example:
        >>> cover([(0, 1), (0, 2), (1, 2)], (2, 3, 4), num_rows=10**9)
        (Block(columns=(0, 1, 2), wanted=((0, 1), (0, 2), (1, 2))),)
    """
    if len(column_sets) * num_rows < PLANNING_WORTH:
        return tuple(Block(columns, (columns,)) for columns in column_sets)
    # Rounded, so that tables of similar size share one plan.
    return _cover(tuple(column_sets), tuple(sizes), 1 << max(num_rows, 1).bit_length())


@lru_cache(maxsize=8)
def _cover(column_sets: tuple[Columns, ...], sizes: tuple[int, ...], num_rows: int) -> tuple[Block, ...]:
    """Greedy: the largest marginal left is grown into the block that covers most marginals for its cost; repeat."""
    holds = np.zeros((len(column_sets), len(sizes)), dtype=np.float32)
    for i, columns in enumerate(column_sets):
        holds[i, list(columns)] = 1
    num_cells = np.array([math.prod(sizes[c] for c in columns) for columns in column_sets], dtype=np.float64)
    left = np.ones(len(column_sets), dtype=np.bool_)
    rows, owners = holds, np.arange(len(column_sets))
    blocks = []
    for seed in np.argsort(-num_cells, kind="stable"):
        if not left[seed]:
            continue
        if 2 * left[owners].sum() < len(owners):  # Covered marginals are dropped now and then, not at every block.
            owners = owners[left[owners]]
            rows = holds[owners]
        chosen = _grow(rows, left[owners], holds[seed] > 0, np.array(sizes, dtype=np.float64), num_rows)
        done = owners[(rows @ (~chosen).astype(np.float32) == 0) & left[owners]]
        left[done] = False
        blocks.append(Block(tuple(np.flatnonzero(chosen).tolist()), tuple(column_sets[i] for i in done)))
    return tuple(blocks)


def _grow(
    rows: NDArray[np.float32], left: NDArray[np.bool_], seed: NDArray[np.bool_], sizes: FloatArray, num_rows: int
) -> NDArray[np.bool_]:
    """The columns whose block covers most of the marginals `left` for its cost: the seed's, then one at a time."""
    chosen, best, best_worth = seed.copy(), seed.copy(), 0.0
    num_cells = float(sizes[seed].prod())
    limit = max(BLOCK_CELLS, num_cells)
    while True:
        missing = rows @ (~chosen).astype(np.float32)
        missing[~left] = -1
        num_covered = float((missing == 0).sum())
        worth = num_covered / float(_cost(np.array([num_cells]), num_rows)[0])
        if worth > best_worth:
            best, best_worth = chosen.copy(), worth
        gains = (missing == 1).astype(np.float32) @ rows + LOOK_AHEAD * ((missing == 2).astype(np.float32) @ rows)
        scores = (num_covered + gains) / _cost(num_cells * sizes, num_rows)
        scores[chosen | (gains == 0) | (num_cells * sizes > limit)] = -1.0
        column = int(scores.argmax())
        if scores[column] < 0:
            return best
        chosen[column] = True
        num_cells *= sizes[column]


def _cost(num_cells: FloatArray, num_rows: int) -> FloatArray:
    return num_rows * np.interp(np.log2(num_cells), CELLS_LOG2, NANOSECONDS) + SUM_NANOSECONDS * num_cells


def sum_out(block: Block, tensor: IntArray) -> Iterator[tuple[Columns, IntArray]]:
    """The wanted marginals of a block from its counts.

    Example:
        >>> [(c, t.tolist()) for c, t in sum_out(Block((0, 1), ((1,), (0,))), np.array([[1, 2], [3, 4]]))]
        [((1,), [4, 6]), ((0,), [3, 7])]
    """
    known = {block.columns: tensor}
    for wanted in sorted(block.wanted, key=lambda columns: -math.prod(_shape(block, tensor, columns))):
        start = min(
            (columns for columns in known if set(wanted) <= set(columns)), key=lambda columns: known[columns].size
        )
        columns, result = start, known[start]
        # The longest axis goes first: what is left is then smallest.
        for column in sorted(set(start) - set(wanted), key=lambda c: -tensor.shape[block.columns.index(c)]):
            result = result.sum(axis=columns.index(column))
            columns = tuple(c for c in columns if c != column)
            known[columns] = result
        yield wanted, result


def _shape(block: Block, tensor: IntArray, columns: Columns) -> tuple[int, ...]:
    return tuple(tensor.shape[block.columns.index(c)] for c in columns)
