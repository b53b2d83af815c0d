"""An oracle in a process of its own: when its solver is killed, or takes the process down, the run goes on."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ClassVar

import numpy as np

from equipoise.oracles.instance import Instance
from equipoise.oracles.oracle import Oracle, Solutions

__all__ = ["Apart"]


class Apart:
    """`oracle`, for a native solver that may crash. Meant to be used inside `Checked`, which announces the fallback.

    The process is started at the first call and again after a failure; close it, or use `with`.

    Args:
        oracle: Who solves, over there.
        max_seconds: Wall-clock limit of one call, or None. A run that meets it is not reproducible: node limits are.
    """

    name: ClassVar[str] = "apart"

    def __init__(self, oracle: Oracle, max_seconds: float | None = None) -> None:
        self.oracle = oracle
        self.max_seconds = max_seconds
        self._pool: ProcessPoolExecutor | None = None

    def refuses(self, instance: Instance) -> str | None:
        """What the oracle itself refuses."""
        return self.oracle.refuses(instance)

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        """The oracle's solutions.

        Raises:
            BrokenProcessPool: the process was killed or crashed.
            TimeoutError: the wall-clock limit was met.
        """
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        (child,) = rng.spawn(1)
        try:
            return self._pool.submit(self.oracle.solve, instance, child).result(self.max_seconds)
        except BaseException:
            self._stop()
            raise

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _stop(self) -> None:
        """End the process at once, whatever it is doing."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.kill()
        self.close()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
