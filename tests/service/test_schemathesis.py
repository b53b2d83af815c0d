"""The whole interface, fuzzed from its own description: no 5xx, no undocumented response."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.service.conftest import Service, Visitor, running, settings_of

NUM_EXAMPLES = int(os.environ.get("EQUIPOISE_FUZZ", "6"))
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


def attack_all(service: Service, description: Any, person: Visitor) -> dict[int, int]:
    """Call every operation with made-up input; how often each status came back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import schemathesis
        from schemathesis import checks as known

    headers = {"Authorization": f"Bearer {person.token}"}
    checks = [
        known.not_a_server_error,
        known.status_code_conformance,
        known.content_type_conformance,
        known.response_schema_conformance,
    ]
    seen: dict[int, int] = {}
    for found in schemathesis.openapi.from_dict(description).get_all_operations():

        @settings(max_examples=NUM_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=found.ok().as_strategy())
        def attack(case: Any) -> None:
            response = case.call(base_url=str(service.http.base_url), headers=headers, timeout=300)
            seen[response.status_code] = seen.get(response.status_code, 0) + 1
            case.validate_response(response, checks=checks)

        attack()
    return seen


@pytest.mark.timeout(600 + 60 * NUM_EXAMPLES)
@pytest.mark.parametrize("role", ["steward", "analyst"])
def test_nothing_undocumented_comes_back(fuzzed: Service, role: str) -> None:
    description = fuzzed.http.get("/v1/openapi.json").json()
    assert sum(map(len, description["paths"].values())) > 25
    seen = attack_all(fuzzed, description, fuzzed.steward if role == "steward" else fuzzed.analysts["Ada"])
    assert seen[200] > 5
    assert seen[422] > 5
    assert not [status for status in seen if status >= 500]


def test_what_is_undocumented_would_be_found(fuzzed: Service) -> None:
    description = fuzzed.http.get("/v1/openapi.json").json()
    operation = description["paths"]["/v1/tables"]["get"]
    del operation["responses"]["403"]
    description["paths"] = {"/v1/tables": {"get": operation}}
    with pytest.raises(BaseException, match="403"):
        attack_all(fuzzed, description, fuzzed.analysts["Ada"])
