"""Events in words, for statement, plan and report."""

from __future__ import annotations

from equipoise.privacy import events
from equipoise.privacy.events import Event
from equipoise.privacy.random_runs import mean_runs

__all__ = ["describe_event"]


def describe_event(event: Event) -> str:
    """An event in a few words.

    Example:
        >>> from fractions import Fraction
        >>> describe_event(events.Exponential(Fraction(1, 50)))
        'private selection of 1 query, epsilon 0.02'
    """
    match event:
        case events.Gaussian(sensitivity_squared, variance):
            return (
                f"noisy measurement, Gaussian noise of standard deviation {float(variance) ** 0.5:.4g} counts,"
                f" squared sensitivity {sensitivity_squared}"
            )
        case events.Laplace(sensitivity, scale):
            return f"noisy measurement, Laplace noise of scale {float(scale):.4g} counts, sensitivity {sensitivity}"
        case events.Exponential(epsilon, num_selected):
            word = "query" if num_selected == 1 else "queries"
            return f"private selection of {num_selected} {word}, epsilon {float(epsilon):.4g}"
        case events.PermuteAndFlip(epsilon):
            return f"private selection of 1 query (permute-and-flip), epsilon {float(epsilon):.4g}"
        case events.ConditionalRelease(epsilon, max_hits, _):
            return f"conditional release of up to {max_hits} values, epsilon {float(epsilon):.4g} a test"
        case events.Draws(epsilon, num_draws):
            word = "query" if num_draws == 1 else "queries"
            return f"private draw of {num_draws} {word} from weighted ones, epsilon {float(epsilon):.4g} each"
        case events.Coins(rate, _, _, num_coins):
            return f"private decision on each of {num_coins} queries whether to keep it, rate {float(rate):.4g}"
        case events.SeparatorLaplace(num_separators, grid, _, scale):
            return (
                f"private choice of 1 query by noise on {num_separators} separators, Laplace noise of scale"
                f" {float(scale / grid):.4g} counts, if the solver's certificate holds"
            )
        case events.SeparatorGaussian(num_separators, grid, _, stddev, _):
            return (
                f"private choice of 1 query by noise on {num_separators} separators, Gaussian noise of standard"
                f" deviation {float(stddev / grid):.4g} counts, if the solver's certificate holds"
            )
        case events.Prsma(epsilon, delta):
            return (
                f"private choice of 1 query on random blocks, epsilon {float(62 * epsilon):.4g},"
                f" delta {float(11 * delta):.3g}"
            )
        case events.AboveThreshold(threshold_epsilon, tests_epsilon, max_positives):
            return (
                f"tests against one noisy threshold until {max_positives} are positive, epsilon"
                f" {float(threshold_epsilon + tests_epsilon):.4g}"
            )
        case events.CappedHedge(rate, num_rounds, draws, _):
            what = "query" if draws == 1 else "analyst and query"
            return f"private draw of one {what} in each of {num_rounds} rounds, rate {float(rate):.4g}"
        case events.Gated(budget, num_runs):
            return f"{num_runs} runs of a method, each within rho {float(budget):.4g}"
        case events.NoisyStop(epsilon, _):
            return f"noise on when the mechanism moves on or stops, epsilon {float(epsilon):.4g}"
        case events.AnalystGame(num_rounds, distance, rate, _):
            return (
                f"{num_rounds} records from a game that one analyst's part changes by {float(distance):.3g} a round,"
                f" rate {float(rate):.4g}"
            )
        case events.Tuned(budget, pure, law, stop):
            currency = "epsilon" if pure else "rho"
            return (
                f"the best of a random number of runs ({law}, {float(mean_runs(law, stop)):.3g} in the mean),"
                f" each within {currency} {float(budget):.4g}"
            )
        case events.Group(inner, size):
            return f"{describe_event(inner)}; charged for {size} rows a unit"
