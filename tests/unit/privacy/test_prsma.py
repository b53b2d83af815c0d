"""PRSMA: its test, its blocks, its calls, failing closed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from tests.learners import ONE, PLENTY, Uncertified, records
from tests.noise import NoNoise

from equipoise.audit.book import MemoryBook
from equipoise.errors import CapacityError, CertificateError, SettingError
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.oracles.classes.minimisers import ByEnumeration
from equipoise.oracles.classes.query_class import Minimum, QueryClass, WeightedPoints
from equipoise.privacy import prsma as prsma_module
from equipoise.privacy.gate import Gate
from equipoise.privacy.mechanisms import float_above
from equipoise.privacy.perturbed import PublicPoints
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.prsma import _blocks, blocks_of, blocks_within, prsma

LARGE = {"epsilon": Fraction(30), "delta": Fraction(5)}
"""Not a guarantee worth having: 62 and 11 leave epsilon* 0.48 and delta* 0.45, and few calls."""

MANY = 4000
"""Records of which every random block tells the label's conjunction from all others: of 400, one in fifty does not."""


def passing(count: int, threshold: float, epsilon: float) -> float:
    """Pr[count + Z > threshold] for discrete Laplace Z: Pr[Z >= k] = exp(-e k)/(1 + exp(-e)) for k >= 1."""
    least = math.floor(threshold) + 1 - count
    tail = math.exp(-epsilon * abs(least)) / (1 + math.exp(-epsilon))
    return tail if least >= 1 else 1 - tail * math.exp(-epsilon)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE, Fraction(20)])
@pytest.mark.parametrize("failure", [0.25, 0.01, 1e-6])
def test_all_blocks_pass_the_test_with_the_promised_probability(epsilon: Fraction, failure: float) -> None:
    plan = blocks_of(10**9, epsilon=epsilon, delta=Fraction(1, 1000), failure=failure)
    e, d = float(plan.event.epsilon), float(plan.event.delta)
    chance = passing(plan.num_blocks, plan.threshold, e)
    assert 1 - failure <= chance <= 1 - failure * math.exp(-2 * e)
    # None passes with probability at most that of the paper, and the printed K passes three times in four.
    assert passing(math.floor(1 / e), plan.threshold, e) <= d / 2
    printed, threshold = (1 + math.log(2 / d)) / e, (1 + math.log(1 / d)) / e
    assert 1 - math.exp(-e * (printed - threshold)) / 2 == pytest.approx(0.75)


def test_one_block_changes_the_release_bit_by_its_epsilon_at_most() -> None:
    plan = blocks_of(10**6, epsilon=ONE, delta=Fraction(1, 1000))
    e = float(plan.event.epsilon)
    bits = np.array([passing(count, plan.threshold, e) for count in range(plan.num_blocks + 1)])
    for law in (np.log(bits), np.log1p(-bits)):
        assert np.abs(np.diff(law)).max() <= e * (1 + 1e-9)
    half = np.array([passing(count, plan.threshold, 2 * e) for count in range(plan.num_blocks + 1)])
    assert np.abs(np.diff(np.log(half))).max() > e


def test_blocks_are_disjoint_and_of_equal_size() -> None:
    blocks = _blocks(103, 10, 10)
    assert blocks.shape == (10, 10)
    assert len(set(blocks.reshape(-1).tolist())) == 100
    # Where record 0 goes: 2,000 places of 103, chi-squared with 102 degrees above 260 has probability below 1e-15.
    places = np.bincount([int(np.flatnonzero(_blocks(103, 1, 103)[0] == 0)[0]) for _ in range(2000)], minlength=103)
    assert ((places - 2000 / 103) ** 2).sum() / (2000 / 103) < 260


@dataclass
class Counting:
    """Counts its calls."""

    name: ClassVar[str] = "counting"
    calls: int = 0

    def refuses(self, query_class: QueryClass) -> str | None:
        return None

    def solve(self, instance: WeightedPoints) -> Minimum:
        self.calls += 1
        return ByEnumeration().solve(instance)


