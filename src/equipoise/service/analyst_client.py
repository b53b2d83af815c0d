"""What an analyst does with the client: asking, batches, downloads."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.service.connection import Calls

__all__ = ["AnalystCalls", "Answer"]


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
        left: How many questions you may still ask; None for an answer of a batch.
    """

    text: str
    share: float
    count: float
    half_width: float | None
    source: str
    left: int | None = None


class AnalystCalls(Calls):
    """Calls with an analyst's token."""

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
        left = int(found["left"]) + len(found["answers"])
        return [Answer(**answer, left=left - 1 - i) for i, answer in enumerate(found["answers"])]

    def table(self) -> dict[str, Any]:
        """Your table: its columns with their values, and what you may still ask."""
        return self._object("GET", "table")

    def questions(self, most: int = 50) -> list[dict[str, Any]]:
        """Your own questions and answers, newest first."""
        return self._list(f"questions?most={most}")

    def save_questions(self, path: str | Path) -> Path:
        """All your answers as a CSV file, a line for each."""
        return self._connection.save("questions.csv", path)

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

    def collections(self, table: str | None = None) -> list[dict[str, Any]]:
        """The collections of a table, by default an analyst's own, newest first."""
        return self._list(f"tables/{table or self.me()['table']}/collections")
