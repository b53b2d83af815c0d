"""Equipoise: private synthetic data and private answers from a sensitive table, with a guarantee that holds.

    import equipoise as eq

    table = eq.read("people.csv", schema="people.toml")
    release = eq.release(table.select(["sex", "age", "income"]), workload="3-way", epsilon=1.0, method="pep")
    release.sample(20_000).to_pandas()
    release.write("out/")

Names are loaded when they are first used, so that importing the package, and `equipoise --help`, take no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from equipoise import kernel_cache
from equipoise.errors import (
    BudgetError,
    CapacityError,
    CertificateError,
    DataError,
    EquipoiseError,
    LedgerConflict,
    LedgerError,
    OutputError,
    QueryError,
    SchemaError,
    SettingError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from equipoise import analysts
    from equipoise.algorithms import Plan
    from equipoise.data.draft import draft
    from equipoise.data.schema import Schema
    from equipoise.data.table import Table, read
    from equipoise.evaluation import Evaluation, evaluate
    from equipoise.learning.learner import PrivateLearner
    from equipoise.learning.rule import Rule, load_rule
    from equipoise.pipeline import Steps
    from equipoise.query_players.public_error import PublicError
    from equipoise.releases import Answer, Release, load
    from equipoise.service.client import Client

__version__: str

kernel_cache.ensure()

__all__ = [
    "Answer",
    "BudgetError",
    "CapacityError",
    "CertificateError",
    "Client",
    "DataError",
    "EquipoiseError",
    "Evaluation",
    "LedgerConflict",
    "LedgerError",
    "OutputError",
    "Plan",
    "PrivateLearner",
    "PublicError",
    "QueryError",
    "Release",
    "Rule",
    "Schema",
    "SchemaError",
    "SettingError",
    "Table",
    "__version__",
    "analysts",
    "draft",
    "evaluate",
    "load",
    "load_rule",
    "plan",
    "public_error",
    "read",
    "release",
    "tune",
]

_HOMES = {
    "Answer": "equipoise.releases",
    "Client": "equipoise.service.client",
    "Evaluation": "equipoise.evaluation",
    "Plan": "equipoise.algorithms",
    "PrivateLearner": "equipoise.learning.learner",
    "PublicError": "equipoise.query_players.public_error",
    "Release": "equipoise.releases",
    "Rule": "equipoise.learning.rule",
    "Schema": "equipoise.data.schema",
    "Table": "equipoise.data.table",
    "draft": "equipoise.data.draft",
    "evaluate": "equipoise.evaluation",
    "load": "equipoise.releases",
    "load_rule": "equipoise.learning.rule",
    "read": "equipoise.data.table",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("equipoise")
    if name == "analysts":
        return import_module("equipoise.analysts")
    if name not in _HOMES:
        raise AttributeError(f"module 'equipoise' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__


def release(
    table: Table,
    *,
    epsilon: float,
    workload: Any = None,
    delta: float | None = None,
    method: str = "auto",
    options: Mapping[str, Any] | None = None,
    pure: bool = False,
    seed: int | None = None,
    ledger: str | Path | None = None,
    accept_inferred: bool = False,
    memory_limit: int | None = None,
    threads: int | None = None,
    public: Table | Sequence[Table] | None = None,
    progress: bool = False,
) -> Release:
    """Release a table: a private model of it, to sample, query and write.

    Args:
        table: The private table (`read`).
        epsilon: Privacy budget of this release.
        workload: What must come out right: "3-way", "2-way,3-way", "random 64 3-way seed 0", a JSON file, a list of
            column tuples or query texts. By default all sets of three columns, or of all when there are fewer.
        delta: 1/n^2 unless given.
        method: An algorithm's name; `equipoise methods` lists them.
        options: The algorithm's options, such as `{"num_rounds": 40}`.
        pure: Pure epsilon (delta 0), for methods that offer it.
        seed: Of public randomness only; never of the noise that protects.
        ledger: Path or URL; by default the schema's. A table whose schema is not a file and names no ledger has its
            spending forgotten when the process ends.
        accept_inferred: Accept bounds and categories that were read from the data; recorded as outside the guarantee.
        memory_limit: Bytes that the game may use; 4 GiB unless given.
        threads: Threads for the scan; all cores unless given.
        public: A public table with the same columns, or some of them, or several such; their rows get no protection.
        progress: Show bars on stderr while it works, if that is a terminal.

    Raises:
        EquipoiseError: It is refused; unless the message says otherwise, nothing was spent.

    Example:
        >>> import pyarrow as pa
        >>> from equipoise.data.listed import Boolean
        >>> schema = Schema("pets", (Boolean(name="cat"), Boolean(name="dog")))
        >>> pets = read(pa.table({"cat": [True, False] * 50, "dog": [True] * 100}), schema=schema)
        >>> made = release(pets, epsilon=1.0, workload="2-way", method="mwem", options={"num_rounds": 2}, seed=1)
        >>> made.sample(10).num_rows, made.statement["guarantee"]["epsilon"]
        (10, 1.0)
    """
    from equipoise import pipeline

    return pipeline.release(
        pipeline.Request(
            table,
            epsilon=epsilon,
            workload=workload,
            delta=delta,
            method=method,
            options=options or {},
            pure=pure,
            seed=seed,
            ledger=ledger,
            accept_inferred=accept_inferred,
            memory_limit=pipeline.DEFAULT_MEMORY if memory_limit is None else memory_limit,
            threads=threads,
            public=public,
        ),
        steps=_steps(progress),
    )


def _steps(progress: bool) -> Steps:
    from equipoise.cli.console import Speaker

    return Speaker(json=False, quiet=not progress).steps


def plan(table: Table, *, epsilon: float, **settings: Any) -> Plan:
    """What a release with these settings (as for `release`) would do and cost; touches no budget, reads no row."""
    from equipoise import pipeline

    return pipeline.prepare(pipeline.Request(table, epsilon=epsilon, **{"accept_inferred": True} | settings)).plan


def tune(
    table: Table,
    *,
    epsilon: float,
    grid: Mapping[str, Sequence[Any]],
    num_trials: float | None = None,
    law: Literal["logarithmic", "geometric"] = "logarithmic",
    criterion: Literal["mean", "max"] = "mean",
    progress: bool = False,
    **settings: Any,
) -> Release:
    """Release a table with the best of several options, chosen privately on the table itself.

    A random number of trials is made, each with a candidate drawn at random and a private score; the best is released
    and the rest forgotten. All of it is paid for by epsilon, so each trial has less than half of the budget. The
    defaults need no tuning.

    Args:
        table: The private table (`read`).
        epsilon: Privacy budget of all of it.
        grid: For each option of the method the values to try; every combination is a candidate.
        num_trials: Mean of the random number of trials; by default the number of candidates.
        law: Of that number; "geometric" costs more and rarely stops after one or two.
        criterion: Which error of the workload's answers decides.
        progress: As for `release`; never tells how many trials there are.
        settings: As for `release`.

    Example:
        >>> import pyarrow as pa
        >>> from equipoise.data.listed import Boolean
        >>> schema = Schema("pets", (Boolean(name="cat"), Boolean(name="dog")))
        >>> pets = read(pa.table({"cat": [True, False] * 50, "dog": [True] * 100}), schema=schema)
        >>> made = tune(pets, epsilon=1.0, grid={"num_rounds": [1, 2]}, workload="2-way", method="mwem")
        >>> made.statement["tuning"]["chosen"]["num_rounds"] in ("1", "2")
        True
    """
    from equipoise import pipeline, tuning

    request = pipeline.Request(table, epsilon=epsilon, **settings)
    return tuning.tune(request, tuning.Tuning(grid, num_trials, law, criterion), steps=_steps(progress))


def public_error(table: Table, public: Table, *, epsilon: float, **settings: Any) -> PublicError:
    """How well a public table could stand in for the private one, to choose between several: a private estimate.

    The share by which the worst answer is off when the public rows have the best weights they can have. No method that
    weighs public rows, such as pmw_pub and pep_pub, does better. Costs epsilon, like any release, for each table asked
    about; `settings` as for `release`.

    Example:
        >>> import pyarrow as pa
        >>> from equipoise.data.listed import Boolean
        >>> schema = Schema("pets", (Boolean(name="cat"), Boolean(name="dog")))
        >>> pets = read(pa.table({"cat": [True, False] * 500, "dog": [True] * 1000}), schema=schema)
        >>> cats = read(pa.table({"cat": [True], "dog": [True]}), schema=schema)
        >>> found = public_error(pets, cats, epsilon=1.0, workload="2-way")
        >>> abs(found.share - 0.5) < 8 * found.stddev
        True
    """
    from equipoise import pipeline

    return pipeline.public_error(pipeline.Request(table, epsilon=epsilon, public=public, **settings))
