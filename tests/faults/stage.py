"""A stage for faults: one process has everything imported and compiled, and plays each command in a child of its own.

A child may have a limit on the size of files or on memory, a disk of its own that is full, or no right to write what
its owner may not. Faults end with the child; what it left behind is on the disk as it would be.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]

LONGEST = 120
"""Seconds that a command may take before it counts as hung, and is killed."""

NEW_MOUNTS, NEW_USERS, PRIVATE, REMOUNT = 0x20000, 0x10000000, 0x44000, 0x20
CAPABILITIES = 0x20080522
"""Linux's numbers: of namespaces and mounts (sched.h, mount.h), and of the third form of capabilities."""


@dataclass(frozen=True)
class Result:
    """How a command ended: its exit code (a signal's number, negative, when one ended it) and what it said."""

    code: int
    said: str


class Stage:
    """Plays steps in a child process: commands, and disks mounted and changed between them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def play(self, *steps: dict[str, Any]) -> list[Result]:
        """The results of the steps that are commands."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(steps), file=self._process.stdin, flush=True)
        return [Result(**found) for found in json.loads(self._process.stdout.readline())]

    def run(self, *words: object, **fault: Any) -> Result:
        """One command: `file_bytes` limits files, `more_bytes` memory; `powerless` has it obey modes even as root."""
        return self.play(command(*words, **fault))[0]


def command(*words: object, **fault: Any) -> dict[str, Any]:
    """A step that runs `equipoise` with these arguments."""
    return {"run": [str(word) for word in words], **fault}


def disk(folder: Path, size: int, *, again: bool = False) -> dict[str, Any]:
    """A step that mounts a disk of so many bytes on a folder, or (again) changes its size; gone with the last step."""
    return {"disk": str(folder), "size": size, "again": again}


def copy(source: Path, target: Path) -> dict[str, Any]:
    """A step that copies a folder, for instance off a disk that will be gone."""
    return {"copy": str(source), "to": str(target)}


@contextmanager
def opened() -> Iterator[Stage]:
    """A stage, as long as the block lasts."""
    path = os.pathsep.join((str(REPOSITORY / "src"), str(REPOSITORY)))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.stage"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": path, "NUMBA_NUM_THREADS": "1"},
    )
    try:
        yield Stage(process)
    finally:
        process.communicate(timeout=60)


def can_mount() -> bool:
    """Whether this machine lets a process mount disks that only it sees."""
    pid = os.fork()
    if pid == 0:
        try:
            _unshare()
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def main() -> None:
    """Make a release, which imports and compiles all that it needs; then play what is asked for, a line each."""
    from tests.faults.toy import Toy

    from equipoise.cli import app

    with tempfile.TemporaryDirectory() as folder:
        app([*Toy(Path(folder), 2).write().words("out", "--threads", "1", "--quiet")], standalone_mode=False)
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as results:
            if os.fork() == 0:
                json.dump(_play(json.loads(line)), results)
                results.flush()
                os._exit(0)
            os.wait()
            results.seek(0)
            print(results.read() or "[]", flush=True)  # noqa: T201


def _play(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    if any("disk" in step for step in steps):
        _unshare()
    for step in steps:
        if "disk" in step:
            Path(step["disk"]).mkdir(exist_ok=True)
            options = f"size={step['size']}".encode()
            _call("mount", b"tmpfs", step["disk"].encode(), b"tmpfs", REMOUNT if step["again"] else 0, options)
        elif "copy" in step:
            shutil.copytree(step["copy"], step["to"])
        else:
            found.append(_run(step))
    return found


def _run(step: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile("w+b") as said:
        pid = os.fork()
        if pid == 0:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            _act(step)
        watch = threading.Timer(LONGEST, os.kill, (pid, signal.SIGKILL))
        watch.start()
        _, status = os.waitpid(pid, 0)
        watch.cancel()
        said.seek(0)
        return {"code": os.waitstatus_to_exitcode(status), "said": said.read().decode(errors="replace")}


def _act(step: dict[str, Any]) -> None:
    from equipoise.cli import main as equipoise

    if step.get("powerless"):
        header, none = (ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
        _call("capset", ctypes.byref(header), ctypes.byref(none))
    if "file_bytes" in step:
        resource.setrlimit(resource.RLIMIT_FSIZE, (step["file_bytes"], step["file_bytes"]))
    if "more_bytes" in step:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + step["more_bytes"]
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    sys.argv = ["equipoise", *step["run"]]
    code = 0
    try:
        equipoise()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _unshare() -> None:
    """Let this process have mounts of its own, as an ordinary user too where the system allows it."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", NEW_MOUNTS if user == 0 else NEW_MOUNTS | NEW_USERS)
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _call("mount", b"none", b"/", None, PRIVATE, None)
    with tempfile.TemporaryDirectory() as folder:
        _call("mount", b"tmpfs", folder.encode(), b"tmpfs", 0, b"size=4096")
        _call("umount", folder.encode())


def _call(name: str, *arguments: Any) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name} failed")


if __name__ == "__main__":
    main()
