"""Run a server until it is told to stop."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from equipoise.errors import SettingError
from equipoise.service.app import create
from equipoise.service.server import start
from equipoise.service.settings import Settings

__all__ = ["run"]


def run(
    settings: Settings,
    *,
    host: str,
    port: int,
    steward: str | None = None,
    say: Callable[[str, str | None], None],
) -> None:
    """Serve on an address.

    Args:
        settings: Where to read and write, and the limits.
        host: The address to listen on.
        port: The port; 0 for any that is free.
        steward: Make a token for a new steward of this name.
        say: Called once, when the server listens, with its address and, if one was made, the steward's token.

    Raises:
        EquipoiseError: it cannot start.
    """
    listening = _listen(host, port)
    try:
        server = start(settings)
    except BaseException:
        listening.close()
        raise
    token = None
    if steward is not None or not server.people.has_steward():
        token = server.new_steward(steward or "steward", days=3650)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    config = uvicorn.Config(
        create(server),
        log_level="warning",
        access_log=False,  # it would tell who asks when
        server_header=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=10,
        limit_concurrency=1000,
    )
    say(f"http://{_shown(host)}:{listening.getsockname()[1]}", token)
    with suppress(KeyboardInterrupt):  # the way to stop it; it has tidied up by now
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise SettingError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from error
    listening.listen(2048)
    listening.set_inheritable(False)
    return listening


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
