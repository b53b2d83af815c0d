"""Writing files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from equipoise.errors import OutputError

__all__ = ["replace_file", "write_bytes", "write_csv", "write_parquet"]


@contextlib.contextmanager
def replace_file(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place, synced to disk, when the block ends well.

    Raises:
        OutputError: The file cannot be written; whatever stood at `path` is as it was.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield temporary
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise OutputError(f"cannot write {target}: {reason}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_bytes(content: bytes, path: str | Path) -> None:
    """Write bytes to a file."""
    with replace_file(path) as temporary:
        temporary.write_bytes(content)


def write_parquet(table: Any, path: str | Path) -> None:
    """Write an Arrow table as Parquet."""
    with replace_file(path) as temporary:
        pq.write_table(table, temporary)


def write_csv(table: Any, path: str | Path) -> None:
    """Write an Arrow table as CSV with a header; missing values are empty fields."""
    with replace_file(path) as temporary:
        pa.csv.write_csv(table, temporary)


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself survive a power cut; not every system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
