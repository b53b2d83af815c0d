from __future__ import annotations

from typing import Any

from tests.service.conftest import Service
from tests.service.test_jobs import until

CALL = {"epsilon": 2.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": 9}


def called(service: Service, **changes: Any) -> str:
    service.register()
    for name in ("Ada", "Bob", "Eve"):
        service.invite(name)
    return str(service.steward.post("tables/people/collections", CALL | changes, 201)["id"])


def test_batches_are_answered_all_at_once(service: Service) -> None:
    collection = called(service)
    ada, bob = service.analysts["Ada"], service.analysts["Bob"]
    path = f"collections/{collection}/batch"
    assert service.steward.call("POST", f"collections/{collection}/close").status_code == 409  # nobody has handed in
    assert ada.call("PUT", path, {"queries": ["sex = Male"]}).status_code == 200
    assert ada.call("PUT", path, {"queries": ["sex = Female", ["sex", "region"]]}).status_code == 200
    assert bob.call("PUT", path, {"queries": ["age >= 40"]}).status_code == 200
    late = service.analysts["Eve"].call("PUT", path, {"queries": ["age >= 40"]})
    assert (late.status_code, "invited first" in late.text) == (409, True)
    job = service.steward.post(f"collections/{collection}/close")["job"]
    assert service.steward.post(f"collections/{collection}/close")["job"] == job
    done = until(service.steward, job, "done")
    assert done["files"] == ["statement.json"]
    assert service.steward.get(f"releases/{job}/statement.json")["guarantee"]["epsilon"] == 2.0
    mine = ada.get(path)
    assert mine["queries"] == ["sex = Female", ["sex", "region"]]
    assert len(mine["answers"]) == 7
    assert all(answer["half_width"] > 0 for answer in mine["answers"])
    assert abs(mine["answers"][0]["share"] - 0.55) < 0.05 + mine["answers"][0]["half_width"]
    assert [answer["text"] for answer in bob.get(path)["answers"]] == ["age >= 40"]
    assert ada.get("tables/people/collections")[0]["state"] == "answered"
    assert ada.call("PUT", path, {"queries": ["sex = Male"]}).status_code == 409
    assert len(service.steward.get("tables/people/spending")["runs"]) == 1


def test_what_cannot_be_handed_in(small: Service) -> None:
    collection = called(small, columns=["sex", "age"])
    ada = small.analysts["Ada"]
    for queries, words in (
        (["sx = Male"], "expected a column"),
        (["region = North"], "expected a column"),
        ([["sex", "age"]], "at most 9"),
        ([["sex", "sex"]], "once"),
        ([], "queries"),
    ):
        refused = ada.call("PUT", f"collections/{collection}/batch", {"queries": queries})
        assert refused.status_code == 422
        assert words in refused.json()["error"]["message"]
    assert ada.call("GET", f"collections/{collection}/batch").status_code == 404
