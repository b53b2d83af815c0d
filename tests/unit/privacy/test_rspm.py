"""RSPM, Gaussian RSPM, the exponential mechanism on a class: choices, debits, failing closed."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from tests.learners import ONE, PLENTY, Uncertified, records
from tests.noise import NoNoise, SeededNoise

from equipoise.audit.book import MemoryBook
from equipoise.errors import BudgetError, CapacityError, CertificateError, DataError, SettingError
from equipoise.oracles.classes.branching import ByBranching
from equipoise.oracles.classes.closed import Closed
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.oracles.classes.minimisers import ByEnumeration, ByProgram
from equipoise.oracles.classes.parities import Parities
from equipoise.oracles.classes.query_class import Minimum, QueryClass, WeightedPoints
from equipoise.privacy import accountant, events
from equipoise.privacy.accountant import Cost
from equipoise.privacy.enumerated import choose_enumerated
from equipoise.privacy.gate import Gate
from equipoise.privacy.learner import Learner, Mechanism
from equipoise.privacy.perturbed import PublicPoints
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.prsma import blocks_of
from equipoise.privacy.rspm import NO_PROOF, gaussian_event, gaussian_rspm, laplace_event, rspm


@pytest.mark.parametrize("minimiser", [ByEnumeration(), ByProgram(), ByProgram("highs")], ids=str)
def test_it_finds_the_rule_and_pays_what_its_event_costs(minimiser: ByEnumeration | ByProgram) -> None:
    book = MemoryBook(PLENTY)
    chosen = rspm(Gate(book), records(), Conjunctions(5), epsilon=Fraction(10), gap=ONE, minimiser=minimiser)
    assert chosen.query_class.describe(chosen.parameters, "abcde") == "a and c"
    assert [event for event, _ in book.charged] == [chosen.event]
    assert chosen.event == laplace_event(Conjunctions(5), epsilon=Fraction(10), gap=ONE)
    assert chosen.event.scale == Fraction(2 * 64 + 2 * 64 + 1) * 5 / 10
    assert book.spent == Cost(
        Fraction(50), Fraction(10), conditional_rho=Fraction(50), conditional_epsilon=Fraction(10)
    )
    assert "within 1 records" in str(chosen.certificate)


def test_the_other_mechanisms_find_it_too() -> None:
    found = [
        gaussian_rspm(
            Gate(MemoryBook(PLENTY)), records(), Conjunctions(5), epsilon=Fraction(10), delta=Fraction(1, 10**6)
        ),
        choose_enumerated(Gate(MemoryBook(PLENTY)), records(), Conjunctions(5), epsilon=ONE),
    ]
    for chosen in found:
        assert chosen.parameters.tolist() == [1, 0, 1, 0, 0]
    assert found[1].certificate is None
    assert not events.conditional(found[1].event)


@pytest.mark.parametrize("how", ["no bound", "gap", "lies", "raises"])
def test_without_a_certificate_nothing_is_released_or_said_and_the_debit_stays(how: str) -> None:
    messages = set()
    for seed in range(3):
        book = MemoryBook(PLENTY)
        with pytest.raises(CertificateError) as refused:
            rspm(
                Gate(book, noise=SeededNoise(seed)),
                records(),
                Conjunctions(5),
                epsilon=ONE,
                minimiser=Uncertified(how),
            )
        messages.add(str(refused.value))
        assert refused.value.__cause__ is None
        assert refused.value.__context__ is None
        assert book.spent.epsilon == 1
        assert [len(move.ids) for move in book.stored] == [0, 0]
    book = MemoryBook(PLENTY, stored=MemoryBook(PLENTY).stored)
    with pytest.raises(CertificateError) as other:
        rspm(Gate(book), records(), Parities(5), epsilon=ONE, minimiser=Uncertified("raises"))
    assert messages == {str(other.value)}
    assert "secret" not in str(other.value)


def test_a_solver_that_is_stopped_early_is_refused() -> None:
    """One node values single literals; what it leaves open may be better, and is."""
    found = rspm(
        Gate(MemoryBook(PLENTY), noise=NoNoise()), records(), Conjunctions(5), epsilon=ONE, minimiser=ByBranching()
    )
    assert found.parameters.tolist() == [1, 0, 1, 0, 0]
    book = MemoryBook(PLENTY)
    with pytest.raises(CertificateError):
        rspm(Gate(book, noise=NoNoise()), records(), Conjunctions(5), epsilon=ONE, minimiser=ByBranching(max_nodes=1))
    assert book.spent.epsilon == 1


def test_a_gap_that_is_paid_for_is_accepted() -> None:
    book = MemoryBook(PLENTY)
    chosen = rspm(
        Gate(book), records(), Conjunctions(5), epsilon=Fraction(10), gap=Fraction(1, 64), minimiser=Uncertified("gap")
    )
    assert isinstance(chosen.event, events.SeparatorLaplace)
    assert chosen.event.gap == 1


def test_a_choice_is_made_once() -> None:
    """A second start returns it; one after a kill between debit and choice does not try again."""
    book = MemoryBook(PLENTY)
    first = rspm(Gate(book), records(), Conjunctions(5), epsilon=ONE)
    counted = Uncertified("no bound")
    again = rspm(Gate(book), records(), Conjunctions(5), epsilon=ONE, minimiser=counted)
    assert counted.calls == 0
    assert again.parameters.tolist() == first.parameters.tolist()
    second = rspm(Gate(book), records(), Conjunctions(5), epsilon=ONE, number=1)
    assert len(book.stored) == 4
    assert book.spent.epsilon == 2
    assert second.event == first.event
    killed = MemoryBook(PLENTY, stored=book.stored[:1])
    with pytest.raises(CertificateError):
        rspm(Gate(killed), records(), Conjunctions(5), epsilon=ONE)
    assert len(killed.stored) == 1
    drawn = MemoryBook(PLENTY)
    one = choose_enumerated(Gate(drawn), records(), Conjunctions(5), epsilon=ONE)
    two = choose_enumerated(Gate(drawn), records(), Conjunctions(5), epsilon=ONE)
    assert one.parameters.tolist() == two.parameters.tolist()
    assert len(drawn.stored) == 1


def test_a_reservation_without_a_conditional_part_covers_no_conditional_event() -> None:
    for reserved in (Cost(ONE, None), Cost(ONE, ONE)):
        book = MemoryBook(reserved)
        with pytest.raises(BudgetError):
            rspm(Gate(book), records(), Conjunctions(5), epsilon=ONE)
        assert book.stored == []
    planned = accountant.cost(laplace_event(Conjunctions(5), epsilon=ONE))
    rspm(Gate(MemoryBook(planned)), records(), Conjunctions(5), epsilon=ONE)


def test_what_can_be_known_beforehand_is_refused_before_the_debit() -> None:
    book = MemoryBook(PLENTY)
    with pytest.raises(SettingError, match="bits"):
        rspm(Gate(book), records(), Conjunctions(6), epsilon=ONE)
    with pytest.raises(SettingError, match="does not take"):
        rspm(Gate(book), records(), Conjunctions(5), epsilon=ONE, minimiser=ByEnumeration(3))
    with pytest.raises(SettingError, match="every query"):
        choose_enumerated(Gate(book), records(), Conjunctions(5), epsilon=ONE, max_queries=3)
    assert book.charged == []


def test_public_records_are_weighed_with_the_private_ones() -> None:
    """The sign of OracleQuery: private (1, 1) weigh -1, as many public (0, 0) weigh +1: q(S) = 1, q(public) = 0."""
    points = PrivatePoints(np.ones((50, 2)), -np.ones(50))
    public = PublicPoints(np.zeros((1, 2), dtype=np.int64), np.array([50.0]))
    closed = Closed(Conjunctions(2, min_literals=1))
    for find in (rspm, choose_enumerated):
        book = MemoryBook(PLENTY)
        query = find(Gate(book, noise=NoNoise()), points, closed, epsilon=ONE, public=public).parameters
        assert closed.answers(query, np.array([[1, 1], [0, 0]]))[0].tolist() == [True, False]


def test_records_cannot_be_looked_at() -> None:
    points = records()
    assert str(points) == "PrivatePoints(400 records of 5 bits)"
    for look in (np.asarray, iter, bool, hash, pickle.dumps, lambda p: p[0], lambda p: p == p):
        with pytest.raises(TypeError, match="private values"):
            look(points)
    for bits, weights in (([[0, 2]], [1]), ([[0, 1]], [2]), ([[0, 1]], [1, 1])):
        with pytest.raises(DataError):
            PrivatePoints(bits, weights)


def test_what_is_said_of_a_choice_is_what_was_certified() -> None:
    book = MemoryBook(PLENTY)
    for gap, missed in ((Fraction(0), "the best"), (Fraction(3, 2), "within 1.5 records of the best")):
        number = len(book.stored) // 2
        chosen = rspm(
            Gate(book), records(), Conjunctions(5), epsilon=ONE, gap=gap, minimiser=ByEnumeration(), number=number
        )
        name = ByEnumeration().name
        assert chosen.certificate == f"{name} certified that the query is {missed} for the records and the noise"
    assert [move.stddev for move in book.stored] == [0.0] * 4
    assert [move.values for move in book.stored] == [None] * 4
    assert [move.signs.tolist() for move in book.stored[::2]] == [[], []]
    assert all(not move.signs.any() and len(move.signs) == len(move.ids) for move in book.stored)


def test_without_a_gap_or_a_delta_the_defaults_are_the_strict_ones() -> None:
    assert laplace_event(Conjunctions(5), epsilon=ONE) == laplace_event(Conjunctions(5), epsilon=ONE, gap=Fraction(0))
    delta = Fraction(1, 10**6)
    sound = gaussian_event(Conjunctions(5), epsilon=ONE, delta=delta)
    assert sound == gaussian_event(Conjunctions(5), epsilon=ONE, delta=delta, gap=Fraction(0))
    assert (sound.gap, sound.grid, sound.num_separators, sound.delta) == (0, 64, 5, delta)
    published = gaussian_event(Conjunctions(5), epsilon=ONE / 2, delta=delta, published_scale=NO_PROOF)
    assert float(published.stddev) == pytest.approx(64 * math.sqrt(5 * math.log(1e6)) * 2)
    with pytest.raises(SettingError, match="not private"):
        gaussian_event(Conjunctions(5), epsilon=ONE, delta=delta, published_scale="yes")


@pytest.mark.parametrize("mechanism", ["exponential", "rspm", "gaussian_rspm"])
def test_a_learner_weighs_public_records_and_knows_which_choice_it_makes(mechanism: Mechanism) -> None:
    """So many public records say "b" that the private ones cannot change it; a second choice is another one."""
    bits = np.tile(np.array([[0, 1, 0], [1, 0, 1]]), (2000, 1))
    public = PublicPoints(bits, np.where(bits[:, 1] == 1, -1, 1))
    delta = Fraction(1, 100) if mechanism == "gaussian_rspm" else Fraction(0)
    learner = Learner(Conjunctions(3), mechanism, Fraction(20), delta, ByEnumeration(), 40)
    points = PrivatePoints.labelled(np.ones((40, 3), dtype=np.int64), np.ones(40, dtype=np.int64))
    book = MemoryBook(PLENTY)
    first = learner.choose(Gate(book, noise=SeededNoise(1)), points, public=public)
    assert first.query_class.describe(first.parameters, "abc") == "b"
    second = learner.choose(Gate(book, noise=SeededNoise(2)), points, number=1)
    assert second.query_class.describe(second.parameters, "abc") != "b"
    assert [event for event, _ in book.charged] == [learner.event] * 2
    again = learner.choose(Gate(book), points)
    assert np.array_equal(again.parameters, first.parameters)


def test_a_gap_is_priced_with_either_noise() -> None:
    book = MemoryBook(PLENTY)
    common = {"epsilon": Fraction(10), "gap": Fraction(2), "minimiser": ByEnumeration()}
    one = rspm(Gate(book), records(), Conjunctions(5), **common)
    two = gaussian_rspm(Gate(book), records(), Conjunctions(5), delta=Fraction(1, 100), number=1, **common)
    assert one.event == laplace_event(Conjunctions(5), epsilon=Fraction(10), gap=Fraction(2))
    assert two.event == gaussian_event(Conjunctions(5), epsilon=Fraction(10), delta=Fraction(1, 100), gap=Fraction(2))
    assert (one.event.gap, two.event.gap) == (128, 128)


def test_a_class_that_is_too_large_to_try_is_refused_before_the_debit() -> None:
    book = MemoryBook(PLENTY)
    with pytest.raises((SettingError, CapacityError)):
        choose_enumerated(Gate(book), records(), Conjunctions(5), epsilon=ONE, max_queries=3)
    with pytest.raises((SettingError, DataError)):
        choose_enumerated(Gate(book), records(), Conjunctions(4), epsilon=ONE, max_queries=100)
    assert book.charged == []
    assert book.stored == []


def test_what_a_learner_says_of_its_noise_and_price() -> None:
    def learner(mechanism: Mechanism, delta: Fraction = Fraction(0)) -> Learner:
        return Learner(Conjunctions(5), mechanism, Fraction(20), delta, ByEnumeration(), 400)

    delta = Fraction(1, 100)
    assert (learner("exponential").num_separators, learner("exponential").noise_scale) == (0, 0.0)
    assert learner("exponential").event == events.Exponential(Fraction(20))
    assert learner("rspm").num_separators == 5
    assert learner("rspm").noise_scale == pytest.approx(129 * 5 / 20 / 64)
    sound = gaussian_event(Conjunctions(5), epsilon=Fraction(20), delta=delta)
    assert learner("gaussian_rspm", delta).noise_scale == pytest.approx(float(sound.stddev) / 64)
    blocks = blocks_of(400, epsilon=Fraction(20), delta=ONE)
    assert learner("prsma", ONE).event == blocks.event
    assert learner("prsma", ONE).noise_scale == 0


def test_the_published_scale_is_what_is_drawn_and_charged_where_it_is_asked_for() -> None:
    book, settings = MemoryBook(PLENTY), {"epsilon": ONE, "delta": Fraction(1, 10**6), "published_scale": NO_PROOF}
    chosen = gaussian_rspm(
        Gate(book, noise=NoNoise()), records(), Conjunctions(5), minimiser=ByEnumeration(), **settings
    )
    assert chosen.event == gaussian_event(Conjunctions(5), **settings)
    assert [event for event, _ in book.charged] == [chosen.event]


class Sevens(NoNoise):
    """Noise that is 7 on every separator."""

    def laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return values + 7

    gaussian = laplace


@pytest.mark.parametrize("delta", [None, Fraction(1, 1000)])
def test_the_noise_of_every_separator_is_weighed_with_the_records(delta: Fraction | None) -> None:
    seen: list[int] = []

    class Watching:
        name = "watching"

        def refuses(self, query_class: QueryClass) -> str | None:
            return None

        def solve(self, instance: WeightedPoints) -> Minimum:
            seen.append(int(instance.values(np.zeros((1, 3), dtype=np.int64))[0]))  # of all that is weighed
            return ByEnumeration().solve(instance)

    gate, points = Gate(MemoryBook(PLENTY), noise=Sevens()), PrivatePoints(np.zeros((40, 3)), np.zeros(40))
    if delta is None:
        rspm(gate, points, Conjunctions(3), epsilon=ONE, minimiser=Watching())
    else:
        gaussian_rspm(gate, points, Conjunctions(3), epsilon=ONE, delta=delta, minimiser=Watching())
    assert seen == [3 * 7]
