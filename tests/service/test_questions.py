from __future__ import annotations

import threading
from typing import Any

from tests.service.conftest import Service

FEMALE = {"query": "sex = Female"}


def opened(service: Service, **changes: Any) -> Service:
    service.register()
    service.open_for_questions(**changes)
    service.invite("Ada")
    service.invite("Bob")
    return service


def test_an_analyst_asks_and_sees_only_their_own(service: Service) -> None:
    opened(service)
    ada, bob = service.analysts["Ada"], service.analysts["Bob"]
    mine = ada.get("table")
    assert (mine["name"], mine["num_rows"], mine["left"]) == ("people", 2_000, 20)
    assert [column["name"] for column in mine["columns"]] == ["sex", "age", "score", "region"]
    assert mine["columns"][0]["labels"] == ["Female", "Male"]
    told = ada.post("questions", FEMALE)
    (answer,) = told["answers"]
    assert (told["left"], answer["source"], answer["text"]) == (19, "paid", "sex = Female")
    assert 0 < answer["half_width"] < 1
    assert abs(answer["share"] - 0.55) < 0.05 + answer["half_width"]
    assert answer["count"] == answer["share"] * 2_000
    cells = ada.post("questions", {"marginal": ["sex", "region"]})
    assert (len(cells["answers"]), cells["left"]) == (6, 13)
    assert bob.get("table")["left"] == 20
    assert bob.get("questions") == []
    assert ada.post("text", {"query": "age >= 20 and age <= 59 and sex = Male"}) == {
        "text": "sex = Male and age in 20..59"
    }
    assert ada.call("GET", "synthetic.csv").status_code == 409  # noise on every answer: there is none
    assert [question["query"] for question in ada.get("questions")] == [None, "sex = Female"]
    used = {found["name"]: (found["asked"], found["paid"]) for found in service.steward.get("tables/people/analysts")}
    assert used == {"Ada": (7, 7), "Bob": (0, 0)}
    assert service.steward.get("tables/people/statement")["guarantee"]["epsilon"] == 5.0


