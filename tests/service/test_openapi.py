"""The description of the interface, as somebody reads it who has nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.service.conftest import settings_of

from equipoise.service.app import create
from equipoise.service.server import start


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    server = start(settings_of(Path(tmp_path_factory.mktemp("described")), None))
    found: Any = create(server)._app
    yield json.loads(json.dumps(found.openapi()))
    server.close()


def operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def test_every_operation_and_parameter_is_described_with_an_example(description: dict[str, Any]) -> None:
    for name, operation in operations(description):
        assert len(operation["description"]) > 10, name
        assert operation["tags"], name
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (name, parameter["name"])
            assert parameter.get("examples") or parameter["schema"].get("examples"), (name, parameter["name"])


def test_every_field_of_a_request_is_described_and_every_field_has_an_example(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    bodies = {
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
        for _, operation in operations(description)
        if "requestBody" in operation
    }
    assert len(bodies) > 7
    for name, schema in schemas.items():
        assert schema.get("description"), name
        for field, found in schema.get("properties", {}).items():
            assert name not in bodies or found.get("description"), (name, field)
            assert found.get("examples") or "$ref" in json.dumps(found), (name, field)


def test_examples_are_what_the_schema_allows(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    for name, schema in schemas.items():
        for field, found in schema.get("properties", {}).items():
            for example in found.get("examples", ()):
                rule = {**found, "components": {"schemas": schemas}}
                assert jsonschema_rs.is_valid(rule, example), (name, field, example)
