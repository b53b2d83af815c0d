"""What the geometry of entropy projections promises (MECHANISMS 4.2)."""

import numpy as np

from equipoise.data_players.coordinate_descent import descend, project
from equipoise.data_players.log_linear import LogLinear
from equipoise.queries.query import Query


def divergence(p, d):
    return float(np.sum(np.where(p > 0, p * np.log(np.maximum(p, 1e-300) / d), 0.0)))


def random_model(rng, size):
    model = LogLinear((size,))
    model.include([Query((0,), (np.arange(size) == x,)) for x in range(size)])
    for x in range(size):
        model.tilt(x, float(rng.normal()))
    return model


def test_projection_obeys_pythagoras():
    # KL(P || D) - KL(P || D+) = KL(D+ || D) for every P that agrees with the measurement.
    rng = np.random.default_rng(0)
    for _ in range(300):
        size = int(rng.integers(2, 12))
        mask = rng.permutation(np.arange(size) < rng.integers(1, size))
        model = random_model(rng, size)
        model.include([Query((0,), (mask,))])
        truth, before = rng.dirichlet(np.ones(size)), model.distribution().probabilities
        target = float(truth[mask].sum())
        # The tilts that made the start are on target, so the one projection is on the new query.
        project(model, np.append(model.answers()[:size], target), tolerance=0.0, max_steps=1)
        after = model.distribution().probabilities
        assert abs(model.answer(size) - target) < 1e-14
        assert abs(divergence(truth, before) - divergence(truth, after) - divergence(after, before)) < 1e-12


def test_exact_measurements_never_raise_the_potential():
    rng = np.random.default_rng(1)
    size, num_queries = 30, 8
    masks = rng.random((num_queries, size)) < 0.5
    truth = rng.dirichlet(np.full(size, 0.2))
    model = LogLinear((size,))
    model.include([Query((0,), (mask,)) for mask in masks])
    targets = masks @ truth
    potential = [divergence(truth, model.distribution().probabilities)]
    for _ in range(60):
        project(model, targets, tolerance=0.0, max_steps=1)
        potential.append(divergence(truth, model.distribution().probabilities))
    assert np.all(np.diff(potential) <= 1e-12)
    np.testing.assert_allclose(model.answers(), targets, atol=1e-3)


def test_the_dual_has_the_largest_entropy_of_all_that_fit():
    rng = np.random.default_rng(2)
    size, num_queries, slack = 12, 4, 0.03
    masks = rng.random((num_queries, size)) < 0.5
    targets = masks @ rng.dirichlet(np.full(size, 0.3))
    model = LogLinear((size,))
    model.include([Query((0,), (mask,)) for mask in masks])
    none = np.zeros(num_queries)
    descend(model, targets, slack=none + slack, variance=none, tolerance=1e-14, max_sweeps=50_000)
    best = model.distribution().probabilities
    assert np.abs(masks @ best - targets).max() <= slack + 1e-9
    uniform = np.full(size, 1 / size)
    tried = 0
    for _ in range(20_000):
        other = best * np.exp(0.3 * rng.normal() * rng.normal(size=size))
        other /= other.sum()
        if np.abs(masks @ other - targets).max() <= slack:
            tried += 1
            assert divergence(other, uniform) >= divergence(best, uniform) - 1e-9
    assert tried > 100
