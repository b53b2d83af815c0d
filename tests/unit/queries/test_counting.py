import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.queries import counting
from equipoise.queries.counting import BLOCK_ROWS, Tally, count, weigh
from equipoise.queries.cover import Block


def expected(codes, columns, sizes, weights=None):
    shape = tuple(sizes[c] for c in columns)
    cells = np.ravel_multi_index(tuple(codes[c].astype(np.int64) for c in columns), shape)
    return np.bincount(cells, weights=weights, minlength=math.prod(shape)).reshape(shape)


def random_codes(rng, sizes, num_rows, dtype=np.uint8):
    return np.stack([rng.integers(0, size, num_rows) for size in sizes]).astype(dtype)


@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=6),
    st.sampled_from([0, 1, 2, 777, BLOCK_ROWS, BLOCK_ROWS + 1]),
    st.sampled_from([np.uint8, np.uint16, np.uint32, np.int64]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=40, deadline=None)  # The first call of each type compiles.
def test_counts_equal_bincount(sizes, num_rows, dtype, seed):
    codes = random_codes(np.random.default_rng(seed), sizes, num_rows, dtype)
    wanted = [c for k in (1, 2, len(sizes)) for c in itertools.combinations(range(len(sizes)), k)]
    wanted = list(dict.fromkeys(wanted))
    results = dict(count(codes, wanted, sizes))
    assert set(results) == set(wanted)
    for columns, tensor in results.items():
        np.testing.assert_array_equal(tensor, expected(codes, columns, sizes))


def test_more_than_65536_cells_and_wide_codes():
    sizes = (700, 300, 5)
    codes = random_codes(np.random.default_rng(1), sizes, 20_000, np.uint16)
    for columns, tensor in count(codes, [(0, 1), (0, 1, 2), (2,)], sizes):
        np.testing.assert_array_equal(tensor, expected(codes, columns, sizes))


def test_rows_that_are_all_the_same():
    codes = np.full((4, 10_000), 2, dtype=np.uint8)
    for columns, tensor in count(codes, [(0, 1), (1, 2), (2, 3), (0, 3), (0,)], (3, 3, 3, 3)):
        assert tensor.sum() == tensor[(2,) * len(columns)] == 10_000


def test_non_contiguous_codes():
    codes = random_codes(np.random.default_rng(2), (3, 4), 999)
    for view in (codes[:, ::3], np.asfortranarray(codes)):
        np.testing.assert_array_equal(next(iter(count(view, [(0, 1)], (3, 4))))[1], expected(view, (0, 1), (3, 4)))


def test_weights():
    rng = np.random.default_rng(3)
    sizes = (3, 4, 5)
    codes = random_codes(rng, sizes, BLOCK_ROWS + 17)
    weights = rng.normal(size=codes.shape[1])
    for columns in [(1,), (0, 2), (0, 1, 2)]:
        np.testing.assert_allclose(
            weigh(codes, columns, sizes, weights), expected(codes, columns, sizes, weights), atol=1e-10
        )


@pytest.mark.parametrize("shares", [1, 2, 3, 9])
def test_threads_may_split_the_blocks(shares):
    sizes = (3, 4, 5, 2)
    codes = random_codes(np.random.default_rng(4), sizes, 5000)
    blocks = [Block(c, (c,)) for c in itertools.combinations(range(4), 2)]
    tally = Tally(blocks, sizes)
    with ThreadPoolExecutor(shares) as pool:
        tally.add(codes[:, :3000], pool=pool, num_shares=shares)
        tally.add(codes[:, 3000:], pool=pool, num_shares=shares)
    for columns, tensor in tally.marginals():
        np.testing.assert_array_equal(tensor, expected(codes, columns, sizes))


def test_tallies_add_up():
    sizes = (3, 4)
    codes = random_codes(np.random.default_rng(5), sizes, 500)
    one, two = (Tally([Block((0, 1), ((0, 1), (1,)))], sizes) for _ in range(2))
    one.add(codes[:, :200])
    two.add(codes[:, 200:])
    for columns, tensor in one.marginals([two]):
        np.testing.assert_array_equal(tensor, expected(codes, columns, sizes))


def test_counts_move_to_64_bits_before_32_overflow(monkeypatch):
    monkeypatch.setattr(counting, "MAX_ROWS", 250)
    sizes = (3, 4)
    codes = random_codes(np.random.default_rng(6), sizes, 1000)
    tally = Tally([Block((0, 1), ((0, 1),))], sizes)
    for start in range(0, 1000, 100):
        tally.add(codes[:, start : start + 100])
        assert tally._counts.sum() <= 250
    np.testing.assert_array_equal(next(tally.marginals())[1], expected(codes, (0, 1), sizes))
