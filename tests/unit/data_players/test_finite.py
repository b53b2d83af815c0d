"""A fit that breaks never reaches a release: the last model made of numbers is kept, and said so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import equipoise as eq
from equipoise.core import Conclusion, Move
from equipoise.data.distributions import Histogram, MixtureOfProducts, NotFinite, WeightedRows, is_finite
from equipoise.data.relaxed import RelaxedRows
from equipoise.data.schema import Schema
from equipoise.data.table import read
from equipoise.data.whole import Codes
from equipoise.data_players.finite import Finite
from equipoise.data_players.mixture_fit import Fit
from equipoise.errors import SettingError

RNG = np.random.default_rng(0)
MOVE = Move(np.array([0]), np.array([1]), np.array([1]), 1.0)


class Steps:
    """Plays one given histogram after the other."""

    def __init__(self, *played: Sequence[float]) -> None:
        self._played = played

    def init(self, rng: np.random.Generator) -> int:
        return 0

    def step(self, rng: np.random.Generator, state: int, moves: Sequence[Move]) -> int:
        return state + 1

    def play(self, state: int) -> Histogram:
        return Histogram(np.array(self._played[state]))


class Ends(Steps):
    """Concludes with what is not made of numbers."""

    def conclude(self, state: int) -> Conclusion:
        return Conclusion(RelaxedRows((np.array([[np.nan, 1.0]]),)), ("a note",))


GOOD, BETTER, BROKEN = (0.5, 0.5), (0.25, 0.75), (np.nan, 0.5)


def test_a_broken_round_plays_the_model_before_and_a_later_one_may_recover() -> None:
    player = Finite(Steps(GOOD, BROKEN, BETTER))
    state = player.init(RNG)
    seen = []
    for _ in range(2):
        state = player.step(RNG, state, [MOVE])
        seen.append(player.play(state).marginal((0,)).tolist())
    assert seen == [list(GOOD), list(BETTER)]
    end = player.conclude(state)
    assert end.distribution.marginal((0,)).tolist() == list(BETTER)
    assert ["1 of 2 rounds" in note for note in end.notes] == [True]
    whole = Finite(Steps(GOOD, BETTER))
    assert whole.conclude(whole.step(RNG, whole.init(RNG), [MOVE])).notes == ()


def test_a_conclusion_that_is_broken_is_not_released() -> None:
    player = Finite(Ends(GOOD, BETTER))
    end = player.conclude(player.step(RNG, player.init(RNG), [MOVE]))
    assert end.distribution.marginal((0,)).tolist() == list(BETTER)
    assert end.notes[0] == "a note"
    assert "at the end" in end.notes[1]


def test_a_start_that_is_broken_is_refused() -> None:
    with pytest.raises(SettingError, match="not finite"):
        Finite(Steps(BROKEN)).init(RNG)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_every_kind_of_distribution_is_looked_at(number: float) -> None:
    bad, good = np.array([[number, 0.5]]), np.array([[0.5, 0.5]])
    one = np.ones(1)
    assert is_finite(MixtureOfProducts((good,), one))
    assert not is_finite(MixtureOfProducts((good, bad), one))
    assert is_finite(RelaxedRows((good,)))
    assert not is_finite(RelaxedRows((good, bad)))
    assert is_finite(Histogram(good[0]))
    assert is_finite(WeightedRows(np.zeros((1, 1), dtype=np.uint8), one, (2,)))
    with pytest.raises(NotFinite):
        Histogram(bad[0])
    with pytest.raises(NotFinite):
        WeightedRows(np.zeros((1, 1), dtype=np.uint8), number * one, (2,))


def test_relaxed_rows_without_numbers_do_not_become_uniform() -> None:
    rows = RelaxedRows((np.array([[np.nan, 1.0], [-1.0, 0.0]]),)).normalised()
    assert np.isnan(rows.factors[0][0]).any()
    assert rows.factors[0][1].tolist() == [0.5, 0.5]


def released(method: str, **options: Any) -> eq.Release:
    rng = np.random.default_rng(1)
    rows = pa.table({name: rng.integers(0, 3, 400) for name in "abc"})
    table = read(rows, schema=Schema("toy", tuple(Codes(name=name, size=3) for name in "abc")))
    return eq.release(table, epsilon=1.0, workload="2-way", method=method, options=options, seed=1)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        pytest.param("gem", {"learning_rate": 1e30, "num_rounds": 2, "num_products": 20}, marks=pytest.mark.slow),
        ("rap", {"learning_rate": 1e39, "num_rounds": 2, "num_relaxed": 20}),
        pytest.param(
            "rap_softmax", {"learning_rate": 1e39, "num_rounds": 2, "num_relaxed": 20}, marks=pytest.mark.slow
        ),
        ("mixture", {"num_components": 20, "num_sweeps": 2}),
    ],
)
def test_a_release_whose_fit_breaks_is_published_with_the_model_before_and_says_so(
    method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if method == "mixture":  # no option breaks it, so its sweep is broken

        def broken(fit: Fit, rng: np.random.Generator) -> tuple[float, float]:
            fit.factors.tables[0] = fit.factors.tables[0] * np.float32(np.nan)
            return 0.0, 0.0

        monkeypatch.setattr(Fit, "sweep", broken)
    made = released(method, **options)
    notes = made.statement["method"]["notes"]
    assert any("no finite numbers" in note for note in notes), notes
    assert is_finite(made.distribution)
    assert made.error_bars is None or np.isfinite(made.error_bars).all()
    made.write(tmp_path)
    assert "no finite numbers" in (tmp_path / "report.html").read_text()
    assert "nan" not in (tmp_path / "synthetic.csv").read_text().lower()
    assert is_finite(eq.load(tmp_path).distribution)
