"""Nothing private in any response, log or file of the server; nothing in a field becomes a path, SQL or a script."""

from __future__ import annotations

import logging
import subprocess

import pytest
from tests.service.conftest import Service
from tests.service.test_jobs import QUICK, until

SECRET = "Secretville"


def test_a_cell_that_breaks_the_rules_is_named_nowhere(small: Service, caplog: pytest.LogCaptureFixture) -> None:
    table = small.settings.root / "people.csv"
    table.write_text(table.read_text() + f"Female,30,5.0,{SECRET}\n")
    caplog.set_level(logging.DEBUG)
    small.register()
    ada = small.invite("Ada")
    texts = []
    body = {"mode": "noise", "epsilon": 1.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": 5}
    refused = small.steward.call("POST", "tables/people/online", body)
    assert refused.status_code == 422
    assert "region" in refused.text
    texts.append(refused.text)
    job = small.steward.post("tables/people/releases", QUICK, 202)["id"]
    failed = until(small.steward, job, "failed")
    assert "region" in failed["message"]
    texts += [str(failed), ada.call("GET", "table").text, small.steward.call("GET", "log").text]
    texts += [small.steward.call("GET", "tables/people/spending").text, caplog.text]
    assert not [text for text in texts if SECRET in text]
    # By another process: closing a file that SQLite has open in this one would drop its locks.
    for word, number in ((SECRET, 0), (job, 1)):
        search = subprocess.run(["grep", "-r", "-l", word, str(small.settings.state)], capture_output=True, check=False)
        assert bool(search.stdout) == bool(number), search.stdout
    assert small.steward.get("tables/people")["budget"]["share_spent"] == 0.0
    small.steward.post(f"releases/{job}/cancel")
    until(small.steward, job, "cancelled")


NASTY = ["'; DROP TABLE service_people;--", '"><script>alert(1)</script>', "%s%n{0}", "../../etc/passwd", "a\\0b"]


def test_fields_are_only_ever_values(service: Service) -> None:
    service.register()
    service.open_for_questions(queries_each=50, num_analysts=len(NASTY))
    for text in NASTY:
        who = service.invite(text)
        service.steward.post(f"tables/people/analysts/{who.id}/revoke", status=204)
    ada = service.steward.post(f"tables/people/analysts/{who.id}/renew", {})
    names = [found["name"] for found in service.steward.get("tables/people/analysts")]
    assert names == NASTY
    headers = {"Authorization": f"Bearer {ada['token']}"}
    for text in NASTY:
        key = text.replace(" ", "")
        found = service.http.post(
            "/v1/questions", json={"query": "sex = Male"}, headers=headers | {"Idempotency-Key": key}
        )
        assert found.status_code == 200
        again = service.http.post(
            "/v1/questions", json={"query": "sex = Male"}, headers=headers | {"Idempotency-Key": key}
        )
        assert again.json() == found.json()
        assert service.http.post("/v1/questions", json={"query": text}, headers=headers).status_code == 422
        assert service.steward.call("GET", f"tables/{text}").status_code in (404, 422)
        assert service.steward.call("GET", "log?table=" + text.replace("%", "%25")).status_code == 422
    for path in ("releases/0123456789abcdef/..%2f..%2fserver.lock", "releases/../../etc/passwd"):
        assert service.steward.call("GET", path).status_code in (404, 422)


def test_another_sites_page_can_change_nothing(small: Service) -> None:
    small.register()
    body = {"token": small.steward.token}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        assert small.http.post("/v1/session", json=body, headers=headers).status_code == 403
    assert small.http.post("/v1/session", json=body, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    answer = small.http.get("/v1/tables", headers={"Origin": "http://elsewhere.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]
