"""What every algorithm that selects and measures says of itself: its plan, its players, its best number of rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from equipoise.algorithms.algorithm import Algorithm, Plan, Players, Setting, resolved
from equipoise.algorithms.select_measure import Split
from equipoise.core import DataPlayer

__all__ = ["plan_rounds", "players_of", "rounds_of_least"]


def plan_rounds(
    algorithm: Algorithm, setting: Setting, budget: Split, *, memory: int, bound: float | None = None, **chosen: Any
) -> Plan:
    """The plan of a game whose rounds spend `budget`.

    Args:
        algorithm: Whose plan it is.
        setting: The public facts.
        budget: What each round spends.
        memory: Bytes that the game needs.
        bound: On the largest error, with probability 0.95, when there is one.
        chosen: Options that were worked out, beside what a round measures and the share for selecting.
    """
    return Plan(
        method=algorithm.name,
        options=resolved(algorithm, moves=budget.moves, selection_share=budget.selection_share, **chosen),
        num_rounds=budget.num_rounds,
        events=budget.events(setting),
        pure=setting.epsilon is not None,
        memory_bytes=memory,
        forecast=budget.forecast(setting, bound),
        asked=setting.grouped,
        is_fixed=budget.schedule == "fixed",
    )


def players_of(setting: Setting, budget: Split, data_player: DataPlayer[Any], *, repeats: bool) -> Players:
    """The query player that spends `budget`, against a data player; `repeats`: a query may be selected again."""
    return Players(
        budget.query_player(setting, repeats=repeats), data_player, budget.evidence(setting, repeats=repeats)
    )


def rounds_of_least(bound: Callable[[int], float]) -> int:
    """The number of rounds with the smallest bound: a search over a geometric grid, public quantities only.

    Example:
        >>> rounds_of_least(lambda num_rounds: abs(num_rounds - 50))
        50
    """
    grid = sorted({max(1, round(1.1**k)) for k in range(100)})
    return min(grid, key=bound)
