import itertools

import numpy as np
import pytest

from equipoise.data.distributions import Histogram, MixtureOfProducts
from equipoise.data.domain import Domain
from equipoise.queries import rounding
from equipoise.queries.rounding import round_rows
from equipoise.queries.workload import Group, Workload

SHAPE = (2, 5, 3, 80, 4)
DOMAIN = Domain(("a", "b", "c", "d", "e"), SHAPE)
TRIPLES = Workload(DOMAIN, tuple(Group(t, tuple(SHAPE[c] for c in t)) for t in itertools.combinations(range(5), 3)))


@pytest.fixture(scope="module")
def mixture():
    rng = np.random.default_rng(0)
    factors = tuple(rng.dirichlet(np.full(size, 0.5), 20) for size in SHAPE)
    return MixtureOfProducts(factors, rng.dirichlet(np.ones(20)))


def squares(rows, distribution, workload):
    return np.square(workload.on_rows(rows) - workload.on(distribution)).sum()


@pytest.mark.parametrize("num_rows", [1, 7, 500, 3000])
def test_rounding_lowers_the_error_and_keeps_the_number_of_rows(mixture, num_rows):
    drawn = mixture.sample(np.random.default_rng(1), num_rows)
    rows = round_rows(np.random.default_rng(1), mixture, TRIPLES, num_rows)
    assert rows.shape == (5, num_rows)
    assert rows.dtype == np.uint8
    assert all(rows[c].max() < size for c, size in enumerate(SHAPE))
    limit = 0.5 if num_rows >= 500 else 1.0
    assert squares(rows, mixture, TRIPLES) <= limit * squares(drawn, mixture, TRIPLES)


def test_the_same_rng_gives_the_same_rows(mixture):
    first, second = (round_rows(np.random.default_rng(4), mixture, TRIPLES, 300) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (first != round_rows(np.random.default_rng(5), mixture, TRIPLES, 300)).any()


def test_no_rows():
    assert round_rows(np.random.default_rng(0), Histogram(np.full(SHAPE, 1 / 9600)), TRIPLES, 0).shape == (5, 0)


def test_given_rows_are_repaired_and_left_alone(mixture):
    start = np.zeros((5, 2000), dtype=np.uint8)
    rows = round_rows(np.random.default_rng(0), mixture, TRIPLES, 2000, codes=start)
    assert not start.any()
    assert squares(rows, mixture, TRIPLES) < 0.01 * squares(start, mixture, TRIPLES)


def test_rows_that_are_exact_stay():
    codes = np.stack(np.meshgrid([0, 1], [0, 1, 2], indexing="ij")).reshape(2, -1).astype(np.uint8)
    workload = Workload(Domain(("a", "b"), (2, 3)), (Group((0, 1), (2, 3)),))
    rows = round_rows(np.random.default_rng(0), Histogram(np.full((2, 3), 1 / 6)), workload, 6, codes=codes)
    np.testing.assert_array_equal(rows, codes)


def test_masked_queries_count_through_their_marginal(mixture):
    rng = np.random.default_rng(0)
    masks = tuple(rng.random((6, SHAPE[c])) < 0.5 for c in (1, 3))
    workload = Workload(DOMAIN, (Group((1, 3), (5, 80), masks), Group((0,), (2,))))
    cells = Workload(DOMAIN, (Group((1, 3), (5, 80)), Group((0,), (2,))))
    drawn = mixture.sample(np.random.default_rng(3), 400)
    rows = round_rows(np.random.default_rng(3), mixture, workload, 400)
    assert squares(rows, mixture, cells) < squares(drawn, mixture, cells)
    # Columns outside every query keep the values that were drawn.
    np.testing.assert_array_equal(rows[[2, 4]], drawn[[2, 4]])


def test_marginals_beyond_the_limit_are_left_out(mixture, monkeypatch):
    monkeypatch.setattr(rounding, "MAX_CELLS", 100)
    rows = round_rows(np.random.default_rng(3), mixture, TRIPLES, 200)
    small = Workload(DOMAIN, (Group((0, 1, 2), (2, 5, 3)),))
    drawn = mixture.sample(np.random.default_rng(3), 200)
    assert squares(rows, mixture, small) < squares(drawn, mixture, small)
    np.testing.assert_array_equal(rows[3], drawn[3])


def test_progress_ends_at_its_total(mixture):
    reports = []
    round_rows(
        np.random.default_rng(0), mixture, TRIPLES, 50, progress=lambda done, total: reports.append((done, total))
    )
    assert reports[-1][0] == reports[-1][1]
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def test_more_work_than_the_limit_visits_fewer_rows_and_still_repairs(mixture, monkeypatch):
    drawn = mixture.sample(np.random.default_rng(0), 2000)
    whole = round_rows(np.random.default_rng(0), mixture, TRIPLES, 2000, codes=drawn)
    monkeypatch.setattr("equipoise.queries.rounding.MAX_LOOKS", 2000 * 3 * 30)
    some = round_rows(np.random.default_rng(0), mixture, TRIPLES, 2000, codes=drawn)
    left = [squares(rows, mixture, TRIPLES) for rows in (whole, some, drawn)]
    assert left[0] < left[1] < left[2]
