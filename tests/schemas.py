"""Schema files of the tests' made-up tables, put together from columns."""

from __future__ import annotations

SEX = """
[columns.sex]
type = "categorical"
values = ["Female", "Male"]
"""
AGE = """
[columns.age]
type = "integer"
min = 0
max = 99
bins = 5
"""
SCORE = """
[columns.score]
type = "real"
min = 0
max = 10
bins = 4
"""
REGION = """
[columns.region]
type = "categorical"
values = ["North", "South", "East"]
"""


def ordinal(name: str, size: int) -> str:
    """A column of the values 0, 1, 2, ..."""
    values = ", ".join(f'"{value}"' for value in range(size))
    return f'\n[columns.{name}]\ntype = "ordinal"\nvalues = [{values}]\n'


def declared(
    *columns: str, name: str = "people", total: tuple[float, float] | None = None, ledger: str | None = None
) -> str:
    """The schema file of a table with these columns; `total`: its epsilon and delta."""
    lines = ["[table]", f'name = "{name}"', "", "[privacy]"]
    if total is not None:
        lines += [f"epsilon = {total[0]}", f"delta = {total[1]}"]
    if ledger is not None:
        lines += [f'ledger = "{ledger}"']
    return "\n".join(lines) + "\n" + "".join(columns)
