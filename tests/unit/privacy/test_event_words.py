"""What statements, plans and reports say of every kind of event."""

from __future__ import annotations

from fractions import Fraction

import pytest

from equipoise.privacy import events
from equipoise.privacy.event_words import describe_event

E, D = Fraction(1, 50), Fraction(1, 10**6)
SEPARATORS = "private choice of 1 query by noise on 5 separators,"
WORDS: list[tuple[events.Event, str]] = [
    (
        events.Gaussian(Fraction(2), Fraction(100)),
        "noisy measurement, Gaussian noise of standard deviation 10 counts, squared sensitivity 2",
    ),
    (events.Laplace(Fraction(2), Fraction(30)), "noisy measurement, Laplace noise of scale 30 counts, sensitivity 2"),
    (events.Exponential(E, 3), "private selection of 3 queries, epsilon 0.02"),
    (events.PermuteAndFlip(E), "private selection of 1 query (permute-and-flip), epsilon 0.02"),
    (events.ConditionalRelease(E, 7, D), "conditional release of up to 7 values, epsilon 0.02 a test"),
    (events.Draws(E, 1), "private draw of 1 query from weighted ones, epsilon 0.02 each"),
    (events.Draws(E, 4), "private draw of 4 queries from weighted ones, epsilon 0.02 each"),
    (events.Coins(E, E, E, 6), "private decision on each of 6 queries whether to keep it, rate 0.02"),
    (
        events.SeparatorLaplace(5, 64, 0, Fraction(640)),
        f"{SEPARATORS} Laplace noise of scale 10 counts, if the solver's certificate holds",
    ),
    (
        events.SeparatorGaussian(5, 64, 0, Fraction(640), D),
        f"{SEPARATORS} Gaussian noise of standard deviation 10 counts, if the solver's certificate holds",
    ),
    (events.Prsma(E, D), "private choice of 1 query on random blocks, epsilon 1.24, delta 1.1e-05"),
    (events.AboveThreshold(E, 2 * E, 9), "tests against one noisy threshold until 9 are positive, epsilon 0.06"),
    (events.CappedHedge(E, 8, 1, E), "private draw of one query in each of 8 rounds, rate 0.02"),
    (events.CappedHedge(E, 8, 2, E), "private draw of one analyst and query in each of 8 rounds, rate 0.02"),
    (events.Gated(E, 3), "3 runs of a method, each within rho 0.02"),
    (events.NoisyStop(E, D), "noise on when the mechanism moves on or stops, epsilon 0.02"),
    (
        events.AnalystGame(8, Fraction(1, 400), E, D),
        "8 records from a game that one analyst's part changes by 0.0025 a round, rate 0.02",
    ),
    (
        events.Tuned(E, True, "geometric", Fraction(1, 10)),
        "the best of a random number of runs (geometric, 10 in the mean), each within epsilon 0.02",
    ),
    (
        events.Tuned(E, False, "geometric", Fraction(1, 10)),
        "the best of a random number of runs (geometric, 10 in the mean), each within rho 0.02",
    ),
    (
        events.Group(events.Exponential(E), 3),
        "private selection of 1 query, epsilon 0.02; charged for 3 rows a unit",
    ),
]


@pytest.mark.parametrize(("event", "words"), WORDS, ids=lambda x: getattr(x, "kind", ""))
def test_words(event: events.Event, words: str) -> None:
    assert describe_event(event) == words
