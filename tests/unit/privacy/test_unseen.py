"""Records that nobody sees: their counts, statistics and points, and the learner that chooses among mechanisms."""

from __future__ import annotations

import pickle
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from tests.games import pairs
from tests.learners import records
from tests.noise import NoNoise

from equipoise.audit.book import MemoryBook
from equipoise.core import IntArray
from equipoise.errors import CertificateError, DataError, SettingError
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.oracles.classes.minimisers import ByEnumeration
from equipoise.oracles.classes.query_class import Minimum, WeightedPoints
from equipoise.privacy.accountant import Cost
from equipoise.privacy.enumerated import choose_enumerated
from equipoise.privacy.events import Exponential, Prsma, SeparatorGaussian, SeparatorLaplace
from equipoise.privacy.gate import Gate
from equipoise.privacy.learner import Learner
from equipoise.privacy.perturbed import PublicPoints
from equipoise.privacy.private import reveal
from equipoise.privacy.private_points import PrivatePoints, unseal
from equipoise.privacy.private_rows import PrivateRows
from equipoise.privacy.recorded import Recorded
from equipoise.privacy.rspm import gaussian_event, laplace_event
from equipoise.queries.query import Query

CODES = np.array([[0, 1, 1, 2, 1], [1, 0, 0, 1, 1]], dtype=np.uint8)
SIZES = (3, 2)


def rows(sizes: tuple[int, ...] = SIZES) -> PrivateRows:
    return PrivateRows([CODES[:, :2], CODES[:, 2:]], sizes)


def cell(first: int, second: int) -> Query:
    return Query((0, 1), (np.arange(3) == first, np.arange(2) == second))


@pytest.mark.parametrize("sizes", [SIZES, (2**31, 2**31)])
def test_rows_are_counted_by_cells_or_one_by_one(sizes: tuple[int, ...]) -> None:
    held = rows(sizes)
    queries = [cell(1, 0), cell(0, 1), cell(0, 0), Query((0,), (np.array([False, True, True]),))]
    counts = held.count(queries)
    assert reveal(counts).tolist() == [2, 1, 0, 4]
    assert (counts.num_values, counts.linf_sensitivity, held.num_rows) == (4, 1, 5)
    norms = counts.norms
    assert (norms.linf, norms.l1, norms.l2_squared) == (1, 4, 4), "all of them may move together"
    assert counts.take(np.array([0, 3])).norms == held.count(queries[:2]).norms
    assert held._codes.dtype == CODES.dtype
    assert repr(held) == "PrivateRows(5 records)"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(held)


def test_counts_of_a_workload_have_its_own_sensitivities() -> None:
    game = pairs()
    held = PrivateRows([game.rows.astype(np.uint8)], (2, 3))
    counts = held.counts_of(game.workload)
    assert reveal(counts).tolist() == game.counts().tolist()
    assert counts.norms == game.workload.norms()


