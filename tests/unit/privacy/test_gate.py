"""The gate, what stands behind it, and choices that are made at most once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.analysts import Charged
from tests.noise import NoNoise

from equipoise.audit.book import MemoryBook
from equipoise.core import IntArray, Move
from equipoise.errors import BudgetError, CertificateError, LedgerError, SettingError
from equipoise.privacy import accountant
from equipoise.privacy.above_threshold import SparseVector
from equipoise.privacy.accountant import Cost
from equipoise.privacy.choice import choose_once
from equipoise.privacy.events import AboveThreshold, Event, Exponential, Gated, Gaussian, Group, Tuned
from equipoise.privacy.gate import Gate, Turn, within
from equipoise.privacy.noise import ExactNoise
from equipoise.privacy.paid_book import PaidBook
from equipoise.privacy.private import Private
from equipoise.privacy.private_rows import _Separate

EVENT = Exponential(Fraction(1, 10))
RHO = accountant.cost(EVENT).rho
TINY = Fraction(1, 10**9)


def made(value: int) -> Move:
    return Move(np.array([value]), np.array([1]), None, 0.0)


def pay(event: Event, value: int = 3) -> Callable[[Turn], Move]:
    def draw(turn: Turn) -> Move:
        turn.debit(event)
        return made(value)

    return draw


@pytest.mark.parametrize("part", ["rho", "delta", "shift", "factor", "conditional_rho"])
def test_every_part_of_a_reservation_is_a_limit_of_its_own(part: str) -> None:
    full = Cost(*map(Fraction, (2, 3, 4, 5, 6, 1, 1)))
    reserved = replace(full, epsilon=None)
    assert within(full, reserved), "what is reserved may be used up"
    more = replace(full, **{part: getattr(full, part) + TINY})
    assert not within(more, reserved)
    assert within(replace(full, epsilon=Fraction(99), conditional_epsilon=Fraction(99)), reserved)


@pytest.mark.parametrize("part", ["epsilon", "delta", "conditional_epsilon"])
def test_a_pure_reservation_counts_in_epsilon(part: str) -> None:
    full = Cost(*map(Fraction, (2, 3, 4, 5, 6, 1, 1)))
    assert within(full, full)
    assert not within(replace(full, **{part: getattr(full, part) + TINY}), full)
    assert not within(replace(full, epsilon=None), full)
    assert within(replace(full, rho=Fraction(99), shift=Fraction(99)), full)


def test_the_gate_charges_a_units_rows_and_stops_at_the_reservation() -> None:
    book = MemoryBook(Cost(9 * 2 * RHO, None), rows_per_unit=3)
    gate = Gate(book, noise=NoNoise())
    for number in range(2):
        assert gate.play(pay(EVENT, number)).ids.tolist() == [number]
    with pytest.raises(BudgetError, match="nothing further was released"):
        gate.play(pay(EVENT))
    assert book.charged == [(Group(EVENT, 3), accountant.cost(Group(EVENT, 3)))] * 2
    assert [move.ids.tolist() for move in gate.moves] == [[0], [1]]
    assert book.spent.rho == 18 * RHO


def test_one_move_may_debit_until_the_reservation_is_used_up() -> None:
    book = MemoryBook(Cost(2 * RHO, None))

    def thrice(turn: Turn) -> Move:
        for _ in range(3):
            turn.debit(EVENT)
        return made(0)

    with pytest.raises(BudgetError):
        Gate(book).play(thrice)
    assert (book.charged, book.stored) == ([], [])


def test_what_is_a_units_already_is_not_multiplied() -> None:
    tuned = Tuned(RHO, False, "geometric", Fraction(1, 3))
    for event in (tuned, Group(EVENT, 3)):
        book = MemoryBook(accountant.cost(event), rows_per_unit=3)
        Gate(book).play(pay(event))
        assert [charged for charged, _ in book.charged] == [event]


def test_noise_is_the_systems_unless_a_test_gives_its_own() -> None:
    assert isinstance(Gate(MemoryBook(Cost())).noise, ExactNoise)
    given = NoNoise()
    assert Gate(MemoryBook(Cost()), noise=given).noise is given
    seen = []
    Gate(MemoryBook(Cost()), noise=given).play(lambda turn: seen.append(turn.noise) or made(0))  # type: ignore[func-returns-value]
    assert seen == [given]


def test_a_paid_run_is_held_to_its_budget_and_counts_it() -> None:
    gated = Gated(2 * RHO, 5)
    book = PaidBook(Charged(gated, Gaussian(Fraction(1), Fraction(1))))
    assert (book.reserved, book.rows_per_unit, book.moves()) == (Cost(2 * RHO, None), 1, [])
    gate = Gate(book)
    gate.play(pay(EVENT, 1))
    gate.play(pay(EVENT, 2))
    with pytest.raises(BudgetError):
        gate.play(pay(EVENT, 3))
    assert [move.ids.tolist() for move in book.moves()] == [[1], [2]]
    for charged in ((), (gated, gated), (EVENT,)):
        with pytest.raises(LedgerError, match="nothing was looked at"):
            PaidBook(Charged(*charged))


def test_a_choice_is_drawn_once_for_its_debit_and_found_again() -> None:
    book, drawn = MemoryBook(Cost(2 * RHO, None)), []

    def draw(noise: object) -> IntArray:
        assert book.charged, "the debit is committed before anything is looked at"
        drawn.append(noise)
        return np.array([5 + len(drawn), 7])

    gate = Gate(book, noise=NoNoise())
    first = choose_once(gate, 0, EVENT, draw)
    second = choose_once(gate, 1, EVENT, draw)
    assert (first.tolist(), second.tolist(), len(drawn)) == ([6, 7], [7, 7], 2)
    assert [move.ids.tolist() for move in book.stored] == [[], [6, 7], [], [7, 7]]
    assert [event for event, _ in book.charged] == [EVENT, EVENT]
    again = Gate(MemoryBook(Cost(), stored=list(book.stored)))
    assert choose_once(again, 0, EVENT, lambda _: None).tolist() == [6, 7]
    assert choose_once(again, 1, EVENT, lambda _: None).tolist() == [7, 7]
    assert len(again.moves) == 4


def test_a_choice_that_was_interrupted_or_failed_is_not_tried_again() -> None:
    def crash(_: object) -> IntArray:
        raise RuntimeError("depends on the records")

    refusals = []
    for draw in (lambda _: None, crash, lambda _: np.zeros(0, dtype=np.int64)):
        book = MemoryBook(Cost(RHO, None))
        with pytest.raises(CertificateError) as error:
            choose_once(Gate(book), 0, EVENT, draw)
        assert error.value.__cause__ is None
        refusals.append(str(error.value))
        assert book.spent.rho == RHO
        with pytest.raises(CertificateError):
            choose_once(Gate(book), 0, EVENT, lambda _: np.array([1]))
    interrupted = Gate(MemoryBook(Cost(RHO, None), stored=[Move(np.zeros(0), np.zeros(0), None, 0.0)]))
    with pytest.raises(CertificateError) as error:
        choose_once(interrupted, 0, EVENT, lambda _: np.array([1]))
    assert {*refusals, str(error.value)} == {refusals[0]}


class Scales(NoNoise):
    """No noise; remembers the scales."""

    def __init__(self) -> None:
        self.scales: list[float] = []

    def laplace(self, values: IntArray, scale: float) -> IntArray:
        self.scales.append(scale)
        return values.copy()


def test_sparse_vector_pays_first_and_stops_after_its_positives() -> None:
    noise, book = Scales(), MemoryBook(Cost(Fraction(9), Fraction(9)))
    told: list[object] = []

    def play(turn: Turn) -> Move:
        vector = SparseVector(
            turn, threshold=10, threshold_epsilon=Fraction(1, 2), tests_epsilon=Fraction(1, 4), max_positives=2
        )
        counts = [Private(np.array([count]), _Separate(1)) for count in (9, 10, 3, 11)]
        for count in counts:
            told.append(vector.above(count))
            told.append(vector.positives_left)
        with pytest.raises(SettingError, match="all the positives"):
            vector.above(counts[0])
        return made(0)

    Gate(book, noise=noise).play(play)
    assert told == [False, 2, True, 1, False, 1, True, 0]
    assert noise.scales == [2.0, 16.0, 16.0, 16.0, 16.0]
    assert [event for event, _ in book.charged] == [AboveThreshold(Fraction(1, 2), Fraction(1, 4), 2)]
    wide = Private(np.array([1, 2]), _Separate(2))
    settings = {"threshold": 1, "threshold_epsilon": Fraction(1), "tests_epsilon": Fraction(1), "max_positives": 1}
    with pytest.raises(SettingError, match="one count"):
        Gate(book, noise=noise).play(lambda turn: SparseVector(turn, **settings).above(wide))  # type: ignore[arg-type, return-value]
