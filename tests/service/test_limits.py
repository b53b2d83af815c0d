from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import Service, Visitor, running, settings_of

from equipoise.errors import OutputError
from equipoise.service import tokens
from equipoise.service.guard import Guard
from equipoise.service.server import start
from equipoise.service.settings import Settings


def test_a_body_has_a_size(small: Service) -> None:
    most = small.settings.max_body
    large = small.http.post("/v1/session", content=b"x" * (most + 1), headers={"Content-Type": "application/json"})
    assert large.status_code == 413
    chunks = (b" " * 2**16 for _ in range(most // 2**16 + 2))  # no content-length to look at
    assert small.http.post("/v1/session", content=chunks).status_code == 413


def test_a_body_has_a_depth(small: Service) -> None:
    """What would overrun the parser's stack is refused like anything else that is not JSON."""
    headers = {"Content-Type": "application/json"}
    for body in (
        b"[" * 100_000,
        b'{"token":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"token": 1' + b"0" * 100_000 + b"}",
    ):
        answer = small.http.post("/v1/session", content=body, headers=headers)
        assert answer.status_code in (400, 422), answer.text[:200]
        assert len(answer.text) < 1_000


def test_a_token_has_a_rate_of_its_own(tmp_path: Path) -> None:
    for service in running(settings_of(tmp_path, None, rate=0.01, burst=5)):
        service.register()
        ada, bob = service.invite("Ada"), service.invite("Bob")
        answers = [ada.call("GET", "session").status_code for _ in range(7)]
        assert answers == [200] * 5 + [429] * 2
        assert int(ada.call("GET", "session").headers["retry-after"]) >= 1
        assert bob.call("GET", "session").status_code == 200


def test_guessing_tokens_slows_down(tmp_path: Path) -> None:
    for service in running(settings_of(tmp_path, None, sign_ins=3)):
        answers = [service.http.post("/v1/session", json={"token": "guess"}).status_code for _ in range(5)]
        assert answers == [401] * 3 + [429] * 2


def test_who_signs_in_rightly_is_never_counted_as_a_guesser(tmp_path: Path) -> None:
    for service in running(settings_of(tmp_path, None, sign_ins=3)):
        right = {"token": service.steward.token}
        assert [service.http.post("/v1/session", json=right).status_code for _ in range(5)] == [200] * 5
        service.http.cookies.clear()
        wrong = [Visitor(service.http, str(tokens.new())).call("GET", "tables") for _ in range(5)]
        assert [answer.status_code for answer in wrong] == [401] * 3 + [429] * 2
        assert int(wrong[-1].headers["retry-after"]) >= 1
        assert service.http.post("/v1/session", json=right).status_code == 429  # before a token is looked up
        assert service.steward.get("tables") == []  # a good token is good from any address


def test_one_server_a_state_folder(small: Service) -> None:
    with pytest.raises(OutputError, match="another server"):
        start(small.settings)


def test_nonsense_is_refused_without_being_repeated(small: Service) -> None:
    secret = "eqp_" + "ab" * 50
    for answer in (
        small.http.post("/v1/session", content=b"{not json", headers={"Content-Type": "application/json"}),
        small.http.post("/v1/session", json={"tokens": secret}),
        small.http.post("/v1/session", json={"token": [secret]}),
        small.http.post("/v1/session", json={"token": secret}),
    ):
        assert answer.status_code in (400, 401, 422)
        assert secret not in answer.text


def test_a_request_has_a_time_and_a_download_has_not(tmp_path: Path) -> None:
    settings = Settings(tmp_path, tmp_path, seconds=0.05)

    async def respond(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await asyncio.sleep(30)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(0.2)
        await send({"type": "http.response.body", "body": b"whole"})

    async def call(path: str) -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        await Guard(respond, settings)(scope, lambda: asyncio.sleep(0), send)
        return sent

    refused, body = asyncio.run(call("/slow"))
    assert (refused["status"], b"same Idempotency-Key" in body["body"]) == (503, True)
    whole, body = asyncio.run(call("/file"))
    assert (whole["status"], body["body"]) == (200, b"whole")


def test_a_marginal_has_a_size_and_what_is_too_large_counts_nothing(tmp_path: Path) -> None:
    for service in running(settings_of(tmp_path, None, max_queries=5)):
        service.register()
        service.open_for_questions()
        ada = service.invite("Ada")
        for body, words in (
            ({"marginal": ["sex", "region"]}, "at most 5 cells"),
            ({"marginal": ["sex"] * 11}, "at most 10"),
            ({"query": " and ".join(["sex = Female"] * 200)}, "at most 2000"),
        ):
            refused = ada.call("POST", "questions", body)
            assert refused.status_code == 422
            assert words in refused.json()["error"]["message"]
        for path in ("synthetic.csv?rows=100001", "questions?most=1001"):
            assert ada.call("GET", path).status_code == 422
        assert ada.get("table")["left"] == 20
        assert len(ada.post("questions", {"marginal": ["sex"]})["answers"]) == 2


def test_a_secret_is_compared_whole_and_as_often_for_nobody(small: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `hmac.compare_digest` alone, whose time is the same wherever two digests differ."""
    compared: list[tuple[int, int]] = []
    real = tokens.hmac.compare_digest

    def compare(one: Any, two: Any) -> bool:
        compared.append((len(one), len(two)))
        return bool(real(one, two))

    monkeypatch.setattr(tokens.hmac, "compare_digest", compare)
    right, other = tokens.parse(small.steward.token), tokens.new()
    assert right is not None
    for token, status in ((other, 401), (other._replace(id=right.id), 401), (right, 200), (right, 200)):
        compared.clear()
        assert Visitor(small.http, str(token)).call("GET", "session").status_code == status
        assert compared == [(64, 64)]
