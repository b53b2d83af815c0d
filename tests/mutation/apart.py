"""Work in a process of its own: limited in the processor's time and in memory, and in a folder that is thrown away.

A changed function may write where nobody meant it to, as a ledger in a file that is named like no name at all. Such
files end in the folder, which is removed with them, and never in a working tree.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable

DEAD = 1
MEMORY = 12 * 2**30


def limit(seconds: float) -> None:
    """The process is ended when it has used so much of the processor's time."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), hard))


def forked(work: Callable[[], int], seconds: float) -> int:
    """What `work` returns, in a process of its own with so much of the processor's time; a signal as its negative."""
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as folder:
        child = os.fork()
        if child == 0:
            status = DEAD
            try:
                os.setsid()
                os.chdir(folder)
                limit(seconds)
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                status = work()
            finally:
                os._exit(status)
        return _waited(child, time.monotonic() + 120 + 4 * seconds)


def _waited(child: int, give_up: float) -> int:
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > give_up:  # it waits for something that never comes: no processor time is used
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGXCPU
        time.sleep(0.005)
