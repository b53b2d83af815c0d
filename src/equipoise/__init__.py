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
from typing import TYPE_CHECKING, Any

from equipoise.errors import (
    BudgetError,
    CapacityError,
    DataError,
    EquipoiseError,
    LedgerError,
    OutputError,
    QueryError,
    SchemaError,
    SettingError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.data.draft import draft
    from equipoise.data.schema import Schema
    from equipoise.data.table import Table, read
    from equipoise.evaluation import Evaluation, evaluate
    from equipoise.pipeline import Prepared
    from equipoise.release import Answer, Release, load

__version__: str

__all__ = [
    "Answer",
    "BudgetError",
    "CapacityError",
    "DataError",
    "EquipoiseError",
    "Evaluation",
    "LedgerError",
    "OutputError",
    "Prepared",
    "QueryError",
    "Release",
    "Schema",
    "SchemaError",
    "SettingError",
    "Table",
    "__version__",
    "draft",
    "evaluate",
    "load",
    "plan",
    "read",
    "release",
]

_HOMES = {
    "Answer": "equipoise.release",
    "Evaluation": "equipoise.evaluation",
    "Prepared": "equipoise.pipeline",
    "Release": "equipoise.release",
    "Schema": "equipoise.data.schema",
    "Table": "equipoise.data.table",
    "draft": "equipoise.data.draft",
    "evaluate": "equipoise.evaluation",
    "load": "equipoise.release",
    "read": "equipoise.data.table",
}
