"""Hand-worked norms; the comparison with brute-force neighbours is in tests/properties."""

import numpy as np
import pytest

from equipoise.data.domain import Domain
from equipoise.queries.norms import Norms, norms_of_cells, norms_of_masks
from equipoise.queries.workload import Group, Workload


def test_a_whole_marginal_moves_two_cells():
    assert norms_of_cells(10) == Norms(1, 2, 2)
    assert norms_of_cells(1) == Norms(0, 0, 0)


def test_some_cells():
    assert norms_of_cells(10, np.array([3])) == Norms(1, 1, 1)
    assert norms_of_cells(10, np.array([3, 4, 5])) == Norms(1, 2, 2)
    assert norms_of_cells(10, np.array([3, 3, 4])) == Norms(1, 3, 3)
    assert norms_of_cells(10, np.array([], dtype=np.int64)) == Norms(0, 0, 0)


@pytest.mark.parametrize("size", [2, 3, 50])
def test_prefixes_move_from_one_end_to_the_other(size):
    assert norms_of_masks((np.tri(size - 1, size, dtype=bool),)).l1 == size - 1


def test_queries_that_never_change_cost_nothing():
    constant = np.array([[True, True], [False, False]])
    assert norms_of_masks((constant,)) == Norms(0, 0, 0)
    assert norms_of_masks((np.array([[True, True], [True, False]]),)) == Norms(1, 1, 1)


def test_a_query_and_its_negation_both_move():
    assert norms_of_masks((np.array([[True, False], [False, True]]),)) == Norms(1, 2, 2)


def test_groups_add_up_and_are_taken_apart_by_id():
    workload = Workload(Domain(("a", "b"), (2, 3)), (Group((0,), (2,)), Group((0, 1), (2, 3))))
    assert workload.norms() == Norms(1, 4, 4)
    assert workload.norms(np.array([0, 2])) == Norms(1, 2, 2)
    assert workload.norms(np.array([], dtype=np.int64)) == Norms(0, 0, 0)
