"""The whole interface, fuzzed from its own description: no 5xx, no undocumented response."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.service.conftest import Service, running, settings_of

NUM_EXAMPLES = 12
"""For each of the operations, and for each of the two roles."""


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    for service in running(settings_of(Path(tmp_path_factory.mktemp("fuzz")), None)):
        service.register()
        service.open_for_questions(queries_each=10_000)
        service.invite("Ada")
        body = {"epsilon": 0.1, "analyst_epsilon": 0.1, "num_analysts": 2, "queries_each": 9}
        service.steward.post("tables/people/collections", body, 201)
        yield service


@pytest.mark.parametrize("role", ["steward", "analyst"])
def test_nothing_undocumented_comes_back(fuzzed: Service, role: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import schemathesis
        from schemathesis import checks as known

    person = fuzzed.steward if role == "steward" else fuzzed.analysts["Ada"]
    headers = {"Authorization": f"Bearer {person.token}"}
    description = fuzzed.http.get("/v1/openapi.json").json()
    schema = schemathesis.openapi.from_dict(description)
    checks = [
        known.not_a_server_error,
        known.status_code_conformance,
        known.content_type_conformance,
        known.response_schema_conformance,
    ]
    seen: dict[int, int] = {}
    operations = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        operations += 1

        @settings(max_examples=NUM_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy())
        def attack(case: Any) -> None:
            response = case.call(base_url=str(fuzzed.http.base_url), headers=headers)
            seen[response.status_code] = seen.get(response.status_code, 0) + 1
            case.validate_response(response, checks=checks)

        attack()
    assert operations > 25
    assert seen.get(200, 0) > 20
