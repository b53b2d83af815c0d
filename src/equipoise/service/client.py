"""The Python client: the service as if it were the library.

import equipoise as eq

with eq.Client("http://127.0.0.1:8642", token="eqp_...") as service:
    service.ask("sex = Female and age in 30..39").share
    service.marginal(["sex", "age"])
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from equipoise.service.connection import Connection, ServiceError

__all__ = ["Answer", "Client", "ServiceError"]


@dataclass(frozen=True)
class Answer:
    """An answer of the service.

    Attributes:
        text: The query, in its normal form.
        share: Estimated share of the records.
        count: The same times the number of records.
        half_width: The truth is within this of the share, for all answers at once with probability 0.95; None when
            nothing is promised.
        source: "hypothesis" is free, "paid" cost some of the data budget, "unverified" is free and not promised.
    """

    text: str
    share: float
    count: float
    half_width: float | None
    source: str


class Client:
    """A connection to a service, as whoever the token belongs to. Close it, or use it in a `with` statement.

    What costs is sent with a key of its own, so that the client can repeat it when a connection breaks: nothing is ever
    paid for twice.

    Args:
        address: Such as "http://127.0.0.1:8642".
        token: As the steward gave it.
        patience: Seconds for which a request is repeated while the server does not answer.
    """

    def __init__(self, address: str, *, token: str, patience: float = 30.0) -> None:
        self._connection = Connection(address, token=token, patience=patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # ---- for analysts

    def ask(self, query: str, *, key: str | None = None) -> Answer:
        """Ask one query, such as "sex = Female and age in 30..39".

        Args:
            query: The text form.
            key: Asked again with the same key, the answer is the same and costs nothing; by default a new one.

        Raises:
            BudgetError: you have no questions left.
            QueryError: the text does not fit the schema; says where.
        """
        return self._ask({"query": query}, key)[0]

    def marginal(self, columns: Sequence[str], *, key: str | None = None) -> list[Answer]:
        """Ask all cells of a marginal, in order; each counts as a question."""
        return self._ask({"marginal": list(columns)}, key)

    def _ask(self, body: dict[str, Any], key: str | None) -> list[Answer]:
        found = self._connection.call("POST", "questions", body=body, key=key or secrets.token_hex(16))
        return [Answer(**answer) for answer in found["answers"]]

    def table(self) -> dict[str, Any]:
        """Your table: its columns with their values, and what you may still ask."""
        return self._object("GET", "table")

    def questions(self, most: int = 50) -> list[dict[str, Any]]:
        """Your own questions and answers, newest first."""
        return self._list(f"questions?most={most}")

    def normal_form(self, query: str) -> str:
        """A query as the service reads it; asks nothing."""
        return str(self._connection.call("POST", "text", body={"query": query})["text"])

    def synthetic(self, path: str | Path, *, rows: int = 1_000) -> Path:
        """Rows drawn from the shared synthetic data, as a CSV file; costs nothing."""
        return self._connection.save(f"synthetic.csv?rows={rows}", path)

    def shared(self) -> list[dict[str, Any]]:
        """Releases that the steward shares with you."""
        return self._list("shared")

    def hand_in(self, collection: str, queries: Sequence[str | Sequence[str]]) -> None:
        """Hand in a batch of queries and marginals to a collection, or replace it."""
        plain = [query if isinstance(query, str) else list(query) for query in queries]
        self._connection.call("PUT", f"collections/{collection}/batch", body={"queries": plain})

    def batch(self, collection: str) -> list[Answer] | None:
        """The answers to your batch; None while the collection is not answered."""
        found = self._connection.call("GET", f"collections/{collection}/batch")["answers"]
        return None if found is None else [Answer(**answer) for answer in found]

    def collections(self, table: str) -> list[dict[str, Any]]:
        """The collections of a table, newest first."""
        return self._list(f"tables/{table}/collections")

    # ---- for stewards

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

    def invite(self, table: str, name: str, *, days: float = 90.0) -> str:
        """Invite an analyst; returns the token, which is shown only now."""
        return str(
            self._connection.call("POST", f"tables/{table}/analysts", body={"name": name, "days": days})["token"]
        )

    def analysts(self, table: str) -> list[dict[str, Any]]:
        """The analysts of a table and what they have used."""
        return self._list(f"tables/{table}/analysts")

    def revoke(self, table: str, analyst: str) -> None:
        """Make an analyst's token useless."""
        self._connection.call("POST", f"tables/{table}/analysts/{analyst}/revoke", repeatable=True)

    def spending(self, table: str) -> dict[str, Any]:
        """What was spent on a table: in total, by run, by analyst."""
        return self._object("GET", f"tables/{table}/spending")

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

    def cancel(self, job: str) -> None:
        """Stop a job."""
        self._connection.call("POST", f"releases/{job}/cancel")

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

    def download(self, job: str, name: str, path: str | Path, *, shared: bool = False) -> Path:
        """Save a file of a finished release; as an analyst, of a shared one."""
        return self._connection.save(f"{'shared' if shared else 'releases'}/{job}/{name}", path)

    def log(self) -> list[dict[str, Any]]:
        """The audit log, newest first."""
        return self._list("log")

    def _object(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        found: dict[str, Any] = self._connection.call(method, path, body=body)
        return found

    def _list(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._connection.call("GET", path)
        return found
