"""What a server is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Where a server reads and writes, and its limits.

    Attributes:
        root: The folder whose tables and schemas it may read; no file outside it is ever opened.
        state: The folder it writes to: releases, locks, and the database unless another is given.
        database: Path or URL of the database; None for a SQLite file in `state`.
        sources: The file that lists tables elsewhere which it may read; None: it reads `root` alone.
        rate: Requests a second that one person may make for long.
        burst: Requests that one person may make at once.
        sign_ins: Wrong tokens a minute from one address before it must wait.
        max_body: Bytes of a request's body.
        max_queries: Queries of one batch, or cells of one marginal.
        seconds: How long a request may take; the work it began is finished and kept for a retry.
        session_hours: How long a browser stays signed in.
        secure: Whether cookies are for https only; set it behind a proxy that ends TLS.
        workers: Releases made at the same time, each in a process of its own.
    """

    root: Path
    state: Path
    database: str | None = None
    sources: Path | None = None
    rate: float = 50.0
    burst: int = 200
    sign_ins: int = 10
    max_body: int = 2**20
    max_queries: int = 10_000
    seconds: float = 30.0
    session_hours: float = 12.0
    secure: bool = False
    workers: int = 1

    @cached_property
    def location(self) -> str:
        """Path or URL of the database."""
        return self.database or str(self.state.resolve() / "service.sqlite")

    @property
    def releases(self) -> Path:
        """Where releases are written, a folder each."""
        return self.state / "releases"

    @property
    def fetched(self) -> Path:
        """Where files from elsewhere are while they are read."""
        return self.state / "fetched"
