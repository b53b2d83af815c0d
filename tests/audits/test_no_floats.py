"""No float stands between a count and its noise: an odd number above 2^53, which none holds, arrives as it was.

A conversion to float64 anywhere on the way would round it to an even one, so every path is walked with such counts and
with noise so small that it is 0 (but for a probability below exp(-1e6)).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.games import two_cells

import equipoise.engines
from equipoise.privacy import Private
from equipoise.privacy.above_threshold import SparseVector
from equipoise.privacy.conditional import WindowTest, measure_paid
from equipoise.privacy.events import ConditionalRelease, Event, Gaussian
from equipoise.privacy.keyed_noise import KeyedNoise
from equipoise.privacy.mechanisms import ConditionalTest, draw, measure, measure_pure, select, select_pure
from equipoise.privacy.noise import ExactNoise
from equipoise.privacy.private import reveal
from equipoise.privacy.private_rows import PrivateRows

ODD = 2**60 + 1
SHARP = Fraction(10**7)
TINY = 1e-6
SHOWN = "done / max(total, 1)"
"""The one quotient: how far Spark's tasks are, for a progress bar."""


class Payer:
    """Pays for anything."""

    def __init__(self) -> None:
        self.noise = ExactNoise()

    def debit(self, event: Event) -> None:
        pass


class PaidFor:
    """A run that was charged."""

    def __init__(self, event: Event) -> None:
        self._event = event

    def events(self) -> list[Event]:
        return [self._event]


def counts(*values: int) -> Private:
    return Private(np.array(values, dtype=np.int64), two_cells().workload)


def windows() -> WindowTest:
    return WindowTest(PaidFor(ConditionalRelease(SHARP, 1, Fraction(1, 100))), KeyedNoise(bytes(32)))


MEASURED: dict[str, Callable[[Private], Any]] = {
    "gaussian": lambda held: measure(Payer(), held, stddev=TINY)[0],
    "laplace": lambda held: measure_pure(Payer(), held, epsilon=SHARP)[0],
    "conditional": lambda held: ConditionalTest(Payer(), epsilon=SHARP, max_hits=1, delta=Fraction(1, 100)).test(
        held.take(np.array([0])), threshold=ODD - 1
    ),
    "window": lambda held: windows().test(held.take(np.array([0])), ("a",), low=ODD + 1, high=ODD + 2),
    "paid": lambda held: measure_paid(PaidFor(Gaussian(Fraction(2), Fraction(TINY) ** 2)), held)[0],
}


@pytest.mark.parametrize("name", MEASURED)
def test_a_count_that_no_float_holds_is_measured_as_it_is(name: str) -> None:
    assert int(MEASURED[name](counts(ODD, 3))) == ODD


@pytest.mark.parametrize("name", MEASURED)
def test_a_float_on_the_way_would_be_seen(name: str) -> None:
    """The negative control: the same counts, after one conversion."""
    rounded = np.array([ODD, 3], dtype=np.int64).astype(np.float64).astype(np.int64)
    held = Private(rounded, two_cells().workload)
    released = MEASURED[name](held)
    assert released is None or int(released) != ODD


def test_a_threshold_is_compared_to_the_last_unit() -> None:
    for value, above in ((ODD, True), (ODD - 1, False)):
        vector = SparseVector(Payer(), threshold=ODD, threshold_epsilon=SHARP, tests_epsilon=SHARP, max_positives=1)
        assert vector.above(counts(value, 3).take(np.array([0]))) == above


@pytest.mark.parametrize("mechanism", [select, select_pure, lambda *a, **k: draw(*a, num_draws=1, **k)])
def test_scores_that_differ_in_the_last_unit_are_told_apart(mechanism: Callable[..., Any]) -> None:
    """Scores are 1024 units a count; here above 2^53 of them, one unit apart."""
    base = 2**50
    held = counts(base, base)
    for best in (0, 1):
        public = np.zeros(2)
        public[best] = -1 / 1024  # one unit more distance; the other is exactly base
        scores = held.distance(public)
        assert mechanism(Payer(), scores, epsilon=Fraction(10**12)).tolist() == [best]


def test_what_is_made_of_counts_stays_whole() -> None:
    """Distances, differences, sums and maxima of counts that no float holds."""
    held, zero = counts(ODD, 3), np.zeros(2)
    for made, expected in (
        (held.whole_distance(zero), [ODD]),
        (held.less(zero), [ODD, 3]),
        (held.total(), [ODD + 3]),
        (held.largest(), [ODD]),
        (held.weighted(np.array([3, 1])), [3 * ODD, 3]),
        (held.maxima(np.array([0, 1, 2])), [ODD, 3]),
        (held.sums(np.array([0, 2])), [ODD + 3]),
        (counts(2**50 + 1, 3).distance(zero), [1024 * (2**50 + 1), 3072]),
        (counts(2**50 + 1, 3).payoffs(zero, times=3), [3072 * (2**50 + 1), 9216, -3072 * (2**50 + 1), -9216]),
    ):
        assert reveal(made).dtype == np.int64
        assert reveal(made).tolist() == expected


def test_opendp_is_given_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Watched(np.ndarray):
        def tolist(self) -> Any:
            found = super().tolist()
            seen.extend(found)
            return found

    for name in ("gaussian", "laplace"):
        getattr(ExactNoise(), name)(np.array([1, ODD], dtype=np.int64).view(Watched), 1.0)
    assert seen
    assert all(type(value) is int for value in seen)


def test_rows_are_counted_in_whole_numbers() -> None:
    workload = two_cells().workload
    rows = PrivateRows([two_cells().rows.astype(np.uint8)], (5,))
    rows._counts = np.full(len(rows._counts), ODD, dtype=np.int64)
    for held in (rows.count([workload.query(0)]), rows.counts_of(workload)):
        assert int(measure(Payer(), held.take(np.array([0])), stddev=TINY)[0]) == ODD


def test_the_engines_know_no_floats() -> None:
    """What counts the records divides nothing and names no type but those of whole numbers and bits."""
    for path in sorted(Path(equipoise.engines.__path__[0]).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            named = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            assert not named.startswith(("float", "double", "mean", "FloatArray")), f"{path.name}: {named}"
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                text = ast.unparse(node)
                assert text == SHOWN, f"{path.name}: {text}"
