"""Conjunctions against each query by itself, on random domains, literals and rows."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.data.domain import Domain
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.stored import from_json


@st.composite
def games(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6).map(tuple))
    order = draw(st.integers(1, len(sizes)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = np.stack([rng.choice(len(sizes), order, replace=False) for _ in range(draw(st.integers(1, 12)))])
    values = rng.integers(np.array(sizes)[columns])
    domain = Domain(tuple(f"c{i}" for i in range(len(sizes))), sizes)
    codes = np.stack([rng.integers(size, size=150) for size in sizes]).astype(np.uint8)
    return Conjunctions.of(domain, columns, values), codes[:, : draw(st.integers(1, 150))], rng


@settings(max_examples=80, deadline=None)
@given(games())
def test_counts_answers_literals_and_json(game):
    workload, codes, rng = game
    holds = np.stack([workload.query(i).selects(codes) for i in range(workload.num_queries)])
    weights = rng.random(codes.shape[1])
    assert workload.count_rows(codes).tolist() == holds.sum(axis=1).tolist()
    assert np.allclose(workload.on_rows(codes), holds.mean(axis=1))
    assert np.allclose(workload.on_rows(codes, weights), holds @ weights / weights.sum())
    assert workload.grouped().count_rows(codes).tolist() == holds.sum(axis=1).tolist()
    columns, values = workload.literals(np.arange(workload.num_queries))
    assert np.array_equal((codes[columns] == values[:, :, None]).all(axis=1), holds)
    assert from_json(workload.to_json()) == workload


@settings(max_examples=80, deadline=None)
@given(games())
def test_norms_are_never_below_the_change_between_neighbours(game):
    workload, codes, _ = game
    before, after = workload.count_rows(codes[:, :1]), workload.count_rows(codes[:, -1:])
    moved, norms = np.abs(before - after), workload.norms()
    assert norms.linf >= moved.max()
    assert norms.l1 >= moved.sum()
    assert norms.l2_squared >= (moved**2).sum()
