"""The files of a release folder with their hashes, as its statement lists them; the statement is written last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from equipoise.data.write import write_bytes

__all__ = ["STATEMENT", "digest_of", "write_statement"]

STATEMENT = "statement.json"
"""Its presence means that a folder is complete."""


def digest_of(path: Path) -> dict[str, Any]:
    """A file's SHA-256 and its size."""
    with open(path, "rb") as content:
        return {"sha256": hashlib.file_digest(content, "sha256").hexdigest(), "bytes": path.stat().st_size}


def write_statement(statement: dict[str, Any], folder: Path, files: Iterable[str]) -> None:
    """Write the statement, which names the files it vouches for.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     _ = (Path(name) / "rule.txt").write_text("always")
        ...     write_statement({"table": "people"}, Path(name), ["rule.txt"])
        ...     json.loads((Path(name) / STATEMENT).read_text())["files"]["rule.txt"]["bytes"]
        6
    """
    listed = {name: digest_of(folder / name) for name in sorted(files)}
    body = json.dumps(statement | {"files": listed}, indent=2, ensure_ascii=False, allow_nan=False)
    write_bytes((body + "\n").encode(), folder / STATEMENT)
