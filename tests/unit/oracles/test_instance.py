from __future__ import annotations

import numpy as np
import pytest

from equipoise.errors import QueryError
from equipoise.oracles.cells import MAX_CELLS, instance_of
from equipoise.oracles.instance import Instance, OneHot
from equipoise.queries.query import Query

RECORD = OneHot.of([2, 3, 4])


def test_values_follow_the_definition_for_every_kind_of_query() -> None:
    columns = [[0, 1], [0, 1], [2, 2], [2, 2], [-1, -1], [-1, -1]]
    codes = [[1, 2], [1, 2], [3, 3], [3, 0], [0, 0], [0, 0]]
    negated = [False, True, False, False, False, True]  # a cell, its negation, repeated, impossible, true, false
    weights = 10.0 ** np.arange(6)
    instance = Instance.of(RECORD, columns, codes, weights, negated)
    assert instance.values(np.array([[1], [2], [3]])) == 1 + 100 + 10_000
    assert instance.values(np.array([[1], [1], [3]])) == 10 + 100 + 10_000
    assert instance.trivial_bounds() == 111_111


def test_copies_have_their_own_weights_and_tilts() -> None:
    tilts = np.arange(18.0).reshape(2, 9)
    instance = Instance.of(RECORD, [[1]], [[2]], [[1.0], [-5.0]], tilts=tilts)
    codes = np.array([[0, 1], [2, 2], [0, 3]])
    assert instance.values(codes).tolist() == [1 + 0 + 4 + 5, -5 + 10 + 13 + 17]


@pytest.mark.parametrize(
    ("columns", "codes"), [([[3]], [[0]]), ([[-2]], [[0]]), ([[1]], [[3]]), ([[1]], [[-1]])], ids=str
)
def test_a_literal_that_does_not_exist_is_refused(columns: list[list[int]], codes: list[list[int]]) -> None:
    with pytest.raises(QueryError, match="does not have"):
        Instance.of(RECORD, columns, codes, [1.0])


@pytest.mark.parametrize("weights", [[1.0], [1.0, np.nan], [[1.0, 1.0]] * 3], ids=str)
def test_weights_and_tilts_must_fit_and_be_finite(weights: list[float]) -> None:
    with pytest.raises(QueryError):
        Instance.of(RECORD, [[0], [1]], [[0], [0]], weights, tilts=np.zeros((2, 9)))


def test_columns_need_values() -> None:
    for sizes in ([], [2, 0]):
        with pytest.raises(QueryError, match="at least one"):
            OneHot.of(sizes)


def mask(size: int, *codes: int) -> np.ndarray:
    chosen = np.zeros(size, dtype=np.bool_)
    chosen[list(codes)] = True
    return chosen


def test_queries_with_several_values_are_split_exactly() -> None:
    queries = [
        Query((0, 2), (mask(2, 1), mask(4, 1, 2, 3))),
        Query((1, 2), (mask(3, 0, 1), mask(4, 0, 2))),
        Query((1,), (mask(3, 0, 1, 2),)),  # always true
        Query((1,), (mask(3),)),  # never
    ]
    every = np.indices((2, 3, 4)).reshape(3, -1)
    answers = np.array([query.selects(every) for query in queries])
    for negated in np.indices((2, 2, 2, 2)).reshape(4, -1).T.astype(bool):
        instance = instance_of(RECORD, queries, [1.0, 10.0, 100.0, 1000.0], negated)
        expected = np.array([1.0, 10.0, 100.0, 1000.0]) @ (answers != negated[:, None])
        found = [instance.values(every[:, [i]])[0] for i in range(every.shape[1])]
        np.testing.assert_allclose(found, expected)


def test_no_queries_at_all() -> None:
    for instance in (instance_of(RECORD, [], []), Instance.of(RECORD, np.zeros((0, 2)), np.zeros((0, 2)), [])):
        assert instance.values(np.zeros((3, 1), dtype=np.int64)) == 0.0


def test_a_query_of_too_many_cells_is_refused() -> None:
    wide = np.ones(MAX_CELLS + 2, dtype=np.bool_)
    wide[0] = False
    with pytest.raises(QueryError, match="too large"):
        instance_of(OneHot.of([wide.size]), [Query((0,), (wide,))], [1.0])
