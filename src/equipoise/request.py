"""What a user asks for, checked and planned from public facts alone: before a row is read or a budget touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from equipoise import algorithms
from equipoise.algorithms import Algorithm, Plan, Setting
from equipoise.algorithms.algorithm import require_within, uses_public
from equipoise.algorithms.public_choice import PublicChoice, takes_several
from equipoise.data.public import PublicRows, encode_public
from equipoise.data.schema import Schema
from equipoise.data.table import Table
from equipoise.errors import DataError, SchemaError, SettingError
from equipoise.privacy import accountant
from equipoise.privacy.ledger import Account, Ledger
from equipoise.privacy.store import IN_MEMORY
from equipoise.queries.build import build
from equipoise.queries.queries import Queries

__all__ = [
    "DEFAULT_MEMORY",
    "Limits",
    "Prepared",
    "Request",
    "ledger_beside",
    "ledger_location",
    "limits",
    "open_account",
    "prepare",
]

DEFAULT_MEMORY = 4 * 2**30

HAIR = Fraction(1, 10**6)
"""Part of the rho of a wider plan that is left: selections and discrete noise are not quite in proportion to it."""

MOST_TRIES = 3
"""Plans that are made for a wider budget, at most: the second is within it but for the hair."""


@dataclass(frozen=True)
class Request:
    """What a user asks for. Privacy parameters have no default but delta, which is 1/n^2.

    Attributes:
        table: The private table with its schema.
        epsilon: Privacy budget of this release.
        delta: None for 1/n^2.
        workload: Text form, file, list, or a Workload (`queries.build`); None for all sets of three columns, or of all
            when there are fewer, and for items for 10,000 random conjunctions of three.
        method: Name of the algorithm.
        options: The algorithm's options.
        pure: Pure epsilon instead of (epsilon, delta), for methods that offer it.
        num_rows: Synthetic rows to write; None for as many as the table has.
        seed: Seed of public randomness; None draws one and records it.
        ledger: Path or URL; None for the schema's, or the output folder's own.
        accept_inferred: Accept bounds and categories that were read from the data; recorded as outside the guarantee.
        memory_limit: Bytes that the scan's process and the game may use.
        threads: Threads for the scan; None for all cores.
        public: A public table, or several, for the methods that use any; their rows get no protection.
    """

    table: Table
    epsilon: float
    workload: Any = None
    delta: float | None = None
    method: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    pure: bool = False
    num_rows: int | None = None
    seed: int | None = None
    ledger: str | Path | None = None
    accept_inferred: bool = False
    memory_limit: int = DEFAULT_MEMORY
    threads: int | None = None
    public: Table | Sequence[Table] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.table, Table):
            kind = type(self.table).__name__
            raise SettingError(f"a {kind} has no schema: give the table that eq.read(data, schema=...) returns")
        if self.workload is None:
            object.__setattr__(self, "workload", _default_workload(self.table))


def _default_workload(table: Table) -> str:
    order = min(3, len(table.schema.columns))
    return f"{order}-way" if table.schema.items is None else f"random {order}-way x 10000"


@dataclass(frozen=True)
class Prepared:
    """A request checked and planned; no private row has been read and no budget touched."""

    request: Request
    algorithm: Algorithm
    workload: Queries
    setting: Setting
    plan: Plan
    delta: float


@dataclass(frozen=True)
class Limits:
    """The number of rows, and what a release may spend on one unit: rho, or a pure epsilon."""

    num_rows: int
    delta: float
    rho: Fraction | None
    epsilon: Fraction | None


def limits(request: Request) -> Limits:
    """What a request may spend, once its budget and its table's declarations are in order.

    Raises:
        SchemaError: the schema is not confirmed, or declares half a total.
        SettingError: a number is out of range.
    """
    schema = request.table.schema
    if schema.unconfirmed and not request.accept_inferred:
        raise SchemaError(
            f"the schema of {', '.join(schema.unconfirmed)} was read from the data and is not confirmed. Check the"
            " values and bounds and set `confirmed = true`, or pass --accept-inferred to release outside the guarantee."
        )
    if (schema.epsilon is None) != (schema.delta is None):
        raise SchemaError("[privacy]: declare the total's `epsilon` and `delta` together, or neither")
    if not request.epsilon > 0 or request.epsilon == float("inf"):
        raise SettingError("epsilon must be a positive number; 1 is a common choice, smaller is more private")
    # How many rows remain when each unit keeps at most its share does not depend on which ones are kept.
    num_rows = request.table.bounded(0, memory=request.memory_limit).num_rows
    if num_rows < 2 and not request.pure and request.delta is None:
        raise DataError("the table has one row: there is nobody to hide among")
    delta = 1 / num_rows**2 if request.delta is None else request.delta
    if not request.pure and not 0 < delta < 1 / num_rows:
        raise SettingError(
            "delta must be above 0 and below 1/n: at 1/n or more, publishing a random record would be allowed;"
            " the default is 1/n^2"
        )
    if request.num_rows is not None and request.num_rows < 1:
        raise SettingError("the number of synthetic rows must be at least 1")
    if request.pure:
        return Limits(num_rows, delta, None, Fraction(request.epsilon))
    return Limits(num_rows, delta, accountant.rho_of(epsilon=request.epsilon, delta=delta), None)


def prepare(request: Request, within: Limits | None = None) -> Prepared:
    """Check and plan a request from public facts alone, to spend `within` (by default all that it asks for).

    Raises:
        EquipoiseError: anything that would make the release fail or be unsafe.
    """
    given = within or limits(request)
    schema = request.table.schema
    workload = build(request.workload, schema)
    algorithm = algorithms.create(request.method, request.options)
    publics = _publics(request, algorithm)
    if len(publics) > 1 and not takes_several(algorithm):
        algorithm = PublicChoice(algorithm)
    setting = Setting(
        workload=workload,
        num_rows=given.num_rows,
        rho=given.rho,
        epsilon=given.epsilon,
        rows_per_unit=schema.rows_per_unit,
        memory_limit=request.memory_limit,
        public=publics[0] if publics else None,
        other_publics=publics[1:],
        claim=None if request.pure or within is not None else (request.epsilon, given.delta),
    )
    plan = algorithm.plan(setting)
    if setting.claim is not None:
        setting, plan = _widened(algorithm, setting, plan, most=_total(schema))
    require_within(plan, setting)
    algorithm.players(setting, plan)  # They refuse options, too: before a row is counted or the budget touched.
    return Prepared(request, algorithm, workload, setting, plan, given.delta)


def _total(schema: Schema) -> Fraction | None:
    """The rho that the table's declared total is worth to its ledger; None: none is declared."""
    return accountant.rho_of(epsilon=schema.epsilon, delta=schema.delta) if schema.epsilon and schema.delta else None


