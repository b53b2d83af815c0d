"""What a steward does with the client: tables, budgets, analysts, collections, releases."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import Any

from equipoise.service.connection import Calls, ServiceError

__all__ = ["StewardCalls"]


class StewardCalls(Calls):
    """Calls with a steward's token."""

    def files(self) -> dict[str, Any]:
        """What could be registered: tables and schemas that the server may read."""
        return self._object("GET", "files")

    def tables(self) -> list[dict[str, Any]]:
        """Every registered table."""
        return self._list("tables")

    def register(
        self,
        source: str,
        *,
        schema: str,
        epsilon: float,
        delta: float,
        analyst_epsilon: float,
        analyst_delta: float,
    ) -> dict[str, Any]:
        """Register a table with the totals of its data and analyst budgets.

        `source` is a path under the server's root folder, or `source:<name>` as the server's owner listed it; `schema`
        is a path.
        """
        body = {"source": source, "schema_file": schema, "epsilon": epsilon, "delta": delta}
        return self._object(
            "POST", "tables", {**body, "analyst_epsilon": analyst_epsilon, "analyst_delta": analyst_delta}
        )

    def open_for_questions(
        self,
        table: str,
        *,
        epsilon: float,
        analyst_epsilon: float,
        num_analysts: int,
        queries_each: int,
        mode: str = "online",
        columns: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Open a table for questions one by one; the whole cost is taken from its budgets now."""
        body = {"mode": mode, "epsilon": epsilon, "analyst_epsilon": analyst_epsilon, "columns": columns}
        body |= {"num_analysts": num_analysts, "queries_each": queries_each}
        found: dict[str, Any] = self._connection.call("POST", f"tables/{table}/online", body=body, repeatable=True)
        return found

    def close_for_questions(self, table: str) -> dict[str, Any]:
        """End a table's questions for everybody; its statement is kept, as a job of `releases`."""
        return self._object("POST", f"tables/{table}/online/close")

    def statement(self, table: str) -> dict[str, Any]:
        """The guarantee of the questions that a table is open for."""
        return self._object("GET", f"tables/{table}/statement")

    def invite(self, table: str, name: str, *, days: float = 90.0) -> str:
        """Invite an analyst; returns the token, which is shown only now."""
        return str(
            self._connection.call("POST", f"tables/{table}/analysts", body={"name": name, "days": days})["token"]
        )

    def analysts(self, table: str) -> list[dict[str, Any]]:
        """The analysts of a table and what they have used."""
        return self._list(f"tables/{table}/analysts")

    def renew(self, table: str, analyst: str, *, days: float = 90.0) -> str:
        """A new token for an analyst, by id; the old one stops at once, and what is left of the allowance stays."""
        return str(self._object("POST", f"tables/{table}/analysts/{analyst}/renew", {"days": days})["token"])

    def revoke(self, table: str, analyst: str) -> None:
        """Make an analyst's token useless."""
        self._connection.call("POST", f"tables/{table}/analysts/{analyst}/revoke", repeatable=True)

    def spending(self, table: str) -> dict[str, Any]:
        """What was spent on a table: in total, by run, by analyst."""
        return self._object("GET", f"tables/{table}/spending")

    def events(self, table: str, run: str) -> list[dict[str, Any]]:
        """What an entry of `spending`, one of its runs, was charged for."""
        return self._list(f"tables/{table}/spending/{run}")

    def freeze(self, table: str) -> None:
        """Stop everything that would ask or release more from a table."""
        self._connection.call("POST", f"tables/{table}/freeze", repeatable=True)

    def unfreeze(self, table: str) -> None:
        """Let a frozen table be asked and released again."""
        self._connection.call("POST", f"tables/{table}/unfreeze", repeatable=True)

    def open_collection(
        self,
        table: str,
        *,
        epsilon: float,
        analyst_epsilon: float,
        num_analysts: int,
        queries_each: int,
        mode: str = "per-query",
        columns: Sequence[str] | None = None,
    ) -> str:
        """Call for batches; returns the collection's id."""
        body = {"mode": mode, "epsilon": epsilon, "analyst_epsilon": analyst_epsilon, "columns": columns}
        body |= {"num_analysts": num_analysts, "queries_each": queries_each}
        return str(self._connection.call("POST", f"tables/{table}/collections", body=body)["id"])

    def close_collection(self, collection: str) -> str:
        """Answer all batches of a collection, in a worker; returns the job's id, to `wait` for."""
        return str(self._connection.call("POST", f"collections/{collection}/close", repeatable=True)["job"])

    def withdraw_collection(self, collection: str) -> None:
        """Take back a call for batches that is still open; nothing is spent."""
        self._connection.call("POST", f"collections/{collection}/withdraw", repeatable=True)

    def release(self, table: str, *, epsilon: float, key: str | None = None, **settings: Any) -> str:
        """Make a release in a worker; returns the job's id, to `wait` for.

        `settings` are workload, method, columns, rows and shared.
        """
        body = {"epsilon": epsilon, **settings}
        found = self._connection.call("POST", f"tables/{table}/releases", body=body, key=key or secrets.token_hex(16))
        return str(found["id"])

    def job(self, job: str) -> dict[str, Any]:
        """How far a job is."""
        return self._object("GET", f"releases/{job}")

    def releases(self, table: str) -> list[dict[str, Any]]:
        """Every job of a table, newest first, with the files that can be downloaded."""
        return self._list(f"tables/{table}/releases")

    def cancel(self, job: str) -> None:
        """Stop a job; what it has spent stays spent."""
        self._connection.call("POST", f"releases/{job}/cancel")

    def resume(self, job: str) -> None:
        """Try a failed job again; what it paid for is not paid for again."""
        self._connection.call("POST", f"releases/{job}/resume")

    def wait(self, job: str, *, seconds: float = 3600.0) -> dict[str, Any]:
        """Wait until a job has ended.

        Raises:
            ServiceError: it failed, was cancelled, or takes longer.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = self.job(job)
            if found["state"] == "done":
                return found
            if found["state"] in ("failed", "cancelled"):
                raise ServiceError(f"the job {found['state']}: {found['message']}")
            time.sleep(0.2)
        raise ServiceError("the job is not done yet")

    def log(self, table: str | None = None, *, before: int | None = None) -> list[dict[str, Any]]:
        """The audit log, newest first, two hundred lines at a time: those before the line with an id."""
        given = {"table": table, "before": before}
        asked = "&".join(f"{name}={value}" for name, value in given.items() if value is not None)
        return self._list(f"log?{asked}" if asked else "log")
