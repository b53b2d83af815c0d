"""The bits of literals: packed from codes or from lists, and counted by any number of threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from equipoise.queries.bits import LiteralRows, add_counts, pack_codes, set_bits, zero_bits


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_packing_lists_equals_packing_codes(rng):
    codes = (rng.random((40, 150)) < 0.3).astype(np.uint8)
    columns = np.array([[3, 17], [17, 39], [0, 5]])
    rows = LiteralRows.of(columns, np.ones_like(columns), np.full(40, 2))
    lists = [np.flatnonzero(row) for row in codes.T]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in lists])])
    places = np.full(41, -1, dtype=np.int32)
    places[rows.columns] = np.arange(rows.num_rows)
    bits = zero_bits(rows.num_rows, 150)
    set_bits(bits, starts, np.concatenate(lists).astype(np.int32), places)
    assert bits.tolist() == pack_codes(codes, rows).tolist()


def test_an_item_twice_in_a_list_is_there_once():
    bits = zero_bits(1, 2)
    set_bits(bits, np.array([0, 2, 2]), np.array([0, 0], dtype=np.int32), np.array([0, -1], dtype=np.int32))
    assert bits.tolist() == [[1]]


def test_both_literals_of_a_binary_column_share_a_row():
    rows = LiteralRows.of(np.array([[4], [4], [6], [6]]), np.array([[0], [1], [0], [2]]), np.array([2] * 6 + [3]))
    assert list(zip(rows.columns.tolist(), rows.codes.tolist(), strict=True)) == [(4, 1), (6, 0), (6, 2)]
    assert rows.index.tolist() == [[1], [0], [2], [4]]


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("num_rows", [1, 64, 130])
def test_counting_in_shares(rng, order, num_rows):
    codes = rng.integers(2, size=(10, num_rows)).astype(np.uint8)
    columns = np.sort(np.stack([rng.choice(10, order, replace=False) for _ in range(37)]), axis=1)
    values = rng.integers(2, size=columns.shape)
    rows = LiteralRows.of(columns, values, np.full(10, 2))
    bits = pack_codes(codes, rows)
    expected = (codes[columns] == values[:, :, None]).all(axis=1).sum(axis=1)
    alone, shared = np.zeros(37, dtype=np.int64), np.full(37, 5)
    add_counts(alone, bits, num_rows, rows.index)
    with ThreadPoolExecutor(3) as pool:
        add_counts(shared, bits, num_rows, rows.index, pool, 3)
    assert alone.tolist() == expected.tolist()
    assert (shared - 5).tolist() == expected.tolist()
