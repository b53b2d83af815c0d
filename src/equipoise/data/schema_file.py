"""The schema file's form: its sections and keys, and what to say when they are wrong.

[table]            name, unit, rows_per_unit, drop
[privacy]          epsilon, delta, ledger
[columns.<name>]   type = categorical | ordinal | boolean | integer | real | date | codes, and the keys of that kind
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.data.columns import Column, Listing
from equipoise.data.dates import Date
from equipoise.data.listed import Boolean, Categorical, Ordinal
from equipoise.data.real import Real
from equipoise.data.whole import Codes, Integer
from equipoise.errors import SchemaError

__all__ = ["KINDS", "Privacy", "TableKeys", "parse", "read_json", "read_toml"]

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


def parse(content: dict[str, Any]) -> tuple[TableKeys, Privacy, tuple[Column, ...]]:
    """Check the sections of a schema file and build its columns.

    Raises:
        SchemaError: Names the section or column, the rule, and the legal keys.
    """
    sections = ("table", "privacy", "columns")
    for key in content:
        if key not in sections:
            raise SchemaError(f"unknown section [{key}]; the sections are [table], [privacy] and [columns.<name>]")
        if not isinstance(content[key], dict):
            raise SchemaError(f"{key!r} must be a section: [{key}{'.<name>' if key == 'columns' else ''}]")
    table = _validate(TableKeys, content.get("table", {}), "[table]")
    privacy = _validate(Privacy, content.get("privacy", {}), "[privacy]")
    columns = tuple(_column(name, keys) for name, keys in content.get("columns", {}).items())
    return table, privacy, columns


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
    rule = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    said = rule if first["type"] == "value_error" else f"should be {rule}"
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
