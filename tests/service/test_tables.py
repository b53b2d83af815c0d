from __future__ import annotations

from tests.service.conftest import TOTAL, Service


def test_a_steward_registers_freezes_and_sees_the_budget(service: Service) -> None:
    made = service.register()
    assert (made["name"], made["source"], made["frozen"], made["online"]) == ("people", "people.csv", False, None)
    assert made["budget"]["total_epsilon"] == 20.0
    assert made["budget"]["share_spent"] == 0.0
    assert service.steward.get("files") == {"tables": ["people.csv"], "schemas": ["people.toml"]}
    assert [table["name"] for table in service.steward.get("tables")] == ["people"]
    assert service.steward.post("tables/people/freeze")["frozen"]
    assert not service.steward.post("tables/people/unfreeze")["frozen"]
    assert [entry["action"] for entry in service.steward.get("log")] == [
        "unfreeze",
        "freeze",
        "register",
        "new steward",
    ]


def test_what_cannot_be_registered(service: Service) -> None:
    service.register()
    bad = {
        "../people.csv": "no such file",
        "/etc/passwd": "no such file",
        "http://127.0.0.1/people.csv": "file://",
        "nothing.csv": "no such file",
    }
    for source, words in bad.items():
        told = service.steward.call(
            "POST",
            "tables",
            {
                "source": source,
                "schema_file": "people.toml",
                "epsilon": 1.0,
                "delta": 1e-6,
                "analyst_epsilon": 1.0,
                "analyst_delta": 1e-6,
            },
        )
        assert told.status_code == 422
        assert words in told.json()["error"]["message"]
    assert (
        "registered already"
        in service.steward.call(
            "POST",
            "tables",
            {
                "source": "people.csv",
                "schema_file": "people.toml",
                "epsilon": 20.0,
                "delta": 1e-6,
                "analyst_epsilon": 20.0,
                "analyst_delta": 1e-6,
            },
        ).text
    )


def test_another_total_for_a_table_that_the_ledger_knows_is_a_conflict(service: Service) -> None:
    """The ledger is well: to repeat the request, as 503 would have it, cannot help."""
    service.register()
    for change in ({"delta": 1e-5}, {"epsilon": 19.0}):
        told = service.steward.call(
            "POST", "tables", {"source": "people.csv", "schema_file": "people.toml", **TOTAL, **change}
        )
        assert told.status_code == 409
        assert told.json()["error"]["kind"] == "LedgerConflict"
        assert "change-total" in told.json()["error"]["message"]
    assert service.steward.get("tables/people")["budget"]["total_epsilon"] == 20.0
