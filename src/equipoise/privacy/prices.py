"""The price of events: zero-concentrated privacy (rho) and pure privacy (epsilon), exactly.

Adjacency everywhere: one record replaced, the number of records public. Costs are `fractions.Fraction`, added without
rounding.

Papers (report/references.bib): bun2016concentrated for zCDP and its composition, canonne2020discrete (arXiv v4) for
discrete Gaussian noise, cesar2021bounding (Lemma 3.2, arXiv v2) for the exponential mechanism's epsilon^2/8.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from equipoise.errors import SettingError
from equipoise.privacy import gaussian_privacy, separators
from equipoise.privacy.analyst_accountant import game_epsilon
from equipoise.privacy.cost import Cost
from equipoise.privacy.events import (
    AboveThreshold,
    AnalystGame,
    CappedHedge,
    Coins,
    ConditionalRelease,
    Draws,
    Event,
    Exponential,
    Gated,
    Gaussian,
    Group,
    Laplace,
    NoisyStop,
    PermuteAndFlip,
    Prsma,
    SeparatorGaussian,
    SeparatorLaplace,
    Tuned,
    conditional,
)
from equipoise.privacy.random_runs import exponent, mean_runs, shift
from equipoise.privacy.short_fractions import short_above

__all__ = ["calls_of_conditional_release", "cost", "stddev_of", "total"]


def cost(event: Event) -> Cost:
    """The price of one event.

    Guarantees:
        Precondition: the event's sensitivity bounds the change between neighbouring tables.
        Postcondition: a mechanism described by `event` is rho-zCDP (up to `delta`), and epsilon-DP where epsilon is
        given; and mu-GDP where `gaussian` = mu^2/2 is: Gaussian noise, the exponential mechanism, and groups of them
        (`gaussian_privacy`; a group of k multiplies mu by at most k: Lemma G, docs).

        ==================== ============= ========== ===========================================================
        kind                 rho           epsilon    why
        ==================== ============= ========== ===========================================================
        Gaussian             s^2/(2 var)   none       canonne2020discrete, Theorem 4; `short_above` of it
        Laplace              e^2/2         e = s/b    bun2016concentrated, Proposition 1.4 (pure implies zCDP)
        Exponential          K e^2/8       K e        log-ratio lies in an interval of length e: Hoeffding's lemma
        PermuteAndFlip       e^2/2         e          its log-ratio may span 2e, so e^2/8 does not hold
        ConditionalRelease   N e^2/2       none       N pure-e steps but for probability delta (Lemma D, docs)
        Draws                K e^2/8       K e        K independent exponential mechanisms
        Coins                K b^2 v       K h m      `_coin`
        SeparatorLaplace     e^2/2         e = k m/b  the shift k: proof in privacy/separators.py
        SeparatorGaussian    e^2/2         none       (e, delta)-DP by the same; but for delta it is a pure-e mechanism
        Prsma                E^2/2         none       E = 62 e, 11 delta: neel2019heuristics, Theorem 8
        AboveThreshold       e^2/2         e = e1+e2  lyu2017understanding, Theorem 2: one threshold, bits only
        CappedHedge          sum b^2/8     sum b      b = rate t + slack after t updates (Lemma B, docs): the range
        NoisyStop            e^2/2         e          pure e but for delta: proof in privacy/noisy_stop.py
        AnalystGame          E^2/2         E          (E, delta)-DP: privacy/analyst_accountant.py
        Gated                K rho         none       adaptive composition of runs that a filter holds to rho each
        Group                k^2 rho       k epsilon  bun2016concentrated, Proposition 1.9
        Tuned, budget rho    rho           none       and `shift` and `factor`: proof in privacy/random_runs.py
        Tuned, budget e      E^2/2         E          E = 2e (logarithmic) or 3e (geometric): the same proof
        ==================== ============= ========== ===========================================================

    Example:
        >>> found = cost(Exponential(Fraction(1, 10)))
        >>> str(found.rho), str(found.epsilon), round(float(found.gaussian), 7)
        ('1/800', '1/10', 0.0019633)
    """
    price = _price(event)
    if not conditional(event):
        return price
    return replace(price, conditional_rho=price.rho, conditional_epsilon=price.epsilon or Fraction(0))


def _price(event: Event) -> Cost:
    """The price of one event, that of a conditional one as if its certificates were proven."""
    match event:
        case Gaussian(sensitivity_squared, variance):
            squared = Fraction(sensitivity_squared)
            gaussian = gaussian_privacy.measured(squared, variance)
            return Cost(short_above(squared / (2 * variance)), None, gaussian=gaussian)
        case Laplace(sensitivity, scale):
            pure = Fraction(sensitivity) / scale
            return Cost(pure * pure / 2, pure)
        case Exponential(epsilon, num_selected):
            return _selection(epsilon, epsilon * epsilon / 8) * num_selected
        case PermuteAndFlip(epsilon):
            return Cost(epsilon * epsilon / 2, epsilon)
        case ConditionalRelease(epsilon, max_hits, delta):
            calls = calls_of_conditional_release(epsilon=epsilon, max_hits=max_hits, delta=delta)
            return Cost(calls * epsilon * epsilon / 2, None, delta)
        case Draws(epsilon, num_draws):
            return _selection(epsilon, short_above(epsilon * epsilon / 8)) * num_draws
        case Coins(rate, slack, spread, num_coins):
            return _coin(rate, slack, spread) * num_coins
        case SeparatorLaplace(num_separators, grid, gap, scale):
            pure = Fraction(separators.shift(grid=grid, gap=gap) * num_separators) / scale
            return Cost(pure * pure / 2, pure)
        case SeparatorGaussian(num_separators, grid, gap, stddev, delta):
            moved = separators.shift(grid=grid, gap=gap)
            found = separators.gaussian_epsilon(
                shift=moved, num_separators=num_separators, stddev=float(stddev), delta=float(delta)
            )
            return Cost(short_above(Fraction(found) ** 2 / 2), None, delta)
        case Prsma(epsilon, delta):
            return Cost((62 * epsilon) ** 2 / 2, None, 11 * delta)
        case AboveThreshold(threshold_epsilon, tests_epsilon, _):
            pure = threshold_epsilon + tests_epsilon
            return Cost(pure * pure / 2, pure)
        case CappedHedge(rate, num_rounds, draws, slack):
            return _capped(rate, num_rounds - 1, slack) * draws
        case NoisyStop(epsilon, delta):
            return Cost(epsilon * epsilon / 2, epsilon, delta)
        case AnalystGame(num_rounds, distance, rate, delta):
            worth = game_epsilon(num_rounds=num_rounds, distance=distance, rate=rate, delta=delta)
            pure = short_above(Fraction(worth))
            return Cost(short_above(pure * pure / 2), pure, delta)
        case Gated(budget, num_runs):
            return Cost(num_runs * budget, None)
        case Group(inner, size):
            one = cost(inner)
            # A delta multiplies by at most size*exp(size*epsilon) (Vadhan 2017, Lemma 2.2); we refuse instead of
            # charging that.
            if one.delta and size > 1:
                raise SettingError(
                    "what needs a delta of its own (conditional release, Gaussian noise on separators, PRSMA) is not"
                    " offered for tables with several rows a unit"
                )
            grouped = None if one.gaussian is None else one.gaussian * size * size
            of_all = None if one.epsilon is None else one.epsilon * size
            return Cost(one.rho * size * size, of_all, one.delta, gaussian=grouped)
        case Tuned(budget, is_pure, law, stop):
            if is_pure:
                pure = (1 + exponent(law)) * budget
                return Cost(pure * pure / 2, pure)
            added, factor = short_above(shift(law, stop, budget)), short_above(mean_runs(law, stop))
            return Cost(budget, None, shift=added, factor=factor)


def _selection(epsilon: Fraction, rho: Fraction) -> Cost:
    return Cost(rho, epsilon, gaussian=gaussian_privacy.selected(epsilon))


def total(events: Iterable[tuple[Event, int]]) -> Cost:
    """The price of a list of (event, how many times): plain addition, by adaptive composition.

    Guarantees:
        Precondition: each event may be chosen after the results of those before it. Statement: the sum is a cost of all
        of them. Proof: `Cost` (bun2016concentrated, Lemma 1.7 in v1).
    """
    result = Cost()
    for event, times in events:
        result = result + cost(event) * times
    return result


def calls_of_conditional_release(*, epsilon: Fraction, max_hits: int, delta: Fraction) -> int:
    """How many pure-epsilon calls a conditional release of `max_hits` values is charged for (Lemma D).

    Guarantees:
        Precondition: tests of one count each, of sensitivity 1, with their own noise. Statement: the number of calls
        that depend on the data before `max_hits` hits exceeds the result with probability at most delta. Proof: each
        such call hits with probability at least 1/(e^epsilon + 1), then Chernoff's bound (Lemma D of
        docs/mechanisms.md).

    Example:
        >>> calls_of_conditional_release(epsilon=Fraction(1, 100), max_hits=100, delta=Fraction(1, 10**8))
        366
    """
    tail = -math.log(delta)
    zeta = (tail + math.sqrt(tail * tail + 2 * max_hits * tail)) / max_hits
    return math.ceil((1 + zeta) * max_hits * (math.exp(epsilon) + 1) * (1 + 1e-12))


def _coin(rate: Fraction, slack: Fraction, spread: Fraction) -> Cost:
    """The price of one coin: heads with probability p = exp(-r), r in slack..slack + spread, moving by rate at most.

    Guarantees:
        log p moves by at most h = rate. log(1 - p) moves the other way, by at most h/(e^slack - 1), since its
        derivative in r is 1/(e^r - 1). So the log-ratio lies in an interval of length b = h + h/(e^slack - 1), and the
        larger of the two is the pure epsilon. Of two outcomes, Hoeffding's 1/8 in Lemma A may be replaced by v(p) =
        (1 - 2p)/(4 log((1 - p)/p)), the better the further p is from 1/2 (kearns1998large, Lemma 1).
        Floats err by a share of 1e-12 at most; a share of 1e-9 is added.
    """
    h, least, most = float(rate), math.exp(-float(slack + spread)), math.exp(-float(slack))
    other = h / math.expm1(float(slack))
    # v is symmetric about 1/2 and largest there, so over an interval at the end nearest to it.
    nearest = 0.5 if least <= 0.5 <= most else min(least, most, key=lambda p: abs(p - 0.5))
    odds = 0.125 if abs(nearest - 0.5) < 1e-3 else (1 - 2 * nearest) / (4 * math.log((1 - nearest) / nearest))
    upwards = 1 + 1e-9
    pure = max(rate, short_above(Fraction(other * upwards)))
    return Cost(short_above(Fraction((h + other) ** 2 * odds * upwards)), pure)


def _capped(rate: Fraction, last: int, slack: Fraction) -> Cost:
    """The price of draws after 1, 2, .. `last` updates, with ranges b = rate t + slack: sum b^2/8 and sum b."""
    sums, squares = Fraction(last * (last + 1), 2), Fraction(last * (last + 1) * (2 * last + 1), 6)
    squared = rate * rate * squares + 2 * rate * slack * sums + slack * slack * last
    return Cost(short_above(squared / 8), short_above(rate * sums + slack * last))


def stddev_of(*, rho: Fraction, sensitivity_squared: int = 1) -> float:
    """The smallest float standard deviation whose discrete Gaussian costs at most rho: sqrt(s^2/(2 rho)), rounded up.

    Guarantees:
        Precondition: rho > 0. Statement: discrete Gaussian noise of this standard deviation costs at most rho. Proof:
        its exact price is compared with rho, and the float raised until it fits (canonne2020discrete, Theorem 4 in v4).

    Example:
        >>> round(stddev_of(rho=Fraction("0.014270343") / 200), 4)
        83.7111
    """
    stddev = math.sqrt(sensitivity_squared / (2 * rho))
    while cost(Gaussian(Fraction(sensitivity_squared), Fraction(stddev) ** 2)).rho > rho:
        stddev = math.nextafter(stddev, math.inf)
    return stddev
