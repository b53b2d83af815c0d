"""Classes of queries: separators by enumeration, integer programs against brute force, canonical forms."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from equipoise.errors import CapacityError, SettingError
from equipoise.oracles.classes.branching import ByBranching
from equipoise.oracles.classes.closed import Closed
from equipoise.oracles.classes.conjunctions import Conjunctions, Disjunctions
from equipoise.oracles.classes.decision_lists import DecisionLists
from equipoise.oracles.classes.features import Features
from equipoise.oracles.classes.halfspaces import Halfspaces
from equipoise.oracles.classes.minimisers import ByEnumeration, ByProgram
from equipoise.oracles.classes.parities import Parities
from equipoise.oracles.classes.query_class import Minimum, QueryClass, WeightedPoints

CLASSES: list[QueryClass] = [
    Conjunctions(4),
    Conjunctions(4, max_literals=2, min_literals=1),
    Disjunctions(4),
    Parities(4),
    Halfspaces(4),
    Halfspaces(4, (-1, 1), 0),
    Halfspaces(2, (-2, 0, 1, 3), 2),
    DecisionLists(3),
    Closed(Conjunctions(3, min_literals=1)),
    Closed(Disjunctions(3)),
    Closed(Parities(3)),
    Closed(Halfspaces(3)),
]
SIZES = [16, 10, 16, 16, 81, 16, 16, 52, 14, 16, 16, 54]


def cube(num_features: int) -> np.ndarray:
    return np.array(list(itertools.product((0, 1), repeat=num_features)), dtype=np.uint8)


def ids(query_class: object) -> str:
    return str(query_class)


@pytest.mark.parametrize(("query_class", "size"), list(zip(CLASSES, SIZES, strict=True)), ids=ids)
def test_separators_tell_all_queries_apart(query_class: QueryClass, size: int) -> None:
    every = query_class.every()
    assert len(every) == size <= query_class.num_queries
    signs = query_class.answers(every, query_class.separators())
    assert len(np.unique(signs, axis=0)) == len(every)


def test_decision_lists_of_four_features_too() -> None:
    lists = DecisionLists(4)
    signs = lists.answers(lists.every(), lists.separators())
    assert len(np.unique(signs, axis=0)) == len(lists.every()) == 300


@pytest.mark.parametrize("query_class", CLASSES, ids=ids)
def test_no_separator_can_be_left_out_and_none_is_of_another_width(query_class: QueryClass) -> None:
    """Where a point could go, the noise would be too large for nothing; decision lists and few literals have slack."""
    separators = query_class.separators()
    assert separators.shape[1] == query_class.points(cube(query_class.num_features)).shape[1]
    if isinstance(query_class, Conjunctions | Disjunctions | Parities) and query_class != CLASSES[1]:
        signs = query_class.answers(query_class.every(), separators)
        for left_out in range(len(separators)):
            assert len(np.unique(np.delete(signs, left_out, axis=1), axis=0)) < len(signs)


@pytest.mark.parametrize("query_class", CLASSES, ids=ids)
def test_coordinates_separate_records(query_class: QueryClass) -> None:
    points = cube(query_class.num_features)
    for feature in range(query_class.num_features):
        query = query_class.coordinate(feature)
        if query is not None:
            answers = query_class.answers(query, query_class.points(points))[0]
            np.testing.assert_array_equal(answers, points[:, feature] == 1)


def random_instance(query_class: QueryClass, rng: np.random.Generator, perturbed: bool) -> WeightedPoints:
    """Records with repetitions, weights of both signs; or weights of one sign and noise on the separators."""
    bits = rng.integers(0, 2, (12, query_class.num_features), dtype=np.uint8)
    points = np.concatenate([query_class.points(bits), query_class.separators()])
    weights = rng.integers(-20, 21, len(points))
    if perturbed:
        weights[:12] = 64
        weights[12:] = np.rint(rng.laplace(scale=100, size=len(points) - 12)).astype(np.int64)
    return WeightedPoints.of(query_class, points, weights)


@pytest.mark.parametrize("query_class", CLASSES, ids=ids)
def test_integer_programs_equal_brute_force(query_class: QueryClass) -> None:
    """200 weightings for each class: 150 by CP-SAT and 50 by HiGHS, half with noise on the separators.

    60 for a class closed under negation, which has the programs of the class twice.
    """
    rng = np.random.default_rng(len(str(query_class)))
    for trial in range(60 if isinstance(query_class, Closed) else 200):
        instance = random_instance(query_class, rng, perturbed=trial % 2 == 1)
        best = ByEnumeration().solve(instance)
        found = ByProgram("highs" if trial % 4 == 0 else "cp_sat").solve(instance)
        assert found.value == best.value == int(instance.values(found.parameters)[0])
        assert found.proved(gap=0)
        assert any(np.array_equal(found.parameters, query) for query in query_class.every())


BRANCHED: list[QueryClass] = [
    Conjunctions(5),
    Conjunctions(7, max_literals=3, min_literals=2),
    Disjunctions(6, max_literals=2),
    Closed(Conjunctions(5, min_literals=1)),
    Closed(Disjunctions(5)),
]


@pytest.mark.parametrize("query_class", BRANCHED, ids=ids)
def test_branch_and_bound_equals_brute_force_and_its_bound_holds_when_it_stops(query_class: QueryClass) -> None:
    rng, stopped = np.random.default_rng(3), 0
    for trial in range(200):
        instance = random_instance(query_class, rng, perturbed=trial % 2 == 1)
        best = ByEnumeration().solve(instance).value
        found = ByBranching().solve(instance)
        assert found.value == best == found.bound
        early = ByBranching(max_nodes=2).solve(instance)
        assert early.bound is not None
        assert early.bound <= best <= early.value
        stopped += not early.proved(gap=0)
    assert stopped > 20


def test_branch_and_bound_knows_its_classes() -> None:
    assert ByBranching().refuses(Parities(3)) is not None
    with pytest.raises(SettingError, match="conjunctions"):
        ByBranching().solve(random_instance(Parities(3), np.random.default_rng(0), False))
    instance = random_instance(Conjunctions(4, min_literals=3), np.random.default_rng(0), False)
    with pytest.raises(CapacityError, match="limit"):
        ByBranching(max_nodes=1).solve(instance)


def test_brute_force_is_the_sum_over_records() -> None:
    query_class, rng = Halfspaces(3), np.random.default_rng(1)
    bits, weights = rng.integers(0, 2, (9, 3)), rng.integers(-5, 6, 9)
    found = ByEnumeration().solve(WeightedPoints.of(query_class, query_class.points(bits), weights))
    totals = [
        sum(int(w) for x, w in zip(bits, weights, strict=True) if np.dot(query, x) >= 1)
        for query in itertools.product((-1, 0, 1), repeat=3)
    ]
    assert found.value == min(totals)


def test_equal_points_are_merged_and_cancel() -> None:
    points = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    instance = WeightedPoints.of(Conjunctions(2), points, np.array([2, 3, 4, -4]))
    assert instance.points.tolist() == [[1, 0]]
    assert instance.weights.tolist() == [5]


def test_one_query_has_one_form() -> None:
    """Features of the same bit may change places, and the last ones may have the default's bit or not be there."""
    lists = DecisionLists(3)
    orders = [
        np.array([*order, *bits, default])
        for order in itertools.permutations(range(3))
        for bits in itertools.product((0, 1), repeat=3)
        for default in (0, 1)
    ]
    points = cube(3).astype(np.int64)
    forms: dict[bytes, bytes] = {}
    for query in orders:
        canonical = lists.canonical(query)
        np.testing.assert_array_equal(lists.answers(canonical, points), lists.answers(query, points))
        table = lists.answers(query, points).tobytes()
        assert forms.setdefault(table, canonical.tobytes()) == canonical.tobytes()
    assert len(forms) == len(lists.every())