def _widened(algorithm: Algorithm, setting: Setting, plan: Plan, most: Fraction | None) -> tuple[Setting, Plan]:
    """A plan of more rho, where a plan is mostly Gaussian noise and the claim is worth more of that than of zCDP.

    Guarantees:
        Precondition: `plan` is the algorithm's for the setting, whose rho its claim is worth by zCDP. Statement: the
        result's plan keeps the claim. Proof: it is the same, or its mu^2/2 was compared, in exact fractions, with what
        the claim is worth in Gaussian privacy (`gaussian_privacy.worth`). The gate holds the run to it.
    """
    assert setting.claim is not None
    assert setting.rho is not None
    epsilon, delta = setting.claim
    worth = accountant.gaussian_worth(epsilon=epsilon, delta=delta)
    wider, spent = setting, accountant.total(plan.events).gaussian
    for _ in range(MOST_TRIES if plan.is_fixed else 0):
        if not spent:
            break
        assert wider.rho is not None
        rho = wider.rho * worth / spent * (1 - HAIR)
        rho = accountant.exact(float(rho if most is None else min(rho, most)))
        if rho <= setting.rho:
            break
        wider = replace(setting, rho=rho, claim=None)
        made = replace(algorithm.plan(wider), by_mu=True)
        spent = made.cost.gaussian
        if spent and spent <= worth:
            return wider, made
    return setting, plan


def _publics(request: Request, algorithm: Algorithm) -> tuple[PublicRows, ...]:
    if request.public is None:
        return ()
    if not uses_public(algorithm):
        takers = [cls.name for cls in algorithms.ALGORITHMS if uses_public(cls)]
        raise SettingError(f"{algorithm.name} uses no public table; drop --public, or choose {' or '.join(takers)}")
    tables = [request.public] if isinstance(request.public, Table) else request.public
    return tuple(encode_public(table, request.table.schema) for table in tables)


def ledger_location(schema: Schema) -> str | Path | None:
    """Where a table's ledger is: as its schema says, else beside the schema file; None for a table without one."""
    if schema.ledger is None and schema.path is not None and schema.path.suffix == ".toml":
        return schema.path.with_suffix(".ledger.sqlite")
    return schema.ledger


def ledger_beside(output: Path) -> Path:
    """The ledger of a table that has none of its own: beside the release folder, not in what may be published."""
    return output.resolve().with_name(output.resolve().name + ".ledger.sqlite")


def open_account(request: Request, output: Path | None = None) -> Account:
    """The ledger's account of the table; for a table without a ledger, one beside the output folder or in memory."""
    schema = request.table.schema
    fallback = IN_MEMORY if output is None else ledger_beside(output)
    return Ledger(request.ledger or ledger_location(schema) or fallback).account(
        schema.name, epsilon=schema.epsilon, delta=schema.delta, rows_per_unit=schema.rows_per_unit
    )
