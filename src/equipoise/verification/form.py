"""The form of statement.json, as data: what must be in it, whatever made it.

`statement.schema.json` beside this file is the JSON Schema that is published; a test keeps it equal to this. Makers may
add fields; readers ignore what they do not know.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Statement", "published", "schema"]

FRACTION = r"^-?[0-9]{1,4000}(/[0-9]{1,4000})?$"
DELTA = r"^(0\.[0-9]{1,30}|[1-9](\.[0-9]{1,30})?e-[0-9]{1,3})$"
Exact = Annotated[str, Field(pattern=FRACTION, description="An exact fraction.")]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


class Conditional(_Part):
    """Which part of the price holds only if a solver's certificates do."""

    proven_rho: Exact
    proven_pure_epsilon: Exact | None
    conditional_rho: Exact
    conditional_pure_epsilon: Exact
    condition: str


class Guarantee(_Part):
    """What is guaranteed, to whom."""

    epsilon: float = Field(gt=0)
    delta: float = Field(ge=0, lt=1, description="0 for pure differential privacy.")
    rho: float = Field(ge=0, description="Zero-concentrated privacy; of a tuned release, at this epsilon and delta.")
    rho_exact: Exact
    mu: float | None = Field(default=None, description="Gaussian privacy, where all of it has such a price.")
    half_mu_squared_exact: Exact | None = None
    pure_epsilon: Exact | None = Field(default=None, description="Present when delta is 0.")
    definition: str
    adjacency: str = Field(description="Which tables are neighbours.")
    unit: str = Field(description="Who is protected.")
    rows_per_unit: int = Field(ge=1)
    curve: dict[Annotated[str, Field(pattern=DELTA)], float] = Field(description="Epsilon at several deltas.")
    conditional: Conditional | None = None


class Event(_Part):
    """A kind and its parameters, exact: docs/mechanisms.md has the meaning of each."""

    kind: str


class Charge(_Part):
    """An event that was charged, how often, and its price."""

    event: Event
    words: str
    times: int = Field(ge=1)
    rho: float = Field(ge=0)
    epsilon: float | None = Field(description="Pure epsilon; null where the event has none.")


class Digest(_Part):
    """What a file of the folder must be."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    bytes: int = Field(ge=0)


class Statement(_Part):
    """The machine-readable guarantee of a release folder of Equipoise."""

    product: Literal["equipoise"]
    format: Literal[1]
    created: str
    table: str
    num_rows: int = Field(ge=0)
    guarantee: Guarantee
    events: list[Charge]
    outside_the_guarantee: list[str] = Field(description="What the guarantee does not cover.")
    accepted_inferred: list[str] = Field(description="Columns whose declarations were read from the data and accepted.")
    schema_fingerprint: str
    citations: list[str]
    ledger_run: str
    versions: dict[str, str]
    files: dict[str, Digest] = Field(description="Every other file of the release, with its hash.")


def schema() -> dict[str, Any]:
    """The JSON Schema, from the classes above."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Statement.model_json_schema()}


def published() -> dict[str, Any]:
    """The JSON Schema that ships with the package."""
    found: dict[str, Any] = json.loads(files("equipoise.verification").joinpath("statement.schema.json").read_text())
    return found