def test_prsma_calls_the_solver_as_often_as_it_said() -> None:
    plan, counting, book = blocks_of(MANY, **LARGE), Counting(), MemoryBook(PLENTY)
    chosen = prsma(Gate(book, noise=NoNoise()), records(MANY), Conjunctions(5), minimiser=counting, **LARGE)
    assert counting.calls == plan.num_calls == plan.num_blocks * plan.num_repetitions
    assert [event for event, _ in book.charged] == [plan.event] == [chosen.event]
    assert book.spent.conditional_rho == 0
    assert chosen.parameters.tolist() == [1, 0, 1, 0, 0]


class Numbered(NoNoise):
    """Laplace noise that is 1, 2, 3 and so on, on whatever is a vector of separators; remembers the scales."""

    def __init__(self) -> None:
        self.scales: list[float] = []

    def laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        if len(values) == 1:
            return values.copy()
        self.scales.append(scale)
        return values + len(self.scales)


def test_every_call_has_noise_of_its_own_on_every_separator() -> None:
    seen: list[int] = []

    class Watching(Counting):
        def solve(self, instance: WeightedPoints) -> Minimum:
            values = instance.values(np.zeros((1, 3), dtype=np.int64))  # the empty conjunction: all that is weighed
            seen.append(int(values[0]))
            return super().solve(instance)

    points, noise = PrivatePoints(np.zeros((400, 3)), np.zeros(400)), Numbered()
    plan = blocks_of(400, **LARGE)
    prsma(Gate(MemoryBook(PLENTY), noise=noise), points, Conjunctions(3), minimiser=Watching(), **LARGE)
    assert seen == [3 * number for number in range(1, plan.num_calls + 1)]
    assert set(noise.scales) == {float_above(129 * 3 / plan.inner_epsilon)}


def test_the_inner_epsilon_and_the_repetitions_are_rounded_to_the_private_side() -> None:
    for delta in (Fraction(1, 1000), Fraction(1, 10)):
        plan = blocks_of(10**6, epsilon=ONE, delta=delta)
        d = float(plan.event.delta)
        assert float(plan.inner_epsilon) < 1 / math.sqrt(8 * plan.block_size * math.log(2 * plan.num_blocks / d))
        assert float(plan.inner_epsilon) > 0.99999 / math.sqrt(8 * plan.block_size * math.log(2 * plan.num_blocks / d))
        assert plan.num_repetitions >= math.log(plan.num_blocks / d) / d > plan.num_repetitions - 1
        assert plan.block_size * plan.num_blocks <= 10**6 < (plan.block_size + 1) * plan.num_blocks
        assert (plan.event.epsilon, plan.event.delta) == (Fraction(1, 62), delta / 11)


@pytest.mark.parametrize("how", ["no bound", "raises"])
def test_prsma_with_a_solver_that_always_fails_releases_nothing(how: str) -> None:
    book, failing = MemoryBook(PLENTY), Uncertified(how)
    with pytest.raises(CertificateError):
        prsma(Gate(book, noise=NoNoise()), records(), Conjunctions(5), minimiser=failing, **LARGE)
    assert failing.calls == blocks_of(400, **LARGE).num_calls
    assert book.spent.delta == 5


class Shifted(NoNoise):
    """Moves the number of blocks that passed, which it remembers, and nothing else."""

    def __init__(self, shift: int) -> None:
        self.shift, self.passed = shift, -1

    def laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        if len(values) != 1:
            return values.copy()
        self.passed = int(values[0])
        return values + self.shift


def test_the_noisy_number_of_blocks_decides_and_nothing_is_chosen_from_none() -> None:
    plan = blocks_of(MANY, **LARGE)
    for shift in (math.floor(plan.threshold) - plan.num_blocks, -plan.num_blocks):
        with pytest.raises(CertificateError):
            prsma(Gate(MemoryBook(PLENTY), noise=Shifted(shift)), records(MANY), Conjunctions(5), **LARGE)
    above = Gate(MemoryBook(PLENTY), noise=Shifted(math.floor(plan.threshold) + 1 - plan.num_blocks))
    assert prsma(above, records(MANY), Conjunctions(5), **LARGE).parameters.tolist() == [1, 0, 1, 0, 0]
    with pytest.raises(CertificateError):
        prsma(
            *(Gate(MemoryBook(PLENTY), noise=Shifted(10**6)), records(), Conjunctions(5)),
            minimiser=Uncertified("raises"),
            **LARGE,
        )


