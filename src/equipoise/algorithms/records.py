"""What the algorithms whose data player is an oracle share: the oracle, memory, forecast."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from equipoise.algorithms.algorithm import Forecast, Setting
from equipoise.errors import SettingError
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.checked import Checked
from equipoise.oracles.cp_sat import CpSat
from equipoise.oracles.highs import Highs
from equipoise.oracles.local_search import LocalSearch
from equipoise.oracles.oracle import Oracle

__all__ = [
    "OracleName",
    "default_burn_in",
    "default_memory",
    "default_noise",
    "default_records",
    "forecast",
    "game_bytes",
    "make_oracle",
    "require_records",
    "weighs_draws",
]

OracleName: TypeAlias = Literal["branch_and_bound", "local_search", "cp_sat", "highs"]
"""Who finds best records (`equipoise.oracles.oracle` says which when)."""


NUM_RECORDS = 20
"""Of DualQuery and DQRS: the answers of a round's records are then steps of a twentieth; 100 are no better."""

NOISE_SCALE = 1.0
"""Of DualQuery and DQRS, in queries: 0.3 to 1 are alike and 2 is worse (Adult, 3-way marginals, epsilon 0.1)."""


BURN_IN, BURN_IN_WIDE = 0.01, 0.15
"""Of DualQuery: shares of the rounds whose records are left out, the first at least. Of KDD99, 1,187 rounds,
the first dozen takes a twentieth off the mean error; of Adult's, of 20 to 130 rounds, leaving out more than the first
costs largest error. Where every query has columns of its own (half a million bits) all records err to one side until
the weights differ: 0.15 to 0.3 take an eighth off the mean error."""


MEMORY, MEMORY_ALIKE = 16, 4
"""Of DualQuery: rounds whose draws are answered together, where earlier ones are weighted and where they are not.
KDD99, 40,000 queries, epsilon 1: mean error 1.5e-4 with 4 alike, 2.0e-4 with 16 alike, 6.6e-5 with 16 weighted."""

DRAWS_PER_VALUE = 2
"""Draws for each value of a record up to which an exact best record is found in milliseconds, whatever they are: with
50 bits and 16 rounds of 50 draws, 8 for each value, it takes seconds, with 4 rounds a few milliseconds."""

MANY_DRAWS = 1024
"""Draws a round beyond which weighing them would take longer than all else, and a round says enough by itself."""


def make_oracle(name: OracleName) -> Oracle:
    """The oracle of that name, checked: where it fails a fallback answers, and the release says so."""
    oracles: dict[str, Oracle] = {"branch_and_bound": BranchAndBound(), "local_search": LocalSearch()}
    oracles |= {"cp_sat": CpSat(), "highs": Highs()}
    return Checked(oracles[name])


WIDE = 2**16
"""Values of the one-hot record beyond which hardly any occurs in a query. Noise on them all would take longer than
everything else, and the oracle fills what no query speaks of at random anyway."""


def default_noise(setting: Setting) -> float:
    """Scale of the noise on the values by default: none on wide records."""
    return 0.0 if _wide(setting) else NOISE_SCALE


def default_records(setting: Setting) -> int:
    """Records a round by default: one of wide records, which are large, and differ enough from round to round."""
    return 1 if _wide(setting) else NUM_RECORDS


def default_burn_in(setting: Setting) -> float:
    """Share of the rounds, the first ones, that is left out of the release by default."""
    return BURN_IN_WIDE if _wide(setting) else BURN_IN


def weighs_draws(num_draws: int) -> bool:
    """Whether draws of earlier rounds are weighted by what became of their queries (`data_players.remembered`)."""
    return num_draws <= MANY_DRAWS


def default_memory(setting: Setting, num_draws: int) -> int:
    """Rounds whose draws are answered together by default: fewer where they would make the oracle's problem hard."""
    if not weighs_draws(num_draws):
        return MEMORY_ALIKE
    values = sum(setting.workload.domain.sizes)
    return max(MEMORY_ALIKE, min(MEMORY, DRAWS_PER_VALUE * values // num_draws))


def _wide(setting: Setting) -> bool:
    return sum(setting.workload.domain.sizes) > WIDE


def require_records(
    *, num_records: int | None, memory: int | None = 1, noise_scale: float | None = None, burn_in: float | None = None
) -> None:
    """Refuse options of the data player that make no sense.

    Raises:
        SettingError: it says which.
    """
    if (num_records is not None and num_records < 1) or (memory is not None and memory < 1):
        raise SettingError("num_records and memory must be at least 1")
    if noise_scale is not None and not 0 <= noise_scale < math.inf:
        raise SettingError("noise_scale must be a number that is not negative")
    if burn_in is not None and not 0 <= burn_in < 1:
        raise SettingError("burn_in, the share of the rounds that are left out, must be at least 0 and below 1")


def game_bytes(setting: Setting, num_rounds: int, num_records: int, noise_scale: float) -> int:
    """Memory of a game: a few vectors over the queries and their negations, and all records that are played."""
    vectors = 12 * 8 * setting.workload.num_queries
    values = sum(setting.workload.domain.sizes)
    tilted = values if noise_scale else min(values, WIDE)
    codes = 2 if max(setting.workload.domain.sizes) > 256 else 1
    records = (num_rounds + 1) * num_records * len(setting.workload.domain.sizes) * codes
    return vectors + 2 * records + 4 * 8 * num_records * tilted + 8 * 8 * values


def forecast(setting: Setting, weight_of_error: float, bound: float | None) -> Forecast:
    """What can be said beforehand: an error that makes a query |Q| times as likely as a right one will be found.

    Args:
        setting: The setting.
        weight_of_error: By how much an error of 1 raises the logarithm of a query's probability.
        bound: An upper bound from theory.
    """
    resolution = math.log(2 * setting.workload.num_queries) / weight_of_error
    return Forecast(0.0, min(1.0, resolution), None if bound is None or bound >= 1 else bound)
