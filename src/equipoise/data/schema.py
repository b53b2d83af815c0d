"""The schema: what is public about a table, declared before anyone looks at it.

Read from a TOML file (`load`), from a `{"column": size}` JSON file (`from_domain`), or from what a release folder
keeps (`Schema.from_json`). Nothing in a schema may come from the data unless a person confirms it: bounds and category
lists read from the data are marked `confirmed = false`, and a release refuses them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from equipoise.data.columns import Column, listing
from equipoise.data.domain import Domain
from equipoise.data.items import ITEMS, Items, names_of, sizes_of
from equipoise.data.rules import Rules, columns_of_rule, compile_rules
from equipoise.data.schema_file import parse, read_json, read_toml, with_item_names
from equipoise.errors import SchemaError, SettingError

__all__ = ["Schema", "from_domain", "load"]

_FORMAT = 1
"""Version of the JSON form; raise it when an old release folder could no longer be read."""


@dataclass(frozen=True)
class Schema:
    """What is public about a table.

    Attributes:
        name: The table's name.
        columns: The columns that can be released, in order: a tuple, or `Items`.
        unit: The column that says whose row it is; rows of one unit are protected together. None: each row by itself.
        rows_per_unit: At most this many rows of a unit are kept.
        epsilon: Total privacy budget of the table over all releases, when the schema sets one.
        delta: The delta that goes with it.
        ledger: Where its spending is recorded: a path, already joined to the schema file's folder, or a database URL.
        dropped: Columns that are never read, as declared.
        impossible: Conditions that no record fulfils together (data/rules.py).
        implies: Conditions that follow from others, as `conditions -> conditions`.
        path: The schema file, when there is one.

    Example:
        >>> from equipoise.data.whole import Codes
        >>> schema = Schema("people", (Codes(name="sex", size=2), Codes(name="age", size=10)))
        >>> schema.domain, schema.select(["age"]).domain.sizes
        (Domain(columns=('sex', 'age'), sizes=(2, 10)), (10,))
    """

    name: str
    columns: Sequence[Column]
    unit: str | None = None
    rows_per_unit: int = 1
    epsilon: float | None = None
    delta: float | None = None
    ledger: str | None = None
    dropped: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    implies: tuple[str, ...] = ()
    path: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        names = names_of(self.columns)
        if not names:
            raise SchemaError("the schema has no columns; declare at least one as [columns.<name>]")
        if len(set(names)) != len(names):
            raise SchemaError("the schema names a column twice")
        if self.unit in names:
            raise SchemaError(f"column {self.unit!r}: it is the privacy unit, so it cannot be released; remove it")
        for name in self.dropped:
            if name in names:
                raise SchemaError(f"column {name!r}: it is declared and listed in `drop`; remove one of the two")
        if self.unit is None and self.rows_per_unit != 1:
            raise SchemaError("`rows_per_unit` needs `unit`, the column that says whose row it is")
        self.rules  # noqa: B018  a rule that cannot be read is refused here

    @cached_property
    def domain(self) -> Domain:
        """Column names and sizes."""
        return Domain(names_of(self.columns), sizes_of(self.columns))

    @property
    def items(self) -> Items | None:
        """The declaration of the items, when the table is one of lists of items."""
        return self.columns if isinstance(self.columns, Items) else None

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns of the file that are read."""
        return self.domain.columns if self.items is None else (self.items.column or ITEMS,)

    @cached_property
    def rules(self) -> Rules:
        """What the rules of `impossible` and `implies` forbid."""
        return compile_rules(self.impossible, self.implies, self.columns)

    def column(self, name: str) -> Column:
        """The column of that name.

        Raises:
            SettingError: There is none.
        """
        names = names_of(self.columns)
        if name in names:
            return self.columns[names.index(name)]
        raise SettingError(f"there is no column {name!r}; the columns are {listing(names)}")

    def select(self, names: Iterable[str]) -> Schema:
        """The schema with only these columns, in the order given, and the rules that are about them alone.

        Raises:
            SettingError: A name is unknown or repeated, or there is none.
        """
        chosen = [names] if isinstance(names, str) else list(names)
        if not chosen or len(set(chosen)) != len(chosen):
            raise SettingError("name at least one column, and each only once")
        if self.items is not None:
            if tuple(chosen) == self.items.names:
                return self
            raise SettingError("a table of items is released with all of its items; declare fewer of them in [items]")
        columns = tuple(self.column(name) for name in chosen)
        positions = {position for position, column in enumerate(self.columns) if column.name in chosen}
        impossible, implies = (
            tuple(rule for rule in texts if columns_of_rule(rule, self.columns) <= positions)
            for texts in (self.impossible, self.implies)
        )
        return replace(self, columns=columns, impossible=impossible, implies=implies)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Columns whose bounds or categories were read from the data and not confirmed since."""
        if self.items is not None:
            return () if self.items.confirmed else ("the items",)
        return tuple(column.name for column in self.columns if not column.confirmed)

    def to_json(self) -> str:
        """The schema as one canonical JSON text: all that decoding and answering need, and all of it public.

        The ledger's address is left out: it may carry a password, and means nothing elsewhere.
        """
        content: dict[str, Any] = {
            "format": _FORMAT,
            "table": {"name": self.name, "unit": self.unit, "rows_per_unit": self.rows_per_unit, "drop": self.dropped},
            "privacy": {"epsilon": self.epsilon, "delta": self.delta},
        }
        if self.items is not None:
            content["items"] = self.items.declaration()
        else:
            content["columns"] = [
                {**column.model_dump(mode="json", by_alias=True, exclude_defaults=True), "type": column.kind}
                for column in self.columns
            ]
        if self.impossible or self.implies:
            content["rules"] = {"impossible": self.impossible, "implies": self.implies}
        return json.dumps(content, sort_keys=True, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """The inverse of `to_json`.

        Raises:
            SchemaError: The text is not one that `to_json` wrote.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict) or content.pop("format", None) != _FORMAT:
            raise SchemaError("the stored schema is not JSON of a format this version reads")
        if "items" in content:
            return _build(content, "table")
        columns = content.get("columns")
        if not isinstance(columns, list) or not all(
            isinstance(c, dict) and isinstance(c.get("name"), str) for c in columns
        ):
            raise SchemaError("the stored schema has no list of columns")
        named = {column["name"]: {k: v for k, v in column.items() if k != "name"} for column in columns}
        return _build({**content, "columns": named}, "table")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the JSON form: equal for two schemas exactly when they say the same in public."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def load(path: str | Path) -> Schema:
    """Read a schema file (TOML).

    Args:
        path: The file. Its name, without ending, is the table's name unless `[table] name` says otherwise.

    Raises:
        SchemaError: It is missing, does not parse, or contradicts itself; names the column and the rule.
    """
    path = Path(path)
    schema = _build(with_item_names(read_toml(path), path.parent), path.stem)
    ledger = schema.ledger
    if ledger is not None and "://" not in ledger:
        ledger = str(path.parent / ledger)
    return replace(schema, ledger=ledger, path=path)


def from_domain(path: str | Path) -> Schema:
    """A schema of ready-made codes from a JSON file `{"column": size, ...}`.

    Raises:
        SchemaError: The file is missing or not of that form.
    """
    path = Path(path)
    columns = {name: {"type": "codes", "size": size} for name, size in read_json(path).items()}
    return replace(
        _build({"columns": columns}, path.name.removesuffix(".json").removesuffix(".domain")),
        path=path,
    )


def _build(content: dict[str, Any], default_name: str) -> Schema:
    table, privacy, rules, columns = parse(content)
    return Schema(
        name=table.name or default_name,
        columns=columns,
        unit=table.unit,
        rows_per_unit=table.rows_per_unit,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        ledger=privacy.ledger,
        dropped=table.drop,
        impossible=rules.impossible,
        implies=rules.implies,
    )
