"""The Python client: the service as if it were the library.

import equipoise as eq

with eq.Client("http://127.0.0.1:8642", token="eqp_...") as service:
    service.ask("sex = Female and age in 30..39").share
    service.marginal(["sex", "age"])
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from equipoise.service.analyst_client import AnalystCalls, Answer
from equipoise.service.connection import Connection, ServiceError
from equipoise.service.steward_client import StewardCalls

__all__ = ["Answer", "Client", "ServiceError"]


class Client(AnalystCalls, StewardCalls):
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

    def download(self, job: str, name: str, path: str | Path, *, shared: bool = False) -> Path:
        """Save a file of a finished release; as an analyst, of a shared one."""
        return self._connection.save(f"{'shared' if shared else 'releases'}/{job}/{name}", path)
