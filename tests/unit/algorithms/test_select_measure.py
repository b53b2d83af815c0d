from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.games import pairs

from equipoise.algorithms import Setting
from equipoise.algorithms.select_measure import split
from equipoise.errors import SettingError
from equipoise.privacy import accountant


def setting(rho: Fraction | None = Fraction("0.014270343"), epsilon: Fraction | None = None, unit: int = 1) -> Setting:
    return Setting(pairs().workload, 48_842, rho, epsilon, unit, 2**30)


def test_golden_values() -> None:
    half = split(setting(), num_rounds=100, selection_share=Fraction(1, 2))
    assert float(half.selection_epsilon) == pytest.approx(0.023892, abs=5e-7)
    assert half.measurement_stddev == pytest.approx(83.7111, abs=5e-5)
    # The papers' alpha = 0.67 is a share of alpha^2/(alpha^2 + (1 - alpha)^2) = 0.805.
    alpha = Fraction(67, 100)
    papers = split(setting(), num_rounds=100, selection_share=alpha**2 / (alpha**2 + (1 - alpha) ** 2))
    assert float(papers.selection_epsilon) == pytest.approx(0.030311, abs=5e-7)
    assert papers.measurement_stddev == pytest.approx(133.9655, abs=5e-5)


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=100),
    st.integers(1, 500),
    st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100)),
    st.sampled_from(["cell", "marginal"]),
    st.integers(1, 7),
)
def test_the_split_recomposes_to_the_budget(
    rho: Fraction, num_rounds: int, share: Fraction, moves: Any, unit: int
) -> None:
    where = setting(rho, unit=unit)
    spent = accountant.total(split(where, num_rounds=num_rounds, selection_share=share, moves=moves).events(where)).rho
    assert Fraction(99, 100) * rho <= spent <= rho


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=100),
    st.integers(1, 500),
    st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100)),
    st.sampled_from(["cell", "marginal"]),
    st.integers(1, 7),
)
def test_the_pure_split_recomposes_exactly(
    epsilon: Fraction, num_rounds: int, share: Fraction, moves: Any, unit: int
) -> None:
    where = setting(None, epsilon, unit)
    assert (
        accountant.total(split(where, num_rounds=num_rounds, selection_share=share, moves=moves).events(where)).epsilon
        == epsilon
    )


def test_nonsense_is_refused() -> None:
    for num_rounds, share in ((0, Fraction(1, 2)), (5, Fraction(0)), (5, Fraction(1))):
        with pytest.raises(SettingError):
            split(setting(), num_rounds=num_rounds, selection_share=share)


def test_a_round_for_every_marginal_measures_everything_at_once() -> None:
    where = setting()
    found = split(where, num_rounds=2, selection_share=Fraction(1, 10), moves="marginal")
    assert (found.moves, found.num_rounds, found.selection_epsilon) == ("everything", 1, None)
    # Two marginals, squared sensitivity 2 each: stddev^2 = 4/(2 rho).
    assert found.measurement_stddev == pytest.approx((2 / 0.014270343) ** 0.5)
    one = split(where, num_rounds=1, selection_share=Fraction(1, 10), moves="marginal")
    assert one.moves == "marginal"
    # A whole marginal costs 1/stddev^2, not half of it.
    assert one.measurement_stddev == pytest.approx((1 / (0.9 * 0.014270343)) ** 0.5)
