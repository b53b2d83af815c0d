from __future__ import annotations

import threading

import pytest
from tests.service.conftest import Service

from equipoise.service import database as db

ASKED = ["sex = Female", "sex = Male", "age >= 40"]


def test_a_question_is_listed_as_soon_as_it_is_answered(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.service.history.PAUSE", 60.0)  # nothing is written unless somebody waits for it
    service.register()
    service.open_for_questions()
    ada = service.invite("Ada")
    for number, query in enumerate(ASKED):
        ada.post("questions", {"query": query}, key=None if number else "first")
        assert [one["query"] for one in ada.get("questions")] == ASKED[number::-1]


def test_an_answer_with_a_key_is_in_the_history_before_it_is_told(service: Service) -> None:
    service.register()
    service.open_for_questions()
    ada = service.invite("Ada")
    for number in range(3):
        told = ada.post("questions", {"query": "sex = Female"}, key=f"{number}")
        with db.read(service.server.engine) as connection:  # as after a crash: nothing in memory counts
            found = connection.execute(db.questions.select().where(db.questions.c.id == told["id"])).all()
        assert len(found) == 1


def test_lines_wait_for_a_database_that_is_away(small: Service) -> None:
    small.register()
    small.open_for_questions()
    ada = small.invite("Ada")
    engine = small.server.engine
    with db.write(engine) as connection:
        connection.exec_driver_sql("ALTER TABLE service_questions RENAME TO away")

    def bring_back() -> None:
        with db.write(engine) as connection:
            connection.exec_driver_sql("ALTER TABLE away RENAME TO service_questions")

    later = threading.Timer(0.5, bring_back)
    later.start()
    ada.post("questions", {"query": "sex = Female"}, key="k")
    later.join()
    assert [one["query"] for one in ada.get("questions")] == ["sex = Female"]
