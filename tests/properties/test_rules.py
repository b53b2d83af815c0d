"""For random rules and random models: conditioning is exact, and no row that is drawn breaks a rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from equipoise.core import Distribution
from equipoise.data.conditioning import Rejecting, condition
from equipoise.data.distributions import Histogram, MixtureOfProducts, WeightedRows
from equipoise.data.domain import Domain
from equipoise.data.rules import Rules
from equipoise.queries.rounding import round_rows
from equipoise.queries.workload import Group, Workload

SHAPE = (2, 3, 4, 3)
PAIRS = Workload(
    Domain(("a", "b", "c", "d"), SHAPE),
    tuple(Group((i, j), (SHAPE[i], SHAPE[j])) for i in range(4) for j in range(i + 1, 4)),
)


@st.composite
def some_rules(draw: st.DrawFn) -> Rules:
    boxes = []
    for _ in range(draw(st.integers(1, 5))):
        columns = draw(st.sets(st.integers(0, 3), min_size=1, max_size=3))
        box = {}
        for column in columns:
            codes = draw(st.sets(st.integers(0, SHAPE[column] - 1), min_size=1, max_size=SHAPE[column] - 1))
            box[column] = np.isin(np.arange(SHAPE[column]), list(codes))
        boxes.append(box)
    rules = Rules(SHAPE, tuple(boxes))
    assume(rules.possible_cells().any())
    return rules


def models(seed: int) -> dict[str, Distribution]:
    rng = np.random.default_rng(seed)
    records = np.stack([rng.integers(0, size, 60) for size in SHAPE]).astype(np.uint8)
    factors = tuple(rng.dirichlet(np.full(size, 0.3), 7) for size in SHAPE)
    # Single precision underflows to exact zeros in places, as fitted mixtures have them.
    sparse = tuple(np.where(f < 0.05, 0.0, f) / np.where(f < 0.05, 0.0, f).sum(1, keepdims=True) for f in factors)
    return {
        "histogram": Histogram(rng.dirichlet(np.full(72, 0.3)).reshape(SHAPE)),
        "rows": WeightedRows(records, rng.dirichlet(np.ones(60)), SHAPE),
        "products": MixtureOfProducts(sparse, rng.dirichlet(np.ones(7))),
    }


def by_hand(model: Distribution, rules: Rules) -> np.ndarray | None:
    kept = np.where(rules.possible_cells(), model.marginal((0, 1, 2, 3)), 0.0)
    return kept / kept.sum() if kept.sum() > 1e-9 else None


KINDS = ("histogram", "rows", "products")


@given(some_rules())
def test_a_possible_record_is_found_exactly_when_there_is_one(rules: Rules) -> None:
    possible = rules.possible_cells()
    for column, size in enumerate(SHAPE):
        for code in range(size):
            expected = possible.take(code, axis=column).any()
            assert rules.allow({column: np.arange(size) == code}) == expected


@pytest.mark.parametrize("kind", KINDS)
@given(rules=some_rules(), seed=st.integers(0, 10_000))
def test_conditioning_is_exact(kind: str, rules: Rules, seed: int) -> None:
    model = models(seed)[kind]
    expected = by_hand(model, rules)
    found = condition(model, rules)
    if expected is None:
        return
    assert found is not None
    joint = found.marginal((0, 1, 2, 3))
    np.testing.assert_allclose(joint, expected, atol=1e-5 if kind == "products" else 1e-12)
    assert not joint[~rules.possible_cells()].any()


@given(rules=some_rules(), seed=st.integers(0, 10_000))
def test_components_that_keep_their_weights_leave_other_columns_alone(rules: Rules, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = MixtureOfProducts(tuple(rng.dirichlet(np.ones(size), 7) for size in SHAPE), rng.dirichlet(np.ones(7)))
    found = condition(model, rules, within=True)
    assert found is not None
    assert not found.marginal((0, 1, 2, 3))[~rules.possible_cells()].any()
    free = tuple(column for column in range(4) if not any(column in box for box in rules.boxes))
    np.testing.assert_allclose(found.marginal(free), model.marginal(free), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@given(rules=some_rules(), seed=st.integers(0, 10_000), num_rows=st.integers(1, 200))
def test_no_row_breaks_a_rule_before_or_after_rounding(kind: str, rules: Rules, seed: int, num_rows: int) -> None:
    found = condition(models(seed)[kind], rules)
    assume(found is not None)
    assert found is not None
    rng = np.random.default_rng(seed)
    assert not rules.broken_by(found.sample(rng, num_rows)).any()
    rows = round_rows(rng, found, PAIRS, num_rows, rules=rules)
    assert rows.shape == (4, num_rows)
    assert not rules.broken_by(rows).any()


@given(rules=some_rules(), seed=st.integers(0, 10_000))
def test_rejection_agrees_with_the_exact_ways(rules: Rules, seed: int) -> None:
    model = models(seed)["products"]
    expected = by_hand(model, rules)
    assume(expected is not None and float(model.marginal((0, 1, 2, 3))[rules.possible_cells()].sum()) > 0.01)
    assert expected is not None
    rejecting = Rejecting(model, rules)
    np.testing.assert_allclose(rejecting.marginal((0, 1, 2, 3)), expected, atol=1e-12)
    np.testing.assert_allclose(rejecting.marginal((2,)), expected.sum(axis=(0, 1, 3)), atol=1e-12)
    rows = rejecting.sample(np.random.default_rng(seed), 30)
    assert rows.shape == (4, 30)
    assert not rules.broken_by(rows).any()
