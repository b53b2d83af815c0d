"""Values merged into parts: what is merged, and that the queries on parts are what their masks say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import Move
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data.domain import Domain
from equipoise.errors import QueryError
from equipoise.queries.denoising import estimated, on_simplex, sizes_apart
from equipoise.queries.group import Group
from equipoise.queries.merging import LEAST, Merging, merge_values, merging_of
from equipoise.queries.sparse import SparseCounts
from equipoise.queries.workload import Workload

PARTS = (np.array([0, 1, 1, 0, 2]), np.array([1, 0, 1]))
MERGED = Group((0, 2), (5, 3), merged=PARTS)
"""Six parts of a pair of five and three values."""


@given(
    st.lists(st.floats(0.0, 1.0), min_size=3, max_size=60).filter(lambda weights: sum(weights) > 0.1),
    st.integers(2, 15),
)
def test_parts_are_few_and_large_values_are_parts_by_themselves(weights: list[float], most: int) -> None:
    shares = np.array(weights) / sum(weights)
    parts = merge_values(shares, most)
    num_parts = int(parts.max()) + 1
    np.testing.assert_array_equal(np.unique(parts), np.arange(num_parts))
    assert num_parts <= most
    large = shares >= LEAST
    needed = int(large.sum()) + (0 if large.all() else max(1, int(shares[~large].sum() / LEAST)))
    if needed <= most:  # then the bound is not raised
        assert (np.bincount(parts)[parts[large]] == 1).all()


def test_small_values_are_merged_with_their_neighbours() -> None:
    shares = np.array([0.5, *[0.01] * 10, 0.2, *[0.02] * 10])
    parts = merge_values(shares, 12)
    assert (np.bincount(parts)[parts[[0, 11]]] == 1).all()
    small = np.delete(parts, [0, 11])
    assert (np.diff(small) >= 0).all()
    assert np.bincount(small, np.delete(shares, [0, 11]), minlength=3)[2:].min() >= 0.5 * LEAST


def test_values_of_a_part_share_it_as_their_neighbours_say() -> None:
    """A smooth column: within parts less error than each value's own estimate; parts' sums and large values stay."""
    rng = np.random.default_rng(3)
    exact = np.concatenate([[0.4], 0.6 * np.exp(-np.arange(40) / 15)])
    exact[1:] *= 0.6 / exact[1:].sum()
    domain, saved = Domain(("a",), (41,)), []
    for _ in range(20):
        noisy = exact + rng.normal(0.0, 0.02, 41)
        merging = Merging.chosen(domain, [noisy], [0.02], 12)
        part, known = merging.parts[0], merging.known[0]
        centred = noisy + (1.0 - noisy.sum()) / 41
        before = on_simplex(estimated(centred, 0.02).values)
        np.testing.assert_allclose(np.bincount(part, known), np.bincount(part, before), atol=1e-12)
        assert known[0] == before[0]
        own = on_simplex(sizes_apart(centred, 0.02).means)
        saved.append(np.abs(own - exact).sum() - np.abs(known - exact).sum())
    assert np.mean(saved) > 3 * np.std(saved) / np.sqrt(20)


def test_a_column_of_which_nothing_is_seen() -> None:
    merging = Merging.chosen(Domain(("a", "b"), (9, 3)), [np.full(9, -1.0), np.array([1.0, 0.0, 0.0])], [1e-3] * 2, 12)
    np.testing.assert_allclose(merging.known[0], 1 / 9)
    assert all(np.isfinite(each).all() for each in (*merging.known, *merging.within))


def test_columns_of_two_values_stay() -> None:
    assert merge_values(np.array([0.999, 0.001]), 12).tolist() == [0, 1]


def test_merged_cells_are_what_their_masks_say() -> None:
    plain = Group(MERGED.columns, MERGED.shape, MERGED.masks)
    tensor = np.random.default_rng(0).integers(0, 100, (5, 3))
    assert MERGED.num_queries == 6
    np.testing.assert_array_equal(MERGED.answers(tensor), plain.answers(tensor))
    assert MERGED.answers(tensor).dtype == np.int64
    np.testing.assert_allclose(MERGED.answers(tensor / 7), plain.answers(tensor / 7))
    sparse = SparseCounts(np.flatnonzero(tensor), tensor.reshape(-1)[np.flatnonzero(tensor)])
    np.testing.assert_array_equal(MERGED.answers(sparse), plain.answers(tensor))
    rng = np.random.default_rng(1)
    factors = [rng.dirichlet(np.ones(size), 4) for size in (5, 2, 3)]
    weights = rng.dirichlet(np.ones(4))
    np.testing.assert_allclose(MERGED.on_products(factors, weights), plain.on_products(factors, weights))
    for position in range(6):
        assert MERGED.query(position) == plain.query(position)


def test_norms_of_merged_cells_are_exact() -> None:
    """Over all replacements of a record."""
    vectors = [MERGED.answers(np.eye(15, dtype=np.int64)[cell].reshape(5, 3)) for cell in range(15)]
    farthest = max(int(np.abs(x - y).sum()) for x in vectors for y in vectors)
    assert MERGED.norms().l1 == MERGED.norms().l2_squared == farthest == 2
    assert MERGED.norms(np.array([3])).l1 == 1
    assert Group((0,), (4,), merged=(np.zeros(4, dtype=np.int64),)).norms().l1 == 0


def test_a_workload_of_parts_is_stored_and_found_again() -> None:
    workload = Workload(Domain(("a", "b", "c"), (5, 2, 3)), (Group((1,), (2,)), MERGED))
    again = Workload.from_json(json.loads(json.dumps(workload.to_json())))
    assert again.groups == workload.groups
    assert again.fingerprint == workload.fingerprint
    assert again.groups[1].merged is not None
    np.testing.assert_array_equal(again.groups[1].merged[0], PARTS[0])


@pytest.mark.parametrize("parts", [(np.array([0, 1, 0, 1]), PARTS[1]), (np.array([0, -1, 1, 0, 2]), PARTS[1])])
def test_parts_that_do_not_fit_the_columns_are_refused(parts: tuple[np.ndarray, ...]) -> None:
    with pytest.raises(QueryError, match="a part, 0 or more, for each value"):
        Group((0, 2), (5, 3), merged=parts)


def test_a_move_of_single_columns_says_what_is_merged() -> None:
    domain = Domain(("a", "b", "c"), (30, 2, 7))
    asked = Workload(domain, (Group((0, 1), (30, 2)), Group((0,), (30,)), Group((1,), (2,))))
    counts = np.concatenate([[700], np.full(29, 10), [500, 490]])
    ids = np.arange(60, 92)
    move = Move(ids, np.zeros_like(ids), counts, np.concatenate([np.full(30, 5.0), np.full(2, 9.0)]))
    merging = merging_of(asked, move, 990, 12)
    assert merging.merged.sizes[1:] == (2, 1), "one that was not measured is one part"
    assert merging.merged.sizes[0] <= 12
    assert (merging.parts[0] == merging.parts[0][0]).sum() == 1, "a large value is one by itself"
    assert merging.parts[1].tolist() == [0, 1]
    for part, within, known in zip(merging.parts, merging.within, merging.known, strict=True):
        np.testing.assert_allclose(np.bincount(part, within), 1.0)
        assert known.sum() == pytest.approx(1.0)
    assert merging.known[1][0] == pytest.approx(500 / 990, abs=0.01)


def test_a_distribution_by_parts() -> None:
    merging = Merging(Domain(("a", "b"), (5, 3)), PARTS, (np.full(5, 0.2), np.full(3, 1 / 3)))
    rng = np.random.default_rng(2)
    whole = MixtureOfProducts(tuple(rng.dirichlet(np.ones(size), 3) for size in (5, 3)), np.full(3, 1 / 3))
    parted = merging.distribution(whole)
    assert parted.shape == (3, 2)
    pair = whole.marginal((0, 1))
    expected = np.array([[pair[PARTS[0] == i][:, PARTS[1] == j].sum() for j in range(2)] for i in range(3)])
    np.testing.assert_allclose(parted.marginal((0, 1)), expected)
    rows = parted.sample(rng, 200)
    assert rows.shape == (2, 200)
    assert rows.max(axis=1).tolist() == [2, 1]
    assert parted.to_arrays().keys() == whole.to_arrays().keys()
