"""How the client talks: one connection kept alive, requests repeated while the server is away, refusals as errors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise import errors
from equipoise.errors import EquipoiseError, OutputError

if TYPE_CHECKING:
    import httpx

__all__ = ["Calls", "Connection", "ServiceError"]


class ServiceError(EquipoiseError):
    """The service refuses or cannot be reached; the message says what to do."""


class Connection:
    """A connection to a service.

    Args:
        address: Such as "http://127.0.0.1:8642".
        token: Sent with every request.
        patience: Seconds for which a request is repeated while the server does not answer.
    """

    def __init__(self, address: str, *, token: str, patience: float) -> None:
        try:
            import httpx
        except ModuleNotFoundError as error:
            raise ServiceError("the client needs the extra: pip install 'equipoise[service]'") from error
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=address.rstrip("/"), headers=headers, timeout=60.0, trust_env=False)
        self._patience = patience

    def close(self) -> None:
        """Close it."""
        self._http.close()

    def call(
        self, method: str, path: str, *, body: Any = None, key: str | None = None, repeatable: bool = False
    ) -> Any:
        """What the service answers.

        Args:
            method: Of HTTP.
            path: After `/v1/`.
            body: Sent as JSON.
            key: Sent as Idempotency-Key: the request may be repeated without being done twice.
            repeatable: Whether doing it twice is as good as once, without a key too.

        Raises:
            EquipoiseError: what the library would raise, or `ServiceError`.
        """
        response = self._send(method, path, body, key, repeatable)
        _raise(response)
        return response.json() if response.content else None

    def save(self, path: str, target: str | Path) -> Path:
        """Save what the service answers to a file, piece by piece: it is there as a whole or not at all.

        Raises:
            OutputError: it cannot be written.
        """
        found = Path(target)
        _raise(self._send("GET", path, into=found))
        return found

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        key: str | None = None,
        repeatable: bool = False,
        into: Path | None = None,
    ) -> httpx.Response:
        """Send a request; repeat it while the server is away, if that cannot do anything twice."""
        import httpx

        headers = {} if key is None else {"Idempotency-Key": key}
        until, pause = time.monotonic() + self._patience, 0.05
        while True:
            response, failure = None, ""
            try:
                request = self._http.build_request(method, f"/v1/{path}", json=body, headers=headers)
                response = self._http.send(request, stream=True)
                _receive(response, into)
                if response.status_code not in (429, 503):
                    return response
            except httpx.TransportError as error:
                failure = type(error).__name__
            # A server that is too busy to answer (503) may have done it all the same; one that refuses (429) has not.
            refused = response is not None and response.status_code == 429
            if (
                not (refused or repeatable or key is not None or method in ("GET", "PUT"))
                or time.monotonic() + pause > until
            ):
                if response is not None:
                    return response
                raise ServiceError(f"the service at {self._http.base_url} cannot be reached ({failure})")
            time.sleep(pause)
            pause = min(2 * pause, 2.0)


def _receive(response: httpx.Response, into: Path | None) -> None:
    """Read a response to its end; a good one into a file, if one is named."""
    try:
        if into is None or response.status_code >= 400:
            response.read()
            return
        part = into.with_name(f".{into.name}.part")
        try:
            with part.open("wb") as file:
                for piece in response.iter_bytes():
                    file.write(piece)
            part.replace(into)
        except OSError as error:
            raise OutputError(f"cannot write {into}: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)
    finally:
        response.close()


def _raise(response: httpx.Response) -> None:
    """Turn a refusal back into the error that the library would raise."""
    if response.status_code < 400:
        return
    try:
        told = response.json()["error"]
        kind, message = str(told["kind"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        kind, message = "ServiceError", f"the service answered {response.status_code}"
    cls = getattr(errors, kind, None)
    raise cls(message) if isinstance(cls, type) and issubclass(cls, EquipoiseError) else ServiceError(message)


class Calls:
    """What the client's calls are made with."""

    _connection: Connection

    def me(self) -> dict[str, Any]:
        """Who you are: name, role, until when the token is good; an analyst's table."""
        return self._object("GET", "session")

    def _object(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        found: dict[str, Any] = self._connection.call(method, path, body=body)
        return found

    def _list(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._connection.call("GET", path)
        return found
