"""What an algorithm is: public settings in, a plan out; then a pair of players for the game."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from equipoise.core import DataPlayer, Move
from equipoise.data.public import PublicRows
from equipoise.data.table import MOST_DENSE
from equipoise.errors import BudgetError, CapacityError, SettingError
from equipoise.game.error_bars import SelectionEvidence
from equipoise.oracles.classes.features import Features
from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.events import Event, Group, Tuned
from equipoise.privacy.stored_events import to_json
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.queries import Queries
from equipoise.queries.workload import Workload
from equipoise.query_players.player import QueryPlayer

__all__ = [
    "Algorithm",
    "Forecast",
    "Plan",
    "Players",
    "Setting",
    "price",
    "require_fit",
    "require_memory",
    "require_public",
    "require_within",
    "resolved",
    "uses_public",
]


@dataclass(frozen=True)
class Setting:
    """All that a plan may depend on. Every field is public; nothing here was read from the private rows.

    Attributes:
        rho: Budget in zCDP of the whole release for one unit, or None for a pure release.
        epsilon: Pure budget of the whole release, or None for a zCDP release.
        rows_per_unit: Records that belong to one protected unit (group privacy).
        memory_limit: Bytes that the game may use.
        public: Rows of a public table, for the methods that use one.
        other_publics: Rows of further public tables, for the methods that use or choose between several.
        claim: The (epsilon, delta) that rho is worth, for methods whose mechanisms have a delta of their own; None
            where rho is only a part of it.
    """

    workload: Queries
    num_rows: int
    rho: Fraction | None
    epsilon: Fraction | None
    rows_per_unit: int
    memory_limit: int
    public: PublicRows | None = None
    other_publics: tuple[PublicRows, ...] = ()
    claim: tuple[float, float] | None = None

    @property
    def publics(self) -> tuple[PublicRows, ...]:
        """All public tables."""
        return (() if self.public is None else (self.public,)) + self.other_publics

    @property
    def grouped(self) -> Workload:
        """The workload as groups of queries over the same columns, for the methods that fit marginals.

        Raises:
            CapacityError: There are too many columns or queries for any of them.
        """
        if isinstance(self.workload, Workload):
            return self.workload
        assert isinstance(self.workload, Conjunctions)
        if len(self.workload.domain.sizes) > MOST_DENSE:
            raise CapacityError(
                f"this method models every column, at most {MOST_DENSE:,}, and the table has"
                f" {len(self.workload.domain.sizes):,}; use --method dual_query, which takes any number"
            )
        return self.workload.grouped()

    @property
    def rho_per_record(self) -> Fraction:
        """The zCDP budget of one record: group privacy multiplies rho by the square of the group's size."""
        if self.rho is None:
            raise SettingError("this method has no pure variant; drop --pure")
        return self.rho / self.rows_per_unit**2

    @property
    def epsilon_per_record(self) -> Fraction:
        """The pure budget of one record."""
        if self.epsilon is None:
            raise SettingError("this mode needs a pure budget; add --pure")
        return self.epsilon / self.rows_per_unit


@dataclass(frozen=True)
class Forecast:
    """What can be said of the error before any data is touched, as fractions of the number of rows.

    Attributes:
        measurement_stddev: Noise of one measured answer.
        selection_resolution: Errors below this are likely to be missed by the selection.
        bound: An upper bound on the largest error that holds with probability 0.95, when there is one.
    """

    measurement_stddev: float
    selection_resolution: float
    bound: float | None = None


@dataclass(frozen=True)
class Plan:
    """All that a run will do and cost, fixed before any data is touched.

    Attributes:
        method: The algorithm's name.
        options: Its options, with every default resolved; public and recorded.
        num_rounds: Rounds of the game.
        events: What the whole run will be charged: (event, how many times).
        pure: Whether the budget is a pure one.
        memory_bytes: Memory that the game needs.
        forecast: Expected error.
        asked: The queries that the moves refer to: the user's workload, or more (marginals of fewer columns,
            further conjunctions), after it.
        records: The bits of each record that the query player needs; None when counts are enough.
        is_fixed: Whether the run is charged these events and no others; else others that cost no more rho.
        by_mu: Whether its claim holds by Gaussian privacy, so that the gate must hold the run to its mu.
    """

    method: str
    options: dict[str, Any]
    num_rounds: int
    events: tuple[tuple[Event, int], ...]
    pure: bool
    memory_bytes: int
    forecast: Forecast
    asked: Queries
    records: Features | None = None
    is_fixed: bool = True
    by_mu: bool = False

    @property
    def cost(self) -> Cost:
        """The price of the whole run; in mu only where it is held to that."""
        total = accountant.total(self.events)
        return total if self.by_mu else replace(total, gaussian=None)

    @property
    def reserve(self) -> Cost:
        """What the ledger reserves: the price, in the plan's currency."""
        return self.cost if self.pure else self.cost.impure

    def to_json(self) -> dict[str, Any]:
        """The plan as recorded in the ledger."""
        return {
            "method": self.method,
            "options": self.options,
            "num_rounds": self.num_rounds,
            "events": [{"event": to_json(event), "times": times} for event, times in self.events],
            "pure": self.pure,
        }


