import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.queries import cover as cover_module
from equipoise.queries.cover import BLOCK_CELLS, Block, cover, sum_out

ADULT = (2, 2, 5, 6, 7, 9, 15, 16, 42, 16, 6, 10, 10)
column_sets = st.sets(st.sets(st.integers(0, 7), min_size=1, max_size=4).map(lambda s: tuple(sorted(s))), min_size=1)
sizes = st.lists(st.integers(1, 40), min_size=8, max_size=8)


@given(column_sets.map(sorted), sizes, st.sampled_from([0, 10**4, 10**8, 10**10]))
def test_every_marginal_is_wanted_of_exactly_one_block_that_holds_it(wanted, sizes, num_rows):
    blocks = cover(wanted, sizes, num_rows)
    assert sorted(columns for block in blocks for columns in block.wanted) == wanted
    for block in blocks:
        assert list(block.columns) == sorted(set(block.columns))
        assert all(set(columns) <= set(block.columns) for columns in block.wanted)
        largest = max(math.prod(sizes[c] for c in columns) for columns in block.wanted)
        assert math.prod(sizes[c] for c in block.columns) <= max(BLOCK_CELLS, largest)


def test_large_tables_get_few_blocks_and_small_tables_no_plan():
    wanted = list(itertools.combinations(range(13), 3))
    assert len(cover(wanted, ADULT, 5_000_000)) <= 40
    assert len(cover(wanted, ADULT, 1000)) == len(wanted)


def test_blocks_are_worth_their_cells():
    # Summing 2**17 cells after counting 2 million rows is nothing; after counting 10,000 it is most of the work.
    wanted = list(itertools.combinations(range(6), 2))
    planned = cover_module._cover(tuple(wanted), (10,) * 6, 10_000)
    rich = cover_module._cover(tuple(wanted), (10,) * 6, 2**31)
    assert max(len(block.columns) for block in planned) < max(len(block.columns) for block in rich)


@pytest.mark.parametrize("columns", [(0, 1, 2, 3), (1, 3, 4, 6)])
def test_sum_out_equals_summing_each_by_itself(columns):
    rng = np.random.default_rng(0)
    tensor = rng.integers(0, 100, (3, 2, 5, 4))
    wanted = [c for size in (1, 2, 3, 4) for c in itertools.combinations(columns, size)]
    rng.shuffle(wanted)
    wanted = [tuple(c) for c in wanted]
    results = dict(sum_out(Block(columns, tuple(wanted)), tensor))
    assert set(results) == set(wanted)
    for kept, result in results.items():
        gone = tuple(i for i, c in enumerate(columns) if c not in kept)
        np.testing.assert_array_equal(result, tensor.sum(axis=gone))