def test_a_block_with_one_failed_call_has_not_passed() -> None:
    plan, noise = blocks_of(400, **LARGE), Shifted(0)

    class Once(Counting):
        def solve(self, instance: WeightedPoints) -> Minimum:
            found = super().solve(instance)
            if self.calls == 2:
                raise RuntimeError
            return found

    with suppress(CertificateError):
        prsma(Gate(MemoryBook(PLENTY), noise=noise), records(), Conjunctions(5), minimiser=Once(), **LARGE)
    assert plan.num_repetitions > 1
    assert noise.passed == plan.num_blocks - 1


def test_prsma_refuses_too_many_calls_before_anything_is_paid() -> None:
    book, settings = MemoryBook(PLENTY), {"epsilon": ONE, "delta": Fraction(1, 10**6)}
    plan = blocks_of(10**6, **settings)
    assert (plan.num_blocks, plan.num_repetitions) == (1311, 257_311_465)
    points = PrivatePoints(np.zeros((5000, 3)))
    with pytest.raises(CapacityError, match="times each"):
        prsma(Gate(book), points, Conjunctions(3), **settings)
    with pytest.raises(SettingError, match="blocks"):
        prsma(Gate(book), records(), Conjunctions(5), **settings)
    with pytest.raises(SettingError, match="failure"):
        blocks_of(10**6, **settings, failure=0.7)
    with pytest.raises(SettingError, match="failure"):
        blocks_of(10**6, **settings, failure=0.0)
    few = blocks_of(400, **LARGE)
    assert blocks_within(400, **LARGE, max_calls=few.num_calls) == few
    with pytest.raises(CapacityError, match="times each"):
        blocks_within(400, **LARGE, max_calls=few.num_calls - 1)
    assert book.stored == []


def test_every_order_of_a_few_records_is_as_likely() -> None:
    """12,000 orders of 3 records, 2,000 each in the mean: 300 off are 7 standard deviations (below 1e-10 in all). A
    shuffle that stops one step early leaves three of the six out; one that swaps with anybody misses by 200 or more."""
    found = Counter(tuple(_blocks(3, 3, 1).ravel().tolist()) for _ in range(12_000))
    assert set(found) == set(itertools.permutations(range(3)))
    assert max(abs(count - 2000) for count in found.values()) < 300
    assert _blocks(5, 2, 2).shape == (2, 2)


def test_public_records_are_weighed_in_a_blocks_share_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[PublicPoints | None] = []
    weighed = prsma_module.weighed

    def noting(block: PrivatePoints, query_class: QueryClass, public: PublicPoints | None, noise: np.ndarray):  # type: ignore[no-untyped-def]
        seen.append(public)
        return weighed(block, query_class, public, noise)

    monkeypatch.setattr(prsma_module, "weighed", noting)
    given = PublicPoints(np.zeros((2, 3), dtype=np.int64), np.array([400, -400]))
    points = records(num_records=400, num_features=3)
    plan = blocks_of(400, **LARGE)
    with suppress(CertificateError):
        prsma(Gate(MemoryBook(PLENTY)), points, Conjunctions(3), minimiser=ByEnumeration(), public=given, **LARGE)
    assert len(seen) == plan.num_calls
    assert all(public is not None and public.weights.tolist() == [plan.block_size, -plan.block_size] for public in seen)


def test_prsma_plans_for_the_failure_that_is_asked_for() -> None:
    book, failure = MemoryBook(PLENTY), 1e-6
    plan, counting = blocks_of(400, **LARGE, failure=failure), Counting()
    assert plan.num_calls != blocks_of(400, **LARGE).num_calls
    prsma(Gate(book, noise=NoNoise()), records(), Conjunctions(5), minimiser=counting, failure=failure, **LARGE)
    assert counting.calls == plan.num_calls


def test_prsma_made_again_is_what_it_was() -> None:
    book, counting = MemoryBook(PLENTY), Counting()
    first = prsma(Gate(book, noise=NoNoise()), records(), Conjunctions(5), minimiser=counting, **LARGE)
    calls = counting.calls
    again = prsma(Gate(book, noise=NoNoise()), records(), Conjunctions(5), minimiser=counting, **LARGE)
    assert again.parameters.tolist() == first.parameters.tolist()
    assert (counting.calls, len(book.charged)) == (calls, 1)
