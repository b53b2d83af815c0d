import numpy as np
import pytest

from equipoise.errors import CapacityError, QueryError
from equipoise.queries import group as group_module
from equipoise.queries.group import Group


def random_group(rng, shape, num_queries):
    masks = tuple(rng.random((num_queries, size)) < 0.5 for size in shape)
    return Group(tuple(range(len(shape))), shape, masks)


def brute_force(group, tensor):
    cells = np.array(list(np.ndindex(*group.shape))).T
    return np.array([tensor.reshape(-1)[group.query(i).selects(cells)].sum() for i in range(group.num_queries)])


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 2)])
@pytest.mark.parametrize("chunk", [1, 7, 2**22])
def test_masked_answers_agree_with_enumeration(shape, chunk, monkeypatch):
    monkeypatch.setattr(group_module, "CHUNK", chunk)
    rng = np.random.default_rng(1)
    group = random_group(rng, shape, 20)
    counts = rng.integers(0, 1000, shape)
    answers = group.answers(counts)
    assert answers.dtype == np.int64
    assert answers.tolist() == brute_force(group, counts).tolist()
    shares = counts / counts.sum()
    np.testing.assert_allclose(group.answers(shares), brute_force(group, shares), atol=1e-14)


def test_counts_beyond_float32_stay_exact():
    group = Group((0,), (3,), (np.array([[True, True, False]]),))
    assert group.answers(np.array([2**52, 1, 5])).tolist() == [2**52 + 1]


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 2)])
def test_counts_that_no_float_holds_stay_exact(shape):
    rng = np.random.default_rng(3)
    group = random_group(rng, shape, 12)
    counts = rng.integers(2**58, 2**59, shape) | 1
    answers = group.answers(counts)
    assert answers.tolist() == brute_force(group, counts).tolist()
    assert any(int(float(answer)) != answer for answer in answers.tolist()), "else a float would have done"


def test_cells_are_in_c_order():
    group = Group((0, 1), (2, 3))
    tensor = np.arange(6).reshape(2, 3)
    assert group.answers(tensor).tolist() == brute_force(group, tensor).tolist() == list(range(6))
    assert group.query(5).cell == (1, 2)
    assert group.answers(tensor.T.copy().T).tolist() == list(range(6))


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("masked", [False, True])
def test_products_agree_with_the_marginal_they_stand_for(shape, masked):
    rng = np.random.default_rng(2)
    group = random_group(rng, shape, 9) if masked else Group(tuple(range(len(shape))), shape)
    factors = [rng.dirichlet(np.ones(size), size=6) for size in shape]
    weights = rng.dirichlet(np.ones(6))
    letters = "abcd"[: len(shape)]
    equation = ",".join(["k", *(f"k{letter}" for letter in letters)]) + "->" + letters
    tensor = np.einsum(equation, weights, *factors)
    np.testing.assert_allclose(group.on_products(factors, weights), group.answers(tensor), atol=1e-14)


def test_malformed_groups_are_refused():
    for columns, shape in [((), ()), ((1, 0), (2, 2)), ((0, 0), (2, 2)), ((0,), (2, 3))]:
        with pytest.raises(QueryError):
            Group(columns, shape)
    with pytest.raises(QueryError, match="weight"):
        Group((0,), (2,), weight=0)
    with pytest.raises(QueryError, match="masks"):
        Group((0,), (3,), (np.ones((2, 2), dtype=bool),))
    with pytest.raises(CapacityError, match="coarser"):
        Group((0, 1), (2**16, 2**16))
    with pytest.raises(QueryError, match="0 to 1"):
        Group((0,), (2,)).query(2)


def test_equality_and_hash_are_by_content():
    masks = (np.array([[True, False]]),)
    assert Group((0,), (2,), masks) == Group((0,), (2,), (masks[0].copy(),))
    assert hash(Group((0,), (2,), masks)) == hash(Group((0,), (2,), (masks[0].copy(),)))
    assert Group((0,), (2,), masks) != Group((0,), (2,))
    assert Group((0,), (2,)) != Group((0,), (2,), weight=2)
