"""Every route has a role: the whole interface is tried as nobody, as analyst and as the wrong analyst."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.conftest import Service, Visitor, running, settings_of

from equipoise.service import database as db
from equipoise.service import tokens
from equipoise.service.app import create

FOR_EVERYBODY = {("get", "/v1/health"), ("post", "/v1/session")}
FOR_ANALYSTS = {
    ("get", "/v1/table"),
    ("post", "/v1/text"),
    ("post", "/v1/questions"),
    ("get", "/v1/questions"),
    ("get", "/v1/questions.csv"),
    ("get", "/v1/synthetic.csv"),
    ("get", "/v1/shared"),
    ("get", "/v1/shared/{job}/{name}"),
    ("put", "/v1/collections/{collection}/batch"),
    ("get", "/v1/collections/{collection}/batch"),
}
FOR_BOTH = {("get", "/v1/session"), ("delete", "/v1/session"), ("get", "/v1/tables/{table}/collections")}


def routes(service: Service) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in service.http.get("/v1/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def tried(
    service: Service, method: str, path: str, operation: dict[str, Any], headers: dict[str, str]
) -> httpx.Response:
    """A request that is well-formed, so that only the role can be what is wrong with it."""
    table = "people" if "{table}" in path else ""
    filled = path.replace("{table}", table).replace("{name}", "statement.json")
    filled = re.sub(r"\{\w+\}", "0123456789abcdef", filled)
    body = None
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
        fields = service.http.get("/v1/openapi.json").json()["components"]["schemas"][schema]["properties"]
        body = {name: field["examples"][0] for name, field in fields.items() if field.get("examples")}
    return service.http.request(method, filled, json=body, headers=headers)


def test_nobody_gets_in_anywhere(small: Service) -> None:
    small.register()
    wrong = [{}, {"Authorization": "Bearer nonsense"}, {"Authorization": f"Bearer {tokens.new()}"}]
    wrong += [{"Authorization": "Basic Z3JhY2U6cGFzcw=="}, {"Cookie": "equipoise_session=" + "0" * 64}]
    wrong += [{"Authorization": f"Bearer {small.steward.token[:-1]}0"}]  # one digit off (or, once in 16, the token)
    if wrong[-1]["Authorization"].endswith(small.steward.token):
        wrong.pop()
    seen = 0
    for method, path, operation in routes(small):
        if (method, path) in FOR_EVERYBODY:
            continue
        for headers in wrong:
            answer = tried(small, method, path, operation, headers)
            assert answer.status_code == 401, (method, path, answer.text)
            assert set(answer.json()) == {"error"}
        seen += 1
    assert seen > 25


def test_an_analyst_gets_into_no_stewards_route_and_the_steward_into_no_analysts(small: Service) -> None:
    small.register()
    ada = small.invite("Ada")
    for method, path, operation in routes(small):
        if (method, path) in FOR_EVERYBODY | FOR_BOTH:
            continue
        who = small.steward if (method, path) in FOR_ANALYSTS else ada
        answer = tried(small, method, path, operation, {"Authorization": f"Bearer {who.token}"})
        assert answer.status_code == 403, (method, path, answer.text)


def test_no_route_is_forgotten_above(small: Service) -> None:
    known = {(method, path) for method, path, _ in routes(small)}
    assert known >= FOR_EVERYBODY | FOR_ANALYSTS | FOR_BOTH


def test_no_route_is_left_out_of_the_description(small: Service) -> None:
    """What is walked above is everything that the application answers, but for the console's files."""
    app: Any = create(small.server)._app
    described = set(app.openapi()["paths"])
    assert len(described) > 25
    others = {path for path in paths_of(app.routes) if path not in described}
    assert others == {"/", "/console", "/v1/openapi.json"}


def paths_of(found: Any) -> Iterator[str]:
    """The paths of routes, wherever they are included from."""
    for route in found:
        inner = getattr(route, "original_router", None) or getattr(route, "router", None)
        if hasattr(route, "path"):
            yield route.path
        elif inner is not None:
            yield from paths_of(inner.routes)
        else:
            raise AssertionError(f"a route of another kind: {route}")


