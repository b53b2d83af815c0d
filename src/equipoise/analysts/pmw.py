"""Interactive private multiplicative weights: the hypothesis changes with every paid answer. Not private for analysts.

Paper: hardt2010multiplicative (report/references.bib), Figure 1, with the tests of Lemma D (docs/mechanisms.md).

Pseudo-code                                        Here
  D_0 uniform over the domain                       hypotheses.Dense
  for each query q_i:                               Session.ask
    y = q_i(P) + Laplace noise                      WindowTest.test
    |y - q_i(D_t)| <= tau: answer q_i(D_t)
    else: answer y                                  Page.paid
      D_{t+1}(x) ~ D_t(x) exp(-eta sgn(q_i(D_t) - y) q_i(x))
  halt after R paid answers

Guarantee: people: P9 with R values (Lemma D). Analysts: none; everybody sees when the hypothesis changes, and how.
Accuracy: with probability 1 - FAILURE all answers are within tau and the noise's reach, and it does not halt: a
  paid answer's query is wrong by g = 3 tau/4 at least, so KL(P || D) falls by eta g - eta^2/8 = 2 g^2 at eta = 4 g
  (Hoeffding's lemma: q has range 1), and log|X| is all there is.
Differences from the paper:
  1. Noise of each test of its own, and the price of Lemma D: no noisy threshold, a value is released at no extra cost.
  2. tau is the smallest for which the budget and k, the public bound on the number of queries, suffice.
"""

from __future__ import annotations

import math

from equipoise.analysts.plan import SessionPlan, smallest_tau, window_plan
from equipoise.analysts.terms import FAILURE, Terms, laplace_reach, tests_of
from equipoise.privacy import accountant

__all__ = ["plan_pmw"]


def plan_pmw(terms: Terms) -> SessionPlan | None:
    """The plan with the smallest tau; None when no tau below 1 works."""
    return smallest_tau(lambda tau: _plan(terms, tau))


def _plan(terms: Terms, tau: float) -> SessionPlan | None:
    """The plan for a tau, when the noise then stays within tau/4."""
    threshold, wrong = math.floor(tau * terms.num_rows), 0.75 * tau
    max_hits = math.ceil(terms.log_cells / (2 * wrong**2))
    if max_hits > terms.num_queries:
        return None
    tests = tests_of(terms.rho, max_hits, terms.tests_delta)
    if laplace_reach(1 / tests.epsilon, terms.num_queries, FAILURE) > threshold / 4:
        return None
    parameters = {"tau": tau, "rate": str(accountant.exact(4 * wrong))}
    return window_plan(terms, "pmw", tests, threshold, parameters, ())
