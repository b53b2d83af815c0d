"""How many queries each analyst may still ask, counted in memory from blocks that are set aside in the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field

from equipoise.privacy.analyst_book import Page, SessionBook

__all__ = ["Allowances"]

MOST_LEASED = 256
"""Queries that a process sets aside for an analyst at most: one write for so many answers."""


@dataclass
class _Lease:
    """Numbers that this process may give to an analyst's queries, of `leased` in the ledger."""

    numbers: list[int] = field(default_factory=list)
    leased: int = 0


class Allowances:
    """Numbers for analysts' queries, each given once, also by several processes.

    Args:
        book: The session's.
        limit: Queries of each analyst.
        num_places: Analysts.
        exact: Count each query in the ledger at once; else in blocks, the rest of which a crash loses.
    """

    def __init__(self, book: SessionBook, *, limit: int, num_places: int, exact: bool) -> None:
        self._book, self._limit, self._num_places = book, limit, num_places
        self._block = 1 if exact else max(1, min(MOST_LEASED, limit // 64))
        self._leases: dict[str, _Lease] = {}

    def take(self, analyst: str, number: int) -> tuple[list[int], int]:
        """Numbers for an analyst's next queries, and how many queries are left after them.

        Raises:
            BudgetError: there are not as many, or no place for a new analyst.
        """
        lease = self._leases.get(analyst) or _Lease()
        missing = number - len(lease.numbers)
        if missing > 0:
            with self._book.page() as page:
                self._extend(page, analyst, lease, missing, max(missing, self._block))
        taken, lease.numbers = lease.numbers[:number], lease.numbers[number:]
        self._leases[analyst] = lease
        return taken, self._limit - lease.leased + len(lease.numbers)

    def _extend(self, page: Page, analyst: str, lease: _Lease, least: int, most: int) -> None:
        start, end = page.lease(analyst, least, most, limit=self._limit, num_places=self._num_places)
        lease.numbers = [*lease.numbers, *range(start, end)]
        lease.leased = end

    def take_on(self, page: Page, analyst: str, number: int) -> int:
        """Count queries on a page that is being written; how many are left after them."""
        _, end = page.lease(analyst, number, number, limit=self._limit, num_places=self._num_places)
        return self._limit - end + self._unused(analyst)

    def _unused(self, analyst: str) -> int:
        return len(self._leases[analyst].numbers) if analyst in self._leases else 0

    def left(self, analyst: str) -> int:
        """How many queries an analyst may still ask."""
        leased, _ = self._book.places().get(analyst, (0, 0))
        return self._limit - leased + self._unused(analyst)
