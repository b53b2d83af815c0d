"""From a table to a release: the only walk from input to output, shared by library, command line and service.

    read -> schema -> workload -> plan -> count (the only scan of the private rows) -> ledger -> game -> release

Everything before `count` uses public facts only, and everything that is refused is refused there, before a row is
read or a budget touched. Everything after the game is post-processing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from equipoise import algorithms, folder
from equipoise.algorithms import Algorithm, Plan, Setting
from equipoise.algorithms.algorithm import Forecast, price, require_public, uses_public
from equipoise.core import Progress, silent
from equipoise.data.public import PublicRows, encode_public
from equipoise.data.schema import Schema
from equipoise.data.table import Table
from equipoise.engines.arrow import count
from equipoise.errors import OutputError, SchemaError, SettingError
from equipoise.game.error_bars import error_bars
from equipoise.game.loop import play
from equipoise.privacy import accountant
from equipoise.privacy.gate import Gate
from equipoise.privacy.ledger import Account, Ledger
from equipoise.privacy.run import Run
from equipoise.privacy.store import IN_MEMORY
from equipoise.queries.build import build
from equipoise.queries.workload import Workload
from equipoise.query_players.public_error import PublicError, event_of, measure_public_error
from equipoise.releases import Release
from equipoise.statement import statement

__all__ = [
    "Prepared",
    "Request",
    "Steps",
    "ledger_beside",
    "ledger_location",
    "no_progress",
    "open_account",
    "prepare",
    "public_error",
    "release",
    "run",
]

DEFAULT_MEMORY = 4 * 2**30


@dataclass(frozen=True)
class Request:
    """What a user asks for. Privacy parameters have no default but delta, which is 1/n^2.

    Attributes:
        table: The private table with its schema.
        epsilon: Privacy budget of this release.
        delta: None for 1/n^2.
        workload: Text form, file, list, or a Workload (`queries.build`).
        method: Name of the algorithm.
        options: The algorithm's options.
        pure: Pure epsilon instead of (epsilon, delta), for methods that offer it.
        num_rows: Synthetic rows to write; None for as many as the table has.
        seed: Seed of public randomness; None draws one and records it.
        ledger: Path or URL; None for the schema's, or the output folder's own.
        accept_inferred: Accept bounds and categories that were read from the data; recorded as outside the guarantee.
        memory_limit: Bytes that the game may use.
        threads: Threads for the scan; None for all cores.
        public: A public table, for the methods that use one; its rows get no protection.
    """

    table: Table
    epsilon: float
    workload: Any = "3-way"
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
    public: Table | None = None


@dataclass(frozen=True)
class Prepared:
    """A request checked and planned; no private row has been read and no budget touched."""

    request: Request
    algorithm: Algorithm
    workload: Workload
    setting: Setting
    plan: Plan
    delta: float


Steps = Callable[[str], Any]
"""Opens a progress display for a named step: a context manager that gives a `Progress`."""


@contextmanager
def no_progress(name: str) -> Iterator[Progress]:
    """The `Steps` that shows nothing."""
    yield silent


def prepare(request: Request) -> Prepared:
    """Check and plan a request from public facts alone.

    Raises:
        EquipoiseError: anything that would make the release fail or be unsafe.
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
    num_rows = request.table.bounded(0).num_rows
    delta = 1 / num_rows**2 if request.delta is None else request.delta
    if not request.pure and not 0 < delta < 1 / num_rows:
        raise SettingError(
            "delta must be above 0 and below 1/n: at 1/n or more, publishing a random record would be allowed;"
            " the default is 1/n^2"
        )
    if request.num_rows is not None and request.num_rows < 1:
        raise SettingError("the number of synthetic rows must be at least 1")
    workload = build(request.workload, schema)
    algorithm = algorithms.create(request.method, request.options)
    setting = Setting(
        workload=workload,
        num_rows=num_rows,
        rho=None if request.pure else accountant.rho_of(epsilon=request.epsilon, delta=delta),
        epsilon=Fraction(request.epsilon) if request.pure else None,
        rows_per_unit=schema.rows_per_unit,
        memory_limit=request.memory_limit,
        public=_public_rows(request, algorithm),
    )
    return Prepared(request, algorithm, workload, setting, algorithm.plan(setting), delta)


def _public_rows(request: Request, algorithm: Algorithm) -> PublicRows | None:
    if request.public is None:
        return None
    if not uses_public(algorithm):
        takers = [cls.name for cls in algorithms.ALGORITHMS if uses_public(cls)]
        raise SettingError(f"{algorithm.name} uses no public table; drop --public, or choose {' or '.join(takers)}")
    return encode_public(request.public, request.table.schema)


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


def run(request: Request, output: str | Path, *, overwrite: bool = False, steps: Steps = no_progress) -> Release:
    """Release a table into a folder: resumable after a kill, exactly once in the ledger."""
    prepared = prepare(request)
    with folder.hold(output, overwrite=overwrite) as target:
        made = _release(prepared, open_account(request, target), folder.run_of(target), steps)
        with steps("Writing") as progress:
            made.write(target, num_rows=request.num_rows, progress=progress)
    return made


