"""Every error that Equipoise raises on purpose.

    EquipoiseError            exit code 1
    ├── SettingError          2   an argument or option is out of range or contradicts another
    ├── SchemaError           3   the schema does not parse, or is not confirmed
    ├── DataError             4   the table does not fit the schema, or cannot be read
    ├── QueryError            5   a workload or a query text does not fit the schema
    ├── BudgetError           6   the ledger refuses: spent, asked, left
    ├── CapacityError         7   it would not fit the memory limit; names the method that would serve
    ├── LedgerError           8   the ledger cannot be read, is corrupt, or belongs to another table
    │   └── LedgerConflict    8   the ledger is well, and holds the table or the session on other terms
    ├── OutputError           9   the release folder cannot be written or read
    └── CertificateError     10   a paid choice has no certificate; nothing was released

A message is a release: it names the column and the rule, never a cell value, a true answer or anything else that
is not public (docs/design.md, "Privacy first").
"""

from __future__ import annotations

__all__ = [
    "BudgetError",
    "CertificateError",
    "CapacityError",
    "DataError",
    "EquipoiseError",
    "LedgerConflict",
    "LedgerError",
    "OutputError",
    "QueryError",
    "SchemaError",
    "SettingError",
]


class EquipoiseError(Exception):
    """The root: `except EquipoiseError` catches all that is ours and nothing else."""

    exit_code = 1


class SettingError(EquipoiseError):
    """An argument or option is out of range, or contradicts another."""

    exit_code = 2


class SchemaError(EquipoiseError):
    """The schema does not parse, contradicts itself, or is not confirmed."""

    exit_code = 3


class DataError(EquipoiseError):
    """The table does not fit its schema, or cannot be read."""

    exit_code = 4


class QueryError(EquipoiseError):
    """A workload or a query text does not fit the schema."""

    exit_code = 5


class BudgetError(EquipoiseError):
    """The ledger refuses an event or a plan; nothing was spent."""

    exit_code = 6


class CapacityError(EquipoiseError):
    """The work would not fit the memory limit; refused before anything was done."""

    exit_code = 7


class LedgerError(EquipoiseError):
    """The ledger cannot be read, is corrupt, or belongs to another table."""

    exit_code = 8


class LedgerConflict(LedgerError):
    """The ledger is well, and what is asked contradicts what it holds: to repeat it will not help."""


class OutputError(EquipoiseError):
    """The release folder cannot be written or read."""

    exit_code = 9


class CertificateError(EquipoiseError):
    """A private choice was paid for and has no certificate: nothing is released, and nothing is said of why."""

    exit_code = 10
