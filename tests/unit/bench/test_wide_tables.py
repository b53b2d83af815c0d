"""The made-up wide tables: the same bits whatever part is asked for, uniform biases, skewed ratings."""

import math

import numpy as np
import pyarrow.parquet as pq

from equipoise.bench.wide_tables import BiasedBits, write_ratings
from equipoise.data.items import Items
from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.engines.arrow import count
from equipoise.privacy.private import reveal
from equipoise.queries.build import build


def ones(bits):
    return np.array([sum(int(word).bit_count() for word in row) for row in bits])


def test_parts_fit_together():
    source, columns = BiasedBits(1000, seed=3), np.array([0, 7, 400_000])
    whole = source.bits(columns, 0, 1000)
    assert np.array_equal(source.bits(columns, 64, 500), _cut(whole[:, 1:9], 500))
    assert np.array_equal(source.bits(columns[1:], 0, 1000), whole[1:])
    assert not np.array_equal(BiasedBits(1000, seed=4).bits(columns, 0, 1000), whole)


def _cut(bits, num_rows):
    kept = bits.copy()
    kept[:, -1] &= np.uint64((1 << num_rows % 64) - 1)
    return kept


def test_a_table_of_them_is_opened_and_counted_by_its_bits():
    source = BiasedBits(1000, seed=3)
    table = read(source, schema=Schema("biased", Items(400_001)))
    assert table.num_rows == 1000
    workload = build("random 1-way x 20 seed 1", table.schema)
    columns, values = workload.literals(np.arange(20))
    shares = ones(source.bits(columns[:, 0], 0, 1000))
    expected = np.where(values[:, 0] == 1, shares, 1000 - shares)
    assert np.array_equal(reveal(count(table, workload)), expected)


def test_biases_are_uniform():
    shares = ones(BiasedBits(640, seed=1).bits(np.arange(4000), 0, 640)) / 640
    # The mean of 4000 biases of standard deviation 0.289; seven standard deviations: false alarms below 1e-11.
    assert abs(shares.mean() - 0.498) < 7 * 0.289 / math.sqrt(4000)
    # A quarter of them below 1/4, give or take seven standard deviations of the count.
    assert abs((shares < 0.25).mean() - 0.25) < 7 * math.sqrt(0.25 * 0.75 / 4000) + 0.01


def test_ratings_are_skewed(tmp_path):
    write_ratings(tmp_path / "r.parquet", np.random.default_rng(2), num_rows=300)
    lists = pq.read_table(tmp_path / "r.parquet")["items"].to_pylist()
    assert len(lists) == 300
    assert all(row == sorted(set(row)) for row in lists)
    counts = np.bincount(np.concatenate(lists), minlength=17_770)
    assert np.sort(counts)[-1777:].sum() > 0.4 * counts.sum()
