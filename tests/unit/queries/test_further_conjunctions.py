"""Queries beyond those asked for: like them, none of them twice, uniform over what is left, the same for a seed."""

import math

import numpy as np
import pytest

from equipoise.data.distributions import MixtureOfProducts
from equipoise.data.domain import Domain
from equipoise.errors import QueryError
from equipoise.queries import conjunctions, families
from equipoise.queries.build import build
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.families import further_conjunctions
from equipoise.queries.stored import from_json

MIXED = Domain(("a", "b", "c", "d", "e"), (2, 3, 2, 1, 5))
NUM_PAIRS = 51
"""Cells of two columns: 2·3 + 2·2 + 2·5 + 3·2 + 3·5 + 2·5; "d", of one value, says nothing."""


@pytest.fixture
def some():
    return build("random 2-way x 20 seed 1", MIXED)


def literals(workload):
    return [(*c, *v) for c, v in zip(workload.columns.tolist(), workload.values.tolist(), strict=True)]


def more_of(asked, number, seed=0):
    return further_conjunctions(np.random.default_rng(seed), asked, number)


def test_they_are_like_those_asked_for_and_none_of_them(some):
    more = more_of(some, 12)
    assert (more.num_queries, more.order, more.domain) == (12, 2, MIXED)
    assert not set(literals(more)) & set(literals(some))
    assert more == more_of(some, 12)
    assert more != more_of(some, 12, seed=1)


def test_there_are_no_more_than_there_are_cells(some):
    rest = more_of(some, 1000)
    assert rest.num_queries == NUM_PAIRS - some.num_queries
    assert set(literals(rest)) | set(literals(some)) == set(literals(build(f"random 2-way x {NUM_PAIRS}", MIXED)))
    assert more_of(build(f"random 2-way x {NUM_PAIRS}", MIXED), 5) is None
    assert more_of(Conjunctions.of(MIXED, [[0, 3]], [[1, 0]]), 5) is None, "a column of one value says nothing"


def test_they_are_of_the_columns_that_were_asked_about():
    asked = Conjunctions.of(MIXED, [[0, 4], [0, 1]], [[1, 2], [0, 0]])
    more = more_of(asked, 1000)
    assert set(more.columns.ravel().tolist()) == {0, 1, 4}
    assert more.num_queries == 2 * 3 + 2 * 5 + 3 * 5 - 2


def test_a_workload_holds_no_more_than_its_limit(some, monkeypatch):
    monkeypatch.setattr(families, "MAX_CONJUNCTIONS", 25)
    assert more_of(some, 30).num_queries <= 25


def test_they_are_uniform_over_what_was_not_asked_for(some):
    """Each of the 31 others is chosen in 10 of 31 draws: within six standard deviations, false alarm below 1e-7."""
    rounds, chosen = 3000, {}
    for seed in range(rounds):
        for each in literals(more_of(some, 10, seed)):
            chosen[each] = chosen.get(each, 0) + 1
    chance = 10 / (NUM_PAIRS - some.num_queries)
    spread = 6.5 * math.sqrt(rounds * chance * (1 - chance))
    assert len(chosen) == NUM_PAIRS - some.num_queries
    assert all(abs(times - rounds * chance) < spread for times in chosen.values())


def test_those_asked_for_keep_their_ids(some):
    both = some.followed_by(more_of(some, 12))
    codes = np.stack([np.random.default_rng(3).integers(size, size=50) for size in MIXED.sizes]).astype(np.uint8)
    assert literals(both)[:20] == literals(some)
    assert both.count_rows(codes)[:20].tolist() == some.count_rows(codes).tolist()
    assert both.grouped().count_rows(codes).tolist() == both.count_rows(codes).tolist()
    assert from_json(both.to_json()) == both
    assert both != some


def test_what_cannot_follow(some):
    with pytest.raises(QueryError, match="distinct"):
        some.followed_by(some)
    with pytest.raises(QueryError, match="as many literals"):
        some.followed_by(build("random 3-way x 5", MIXED))
    with pytest.raises(QueryError, match="same columns"):
        some.followed_by(build("random 2-way x 5", Domain(tuple("uvwxy"), MIXED.sizes)))


def test_answers_on_independent_columns_need_no_groups(some, monkeypatch):
    rng = np.random.default_rng(5)
    products = MixtureOfProducts(tuple(rng.dirichlet(np.ones(s), 4) for s in MIXED.sizes), rng.dirichlet(np.ones(4)))
    expected = some.on(products)
    monkeypatch.setattr(conjunctions, "MAX_GROUPED", 19)
    assert np.allclose(some.on(products), expected, rtol=1e-12)
