from __future__ import annotations

import itertools

import numpy as np
import pytest

from equipoise.data_players.mixture_block import Block, Columns, Factors, Measured
from equipoise.data_players.mixture_pairs import pair_blocks, suits
from equipoise.data_players.mixture_start import starting_tables
from equipoise.data_players.mixture_threads import side_by_side

SIZES = (3, 5, 2, 4)


def measured(seed: int, sets: list[Columns], *, apart: bool) -> dict[Columns, Measured]:
    rng = np.random.default_rng(seed)
    found = {}
    for columns in sets:
        shape = tuple(SIZES[c] for c in columns)
        shares = rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)
        other = rng.normal(size=shape) * 0.01 if apart else None
        found[columns] = Measured(shares, np.where(rng.random(shape) < 0.9, rng.uniform(1e3, 1e5, shape), 0.0), other)
    return found


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("singles", [False, True])
def test_the_dense_form_makes_the_same_steps_as_the_sparse_one(apart: bool, singles: bool) -> None:
    """Columns in either order, cells and whole pairs that were not measured, single columns beside the pairs."""
    sets: list[Columns] = [p for p in itertools.permutations(range(4), 2) if p in ((0, 1), (2, 0), (1, 3), (3, 2))]
    given = measured(1, sets + ([(1,), (3,)] if singles else []), apart=apart)
    rng = np.random.default_rng(2)
    tables = starting_tables(rng, [np.full(size, 1.0 / size) for size in SIZES], 50)
    dense, sparse = Factors.of(tables), Factors.of(tables)
    blocks = pair_blocks(dense, given)
    with side_by_side() as run:
        for column in (2, 0, 3, 1, 2):
            block = Block.build(column, SIZES, {c: m for c, m in given.items() if column in c})
            start = sparse.tables[column]
            expected = block.improve(sparse, start, 3, run)
            found = blocks[column].improve(dense, start.copy(), 3, run)
            assert found == pytest.approx(expected, rel=1e-4)
            assert np.abs(dense.tables[column] - sparse.tables[column]).max() < 1e-4
            assert blocks[column].orders.tolist() == block.orders.tolist()


def test_the_dense_form_is_for_many_pairs_of_small_columns() -> None:
    pairs = list(itertools.combinations(range(4), 2))
    assert suits(SIZES, measured(0, pairs, apart=False))
    assert not suits(SIZES, measured(0, [(0, 1, 2), *pairs], apart=False))
    assert not suits(SIZES, measured(0, [(0, 2)], apart=False))
    assert not suits((3, 500, 2, 4), measured(0, pairs, apart=False))
