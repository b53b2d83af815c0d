"""Conjunctions as arrays: the same answers, ids and text as the same queries in groups, at any size."""

import itertools
import json
import math

import numpy as np
import pytest

from equipoise.data.distributions import Histogram, MixtureOfProducts, WeightedRows
from equipoise.data.domain import Domain
from equipoise.data.listed import Boolean, Categorical
from equipoise.data.schema import Schema
from equipoise.errors import CapacityError, QueryError
from equipoise.queries import conjunctions
from equipoise.queries.build import build
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.norms import Norms
from equipoise.queries.stored import from_json

MIXED = Domain(("a", "b", "c", "d", "e"), (2, 3, 2, 1, 5))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def some():
    return build("random 2-way x 20 seed 1", MIXED)


def rows_of(rng, domain, num_rows):
    return np.stack([rng.integers(size, size=num_rows) for size in domain.sizes]).astype(np.uint8)


def by_query(workload, codes):
    return np.array([workload.query(i).selects(codes).sum() for i in range(workload.num_queries)])


@pytest.mark.parametrize("num_rows", [1, 2, 63, 64, 65, 200])
def test_counts_equal_those_of_each_query_by_itself(some, rng, num_rows):
    codes = rows_of(rng, MIXED, num_rows)
    assert some.count_rows(codes).tolist() == by_query(some, codes).tolist()
    assert np.allclose(some.on_rows(codes), by_query(some, codes) / num_rows)


def test_counts_do_not_depend_on_the_batches(some, rng, monkeypatch):
    codes = rows_of(rng, MIXED, 1000)
    whole, weighed = some.count_rows(codes), some.on_rows(codes, np.arange(1.0, 1001.0))
    monkeypatch.setattr(conjunctions, "BATCH_BYTES", 1)
    assert some.batch_rows(1) == 64
    assert some.count_rows(codes).tolist() == whole.tolist()
    assert np.allclose(some.on_rows(codes, np.arange(1.0, 1001.0)), weighed)


def test_weights_count_for_each_row(some, rng):
    codes, weights = rows_of(rng, MIXED, 70), rng.random(70)
    expected = [weights[some.query(i).selects(codes)].sum() / weights.sum() for i in range(some.num_queries)]
    assert np.allclose(some.on_rows(codes, weights), expected)
    assert np.array_equal(some.on_rows(codes, np.full(codes.shape[1], 0.25)), some.on_rows(codes))


def test_the_same_answers_on_every_distribution(some, rng):
    codes, weights = rows_of(rng, MIXED, 30), np.full(30, 1 / 30)
    histogram = Histogram(rng.dirichlet(np.ones(MIXED.num_cells)).reshape(MIXED.sizes))
    products = MixtureOfProducts(tuple(rng.dirichlet(np.ones(s), 4) for s in MIXED.sizes), np.full(4, 0.25))
    for distribution in (WeightedRows(codes, weights, MIXED.sizes), histogram, products):
        expected = [some.query(i).answer(distribution) for i in range(some.num_queries)]
        assert np.allclose(some.on(distribution), expected)


def test_groups_keep_the_ids(some, rng):
    grouped, codes = some.grouped(), rows_of(rng, MIXED, 100)
    assert grouped.num_queries == some.num_queries > len(grouped.groups)
    assert grouped.count_rows(codes).tolist() == some.count_rows(codes).tolist()
    assert all(grouped.query(i) == some.query(i) for i in range(some.num_queries))
    ids = np.array([3, 0, 19, 3])
    for ours, theirs in zip(some.literals(ids), grouped.literals(ids), strict=True):
        assert ours.tolist() == theirs.tolist()


def test_groups_are_refused_beyond_a_limit(some, monkeypatch):
    monkeypatch.setattr(conjunctions, "MAX_GROUPED", 19)
    with pytest.raises(CapacityError, match="dual_query"):
        some.grouped()


def test_json_and_fingerprint(some):
    stored = json.loads(json.dumps(some.to_json()))
    assert from_json(stored) == some
    assert from_json(stored).fingerprint == some.fingerprint
    assert some != build("random 2-way x 20 seed 2", MIXED)
    assert some.fingerprint != Conjunctions(Domain(("z", *"bcde"), MIXED.sizes), some.columns, some.values).fingerprint


