"""The service as its own process, started with the command line, killed and started again on the same port."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Process:
    """A server that can be killed."""

    root: Path
    state: Path
    database: str | None = None
    rate: float = 1e5
    port: int = 0
    address: str = ""
    token: str = ""
    _running: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> Process:
        words = [
            "serve",
            "--root",
            self.root,
            "--state",
            self.state,
            "--port",
            self.port,
            "--rate",
            self.rate,
            "--json",
        ]
        if self.database is not None:
            words += ["--database", self.database]
        self._running = subprocess.Popen(
            [sys.executable, "-m", "equipoise.cli", *map(str, words)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        )
        told = self._read()
        self.address = told["address"]
        self.port = int(self.address.rsplit(":", 1)[1])
        self.token = told["steward_token"] or self.token
        return self

    def _read(self) -> Any:
        assert self._running is not None
        assert self._running.stdout is not None
        lines: list[str] = []
        guard = threading.Timer(600, self._running.kill)
        guard.start()
        try:
            for line in self._running.stdout:
                lines.append(line)
                if line.startswith("}"):
                    return json.loads("".join(lines))
        finally:
            guard.cancel()
        raise AssertionError(f"the server did not start: {''.join(lines)}")

    @property
    def pid(self) -> int:
        assert self._running is not None
        return self._running.pid

    def kill(self) -> None:
        """SIGKILL: no chance to tidy up."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As Ctrl-C does."""
        self._end(signal.SIGINT)

    def terminate(self) -> int:
        """As a service manager does; returns the exit code."""
        assert self._running is not None
        running = self._running
        self._end(signal.SIGTERM)
        return running.returncode

    def _end(self, how: signal.Signals) -> None:
        if self._running is None:
            return
        self._running.send_signal(how)
        self._running.wait(60)
        assert self._running.stdout is not None
        self._running.stdout.close()
        self._running = None
