"""Which mechanism a session gets: the one that was asked for, unless noise on every answer promises as much."""

from __future__ import annotations

from equipoise.analysts.online import plan_online
from equipoise.analysts.plan import Mode, SessionPlan, plan_noise
from equipoise.analysts.pmw import plan_pmw
from equipoise.analysts.terms import Terms
from equipoise.errors import SettingError

__all__ = ["plan_session"]


def plan_session(terms: Terms, mode: Mode) -> SessionPlan:
    """The plan of a session, and in its `reason` why it is not what was asked for, if it is not.

    Raises:
        SettingError: there is no such mode.
    """
    plain = plan_noise(terms)
    if mode == "noise":
        return plain
    if mode not in ("online", "pmw"):
        raise SettingError(f"there is no mode {mode!r}; the modes are online, pmw and noise")
    if terms.rows_per_unit > 1:
        return plan_noise(terms, mode, "Tests against a hypothesis are not proved for several rows a unit.")
    found = plan_online(terms) if mode == "online" else plan_pmw(terms)
    if found is None:
        return plan_noise(
            terms,
            mode,
            "With this many records, queries and budgets the mechanism asked for can promise no error below 1, the"
            " whole table; noise on every answer can.",
        )
    if plain.half_width <= found.half_width:
        return plan_noise(
            terms,
            mode,
            f"Noise on every answer promises {plain.half_width:.3g}, the mechanism asked for {found.half_width:.3g}.",
        )
    return found
