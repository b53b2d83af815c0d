"""Sensitivity norms against brute force: every pair of records of small domains."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.data.domain import Domain
from equipoise.queries import norms
from equipoise.queries.build import build
from equipoise.queries.workload import Group, Norms, Workload

sizes_of_domains = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@st.composite
def groups(draw, sizes, masked):
    columns = tuple(sorted(draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))))
    shape = tuple(sizes[c] for c in columns)
    if not masked:
        return Group(columns, shape)
    num_queries = draw(st.integers(1, 6))
    masks = tuple(
        np.array(
            draw(st.lists(st.lists(st.booleans(), min_size=s, max_size=s), min_size=num_queries, max_size=num_queries))
        )
        for s in shape
    )
    return Group(columns, shape, masks)


@st.composite
def workloads(draw, masked=None):
    sizes = draw(sizes_of_domains)
    kinds = st.booleans() if masked is None else st.just(masked)
    members = draw(st.lists(kinds.flatmap(lambda kind: groups(sizes, kind)), min_size=1, max_size=4))
    return Workload(Domain(tuple(f"c{i}" for i in range(len(sizes))), sizes), tuple(members))


def indicators(workload):
    """a(x) for every record x of the domain: an array of records by queries."""
    records = np.array(list(itertools.product(*(range(size) for size in workload.domain.sizes))))
    columns = [workload.query(i).selects(records.T) for i in range(workload.num_queries)]
    return np.stack(columns, axis=1).astype(np.int64)


def largest_changes(vectors):
    changes = np.abs(vectors[:, None, :] - vectors[None, :, :])
    if changes.shape[-1] == 0:
        return Norms(0, 0, 0)
    return Norms(int(changes.max()), int(changes.sum(axis=-1).max()), int((changes**2).sum(axis=-1).max()))


def covers(claimed, seen):
    return claimed.linf >= seen.linf and claimed.l1 >= seen.l1 and claimed.l2_squared >= seen.l2_squared


@given(workloads())
def test_norms_are_never_below_the_change_between_neighbours(workload):
    assert covers(workload.norms(), largest_changes(indicators(workload)))


@given(workloads(masked=False))
def test_norms_of_whole_marginals_are_exact(workload):
    assert workload.norms() == largest_changes(indicators(workload))


@given(workloads().filter(lambda w: len(w.groups) == 1))
def test_norms_of_one_small_group_are_exact(workload):
    assert workload.norms() == largest_changes(indicators(workload))


@given(workloads(), st.data())
def test_norms_of_some_queries_repeats_included(workload, data):
    ids = np.array(data.draw(st.lists(st.integers(0, workload.num_queries - 1), max_size=6)), dtype=np.int64)
    seen = largest_changes(indicators(workload)[:, ids])
    assert covers(workload.norms(ids), seen)
    if len(set(workload.group_of(ids).tolist())) <= 1:
        assert workload.norms(ids) == seen


@given(sizes_of_domains.flatmap(lambda sizes: groups(sizes, True)), st.sampled_from(["two largest", "number"]))
@settings(max_examples=200)
def test_the_bounds_for_large_groups_hold_too(group, which):
    workload = Workload(Domain(tuple(f"c{c}" for c in range(max(group.columns) + 1)), _sizes(group)), (group,))
    limits = norms.PAIRS_LIMIT, norms.CELLS_LIMIT
    norms.PAIRS_LIMIT, norms.CELLS_LIMIT = 0, (limits[1] if which == "two largest" else 0)
    try:
        claimed = norms.norms_of_masks(group.masks)
    finally:
        norms.PAIRS_LIMIT, norms.CELLS_LIMIT = limits
    assert covers(claimed, largest_changes(indicators(workload)))
    assert claimed.l1 <= group.num_queries


def _sizes(group):
    sizes = [1] * (max(group.columns) + 1)
    for column, size in zip(group.columns, group.shape, strict=True):
        sizes[column] = size
    return tuple(sizes)


@given(st.lists(st.integers(2, 4), min_size=3, max_size=4).map(tuple), st.integers(1, 3))
@settings(max_examples=20)
def test_all_k_way_marginals_move_two_counts_each(sizes, order):
    workload = build(f"{order}-way", Domain(tuple(f"c{i}" for i in range(len(sizes))), sizes))
    moved = 2 * len(workload.groups)
    assert workload.norms() == Norms(1, moved, moved) == largest_changes(indicators(workload))