def test_statistics_are_whole_units_cut_to_the_unit_interval_and_rounded_to_the_nearest() -> None:
    held = rows()
    values = [
        lambda codes: Fraction(int(codes[0].sum()), 10),
        lambda codes: Fraction(1, 4),
        lambda codes: -3,
        lambda codes: 7,
        lambda codes: Fraction(49, 1000),
        lambda codes: Fraction(codes.shape[1], 100),
    ]
    found = held.statistics(values, 10)
    assert reveal(found).tolist() == [5, 3, 0, 10, 0, 1]
    assert (found.linf_sensitivity, found.norms.l1) == (1, 6)
    with pytest.raises(SettingError, match="no value on the table") as error:
        held.statistics([lambda codes: 1 // 0], 10)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_points_are_bits_with_weights() -> None:
    bits, labels = np.array([[1, 0], [1, 1], [0, 1]]), np.array([True, False, False])
    points = PrivatePoints.labelled(bits, labels)
    assert (points.num_records, points.num_features) == (3, 2)
    assert points._weights.tolist() == [-1, 1, 1]
    assert PrivatePoints(bits)._weights.tolist() == [1, 1, 1]
    part = points.part(np.array([2, 0]))
    assert (part._bits.tolist(), part._weights.tolist()) == ([[0, 1], [1, 0]], [1, -1])
    for wrong in ((bits[0], None), (bits, [1, 1]), (bits, [[1], [1], [1]])):
        with pytest.raises(DataError, match="one row of bits"):
            PrivatePoints(*wrong)
    for wrong in ((2 * bits, None), (bits, [1, 2, 1])):
        with pytest.raises(DataError, match="0 or 1"):
            PrivatePoints(*wrong)


def test_points_of_a_class_are_made_once_and_anew_for_another() -> None:
    points = PrivatePoints.labelled(np.array([[1, 0], [1, 1], [1, 1]]), np.array([True, True, False]))
    first = unseal(points, Conjunctions(2))
    assert unseal(points, Conjunctions(2)) is first
    other = unseal(points, Conjunctions(2, max_literals=1))
    assert other.query_class == Conjunctions(2, max_literals=1)
    made = WeightedPoints.of(Conjunctions(2), Conjunctions(2).points(points._bits), points._weights)
    assert first.values(np.array([[0, 0], [1, 0], [0, 1], [1, 1]])).tolist() == [-1, -1, 0, 0]
    assert first.weights.tolist() == made.weights.tolist()


def test_recorded_counts_keep_their_records_and_their_sensitivities() -> None:
    game, points = pairs(), PrivatePoints(np.zeros((2, 2)))
    held = Recorded(np.arange(game.workload.num_queries), game.workload, points)
    assert held.records is points
    assert held.norms == game.workload.norms()
    assert reveal(held).tolist() == list(range(game.workload.num_queries))


def learner(mechanism: str, delta: Fraction = Fraction(0), epsilon: Fraction = Fraction(2)) -> Learner:
    return Learner(Conjunctions(3), mechanism, epsilon, delta, ByEnumeration(), 400)  # type: ignore[arg-type]


def test_a_learner_says_what_its_mechanism_costs() -> None:
    two, small = Fraction(2), Fraction(1, 1000)
    assert learner("exponential").event == Exponential(two)
    laplace = learner("rspm").event
    assert isinstance(laplace, SeparatorLaplace)
    assert laplace == laplace_event(Conjunctions(3), epsilon=two)
    gaussian = learner("gaussian_rspm", small).event
    assert isinstance(gaussian, SeparatorGaussian)
    assert gaussian == gaussian_event(Conjunctions(3), epsilon=two, delta=small)
    assert learner("prsma", Fraction(5), Fraction(30)).event == Prsma(Fraction(30, 62), Fraction(5, 11))
    assert learner("rspm").noise_scale == float(laplace.scale / laplace.grid)
    assert learner("gaussian_rspm", small).noise_scale == float(gaussian.stddev / gaussian.grid)
    assert learner("exponential").noise_scale == learner("prsma", Fraction(5), Fraction(30)).noise_scale == 0
    assert learner("exponential").num_separators == 0
    assert learner("rspm").num_separators == Conjunctions(3).num_separators == 3


@pytest.mark.parametrize("mechanism", ["exponential", "rspm", "gaussian_rspm"])
def test_a_learner_chooses_again_what_it_chose_and_the_next_by_its_number(mechanism: str) -> None:
    """At epsilon 400 the best of 8 conjunctions, ahead by 80 records or more, is missed with probability e^-15000."""
    chooser = learner(mechanism, Fraction(1, 100), Fraction(400))
    book = MemoryBook(Cost(Fraction(10**9), None, Fraction(1), conditional_rho=Fraction(10**9)))
    points = records(num_features=3)
    opposite = PrivatePoints(points._bits, -points._weights)
    chosen = chooser.choose(Gate(book), points)
    other = chooser.choose(Gate(book), opposite, number=1)
    assert chosen.parameters.tolist() == [1, 0, 1] != other.parameters.tolist()
    assert [event for event, _ in book.charged] == [chooser.event] * 2
    for number, expected in enumerate((chosen, other)):
        again = chooser.choose(Gate(book), opposite, number=number)
        assert again.parameters.tolist() == expected.parameters.tolist()
    assert len(book.charged) == 2


def test_public_records_are_weighed_by_every_mechanism_and_the_class_is_told_again() -> None:
    """All records say x_0 and x_2; 10,000 public ones say that x_1 is right, beyond doubt at epsilon 400."""
    points = records(num_features=3)
    bits = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 0], [1, 0, 1]], dtype=np.uint8)
    public = PublicPoints(bits, np.array([-10_000, -10_000, 10_000, 10_000]))
    for mechanism in ("exponential", "rspm", "gaussian_rspm"):
        chooser = learner(mechanism, Fraction(1, 100), Fraction(400))
        book = MemoryBook(Cost(Fraction(10**9), None, Fraction(1), conditional_rho=Fraction(10**9)))
        assert chooser.choose(Gate(book), points, public=public).parameters.tolist() == [0, 1, 0]
        again = chooser.choose(Gate(book), points)
        assert (again.query_class, again.event) == (Conjunctions(3), chooser.event)


class Seeking(ByEnumeration):
    """Counts its calls."""

    calls = 0

    def solve(self, instance: WeightedPoints) -> Minimum:
        Seeking.calls += 1
        return super().solve(instance)


@pytest.mark.parametrize("mechanism", ["rspm", "gaussian_rspm", "prsma"])
def test_the_learners_own_minimiser_seeks(mechanism: str) -> None:
    before, epsilon = Seeking.calls, Fraction(30)
    delta = Fraction(5) if mechanism == "prsma" else Fraction(1, 100)
    chooser = Learner(Conjunctions(3), mechanism, epsilon, delta, Seeking(), 400)  # type: ignore[arg-type]
    book = MemoryBook(Cost(Fraction(10**9), None, Fraction(10), conditional_rho=Fraction(10**9)))
    with suppress(CertificateError):
        chooser.choose(Gate(book), records(num_features=3))
    assert Seeking.calls > before


class Noting(NoNoise):
    """No noise; remembers how it was asked to select."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: str) -> IntArray:
        self.asked.append((scale, num_selected, law))
        return super().largest(scores, scale, num_selected, law)  # type: ignore[arg-type]


def test_every_query_is_tried_by_the_law_and_at_the_scale_that_is_charged() -> None:
    """Permute-and-flip of the same epsilon would cost four times the rho that is charged."""
    noise, book = Noting(), MemoryBook(Cost(Fraction(10**9), None))
    chosen = choose_enumerated(
        Gate(book, noise=noise), records(num_features=3), Conjunctions(3), epsilon=Fraction(1, 2)
    )
    assert noise.asked == [(2 * 64 / 0.5, 1, "gumbel")]
    assert chosen.event == Exponential(Fraction(1, 2))
