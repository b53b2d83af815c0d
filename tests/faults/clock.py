"""A clock that a test moves while programs run: theirs alone, by a library between them and the system.

The system's own clock belongs to everybody on the machine, and time namespaces leave the calendar alone.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *moved;

__attribute__((constructor)) static void open_clock(void) {
    const char *name = getenv("MOVED_CLOCK");
    int file = name ? open(name, O_RDONLY) : -1;
    if (file < 0) return;
    void *found = mmap(0, sizeof *moved, PROT_READ, MAP_SHARED, file, 0);
    if (found != MAP_FAILED) moved = found;
    close(file);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    long done = syscall(SYS_clock_gettime, which, now);
    if (done == 0 && moved && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) now->tv_sec += *moved;
    return (int) done;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void) zone;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    if (now) *now = exact.tv_sec;
    return exact.tv_sec;
}
"""


@dataclass(frozen=True)
class Clock:
    """What to add to the time of every program that is started with `environment`."""

    library: Path
    file: Path

    @classmethod
    def made_in(cls, folder: Path) -> Clock:
        """Compile it; skips the test where there is no compiler."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("moving a program's clock needs a C compiler")
        clock = cls(folder / "clock.so", folder / "moved")
        clock.move(0)
        words = [compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(clock.library)]
        subprocess.run(words, input=SOURCE, text=True, check=True)
        return clock

    def move(self, seconds: int) -> None:
        """From now on, programs see the time this far off."""
        with open(self.file, "r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("q", seconds))

    @property
    def environment(self) -> dict[str, str]:
        return dict(os.environ) | {"LD_PRELOAD": str(self.library), "MOVED_CLOCK": str(self.file)}
