"""The top-up's law, by enumeration: a planned measurement, a selection that answers it, and a second measurement.

False-alarm probabilities: none, everything is computed.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.book import MemoryBook
from tests.games import TinyGame
from tests.noise import NoNoise, log_exponential_mechanism, log_gaussian_pmf

from equipoise.core import IntArray
from equipoise.data.distributions import Histogram
from equipoise.data.domain import Domain
from equipoise.privacy.accountant import Cost
from equipoise.privacy.events import Exponential
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import Private
from equipoise.queries.played import Played
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.best_marginal import BestMarginal
from equipoise.query_players.measure_static import MeasureStatic
from equipoise.query_players.top_up import TopUp

STDDEV = 2.0
VALUES = range(-13, 21)
"""Noisy counts: beyond them lies less than 1e-7 of the probability."""

PLAYER = TopUp(
    MeasureStatic(stddevs=(STDDEV, None), sensitivities=(2, 2)),
    BestMarginal(
        num_rows=8,
        sensitivity_squared=2,
        sensitivity=2,
        selection_epsilon=Fraction(1, 2),
        measurement_stddev=STDDEV,
        repeats=True,
        candidates=(0, 1),
    ),
)


class Script(NoNoise):
    """Returns one selection and one noisy vector, and adds up their log-probabilities."""

    def __init__(self, chosen: int, values: tuple[int, int], sabotage: float) -> None:
        self.chosen, self.values, self.sabotage, self.log_probability = chosen, np.array(values), sabotage, 0.0

    def gaussian(self, values: IntArray, scale: float) -> IntArray:
        offsets = self.values - values
        self.log_probability += sum(log_gaussian_pmf(int(o), scale * self.sabotage) for o in offsets)
        return self.values

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: str) -> IntArray:
        assert law == "gumbel"
        self.log_probability += log_exponential_mechanism(scores, scale * self.sabotage, self.chosen)
        return np.array([self.chosen])


def two_columns() -> TinyGame:
    domain = Domain(("a", "b"), (2, 2))
    rows = np.array([[0] * 5 + [1] * 3, [0] * 4 + [1] * 4])
    return TinyGame(Workload(domain, (Group((0,), (2,)), Group((1,), (2,)))), rows)


def log_probability(
    game: TinyGame, rows: np.ndarray, answer: np.ndarray | None, chosen: int, values: tuple[int, int], sabotage: float
) -> tuple[float, Cost]:
    """Of the first move (`answer` None), or of the second when the first was answered by that table."""
    noise, book = Script(chosen, values, sabotage), MemoryBook(Cost(Fraction(10), None))
    table = np.full((2, 2), 0.25) if answer is None else answer
    state = PLAYER.init(game.truth(rows))
    played = Played(Histogram(table), game.workload)
    if answer is not None:
        state = state._replace(is_measured=True)
    PLAYER.step(Gate(book, noise=noise), state, played)
    return noise.log_probability, book.spent


def divergence(sabotage: float, order: float = 2.0) -> tuple[float, float]:
    """Rényi divergence between the laws of both moves on two neighbouring tables, and what they were charged.

    The data player's answer to the first move is one of two tables, by the first noisy count: all that its law depends
    on in what follows.
    """
    game = two_columns()
    tables = (game.rows, game.neighbour((1, 1)))
    answers = (np.array([[0.4, 0.1], [0.1, 0.4]]), np.array([[0.05, 0.25], [0.2, 0.5]]))
    vectors = list(itertools.product(VALUES, repeat=2))
    firsts = np.array([[log_probability(game, rows, None, 0, v, sabotage)[0] for rows in tables] for v in vectors])
    assert np.exp(firsts[:, 0]).sum() == pytest.approx(1, abs=1e-6)
    total, charged = [], 0.0
    for branch, answer in enumerate(answers):
        ours = np.array([(v[0] > 4) == bool(branch) for v in vectors])
        later = []
        for chosen, values in itertools.product((0, 1), vectors):
            both = [log_probability(game, rows, answer, chosen, values, sabotage) for rows in tables]
            later.append([found for found, _ in both])
            charged = float(both[0][1].rho)
        seconds = np.array(later)
        assert np.exp(seconds[:, 0]).sum() == pytest.approx(1, abs=1e-6)
        parts = [np.logaddexp.reduce(order * logs[:, 0] + (1 - order) * logs[:, 1]) for logs in (firsts[ours], seconds)]
        total.append(sum(parts))
    first_cost = float(log_probability(game, tables[0], None, 0, (5, 3), 1.0)[1].rho)
    return float(np.logaddexp.reduce(total)) / (order - 1), first_cost + charged


def test_both_moves_together_cost_at_most_what_they_are_charged() -> None:
    found, rho = divergence(1.0)
    assert 0.8 * 2.0 * rho < found <= 2.0 * rho * (1 + 1e-6)


def test_half_the_noise_would_be_caught() -> None:
    """Negative control."""
    found, rho = divergence(0.5)
    assert found > 2.0 * 2.0 * rho


class Asked(NoNoise):
    """Keeps the scores and the scale of the last selection."""

    def largest(self, scores: IntArray, scale: float, num_selected: int, law: str) -> IntArray:
        self.scores, self.scale = scores, scale
        return super().largest(scores, scale, num_selected, law)


@pytest.mark.parametrize("is_measured", [False, True])
def test_a_selection_by_agreement_costs_what_it_is_charged_and_half_the_noise_more(*, is_measured: bool) -> None:
    """The law of the choice between a pair and its two columns, on every neighbour of small tables.

    What is likely by what was played (`likely_errors`) is part of the scores until the pair has been measured.
    """
    domain = Domain(("a", "b"), (2, 3))
    workload = Workload(domain, (Group((0, 1), (2, 3)), Group((0,), (2,)), Group((1,), (3,))))
    rng, epsilon, worst = np.random.default_rng(2), 0.5, {1.0: 0.0, 0.5: 0.0}
    player = BestMarginal(
        num_rows=6,
        sensitivity_squared=2,
        sensitivity=2,
        selection_epsilon=Fraction(1, 2),
        measurement_stddev=STDDEV,
        score="agreement",
        repeats=True,
    )
    for _ in range(30):
        rows = np.array([rng.integers(0, 2, 6), rng.integers(0, 3, 6)])
        played = Played(Histogram(rng.dirichlet(np.ones(6)).reshape(2, 3)), workload)

        def asked(records: np.ndarray, played: Played = played) -> Asked:
            noise, book = Asked(), MemoryBook(Cost(Fraction(10), None))
            state = player.init(Private(workload.count_rows(records.astype(np.uint8)), workload))
            player.step(Gate(book, noise=noise), state._replace(measured=np.arange(int(is_measured))), played)
            assert book.charged[0][0] == Exponential(Fraction(1, 2))
            return noise

        ours = asked(rows)
        for record, a, b in itertools.product(range(6), range(2), range(3)):
            others = rows.copy()
            others[:, record] = a, b
            theirs = asked(others)
            for sabotage in worst:
                logs = [
                    [log_exponential_mechanism(noise.scores, sabotage * noise.scale, chosen) for chosen in range(3)]
                    for noise in (ours, theirs)
                ]
                worst[sabotage] = max(worst[sabotage], float(np.abs(np.subtract(*logs)).max()))
    assert 0.7 * epsilon < worst[1.0] <= epsilon
    assert worst[0.5] > epsilon
