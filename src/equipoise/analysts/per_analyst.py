"""Offline, one analyst to many analysts: a game in which analysts are drawn, then their queries; then tests of each.

Paper: hsu2013differential (report/references.bib), Algorithm 4, arXiv v1, with another game.

Pseudo-code                                        Here
  w(q) = 1/(number of the owner's queries)          privacy.capped.CappedDraws with owners
  for t = 1 .. T:                                   game.play_records
    analyst ~ their total weights, projected        CappedHedge.draw
    q_t ~ the weights of that analyst's queries     the same
    D_t(x) ~ exp((eta/2) sum q_j(x)), x_t ~ D_t     Scores.draw
    w(q) ~ exp((eta/2) sum (q(P) - q(x_j)))         CappedHedge.update: plus sign
  synopsis: x_1 .. x_T, to everybody                to_bytes
  find the analysts it serves badly, and answer     respond: a noisy bit for each, then a method of their own
    each of them by a mechanism of their own

Guarantee: people: eta^2 T^3/(12 n^2)-zCDP for the game, P9 for the bits, and what the methods of their own cost.
  Analysts, all queries of one replaced: privacy/analyst_accountant.py with distance 1/s, and when the tests stop
  (privacy/noisy_stop.py).
Accuracy: all but s analysts have all their queries within 4 (eta + L/(eta T) + 4 log(2/beta)/sqrt(T)).
Differences from the paper:
  1. Its game has the maximum over an analyst's queries inside the mean over records, so its value is not 1/2 and
  Theorem
     4.1 has no proof (E-004-4); on a toy it stalls at .31 for the worst analyst. Here analysts are capped, queries
     weighed.
  2. Sign, T, eta and s as for Algorithm 3 (E-004-1, E-004-2, E-004-7); answers go to the analysts that were found.
  3. Where the density would reach the number of analysts: every analyst by a method of their own ("apart"), which is
     perfectly private for analysts.
"""

from __future__ import annotations

import math
from fractions import Fraction

from equipoise.analysts.round_plan import RoundPlan, best_game, plan_apart
from equipoise.analysts.terms import FAILURE, Terms, laplace_reach, tests_of
from equipoise.privacy.accountant import exact
from equipoise.privacy.events import Gated, NoisyStop

__all__ = ["plan_per_analyst"]


def plan_per_analyst(terms: Terms) -> RoundPlan:
    """The plan of a round; every analyst apart where they are too few to hide among each other."""
    if terms.rows_per_unit > 1:
        return plan_apart(terms, "Tests are not proved for several rows a unit.")
    half = exact(terms.analyst_epsilon / 2)
    game = best_game(terms, rho=terms.rho / 3, analyst_epsilon=half, changed=1, draws=2, num_actions=terms.num_analysts)
    if game is None:
        return plan_apart(terms, "There are too few analysts to hide one among them; each gets a method of their own.")
    limit = math.ceil(2 * math.sqrt(game.num_rounds))
    margin = 2 * laplace_reach(2 / half, 1, float(terms.analyst_delta) / 2) + 1
    most = min(terms.num_analysts, limit + margin)
    tests = tests_of(terms.rho / 3, most, terms.tests_delta)
    reach = laplace_reach(1 / tests.epsilon, terms.num_analysts, FAILURE)
    own = Fraction(terms.rho / 3 / most)
    parameters = {
        "num_rounds": game.num_rounds,
        "rate": str(game.rate),
        "density": game.density,
        "bound": game.bound,
        "limit": limit,
        "margin": margin,
        "stop_epsilon": str(half),
        "threshold": reach,
        "noise_reach": reach,
        "budget": str(own),
    }
    events = (game.data_event(terms.num_rows, 2), tests, Gated(own, most))
    analyst_events = (game.analyst_event(1, terms.analyst_delta), NoisyStop(half, terms.analyst_delta))
    return RoundPlan("per-analyst", "", min(1.0, 2 * reach / terms.num_rows), parameters, events, analyst_events)
