"""The published JSON Schema, against the classes and against another validator."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from pydantic import ValidationError
from tests.unit.report.releases import made_up, people, statement

from equipoise.verification.form import Statement, published, schema


def complete() -> dict[str, Any]:
    columns = people()
    workload = made_up(columns).workload
    event = {"kind": "exponential", "epsilon": "1/50", "num_selected": 1}
    return statement(columns, workload) | {
        "files": {"report.html": {"sha256": "0" * 64, "bytes": 3}},
        "events": [{"event": event, "words": "a selection", "times": 2, "rho": 1e-4, "epsilon": 0.04}],
    }


def test_the_published_schema_is_the_one_that_is_used() -> None:
    assert published() == schema()


def test_a_statement_passes_both() -> None:
    Statement.model_validate(complete())
    jsonschema_rs.validator_for(published()).validate(complete())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("product",), "other"),
        (("format",), 2),
        (("num_rows",), -1),
        (("guarantee", "epsilon"), 0),
        (("guarantee", "delta"), 1),
        (("guarantee", "rho_exact"), "1e-3"),
        (("guarantee", "rho_exact"), "1/"),
        (("guarantee", "rows_per_unit"), 0),
        (("events", 0, "times"), 0),
        (("events", 0, "event"), {}),
        (("files", "report.html", "sha256"), "abc"),
        (("ledger_run",), None),
    ],
    ids=str,
)
def test_what_is_not_a_statement_fails_both(path: tuple[Any, ...], value: object) -> None:
    body = copy.deepcopy(complete())
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValidationError):
        Statement.model_validate(body)
    assert not jsonschema_rs.validator_for(published()).is_valid(body)
