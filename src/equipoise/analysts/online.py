"""Online, one query to many analysts: answers from synthetic data that changes once in a while.

Paper: hsu2013differential (report/references.bib), Algorithm 5, arXiv v1.

Pseudo-code                                        Here
  D_0 uniform over the domain, H_0 = D_0            hypotheses.Dense, version 0
  threshold of the first epoch: s + noise           NoisyLimit.threshold
  for each query q_i:                               Session.ask
    y = q_i(P) + z_i, z_i ~ Laplace(b)              WindowTest.test; z_i is keyed by the query
    |y - q_i(H_t)| <= tau: answer q_i(H_t)
    else: answer y; u = sgn(q_i(H_t) - y) q_i       Page.paid
    if |U_t| + noise > threshold:                   NoisyLimit.reached, at every query
      D_{t+1}(x) ~ D_t(x) exp(-(eta/s) sum u(x))    Tested._advance
      H_{t+1} = samples from D_{t+1}
  halt after T updates

Guarantee: people: P9 with R = T (s + margin) values (Lemma D). Analysts, for one query of a sequence that does not
  depend on answers, replaced by another: when epochs end (privacy/noisy_stop.py), and T hypotheses of m samples each,
  whose exponents move within 2 eta/s: T m (2 eta/s)^2/8-zCDP (Lemma A). All other noise belongs to other queries, so
  it stays what it is. That a query was asked is not hidden, only which.
Accuracy: with probability 1 - 3 FAILURE all answers are within tau and the noise's reach, and it does not halt: each
  epoch lowers KL(P || D) by tau^2/8 (1 - (1 - |U|/s)^2) at least, since its updates are wrong by tau/2 in D, and |U| is
  within s/4 of s; log|X| is all there is.
Differences from the paper:
  1. Practice mode: tau is the smallest for which the budgets and k, the public bound on the number of queries, suffice;
     where none below 1 does, or plain noise promises as much, every query is answered with noise. The theorem's own
     parameters need more than 1e12 records (`theory`).
  2. No shared noise on the threshold of the tests, whose reuse the proof for analysts does not cover (E-004-5).
  3. Epochs end by a noisy threshold and a noisy look at every query. With a noisy quota alone, as printed, the end of
     an epoch can tell that a query hit (privacy/noisy_stop.py): the claimed epsilon does not hold.
  4. No limit on paid answers that could stop the mechanism (E-004-10): T epochs, each with a margin, bound them.
  5. u carries 1/s once, sign as in the code of the paper, not as in its proof (E-004-8).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from equipoise.analysts.plan import SessionPlan, smallest_tau, window_plan
from equipoise.analysts.terms import FAILURE, Terms, laplace_reach, tests_of
from equipoise.privacy import accountant
from equipoise.privacy.events import Draws, NoisyStop

__all__ = ["Theory", "plan_online", "theory"]

STOP_SHARE = Fraction(1, 5)
"""Of the analysts' budget, for the ends of epochs; the samples need the rest."""


def plan_online(terms: Terms) -> SessionPlan | None:
    """The plan with the smallest tau; None when no tau below 1 works."""
    return smallest_tau(lambda tau: _plan(terms, tau))


def _plan(terms: Terms, tau: float) -> SessionPlan | None:
    """The plan for a tau, when the noise then stays within tau/4."""
    threshold = math.floor(tau * terms.num_rows)
    num_epochs = math.ceil(8 * terms.log_cells / tau**2 * 16 / 15)
    num_samples = math.ceil(8 * math.log(2 * terms.num_queries * num_epochs / FAILURE) / tau**2)
    rate = accountant.exact(tau / 2)
    stop_epsilon = accountant.root_below(2 * STOP_SHARE * terms.analyst_rho)
    looks = 2 / stop_epsilon  # the scale of noise
    margin = 2 * laplace_reach(looks, num_epochs, float(terms.analyst_delta) / 2) + 1
    early = laplace_reach(looks, num_epochs, FAILURE / 2) + laplace_reach(looks, terms.num_queries, FAILURE / 2)
    moved = 2 * float(rate) * math.sqrt(num_epochs * num_samples / (8 * (1 - STOP_SHARE) * terms.analyst_rho))
    epoch = max(math.ceil(moved * (1 + 1e-9)), 4 * max(margin, early))
    max_hits = num_epochs * (epoch + margin)
    if max_hits > terms.num_queries:  # as many values could be paid for as are asked for: noise does as well
        return None
    tests = tests_of(terms.rho, max_hits, terms.tests_delta)
    if laplace_reach(1 / tests.epsilon, terms.num_queries, FAILURE) > threshold / 4:
        return None
    parameters = {
        "tau": tau,
        "num_epochs": num_epochs,
        "num_samples": num_samples,
        "rate": str(rate),
        "epoch": epoch,
        "stop_epsilon": str(stop_epsilon),
        "margin": margin,
    }
    events = (NoisyStop(stop_epsilon, terms.analyst_delta), Draws(2 * rate / epoch, num_epochs * num_samples))
    return window_plan(terms, "online", tests, threshold, parameters, events)


class Theory(NamedTuple):
    """The parameters of hsu2013differential, Theorem 5.2, in its letters: a check of formulas, never run."""

    eta: float
    s: float
    num_samples: float
    num_epochs: float
    max_hits: float
    sigma: float
    tau: float


def theory(
    *, num_rows: float, num_cells: float, num_queries: float, epsilon: float, delta: float, beta: float = FAILURE
) -> Theory:
    """What the theorem asks for.

    Example:
        >>> theory(num_rows=1e6, num_cells=1000, num_queries=1e6, epsilon=1.0, delta=1e-6).tau > 1
        True
    """
    n, log_x, log_k, log_d = num_rows, math.log(num_cells), math.log(4 * num_queries / beta), math.log(1 / delta)
    s = 128 * n**0.4 * math.sqrt(log_x * log_k * log_d) / epsilon
    num_epochs = n**0.8 * log_x
    sigma = 20000 * log_x**0.75 * log_k**0.25 * math.log(4 / delta) ** 1.25 / (epsilon**1.5 * n**0.4)
    return Theory(n**-0.4, s, 32 * n**0.8 * log_k, num_epochs, 2 * s * num_epochs, sigma, 4 * sigma * log_k)
