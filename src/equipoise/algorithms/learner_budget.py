"""What OracleQuery's solver may spend in a round: rounds, epsilon and delta of each choice, from the budget."""

from __future__ import annotations

import math
from fractions import Fraction

from equipoise.algorithms.algorithm import Setting
from equipoise.errors import SettingError
from equipoise.oracles.classes.branching import ByBranching
from equipoise.oracles.classes.workloads import WorkloadClass
from equipoise.privacy import accountant
from equipoise.privacy.learner import PURE, Learner, Mechanism

__all__ = ["default_rounds", "learner_of", "resolution"]


def default_rounds(setting: Setting, queries: WorkloadClass) -> int:
    """Where what is lost by noise, growing with √T, meets what is lost by few rounds, 1/√T.

    A choice with epsilon √(2 rho/T) has noise of scale 2 m/epsilon on each of m separators, and misses by that times
    log m: the two meet at T = n √(2 rho)/(2 m log m). With a pure budget epsilon/T the noise grows with T.
    """
    m = queries.query_class.num_separators
    if setting.epsilon is not None:
        reach = setting.num_rows * float(setting.epsilon_per_record) / (2 * m * math.log(m + 1))
        return max(1, int(reach ** (2 / 3)))
    return max(1, int(setting.num_rows * math.sqrt(2 * setting.rho_per_record) / (2 * m * math.log(m + 1))))


def learner_of(
    setting: Setting, queries: WorkloadClass, *, mechanism: Mechanism, num_rounds: int, max_calls: int
) -> Learner:
    """The learner of one round, when the budget is divided evenly.

    With a delta in the mechanism, half of the release's delta is kept for the conversion from zCDP, the rest goes to
    the rounds; each counts 1 + e^epsilon times (`privacy.totals.fits`).

    Raises:
        SettingError: the mechanism has no pure variant, is not offered here, or its noise would drown the records.
        CapacityError: PRSMA would call its solver too often.
    """
    if setting.epsilon is not None and mechanism not in PURE:
        raise SettingError(f"{mechanism} has no pure variant; drop --pure, or use query_player=rspm")
    delta = Fraction(0)
    if setting.epsilon is not None:
        epsilon = setting.epsilon_per_record / num_rounds
    elif mechanism in PURE:
        epsilon = accountant.root_below(2 * setting.rho_per_record / num_rounds)
    else:
        if setting.claim is None:
            raise SettingError(f"{mechanism} has a delta of its own, and takes a release's whole budget only")
        whole, total = setting.claim
        delta = Fraction(total * (1 - 1e-6) / (2 * num_rounds * (1 + math.exp(whole))))
        rho = accountant.rho_of(epsilon=whole, delta=total / 2)
        epsilon = accountant.root_below(2 * rho / num_rounds) * (1 - Fraction(1, 10**9))
    learner = Learner(queries.query_class, mechanism, epsilon, delta, ByBranching(), setting.num_rows, max_calls)
    if learner.noise_scale >= setting.num_rows:
        raise SettingError(
            f"{mechanism} would add noise of scale {learner.noise_scale:,.0f} to each of {learner.num_separators:,}"
            f" separators, for a table of {setting.num_rows:,} records, and choose at random; use the query_player"
            " exponential, fewer rounds or columns, or a larger epsilon"
        )
    return learner


def resolution(learner: Learner, queries: WorkloadClass) -> float:
    """Errors below this are likely to be missed: a query names at most k separators, each with its noise."""
    named = int(queries.named.shape[1]) + 1
    return min(1.0, 2 * named * learner.noise_scale * math.log(learner.num_separators + 1) / learner.num_records)