def test_what_is_anothers_is_absent(small: Service) -> None:
    small.register()
    make_other(small)
    ada, eve = small.invite("Ada"), small.invite("Eve", "other")
    body = {"epsilon": 1.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": 9}
    collection = small.steward.post("tables/people/collections", body, 201)["id"]
    assert ada.call("PUT", f"collections/{collection}/batch", {"queries": ["sex = Male"]}).status_code == 200
    assert ada.get(f"collections/{collection}/batch")["queries"] == ["sex = Male"]
    for answer in (
        eve.call("GET", f"collections/{collection}/batch"),
        eve.call("PUT", f"collections/{collection}/batch", {"queries": ["sex = Male"]}),
        eve.call("GET", "tables/people/collections"),
        small.steward.call("POST", f"tables/people/analysts/{eve.id}/revoke"),
    ):
        assert answer.status_code == 404, answer.text
    bob = small.invite("Bob")  # of the same table: sees that there is a collection, not who has handed in
    assert bob.call("GET", f"collections/{collection}/batch").status_code == 404
    told = bob.get("tables/people/collections")[0]
    assert (told["id"], told["state"], told["job"]) == (collection, "open", None)


@pytest.mark.parametrize("table", ["other", "people"])
def test_the_wrong_analyst_gets_nothing_of_anothers_anywhere(small: Service, table: str) -> None:
    """Eve is an analyst of another table, or of Ada's, where she may see collections and releases that are shared."""
    small.register()
    make_other(small)
    small.open_for_questions()
    small.open_for_questions("other")
    ada, eve = small.invite("Ada"), small.invite("Eve", table)
    ada.post("questions", {"query": "region = North"})
    body = {"epsilon": 1.0, "analyst_epsilon": 1.0, "num_analysts": 2, "queries_each": 9}
    collection = small.steward.post("tables/people/collections", body, 201)["id"]
    ada.call("PUT", f"collections/{collection}/batch", {"queries": ["sex = Male"]})
    with db.write(small.server.engine) as connection:
        job = small.server.jobs.add(
            connection, actor="0", table="people", kind="release", key=None, request={}, shared=True
        )
        connection.execute(db.jobs.update().values(state="done"))
    ids = {"table": "people", "analyst": ada.id, "collection": collection, "job": job, "run": "0" * 16}
    secrets = [ada.id, "Ada", "sex = Male", "region = North"] + ([collection, job] if table == "other" else [])
    seen = set()
    for method, path, operation in routes(small):
        if (method, path) in FOR_EVERYBODY or method == "delete":
            continue
        filled = re.sub(r"\{(\w+)\}", lambda found: ids.get(found[1], "statement.json"), path)
        answer = tried(small, method, filled, operation, {"Authorization": f"Bearer {eve.token}"})
        hers = (method, path) in FOR_ANALYSTS | FOR_BOTH
        if not hers or (table == "other" and "{" in path):
            assert answer.status_code in (403, 404), (method, path, answer.text)
        assert not [word for word in secrets if word in answer.text], path
        seen.add((answer.status_code, method))
    assert {(200, "get"), (403, "get"), (404, "get"), (403, "post")} <= seen
    assert (404, "put") in seen or table == "people"
    assert ada.get(f"collections/{collection}/batch")["queries"] == ["sex = Male"]
    assert [question["query"] for question in ada.get("questions")] == ["region = North"]
    assert (eve.get("table")["left"], ada.get("table")["left"]) == (20, 19)


def make_other(service: Service) -> None:
    from tests.service.conftest import make_table

    make_table(service.settings.root, "other")
    service.register("other")


def test_tokens_expire_are_revoked_and_renewed(service: Service) -> None:
    service.register()
    ada = service.invite("Ada")
    assert ada.get("session")["name"] == "Ada"
    service.steward.call("POST", f"tables/people/analysts/{ada.id}/revoke")
    assert ada.call("GET", "session").status_code == 401
    assert [found["state"] for found in service.steward.get("tables/people/analysts")] == ["revoked"]
    renewed = service.steward.post(f"tables/people/analysts/{ada.id}/renew", {"days": 1e-5})["token"]
    again = Visitor(service.http, renewed)
    assert again.get("session")["id"] == ada.id
    assert ada.call("GET", "session").status_code == 401
    import time

    time.sleep(0.9)
    assert again.call("GET", "session").status_code == 401
    stored = service.server.engine.connect().exec_driver_sql("SELECT digest FROM service_people").scalars().all()
    assert all(len(digest) == 64 and digest not in renewed for digest in stored)


def test_a_token_that_is_revoked_while_it_is_looked_up_is_not_remembered(
    small: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.register()
    ada = small.invite("Ada")
    real = tokens.matches

    def late(secret: str, stored: str) -> bool:
        monkeypatch.setattr(tokens, "matches", real)
        small.steward.post(f"tables/people/analysts/{ada.id}/revoke", status=204)
        return real(secret, stored)

    monkeypatch.setattr(tokens, "matches", late)
    assert small.server.people.of_token(ada.token) is not None  # it was good when it was read
    assert small.server.people.known(ada.token) is None
    assert ada.call("GET", "session").status_code == 401


def test_a_browser_needs_its_own_pages_word(small: Service) -> None:
    small.register()
    answer = small.http.post("/v1/session", json={"token": small.steward.token})
    cookie = answer.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    csrf = answer.json()["csrf"]
    assert small.http.get("/v1/tables").status_code == 200  # httpx keeps the cookie, as a browser does
    assert small.http.post("/v1/tables/people/freeze").status_code == 403
    assert small.http.post("/v1/tables/people/freeze", headers={"X-Equipoise-CSRF": "0" * 64}).status_code == 403
    assert small.http.post("/v1/tables/people/freeze", headers={"X-Equipoise-CSRF": csrf}).status_code == 200
    assert small.http.get("/v1/session").json()["csrf"] == csrf
    assert small.http.delete("/v1/session", headers={"X-Equipoise-CSRF": csrf}).status_code == 204
    assert small.http.get("/v1/tables").status_code == 401


def test_the_headers_that_browsers_obey(small: Service) -> None:
    for path in ("/console/", "/v1/health", "/v1/tables", "/v1/openapi.json"):
        headers = small.http.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers or "uvicorn" in headers["server"]  # the command line leaves it out
    assert small.http.get("/v1/tables").headers["cache-control"] == "no-store"


def test_behind_tls_the_cookie_is_for_https_and_this_host_alone(tmp_path: Path) -> None:
    for service in running(settings_of(tmp_path, None, secure=True)):
        answer = service.http.post("/v1/session", json={"token": service.steward.token})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-equipoise_session=")
        assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=strict", "Path=/"))
        assert "Domain" not in cookie
