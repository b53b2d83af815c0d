"""Kernels on several cores at once.

Plain threads, which sleep while they wait: the parallel loops of numba spin, and on a machine with other work to do
they take many times longer; nor do they survive a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import numba
import numpy as np

from equipoise.core import IntArray
from equipoise.data_players.mixture_block import Run

__all__ = ["side_by_side"]

MAX_THREADS = 4
"""Parts are a millisecond of work: more threads wait more than they help."""


@contextmanager
def side_by_side() -> Iterator[Run]:
    """A `Run` on as many threads as numba may use (NUMBA_NUM_THREADS; by default one a core), at most four."""
    num_threads = min(MAX_THREADS, numba.config.NUMBA_NUM_THREADS)
    if num_threads == 1:
        yield _at_once
        return
    with ThreadPoolExecutor(num_threads - 1) as pool:

        def run(kernel: Callable[..., None], work: IntArray, *arguments: object) -> None:
            first, *others = pairwise(_bounds(work, num_threads))
            waiting = [pool.submit(kernel, begin, end, *arguments) for begin, end in others]
            kernel(*first, *arguments)
            for part in waiting:
                part.result()

        yield run


def _at_once(kernel: Callable[..., None], work: IntArray, *arguments: object) -> None:
    begin, end = _bounds(work, 1)
    kernel(begin, end, *arguments)


def _bounds(work: IntArray, num_parts: int) -> list[int]:
    """Where to cut the items so that parts have about the same work."""
    cuts = np.searchsorted(work, work[-1] * np.arange(1, num_parts) / num_parts)
    return [0, *(int(cut) for cut in cuts), len(work) - 1]