def test_a_repeated_request_gets_the_same_answer_and_pays_once(service: Service) -> None:
    opened(service)
    ada = service.analysts["Ada"]
    first = ada.post("questions", FEMALE, key="k")
    assert ada.post("questions", FEMALE, key="k") == first
    assert ada.get("table")["left"] == 19
    assert ada.call("POST", "questions", {"query": "sex = Male"}, key="k").status_code == 422
    assert service.analysts["Bob"].post("questions", FEMALE, key="k") != first  # keys are one's own
    cells = ada.post("questions", {"marginal": ["sex"]}, key="m")
    assert ada.post("questions", {"marginal": ["sex"]}, key="m") == cells
    held = service.steward.get("tables/people/spending")["budget"]["spent_rho"]
    threads = [threading.Thread(target=ada.post, args=("questions", FEMALE), kwargs={"key": "k"}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert service.steward.get("tables/people/spending")["budget"]["spent_rho"] == held
    assert ada.get("table")["left"] == 17


def test_an_allowance_ends(service: Service) -> None:
    opened(service, queries_each=3)
    ada = service.analysts["Ada"]
    for left in (2, 1, 0):
        assert ada.post("questions", FEMALE)["left"] == left
    refused = ada.call("POST", "questions", FEMALE)
    assert refused.status_code == 409
    assert refused.json()["error"]["kind"] == "BudgetError"
    assert service.analysts["Bob"].post("questions", FEMALE)["left"] == 2


def test_what_cannot_be_asked(small: Service) -> None:
    opened(small)
    ada = small.analysts["Ada"]
    for body, words in (
        ({"query": "sx = Female"}, "expected a column"),
        ({"query": "sex = Femal"}, "sex"),
        ({"query": "sex = Female", "marginal": ["sex"]}, "either"),
        ({}, "either"),
        ({"marginal": ["sex", "sex"]}, "once"),
        ({"marginal": ["nothing"]}, "nothing"),
        ({"query": "sex = Female", "epsilon": 3}, "epsilon"),
        ({"query": "x" * 2_001}, "query"),
    ):
        refused = ada.call("POST", "questions", body)
        assert refused.status_code == 422, body
        assert words in refused.json()["error"]["message"]
    assert ada.get("table")["left"] == 20
    small.steward.post("tables/people/freeze")
    assert ada.call("POST", "questions", FEMALE).status_code == 409
    assert ada.get("table")["frozen"]


def test_what_cannot_be_opened_spends_nothing(small: Service) -> None:
    small.register()
    assert small.invite("Ada").call("POST", "questions", FEMALE).status_code == 409
    body = {"mode": "noise", "epsilon": 25.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": 5}
    assert small.steward.call("POST", "tables/people/online", body).status_code == 409
    assert small.steward.call("POST", "tables/people/online", body | {"columns": ["no"]}).status_code == 422
    found = small.steward.get("tables/people")
    assert (found["online"], found["budget"]["share_spent"]) == (None, 0.0)
    small.steward.post("tables/people/online", body | {"epsilon": 1.0, "columns": ["sex", "age"]})
    assert small.steward.call("POST", "tables/people/online", body).status_code == 409
    assert [column["name"] for column in small.analysts["Ada"].get("table")["columns"]] == ["sex", "age"]
    small.invite("Bob")
    assert small.steward.call("POST", "tables/people/analysts", {"name": "Eve"}).status_code == 409  # two places


def test_answers_from_the_shared_synthetic_data_are_free(service: Service) -> None:
    service.register()
    made = service.open_for_questions(mode="pmw", epsilon=15.0, num_analysts=50, queries_each=100_000)
    assert made["online"]["mode"] == "pmw", made["online"]["reason"]
    ada = service.invite("Ada")
    answers = [ada.post("questions", FEMALE, key=key)["answers"][0] for key in ("a", None, "a")]
    assert [answer["source"] for answer in answers] == ["hypothesis"] * 3
    assert answers[0] == answers[2]
    rows = ada.call("GET", "synthetic.csv?rows=50").text.splitlines()
    assert (len(rows), rows[0]) == (51, '"sex","age","score","region"')


def test_closing_frees_what_was_not_spent(service: Service) -> None:
    opened(service)
    ada = service.analysts["Ada"]
    for _ in range(3):
        ada.post("questions", FEMALE)
    before = service.steward.get("tables/people/spending")
    (run,) = before["runs"]
    assert run["what"] == "questions one by one (noise)"
    (event,) = service.steward.get(f"tables/people/spending/{run['run']}")
    assert event["times"] == 3
    assert service.steward.call("GET", "tables/people/spending/0123").status_code == 404
    assert service.steward.post("tables/people/online/close")["online"] is None
    after = service.steward.get("tables/people/spending")
    assert after["runs"][0]["state"] == "done"
    assert 0 < after["budget"]["share_spent"] < before["budget"]["share_spent"]
    assert ada.call("POST", "questions", FEMALE).status_code == 409
    assert service.steward.call("POST", "tables/people/online/close").status_code == 409
    (kept,) = service.steward.get("tables/people/releases")
    assert (kept["kind"], kept["state"], kept["files"]) == ("questions", "done", ["statement.json"])
    statement = service.steward.get(f"releases/{kept['id']}/statement.json")
    assert [one["times"] for one in statement["events"]] == [3]
    assert statement["ledger_run"] == run["run"]
    assert service.steward.call("POST", f"releases/{kept['id']}/cancel").status_code == 409
    assert ada.get("shared") == []
    assert after["analysts"][0]["asked"] == after["analysts"][0]["paid"] == 3
    service.open_for_questions(queries_each=5)
    assert ada.post("questions", FEMALE)["left"] == 4
    assert service.steward.get("tables/people/analysts")[0]["asked"] == 4  # of both sessions


def test_a_close_that_crashed_in_the_middle_can_be_repeated(small: Service) -> None:
    opened(small)
    small.analysts["Ada"].post("questions", FEMALE)
    registered = small.server.registry.get("people")
    small.server.desks.close(registered)  # and then nothing: the table's row still says that it is open
    assert small.steward.post("tables/people/online/close")["online"] is None
    (kept,) = small.steward.get("tables/people/releases")
    assert kept["files"] == ["statement.json"]
