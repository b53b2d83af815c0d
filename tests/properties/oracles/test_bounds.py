"""Whatever an oracle is stopped by, no record exceeds its bounds; names of columns and codes do not matter."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.instances import tiny

from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.instance import Instance, OneHot
from equipoise.oracles.local_search import LocalSearch

SEEDS = st.integers(0, 2**32 - 1)


@settings(deadline=None, max_examples=150)
@given(seed=SEEDS, max_nodes=st.integers(1, 4), num_kicks=st.integers(0, 2))
def test_no_record_exceeds_a_bound_and_proofs_are_true(seed: int, max_nodes: int, num_kicks: int) -> None:
    instance = tiny(np.random.default_rng(seed), num_copies=2)
    every = np.indices(tuple(instance.record.sizes)).reshape(instance.record.num_columns, -1)
    values = np.array([instance.values(np.stack([record, record], axis=1)) for record in every.T])
    for oracle in (BranchAndBound(max_nodes=max_nodes, num_kicks=num_kicks), LocalSearch(num_kicks=num_kicks)):
        found = oracle.solve(instance, np.random.default_rng(0))
        assert (found.values <= values.max(axis=0) + 1e-9).all()
        assert (found.bounds >= values.max(axis=0) - 1e-9).all()
        assert (found.values >= values.max(axis=0) - 1e-6)[found.proved].all()


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS)
def test_relabelled_columns_and_codes_give_the_same_best_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = tiny(rng, num_copies=2)
    record = instance.record
    order = rng.permutation(record.num_columns)
    moved = OneHot.of(record.sizes[order])
    codes = [rng.permutation(int(size)) for size in record.sizes]
    place = np.empty(record.num_values, dtype=np.int64)
    for position, column in enumerate(order):
        start = record.starts[column]
        place[start : start + record.sizes[column]] = moved.starts[position] + codes[column]
    literals = np.where(instance.literals < 0, -1, place[instance.literals])
    tilts = None
    if instance.tilts is not None:
        tilts = np.empty_like(instance.tilts)
        tilts[:, place] = instance.tilts
    other = Instance(moved, literals, instance.negated, instance.weights, tilts, 2)
    found = [BranchAndBound().solve(each, np.random.default_rng(0)).values for each in (instance, other)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
