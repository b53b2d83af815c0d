import json

import numpy as np
import pytest

from equipoise.data.distributions import Histogram, MixtureOfProducts, WeightedRows
from equipoise.data.domain import Domain
from equipoise.errors import DataError, QueryError
from equipoise.queries.workload import Group, Workload

SIZES = (2, 3, 4, 2)
DOMAIN = Domain(("a", "b", "c", "d"), SIZES)


@pytest.fixture
def workload():
    rng = np.random.default_rng(3)
    masks = tuple(rng.random((5, SIZES[c])) < 0.5 for c in (0, 2))
    return Workload(
        DOMAIN,
        (Group((0, 1, 2), (2, 3, 4)), Group((0, 2), (2, 4), masks, weight=3), Group((0, 2), (2, 4)), Group((3,), (2,))),
    )


@pytest.fixture
def codes():
    rng = np.random.default_rng(4)
    return np.stack([rng.integers(0, size, 500) for size in SIZES]).astype(np.uint8)


def brute_force(workload, codes, weights):
    return np.array([weights[workload.query(i).selects(codes)].sum() for i in range(workload.num_queries)])


def test_ids_run_through_the_groups(workload):
    assert workload.starts.tolist() == [0, 24, 29, 37, 39]
    assert workload.num_queries == 39
    assert workload.group_of(np.array([0, 23, 24, 38])).tolist() == [0, 0, 1, 3]
    assert workload.query(38).columns == (3,)
    assert workload.column_sets == ((0, 1, 2), (0, 2), (3,))
    assert workload.weights().tolist() == [1] * 24 + [3] * 5 + [1] * 10
    for outside in (-1, 39):
        with pytest.raises(QueryError, match="0 to 38"):
            workload.query(outside)


def test_every_representation_gives_the_brute_force_answers(workload, codes):
    rng = np.random.default_rng(5)
    weights = rng.dirichlet(np.ones(500))
    expected = brute_force(workload, codes, weights)
    np.testing.assert_allclose(workload.on_rows(codes, weights), expected, atol=1e-12)
    np.testing.assert_allclose(workload.on_rows(codes, 7 * weights), expected, atol=1e-12)
    np.testing.assert_allclose(workload.on(WeightedRows(codes, weights, SIZES)), expected, atol=1e-12)
    cells = np.ravel_multi_index(tuple(codes.astype(np.int64)), SIZES)
    histogram = Histogram(np.bincount(cells, weights=weights, minlength=48).reshape(SIZES))
    np.testing.assert_allclose(workload.on(histogram), expected, atol=1e-12)
    assert workload.count_rows(codes).tolist() == brute_force(workload, codes, np.ones(500)).tolist()
    np.testing.assert_allclose(workload.on_rows(codes), workload.count_rows(codes) / 500, atol=0)


def test_products_and_histogram_agree(workload):
    rng = np.random.default_rng(6)
    factors = tuple(rng.dirichlet(np.ones(size), size=5) for size in SIZES)
    weights = rng.dirichlet(np.ones(5))
    histogram = Histogram(np.einsum("k,ka,kb,kc,kd->abcd", weights, *factors))
    answers = workload.on_products(factors, weights)
    np.testing.assert_allclose(answers, workload.on(histogram), atol=1e-12)
    np.testing.assert_allclose(answers, workload.on(MixtureOfProducts(factors, weights)), atol=1e-12)


def test_some_groups_in_the_order_asked(workload):
    histogram = Histogram(np.random.default_rng(7).dirichlet(np.ones(48)).reshape(SIZES))
    everything = workload.on(histogram)
    np.testing.assert_array_equal(
        workload.on_groups(histogram, [3, 1]), np.concatenate([everything[37:39], everything[24:29]])
    )
    assert workload.on_groups(histogram, []).size == 0


def test_json_round_trip(workload):
    again = Workload.from_json(json.loads(json.dumps(workload.to_json())))
    assert again == workload
    assert again.fingerprint == workload.fingerprint


def test_fingerprint_tells_weights_masks_and_order_apart(workload):
    groups = workload.groups
    others = [
        Workload(DOMAIN, groups[::-1]),
        Workload(DOMAIN, (*groups[:3], Group((3,), (2,), weight=2))),
        Workload(DOMAIN, (*groups[:3], Group((3,), (2,), (np.array([[True, False], [False, True]]),)))),
        Workload(Domain(("a", "b", "c", "x"), SIZES), groups),
    ]
    assert len({workload.fingerprint, *(other.fingerprint for other in others)}) == 5


@pytest.mark.parametrize(
    "damage", [{}, {"columns": ["a"], "sizes": [2]}, {"columns": ["a"], "sizes": [2], "groups": [{}]}, []]
)
def test_a_damaged_json_is_refused(damage):
    with pytest.raises(QueryError, match="stored workload"):
        Workload.from_json(damage)


def test_groups_must_fit_the_domain():
    with pytest.raises(QueryError, match="domain"):
        Workload(DOMAIN, (Group((0,), (3,)),))
    with pytest.raises(QueryError, match="domain"):
        Workload(DOMAIN, (Group((4,), (2,)),))
    with pytest.raises(QueryError, match="at least one"):
        Workload(DOMAIN, ())


def test_rows_must_be_there_and_inside_the_domain(workload):
    with pytest.raises(QueryError, match="no rows"):
        workload.on_rows(np.zeros((4, 0), dtype=np.uint8))
    with pytest.raises(DataError, match="column number 1"):
        workload.on_rows(np.array([[0], [3], [0], [0]], dtype=np.uint8))
    with pytest.raises(DataError, match="column number 0"):
        workload.on_rows(np.array([[-1], [0], [0], [0]]))
    with pytest.raises(DataError, match="4 columns"):
        workload.on_rows(np.zeros((3, 5), dtype=np.uint8))
    with pytest.raises(DataError, match="one weight"):
        workload.on_rows(np.zeros((4, 5), dtype=np.uint8), np.ones(4))


def test_a_missing_marginal_is_noticed(workload):
    with pytest.raises(QueryError, match="not given"):
        workload.from_marginals([((3,), np.array([1, 2]))])
