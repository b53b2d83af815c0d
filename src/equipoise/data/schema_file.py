"""The schema file's form: its sections and keys, and what to say when they are wrong.

[table]            name, unit, rows_per_unit, drop
[privacy]          epsilon, delta, ledger
[rules]            impossible, implies (data/rules.py)
[items]            names | count, first, column, separator, unknown, confirmed; instead of [columns] (data/items.py)
[columns.<name>]   type = categorical | ordinal | boolean | integer | real | date | codes, and the keys of that kind
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.data.columns import Column, Listing
from equipoise.data.dates import Date
from equipoise.data.items import Items
from equipoise.data.listed import Boolean, Categorical, Ordinal
from equipoise.data.real import Real
from equipoise.data.whole import Codes, Integer
from equipoise.errors import SchemaError

__all__ = ["KINDS", "Privacy", "RuleTexts", "TableKeys", "parse", "read_json", "read_toml"]

_ITS_OWN_WORDS = re.compile(r"^\w+ (?=should )| after validation, not \d+$")
"""What pydantic adds to a rule: the Python kind of value that it is about, and how long it is after all."""

Model = TypeVar("Model", bound=BaseModel)

KINDS: dict[str, type[Column]] = {
    "categorical": Categorical,
    "ordinal": Ordinal,
    "boolean": Boolean,
    "integer": Integer,
    "real": Real,
    "date": Date,
    "codes": Codes,
}


class TableKeys(BaseModel):
    """The `[table]` section."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    name: Annotated[str, Field(min_length=1)] | None = None
    unit: Annotated[str, Field(min_length=1)] | None = None
    rows_per_unit: Annotated[int, Field(ge=1)] = 1
    drop: Annotated[tuple[str, ...], Listing] = ()


class Privacy(BaseModel):
    """The `[privacy]` section: the table's total budget and where its spending is recorded."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    ledger: Annotated[str, Field(min_length=1)] | None = None


class RuleTexts(BaseModel):
    """The `[rules]` section: what cannot be, known without looking at the table."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    impossible: Annotated[tuple[str, ...], Listing] = ()
    implies: Annotated[tuple[str, ...], Listing] = ()


class ItemKeys(BaseModel):
    """The `[items]` section: what the lists of a table of items may hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    names: Annotated[tuple[str, ...], Listing] | None = None
    count: int | None = None
    first: Annotated[int, Field(ge=0)] = 0
    column: Annotated[str, Field(min_length=1)] | None = None
    separator: Annotated[str, Field(min_length=1)] = ","
    unknown: Literal["refuse", "ignore"] = "refuse"
    confirmed: bool = True

    def items(self) -> Items:
        """The columns that these keys declare."""
        if (self.names is None) == (self.count is None):
            raise SchemaError("[items]: give `names`, a list or the path of a file with one name a line, or `count`")
        if self.names is not None and self.first:
            raise SchemaError("[items]: `first` is for items that are numbers; drop it")
        number = self.count if self.names is None else len(self.names)
        assert number is not None
        rest = {key: getattr(self, key) for key in ("first", "column", "separator", "unknown", "confirmed")}
        return Items(number, self.names, **rest)


def with_item_names(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The content of a schema file with the file that `[items] names` points to read in.

    Raises:
        SchemaError: There is no such file.
    """
    items = content.get("items")
    if not isinstance(items, dict) or not isinstance(items.get("names"), str):
        return content
    names = [line.strip() for line in _text(folder / items["names"]).splitlines()]
    return content | {"items": items | {"names": [name for name in names if name]}}


def parse(content: dict[str, Any]) -> tuple[TableKeys, Privacy, RuleTexts, Sequence[Column]]:
    """Check the sections of a schema file and build its columns.

    Raises:
        SchemaError: Names the section or column, the rule, and the legal keys.
    """
    sections = ("table", "privacy", "rules", "items", "columns")
    for key in content:
        if key not in sections:
            raise SchemaError(
                f"unknown section [{key}]; the sections are [table], [privacy], [rules], and [columns.<name>] or"
                " [items]"
            )
        if not isinstance(content[key], dict):
            raise SchemaError(f"{key!r} must be a section: [{key}{'.<name>' if key == 'columns' else ''}]")
    table = _validate(TableKeys, content.get("table", {}), "[table]")
    privacy = _validate(Privacy, content.get("privacy", {}), "[privacy]")
    rules = _validate(RuleTexts, content.get("rules", {}), "[rules]")
    if "items" in content and "columns" in content:
        raise SchemaError("a table has columns or lists of items: give [columns.<name>] or [items], not both")
    if "items" in content:
        return table, privacy, rules, _validate(ItemKeys, content["items"], "[items]").items()
    columns = tuple(_column(name, keys) for name, keys in content.get("columns", {}).items())
    return table, privacy, rules, columns


def _column(name: str, keys: object) -> Column:
    if not isinstance(keys, dict):
        raise SchemaError(f"column {name!r}: it must be a section: [columns.{name}]")
    kind = keys.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SchemaError(f"column {name!r}: `type` must be one of {', '.join(KINDS)}")
    if "name" in keys:
        raise SchemaError(f"column {name!r}: unknown key 'name'; its name is the section's, [columns.<name>]")
    return _validate(KINDS[kind], {**keys, "name": name}, f"column {name!r}")


def _validate(model: type[Model], keys: dict[str, Any], where: str) -> Model:
    try:
        return model.model_validate(keys)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
    key = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        fields = {name: field.alias or name for name, field in model.model_fields.items()}
        if issubclass(model, Column):
            del fields["name"]
        legal = sorted(fields.values())
        raise SchemaError(f"{where}: unknown key {key!r}; the keys are {', '.join(legal)}")
    if first["type"] == "missing":
        raise SchemaError(f"{where}: it needs `{key}`")
    rule = first["msg"].removeprefix("Value error, ")
    said = rule if first["type"] == "value_error" else _ITS_OWN_WORDS.sub("", rule)
    raise SchemaError(f"{where}: `{key}` {said}" if key else f"{where}: {rule}")


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; SchemaError when it is missing or does not parse."""
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{path.name} is not valid TOML: {error}") from None


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; SchemaError when it is missing or is something else."""
    try:
        content = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise SchemaError(f"{path.name} is not valid JSON: {error}") from None
    if not isinstance(content, dict) or not content:
        raise SchemaError(f'{path.name} must hold one JSON object {{"column": size, ...}}')
    return content


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SchemaError(f"{path.name} is not UTF-8 text") from None
    except OSError as error:
        raise SchemaError(f"cannot read the schema {path}: {error.strerror}") from None
