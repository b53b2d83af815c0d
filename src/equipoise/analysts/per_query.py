"""Offline, one query to many analysts: a game for all queries at once, then tests of each.

Paper: hsu2013differential (report/references.bib), Algorithm 3, arXiv v1.

Pseudo-code                                        Here
  Q_1 uniform over queries and negations            privacy.capped.CappedDraws, no updates
  for t = 1 .. T:                                   game.play_records
    q_t ~ the projection of Q_t to density s        CappedHedge.draw
    D_t(x) ~ exp((eta/2) sum q_j(x)), x_t ~ D_t     Scores.draw
    Q_{t+1}(q) ~ exp((eta/2) sum (q(P) - q(x_j)))   CappedHedge.update: plus sign
  synopsis: x_1 .. x_T, to everybody                to_bytes
  find the queries it answers badly, and send       respond: conditional release, each query with its own noise
    noisy answers of those to their owners

Guarantee: people: eta^2 T^3/(24 n^2)-zCDP for the game (Lemma B; given the queries the records are free), and P9 for
  the tests. Analysts, one query added, left out or replaced: privacy/analyst_accountant.py with distance 2/s, as a
  query brings its negation (E-004-3). Tests cost them nothing: noise belongs to queries, and each analyst has a
  public number of values to be sent.
Accuracy: all but s queries are within 4 (eta + L/(eta T) + 4 log(2/beta)/sqrt(T)), L = log max(|X|, 2k) (Theorem 3.3
  with the constants that hold).
Differences from the paper:
  1. The query player's sign (E-004-2). 2. T, eta, s from both budgets and the public bound k, not from |Q| (E-004-9);
     at the printed ones people are not protected (E-004-1).
  3. What is missing to k queries is filled up with actions that are always right.
  4. A public number of values a analyst instead of one cutoff for all, which would tell of others' queries (E-004-5).
  5. Where the density would reach the number of actions, or noise on every answer promises as much: noise.
"""

from __future__ import annotations

import math

from equipoise.analysts.round_plan import RoundPlan, best_game, plan_noisy
from equipoise.analysts.terms import FAILURE, Terms, laplace_reach, tests_of
from equipoise.privacy.accountant import exact

__all__ = ["plan_per_query", "printed", "theory"]


def plan_per_query(terms: Terms, *, only_if_better: bool) -> RoundPlan:
    """The plan of a round; noise where the game cannot be played or, unless told otherwise, promises no more."""
    if terms.rows_per_unit > 1:
        return plan_noisy(terms, "Tests are not proved for several rows a unit.")
    game = best_game(
        terms,
        rho=terms.rho / 2,
        analyst_epsilon=exact(terms.analyst_epsilon),
        changed=2,
        draws=1,
        num_actions=2 * terms.num_queries,
    )
    if game is None:
        return plan_noisy(terms, "There are too few queries to hide one among them; noise on every answer hides all.")
    data_event = game.data_event(terms.num_rows, 1)
    values_each = max(1, math.ceil(2 * math.sqrt(game.num_rounds) / terms.num_analysts))
    tests = tests_of(terms.rho / 2, values_each * terms.num_analysts, terms.tests_delta)
    reach = laplace_reach(1 / tests.epsilon, terms.num_queries, FAILURE)
    half_width, plain = min(1.0, 2 * reach / terms.num_rows), plan_noisy(terms)
    if only_if_better and plain.half_width is not None and plain.half_width <= half_width:
        reason = f"Noise on every answer promises {plain.half_width:.3g}, tested answers of the game {half_width:.3g}."
        return plan_noisy(terms, reason)
    parameters = {
        "num_rounds": game.num_rounds,
        "rate": str(game.rate),
        "density": game.density,
        "bound": game.bound,
        "values_each": values_each,
        "threshold": reach,
        "noise_reach": reach,
    }
    events = (data_event, tests)
    return RoundPlan("per-query", "", half_width, parameters, events, (game.analyst_event(2, terms.analyst_delta),))


def theory(*, num_rows: int, epsilon: float, delta: float) -> dict[str, float]:
    """The theorem's parameters with T = n and s = 24 T, and what the game then costs people: a check of formulas.

    Example:
        >>> round(theory(num_rows=1000, epsilon=1.0, delta=1e-6)["rho"], 8)
        0.00075285
    """
    eta = epsilon / (2 * math.sqrt(num_rows * math.log(1 / delta)))
    t = num_rows - 1
    rho = eta**2 * t * (t + 1) * (2 * t + 1) / (48 * num_rows**2)
    return {"num_rounds": num_rows, "rate": eta, "density": 24 * num_rows, "rho": rho}


def printed(*, num_rows: int, num_cells: int, epsilon: float, delta: float) -> dict[str, float]:
    """The parameters as printed, T = n log|X|: for the test that they do not protect people (E-004-1)."""
    log_cells = math.log(num_cells)
    num_rounds = math.ceil(num_rows * log_cells)
    eta = epsilon / (2 * math.sqrt(num_rounds * math.log(1 / delta)))
    return {"num_rounds": num_rounds, "rate": eta, "rho": eta**2 * num_rounds**3 / (24 * num_rows**2)}
