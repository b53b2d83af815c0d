"""A table elsewhere, as the rest of the program sees it: rows, and failures that say nothing of its address."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar

from equipoise.data.sources import Given, Source
from equipoise.errors import DataError

__all__ = ["Remote"]

Result = TypeVar("Result")


class Remote(Given):
    """Opened when it is first asked, and again after `close`. For one thread."""

    def __init__(self, name: str, opens: Callable[[], Source]) -> None:
        self._name, self._opens = name, opens
        self._source: Source | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """See `Source.names`."""
        return self._told(lambda source: source.names)

    @property
    def num_rows(self) -> int:
        """See `Source.num_rows`."""
        return self._told(lambda source: source.num_rows)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """See `Source.batches`."""
        batches = self._told(lambda source: source.batches(columns, batch_rows))
        try:
            while (batch := self._told(lambda _: next(batches, None))) is not None:
                yield batch
        finally:
            if isinstance(batches, Generator):
                batches.close()  # now, not when it is forgotten: a database may wait for it

    def close(self) -> None:
        """Let go of the connection, or of what was fetched."""
        source, self._source = self._source, None
        if source is not None and hasattr(source, "close"):
            source.close()

    def _told(self, action: Callable[[Source], Result]) -> Result:
        try:
            if self._source is None:
                self._source = self._opens()
            return action(self._source)
        except DataError:  # it names the address, and a driver's words may name a user
            failed = DataError(
                f"{self._name} cannot be read; ask whoever runs this server to try its address from that machine"
            )
        raise failed
