"""Sizes of cells along an order: against brute force, and against estimates that do not know of the order."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from equipoise.queries import level_chain
from equipoise.queries.denoising import on_simplex, sizes_apart
from equipoise.queries.level_chain import FAR, sizes_along

NUM_DRAWS = 20


def test_two_steps_of_learning_are_what_all_paths_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cells of three levels: all paths and ways to be alone, one by one; the second shows what was learnt."""
    rng = np.random.default_rng(0)
    seen, near = rng.random((4, 3)), rng.random((3, 3))
    near /= near.sum(axis=1, keepdims=True)
    thought, spread = level_chain.NUM_THOUGHT, level_chain.NUM_SPREAD
    usual, jumps, alone = np.full(3, 1 / 3), level_chain.JUMPS, level_chain.ALONE
    for _ in range(2):
        total, num_jumps, num_alone = 0.0, 0.0, 0.0
        expected, visits = np.zeros((4, 3)), np.zeros(3)
        for levels in product(range(3), repeat=4):
            for own in product((None, 0, 1, 2), repeat=4):  # a cell's own size, or that of the chain
                for jumped in product((False, True), repeat=3):
                    weight = usual[levels[0]]
                    for i in range(1, 4):
                        u, v = levels[i - 1], levels[i]
                        weight *= jumps * usual[v] if jumped[i - 1] else (1.0 - jumps) * near[u, v]
                    sizes = [v if o is None else o for v, o in zip(levels, own, strict=True)]
                    for i in range(4):
                        weight *= seen[i, sizes[i]] * (1.0 - alone if own[i] is None else alone * usual[own[i]])
                    total += weight
                    num_jumps += weight * sum(jumped)
                    num_alone += weight * sum(o is not None for o in own)
                    for i in range(4):
                        expected[i, sizes[i]] += weight
                        if own[i] is not None or i == 0 or jumped[i - 1]:  # a draw that was seen
                            visits[sizes[i]] += weight
        expected, likelihood = expected / total, np.log(total)
        usual = (visits / total + spread / 3) / (visits / total + spread / 3).sum()
        jumps = (num_jumps / total + thought * level_chain.JUMPS) / (3 + thought)
        alone = (num_alone / total + thought * level_chain.ALONE) / (4 + thought)
    monkeypatch.setattr(level_chain, "NUM_STEPS", 2)
    found, said = level_chain._learnt.py_func(seen, near, np.ascontiguousarray(near.T))
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert said == pytest.approx(likelihood, rel=1e-10)


@pytest.mark.parametrize("kind", ["bell", "spikes", "decay", "in no order"])
def test_neighbours_tell_where_there_is_an_order_and_do_little_harm_elsewhere(kind: str) -> None:
    """Squared error against that of cells that know nothing of their neighbours, the same noise."""
    rng, places = np.random.default_rng(1), np.arange(80)
    shapes = {
        "bell": np.exp(-(((places - 30.0) / 12.0) ** 2)),
        "spikes": np.where(places % 20 == 0, 10.0, 1.0),
        "decay": np.exp(-places / 6.0),
        "in no order": rng.permutation(0.8**places),
    }
    exact = shapes[kind] / shapes[kind].sum()
    errors = np.zeros(2)
    for _ in range(NUM_DRAWS):
        noisy = exact + rng.normal(0.0, 0.02, 80)
        noisy += (1.0 - noisy.sum()) / 80
        for number, way in enumerate((sizes_along, sizes_apart)):
            errors[number] += ((on_simplex(way(noisy, 0.02).means) - exact) ** 2).sum()
    assert errors[0] < {"bell": 0.7, "spikes": 1.1, "decay": 0.8, "in no order": 1.1}[kind] * errors[1]


def test_large_values_stay_and_nothing_is_negative_or_out_of_order_of_scale() -> None:
    noisy = np.array([-50.0, 0.3, 40.0, -1.0, 0.0, 2.0, 900.0, 1.0])
    found = sizes_along(noisy, 1.0)
    large = noisy >= FAR
    np.testing.assert_array_equal(found.means[large], noisy[large])
    np.testing.assert_array_equal(found.variances[large], 1.0)
    assert (found.means >= 0.0).all()
    assert ((found.variances > 0.0) & np.isfinite(found.variances)).all()
    again = sizes_along(1e-3 * noisy, 1e-3)
    np.testing.assert_allclose(again.means, 1e-3 * found.means, rtol=1e-9)
    np.testing.assert_allclose(again.variances, 1e-6 * found.variances, rtol=1e-9)


def test_the_order_is_the_same_from_both_ends() -> None:
    """A chain whose moves are nearly as likely backwards: what it says must not depend much on where it begins."""
    noisy = np.exp(-np.arange(40) / 8.0) + np.random.default_rng(2).normal(0.0, 0.2, 40)
    there, back = sizes_along(noisy, 0.2).means, sizes_along(noisy[::-1], 0.2).means[::-1]
    np.testing.assert_allclose(there, back, atol=0.05)


def test_a_column_of_nothing_but_large_values_or_of_one() -> None:
    np.testing.assert_array_equal(sizes_along(np.full(9, 7.0), 1.0).means, 7.0)
    assert np.isfinite(sizes_along(np.array([0.5]), 1.0).means).all()
