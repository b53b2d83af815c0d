"""The anchor: a small file beside the ledger, or on another disk, that remembers how far the ledger had come.

Whoever puts back an older copy of a ledger could spend what was spent since once more. The anchor keeps, for each
account, the digest of its last entry and what it held then, so an older copy is told from the true ledger and refused,
and `backup.restore` can charge what the copy does not know of.

It is written twice a transaction: before the commit it promises the new head (a crash between the two leaves either
head valid), after the commit it keeps it. It is a plain file that whoever may write the ledger may write too: it
detects accidents and copies, not an attacker who replaces both; for that, keep it where only another person can write
(`EQUIPOISE_ANCHOR`, a folder).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import LedgerError

if sys.platform != "win32":
    import fcntl

__all__ = ["FOLDER_VARIABLE", "Anchor", "Head", "anchor_of"]

FOLDER_VARIABLE = "EQUIPOISE_ANCHOR"


@dataclass(frozen=True)
class Head:
    """How far an account had come.

    Attributes:
        digest: Of its last entry.
        held: What its runs had spent and reserved, as exact text.
        epsilon: The declared total, as text.
        delta: Its delta, as text.
        rows_per_unit: Of the table.
    """

    digest: str
    held: str
    epsilon: str | None
    delta: str | None
    rows_per_unit: int


def _require_head(body: dict[str, Any]) -> None:
    head = Head(**body)
    texts = (head.digest, head.held, head.epsilon or "", head.delta or "")
    if not all(isinstance(text, str) for text in texts) or type(head.rows_per_unit) is not int:
        raise TypeError("not a head")


def anchor_of(url: str) -> Anchor | None:
    """The anchor of a ledger: beside a SQLite file, or in the folder that the environment names; else none."""
    file = Path(url.removeprefix("sqlite:///")).resolve() if url.startswith("sqlite:///") else None
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and url != "sqlite://":
        name = url if file is None else str(file)
        return Anchor(Path(folder) / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.anchor")
    return None if file is None else Anchor(file.with_name(file.name + ".anchor"))


class Anchor:
    """The heads of all accounts of one ledger: for each the last that is sure, and the one that may follow."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all_heads(self) -> dict[str, tuple[Head, Head]]:
        """The sure and the promised head of every account that it knows.

        The ledger is compared with what was read *before* it: another process may write both in between, and the
        ledger only grows.
        """
        return {name: (Head(**each["sure"]), Head(**each["next"])) for name, each in self._read().items()}

    def promise(self, account: str, sure: Head | None, coming: Head) -> None:
        """Write, before a commit, what the head will be; `sure` is the one in the ledger now."""
        with self._held():
            body = self._read()
            body[account] = {"sure": asdict(sure or coming), "next": asdict(coming)}
            self._write(body)

    def keep(self, account: str, head: Head) -> None:
        """Write, after a commit, that the promised head is there; if another writer has promised since, nothing."""
        # If it cannot be written, the promise still stands: the next transaction finds the head that was promised.
        with contextlib.suppress(LedgerError), self._held():
            body = self._read()
            if body.get(account, {}).get("next") == asdict(head):
                body[account]["sure"] = asdict(head)
                self._write(body)

    def _read(self) -> dict[str, Any]:
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise LedgerError(f"the ledger's anchor {self.path} cannot be read: {error.strerror}") from error
        try:
            body = json.loads(text)
            for each in body.values():
                _require_head(each["sure"])
                _require_head(each["next"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise LedgerError(
                f"the ledger's anchor {self.path} is damaged. It protects against spending twice; if it was changed by"
                " accident, put back the last copy of it, or `equipoise ledger verify` the ledger and remove the file"
            ) from error
        found: dict[str, Any] = body
        return found

    def _write(self, body: dict[str, Any]) -> None:
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            with open(os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as file:
                json.dump(body, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            reason = f"the ledger's anchor {self.path} cannot be written: {error.strerror}"
            raise LedgerError(f"{reason}; nothing was spent") from error

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Keep other writers out while the file is read and written."""
        if sys.platform == "win32":
            yield
            return
        try:
            descriptor = os.open(self.path.with_name(self.path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            reason = f"the ledger's anchor {self.path} cannot be written: {error.strerror}"
            raise LedgerError(f"{reason}; nothing was spent") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