@dataclass(frozen=True)
class Players:
    """The two players of a game, and what the query player's parameters say of the error.

    Attributes:
        num_choices: Moves at the beginning that name no query but one of several public tables.
        asks: What the moves refer to, where the first of them decides on that; None: what the plan asks for.
    """

    query_player: QueryPlayer[Any]
    data_player: DataPlayer[Any]
    evidence: SelectionEvidence | None = None
    num_choices: int = 0
    asks: Callable[[Sequence[Move]], Queries] | None = None


class Algorithm(Protocol):
    """A paper's algorithm: a frozen dataclass whose fields are its options."""

    name: ClassVar[str]
    """The paper's name in snake case."""
    title: ClassVar[str]
    """One line: what it is."""
    citations: ClassVar[tuple[str, ...]]
    """Keys into report/references.bib."""
    guarantee: ClassVar[str]
    """Its privacy cost, in words."""
    when: ClassVar[str]
    """When to use it."""

    def plan(self, setting: Setting) -> Plan:
        """Every parameter, event and byte, from public settings only."""
        ...

    def players(self, setting: Setting, plan: Plan) -> Players:
        """The two players."""
        ...


def price(event: Event, rows_per_unit: int) -> Event:
    """The event as the gate will charge it."""
    return Group(event, rows_per_unit) if rows_per_unit > 1 and not isinstance(event, Group | Tuned) else event


def require_within(plan: Plan, setting: Setting) -> None:
    """Refuse, before anything is looked at, a plan that costs more than it was given: one round too many, say.

    The gate holds a run to what its plan reserves; this holds the plan to what was asked for.

    Raises:
        BudgetError: it does.
    """
    cost, given = plan.cost, setting.rho if setting.epsilon is None else setting.epsilon
    assert given is not None
    asked = cost.rho if setting.epsilon is None else cost.epsilon
    if asked is None or asked > given:
        spent = "what is not pure" if asked is None else f"{float(asked):.6g}"
        currency = "rho" if setting.epsilon is None else "epsilon"
        raise BudgetError(
            f"{plan.method} plans to spend {spent}, and was given {currency} {float(given):.6g}: an error of the method"
        )


def resolved(algorithm: Any, **chosen: Any) -> dict[str, Any]:
    """An algorithm's options with the defaults that were worked out filled in; fractions as text."""
    values = {item.name: getattr(algorithm, item.name) for item in fields(algorithm)} | chosen
    return {name: str(value) if isinstance(value, Fraction) else value for name, value in values.items()}


def uses_public(algorithm: Any) -> bool:
    """Whether an algorithm takes a public table: it says so by a class attribute of this name."""
    return bool(getattr(algorithm, "uses_public", False))


def require_public(setting: Setting, method: str, *, all_columns: bool = True) -> PublicRows:
    """The public rows of a method that needs them, with all columns or with any.

    Raises:
        SettingError: there are none, or they lack a column.
    """
    if setting.public is None:
        raise SettingError(f"{method} starts from a public table; add --public FILE (in Python, public=table)")
    names = setting.workload.domain.columns
    missing = [name for position, name in enumerate(names) if position not in setting.public.columns]
    if missing and all_columns:
        raise SettingError(
            f"{method} weighs whole public rows, and the public table lacks {', '.join(missing)}. Use --method"
            " mixture_pub (or gem_pub), which takes what columns there are, or release only the columns that both"
            " tables have (--columns)."
        )
    return setting.public


def require_memory(needed: int, setting: Setting, method: str) -> None:
    """Refuse, before anything is done, a method that keeps a domain in memory that does not fit.

    Raises:
        CapacityError: it names the method that would serve.
    """
    cells = setting.workload.domain.num_cells
    require_fit(
        needed,
        setting,
        f"{method} keeps all {_short(cells)} cells of the domain in memory and",
        "Use --method mixture (for conjunctions, dual_query), which does not, or release fewer columns (--columns)",
    )


def _short(number: int, unit: int = 1) -> str:
    """A number in units, in three digits; of one that no float can hold, its power of ten."""
    if number.bit_length() > 1000:
        return f"10^{int((number // unit).bit_length() * math.log10(2)):,}"
    return f"{number / unit:.3g}"


def require_fit(
    needed: int, setting: Setting, what: str, remedy: str = "Use fewer or smaller marginals, or coarser bins"
) -> None:
    """Refuse, before anything is done, what would not fit the memory limit.

    Raises:
        CapacityError: it says what would help.
    """
    if needed > setting.memory_limit:
        raise CapacityError(
            f"{what} needs about {_short(needed, 2**30)} GiB, and the limit is {setting.memory_limit / 2**30:.3g} GiB."
            f" {remedy}, or raise --memory."
        )