@pytest.mark.parametrize("key", ["number", "order", "columns", "values"])
def test_a_damaged_json_is_refused(some, key):
    stored = some.to_json()
    stored["conjunctions"][key] = 7 if key in ("number", "order") else stored["conjunctions"][key][:-8]
    with pytest.raises(QueryError, match="stored workload"):
        from_json(stored)


def test_a_wide_json_is_compact():
    domain = Domain(tuple(map(str, range(10_000))), (2,) * 10_000)
    workload = build("random 3-way x 1000", domain)
    text = json.dumps(workload.to_json())
    assert len(text) < 20 * workload.num_queries
    assert from_json(json.loads(text)).domain == domain


def test_the_text_of_a_query():
    schema = Schema("t", (Boolean(name="x"), Categorical(name="y", values=("p", "q", "r"))))
    some = Conjunctions.of(schema.domain, [[1, 0]], [[2, 0]])
    assert some.describe(0, schema) == "x = false and y = r"
    with pytest.raises(QueryError, match="0 to 0"):
        some.query(1)


def test_norms_cover_what_a_replaced_record_can_move(some):
    records = np.array(list(itertools.product(*map(range, MIXED.sizes))), dtype=np.uint8).T
    holds = np.stack([some.query(i).selects(records) for i in range(some.num_queries)], axis=1).astype(int)
    moved = np.abs(holds[:, None] - holds[None]).sum(axis=2).max()
    assert some.norms() == Norms(1, 20, 20)
    assert moved <= 20
    assert some.norms(np.array([4, 4])) == Norms(1, 2, 2)
    assert some.norms(np.array([], dtype=np.int64)) == Norms(0, 0, 0)


@pytest.mark.parametrize(
    ("columns", "values", "message"),
    [
        ([[0, 0]], [[0, 1]], "increasing"),
        ([[0, 5]], [[0, 0]], "increasing positions"),
        ([[0, 1]], [[0, 3]], "outside"),
        ([[0, 1]], [[0, -1]], "outside"),
        ([], [], "at least one"),
        ([[0, 1]], [[0]], "arrays"),
    ],
)
def test_what_is_no_conjunction(columns, values, message):
    with pytest.raises(QueryError, match=message):
        Conjunctions.of(MIXED, columns, values)


def test_repeated_rows_are_refused_and_of_puts_them_in_order():
    for columns in ([[0, 2], [0, 1], [0, 2]], [[0, 1], [0, 1]]):
        with pytest.raises(QueryError, match=r"Conjunctions\.of"):
            Conjunctions(MIXED, np.array(columns), np.zeros_like(columns))
    assert Conjunctions.of(MIXED, [[0, 2], [1, 0], [0, 2]], [[1, 1], [2, 1], [1, 1]]).columns.tolist() == [
        [0, 1],
        [0, 2],
    ]


def test_rows_of_another_table_are_refused(some):
    with pytest.raises(QueryError, match="5 columns"):
        some.on_rows(np.zeros((4, 3), dtype=np.uint8))
    with pytest.raises(QueryError, match="no rows"):
        some.on_rows(np.zeros((5, 0), dtype=np.uint8))


def test_random_cells_are_uniform_over_all_cells():
    """Each of the 2·3 + 2·2 + 2·5 + 3·2 + 3·5 + 2·5 = 51 cells of two columns is as likely as any other."""
    every = build("random 2-way x 51", MIXED)
    assert every.num_queries == 51
    assert 3 not in every.columns  # a column of one value says nothing
    rounds = 4000
    place = {
        (tuple(c), tuple(v)): i
        for i, (c, v) in enumerate(zip(every.columns.tolist(), every.values.tolist(), strict=True))
    }
    seen = np.zeros(51)
    for seed in range(rounds):
        drawn = build(f"random 2-way x 3 seed {seed}", MIXED)
        for c, v in zip(drawn.columns.tolist(), drawn.values.tolist(), strict=True):
            seen[place[tuple(c), tuple(v)]] += 1
    # 51 binomial counts of mean 235; seven standard deviations each: a false alarm has probability below 51 * 3e-12.
    expected = rounds * 3 / 51
    assert np.abs(seen - expected).max() < 7 * math.sqrt(expected)


def test_a_text_with_several_parts_is_grouped():
    workload = build("1-way, random 2-way x 20 seed 1", MIXED)
    assert workload.num_queries == sum(MIXED.sizes) + 20
