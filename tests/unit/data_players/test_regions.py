import numpy as np
import pytest
from tests.unit.data_players.games import SHAPE, accepts, all_pairs, masked

from equipoise.data_players.regions import Regions, add_to, region_of, scale, sum_over
from equipoise.queries.query import Query

QUERIES = [workload.query(i) for workload in (all_pairs(), masked()) for i in range(workload.num_queries)]


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_a_region_is_the_cells_that_the_query_accepts(query):
    weights = np.random.default_rng(0).random(SHAPE)
    inside = accepts(query)
    region = region_of(query, SHAPE)
    assert sum_over(weights.reshape(-1), *region) == pytest.approx((weights * inside).sum(), abs=1e-12)
    scaled, added = weights.reshape(-1).copy(), weights.reshape(-1).copy()
    scale(scaled, *region, 3.0)
    add_to(added, *region, 0.5)
    np.testing.assert_allclose(scaled.reshape(SHAPE), weights * (1 + 2 * inside))
    np.testing.assert_allclose(added.reshape(SHAPE), weights + 0.5 * inside)


def test_a_cell_is_few_loops():
    first = Query((0,), (np.array([False, True]),))
    assert region_of(first, SHAPE).axes.tolist() == [[24, 1, 0]]
    last = Query((3,), (np.array([False, True]),))
    assert region_of(last, SHAPE).axes.tolist() == [[24, 2, 0]]


def test_a_domain_of_one_cell():
    region = region_of(Query((0,), (np.array([True]),)), (1,))
    assert sum_over(np.array([0.7]), *region) == 0.7


def test_regions_pack_what_they_are_given():
    parts = [region_of(query, SHAPE) for query in QUERIES]
    packed = Regions.empty().extended(parts[:3]).extended([]).extended(parts[3:])
    weights = np.random.default_rng(1).random(int(np.prod(SHAPE)))
    for i, part in enumerate(parts):
        axes = packed.axes[packed.starts[i] : packed.starts[i + 1]]
        assert sum_over(weights, packed.bases[i], axes, packed.listed) == sum_over(weights, *part)
