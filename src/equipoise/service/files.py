"""Files that the server may read: those under one folder, whatever a request says."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from equipoise.data.files import ENDINGS
from equipoise.errors import SettingError

__all__ = ["allowed", "listed"]

SCHEMAS = (".toml", ".json")
MOST_LISTED = 1000


def allowed(root: Path, given: str) -> Path:
    """The file that a path or a file URL names, if it is under the root once every link is followed.

    Raises:
        SettingError: it is not, or there is no such file: the two are not told apart.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "people.csv").write_text("sex")
        >>> allowed(folder, "people.csv").name, allowed(folder, (folder / "people.csv").as_uri()).name
        ('people.csv', 'people.csv')
        >>> allowed(folder, "../../etc/passwd")
        Traceback (most recent call last):
        equipoise.errors.SettingError: there is no such file under the folder that this server may read ...
    """
    refused = SettingError("there is no such file under the folder that this server may read (`--root`)")
    text = given
    if "://" in given:
        parts = urlsplit(given)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            raise refused
        text = unquote(parts.path)
    if "\0" in text:
        raise refused
    base = root.resolve()
    try:
        path = (base / text).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise refused from None
    if not path.is_relative_to(base) or not path.is_file():
        raise refused
    return path


def listed(root: Path) -> tuple[list[str], list[str]]:
    """Tables and schemas under the root, as paths relative to it; links that lead outside are left out."""
    base = root.resolve()
    tables: list[str] = []
    schemas: list[str] = []
    for folder, folders, names in os.walk(base):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if name.startswith(".") or not path.resolve().is_relative_to(base):
                continue
            found = str(path.relative_to(base))
            if name.lower().endswith(ENDINGS):
                tables.append(found)
            elif name.lower().endswith(SCHEMAS):
                schemas.append(found)
        if len(tables) + len(schemas) >= MOST_LISTED:
            break
    return tables[:MOST_LISTED], schemas[:MOST_LISTED]
