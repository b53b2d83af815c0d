"""Writing files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from equipoise.core import Codes
from equipoise.errors import OutputError

__all__ = [
    "csv_bytes",
    "replace_file",
    "write_arrow",
    "write_bytes",
    "write_csv",
    "write_items",
    "write_libsvm",
    "write_parquet",
    "writer_of",
]


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
        number = getattr(error, "errno", None)  # Arrow's own words are long
        reason = type(error).__name__ if number is None else os.strerror(number)
        raise OutputError(f"cannot write {target}: {reason}; mend that, then repeat the command") from error
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


def csv_bytes(table: Any) -> bytes:
    """An Arrow table as the bytes of a CSV file."""
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer)
    return buffer.getvalue()


def write_items(table: Any, path: str | Path) -> None:
    """Write an Arrow table of one column of lists as Parquet; lists of increasing numbers take about a bit a gap."""
    if pa.types.is_dictionary(table.schema.types[0].value_type):
        return write_parquet(table, path)
    encoding = {f"{table.column_names[0]}.list.element": "DELTA_BINARY_PACKED"}
    with replace_file(path) as temporary:
        pq.write_table(table, temporary, use_dictionary=False, column_encoding=encoding, compression="zstd")


def write_libsvm(codes: Codes, path: str | Path, *, first: int) -> None:
    """Write 0/1 codes, shape (num_columns, num_rows), as libsvm lines with the label 0; the first column is `first`."""
    words = [b" %d:1" % item for item in range(first, first + len(codes))]
    with replace_file(path) as temporary, open(temporary, "wb") as file:
        for row in np.ascontiguousarray(codes.T):
            file.write(b"0" + b"".join([words[i] for i in np.flatnonzero(row)]) + b"\n")


def write_csv(table: Any, path: str | Path) -> None:
    """Write an Arrow table as CSV with a header; missing values are empty fields."""
    with replace_file(path) as temporary:
        pa.csv.write_csv(table, temporary)


def writer_of(path: str | Path) -> Callable[[Any, str | Path], None]:
    """The function that writes an Arrow table in the format that a file's ending names.

    Raises:
        OutputError: It names none of ours.

    Example:
        >>> writer_of("rows.parquet").__name__
        'write_parquet'
    """
    ending = Path(path).suffix.lower()
    writers = {".csv": write_csv, ".parquet": write_parquet, ".arrow": write_arrow, ".feather": write_arrow}
    if ending not in writers:
        raise OutputError(f"{path}: end its name in one of {', '.join(writers)}, which says the format")
    return writers[ending]


def write_arrow(table: Any, path: str | Path) -> None:
    """Write an Arrow table as an Arrow (Feather) file."""
    with replace_file(path) as temporary, pa.ipc.new_file(str(temporary), table.schema) as file:
        file.write_table(table)


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself survive a power cut; not every system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
