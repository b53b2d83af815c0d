from __future__ import annotations

from typing import Any

from tests.service.conftest import Service
from tests.service.test_jobs import until

from equipoise.analysts import answer_round
from equipoise.service.desk import terms_of
from equipoise.service.worker import Worker

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


def test_a_collection_that_is_cancelled_too_late_is_answered(small: Service) -> None:
    """Its worker was stopped after the round was paid for and before anybody was told: nothing of it is lost."""
    collection = called(small, mode="noise")
    path = f"collections/{collection}/batch"
    small.analysts["Ada"].call("PUT", path, {"queries": ["sex = Male"]})
    small.server.jobs.close()  # no worker but ours
    job = small.steward.post(f"collections/{collection}/close")["job"]
    asked = CALL | {"mode": "noise", "columns": None}
    registered = small.server.registry.get("people")
    with small.server.registry.opened(registered) as table:
        batches = {small.analysts["Ada"].id: ["sex = Male"]}
        made = answer_round(table, batches, run=collection, **terms_of(asked, registered))
    small.steward.post(f"releases/{job}/cancel")
    Worker(small.settings, job).work()
    assert small.steward.get(f"releases/{job}")["state"] == "done"
    assert [one["share"] for one in small.analysts["Ada"].get(path)["answers"]] == [
        answer.share for answer in made.answers[small.analysts["Ada"].id]
    ]


def test_a_call_is_taken_back_only_while_it_is_open(service: Service) -> None:
    collection = called(service)
    ada, path = service.analysts["Ada"], f"collections/{collection}"
    ada.call("PUT", f"{path}/batch", {"queries": ["sex = Male"]})
    assert service.steward.post(f"{path}/withdraw")["state"] == "given up"
    assert ada.call("PUT", f"{path}/batch", {"queries": ["sex = Male"]}).status_code == 409
    assert service.steward.post(f"{path}/close")["job"] is None
    assert service.steward.get("tables/people/spending")["runs"] == []
    other = service.steward.post("tables/people/collections", CALL | {"mode": "noise"}, 201)["id"]
    ada.call("PUT", f"collections/{other}/batch", {"queries": ["sex = Male"]})
    job = service.steward.post(f"collections/{other}/close")["job"]
    assert service.steward.call("POST", f"collections/{other}/withdraw").status_code == 409
    until(service.steward, job, "done")
    (run,) = service.steward.get("tables/people/spending")["runs"]
    assert run["what"] == "batches (noise)"
    noted = [entry["action"] for entry in service.steward.get("log") if entry["detail"] == other]
    assert noted == ["close collection", "open collection"]


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