def release(request: Request, *, steps: Steps = no_progress) -> Release:
    """Release a table in memory. The ledger is the schema's; without one, spending is forgotten with the process."""
    return _release(prepare(request), open_account(request), secrets.token_hex(16), steps)


def public_error(request: Request, *, steps: Steps = no_progress) -> PublicError:
    """How well the best weights on the request's public rows would answer its workload, privately.

    One Gaussian measurement for the whole epsilon asked for; the method and its options do not matter.
    """
    if request.pure:
        raise SettingError("the best-mixture-error is measured with Gaussian noise, so not with a pure budget")
    prepared = prepare(replace(request, method="pmw_pub", options={}))
    setting = prepared.setting
    public, rho = require_public(setting, "public_error"), setting.rho_per_record
    plan = replace(
        prepared.plan,
        method="public_error",
        options={},
        num_rounds=1,
        events=((price(event_of(rho), setting.rows_per_unit), 1),),
        forecast=Forecast(0.0, 0.0),
    )
    account = open_account(request)
    account.check(plan.reserve)
    unit_seed = secrets.randbits(63)
    with steps("Counting") as progress:
        truth = count(request.table.bounded(unit_seed), plan.asked, threads=request.threads, progress=progress)
    recorded = _recorded(replace(prepared, plan=plan))
    book = account.start(run=secrets.token_hex(16), plan=recorded, reserve=plan.reserve, unit_seed=unit_seed)
    try:
        found = measure_public_error(Gate(book), truth, plan.asked, setting.num_rows, public.codes, rho=rho)
    except BaseException:
        book.close()
        raise
    book.finish()
    return found


def _release(prepared: Prepared, account: Account, run_id: str, steps: Steps) -> Release:
    request, setting, plan = prepared.request, prepared.setting, prepared.plan
    book = account.run(run_id)
    if book is None:
        account.check(plan.reserve)
    else:
        _require_same(book, prepared)
    # The seed that chooses a unit's rows is secret and kept with the run, so a second start keeps the same rows.
    unit_seed = secrets.randbits(63) if book is None else book.unit_seed
    with steps("Counting") as progress:
        table = request.table.bounded(unit_seed)
        truth = count(table, plan.asked, threads=request.threads, progress=progress)
    if book is None:
        book = account.start(run=run_id, plan=_recorded(prepared), reserve=plan.reserve, unit_seed=unit_seed)
    seed = int(book.plan["seed"])
    players = prepared.algorithm.players(setting, plan)
    with steps("Playing") as progress:
        outcome = play(
            gate=Gate(book),
            truth=truth,
            workload=plan.asked,
            query_player=players.query_player,
            data_player=players.data_player,
            num_rounds=plan.num_rounds,
            seed=seed,
            progress=progress,
        )
    book.finish()
    bars = None
    if players.evidence is not None:
        bars = error_bars(outcome, plan.asked, setting.num_rows, players.evidence)[: prepared.workload.num_queries]
    words = statement(
        schema=request.table.schema,
        algorithm=prepared.algorithm,
        setting=setting,
        plan=plan,
        epsilon=request.epsilon,
        delta=prepared.delta,
        charged=book.events(),
        accepted_inferred=request.table.schema.unconfirmed,
        run=book.key,
        workload_text=str(request.workload) if isinstance(request.workload, str | Path) else "custom",
    )
    return Release(
        request.table.schema,
        prepared.workload,
        setting.num_rows,
        outcome.distribution,
        outcome.moves,
        bars,
        words,
        seed,
        plan.asked,
    )


def _recorded(prepared: Prepared) -> dict[str, Any]:
    request, schema = prepared.request, prepared.request.table.schema
    return {
        "plan": prepared.plan.to_json(),
        "epsilon": request.epsilon,
        "delta": prepared.delta,
        "schema": schema.fingerprint,
        "workload": prepared.workload.fingerprint,
        "num_rows": prepared.setting.num_rows,
        "accepted_inferred": list(schema.unconfirmed),
        "public": None if prepared.setting.public is None else prepared.setting.public.fingerprint,
        "seed": secrets.randbits(63) if request.seed is None else request.seed,
    }


def _require_same(book: Run, prepared: Prepared) -> None:
    """A marked folder may only be taken up by the release that began it."""
    asked, begun = _recorded(prepared), book.plan
    if prepared.request.seed is None:
        asked["seed"] = begun.get("seed")
    differing: Sequence[str] = [key for key in asked if asked[key] != begun.get(key)]
    if differing:
        raise OutputError(
            f"the folder holds an unfinished release with another {', '.join(differing)}. Repeat the command that"
            " began it to finish it at no further cost, or choose another folder with -o."
        )