def test_a_solver_that_stops_early_proves_nothing() -> None:
    rng = np.random.default_rng(0)
    query_class = Parities(14)
    points = query_class.points(rng.integers(0, 2, (120, 14), dtype=np.uint8))
    instance = WeightedPoints.of(query_class, points, rng.integers(-50, 51, 120))
    try:
        found = ByProgram("cp_sat", max_work=0.01).solve(instance)
    except CapacityError:
        return
    assert not found.proved(gap=0)


def test_a_bound_above_the_value_is_no_proof() -> None:
    minimum = Minimum(np.array([1]), 5, 5)
    assert minimum.proved(0)
    assert not replace(minimum, bound=6).proved(10)
    assert not replace(minimum, bound=None).proved(10)
    assert replace(minimum, bound=3).proved(2)
    assert not replace(minimum, bound=3).proved(1)


def test_words() -> None:
    names = ("old", "rich", "urban")
    assert Conjunctions(3).describe(np.array([1, 0, 1]), names) == "old and urban"
    assert Disjunctions(3).describe(np.array([0, 0, 0]), names) == "never"
    assert Parities(3).describe(np.array([1, 1, 0]), names) == "old xor rich"
    assert Halfspaces(3).describe(np.array([1, 0, -1]), names) == "[old] + -1 [urban] >= 1"
    assert DecisionLists(3).describe(np.array([2, 0, 1, 1, 0, 0, 0]), names) == "if urban: 0; if old: 1; else: 0"
    assert Closed(Disjunctions(3)).describe(np.array([1, 1, 0, 0]), names) == "not (old)"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(SettingError, match="zero point"):
        Closed(Conjunctions(3))
    with pytest.raises(SettingError, match="zero point"):
        Closed(DecisionLists(3))
    with pytest.raises(SettingError, match="literals"):
        Conjunctions(3, max_literals=4)
    with pytest.raises(SettingError, match="weights"):
        Halfspaces(3, (1, 0))
    with pytest.raises(CapacityError, match="every query"):
        ByEnumeration(max_queries=7).solve(random_instance(Parities(3), np.random.default_rng(0), False))


@pytest.mark.parametrize(("signs", "count"), [("positive", 4), ("one_hot", 5), ("both", 8)])
def test_features_are_literals(signs: str, count: int) -> None:
    features = Features.of([2, 3], signs=signs)
    assert features.num_features == count
    bits = features.bits(np.array([[0, 1, 1], [2, 0, 1]], dtype=np.uint8))
    for place, (column, code, negated) in enumerate(features.literals):
        values = [[0, 1, 1], [2, 0, 1]][column]
        assert bits[:, place].tolist() == [int((value == code) != negated) for value in values]
    with pytest.raises(SettingError, match="signs"):
        Features.of([2], signs="none")
