"""A file over http(s): fetched for as long as it is read, into a folder that only this server may see."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from equipoise.data.files import ArrowFile, CsvFile, ParquetFile, ending_of, open_file
from equipoise.errors import DataError

__all__ = ["Fetched", "sweep"]

MOST_BYTES = 2**36
"""Beyond it a file is not fetched; a table of that size belongs on the server, or in a database."""

SECONDS = 60.0
"""To connect, and between two pieces of the file."""


class Fetched:
    """The rows of a file over http(s). No redirect is followed: what is read is the address that was allowed."""

    def __init__(self, url: str, folder: Path) -> None:
        parts = urlsplit(url)
        ending = ending_of(Path(parts.path))
        assert ending is not None
        self._folder = folder / f"{os.getpid()}-{secrets.token_hex(8)}"
        self._folder.mkdir(0o700, parents=True)
        path = self._folder / f"table{ending}"
        try:
            # Apart from the address, which a library might log.
            credentials = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username else None
            _fetch(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), credentials, path)
            self._file: CsvFile | ParquetFile | ArrowFile = open_file(path)
        except BaseException:
            self.close()
            raise

    @property
    def names(self) -> tuple[str, ...]:
        """See `Source.names`."""
        return self._file.names

    @property
    def num_rows(self) -> int:
        """See `Source.num_rows`."""
        return self._file.num_rows

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """See `Source.batches`."""
        return self._file.batches(columns, batch_rows)

    def close(self) -> None:
        """Delete the file."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def __del__(self) -> None:
        with suppress(Exception):  # the program may be ending
            self.close()


def _fetch(url: str, credentials: tuple[str, str] | None, path: Path) -> None:
    import httpx

    sent = {"Accept-Encoding": "identity"}  # the file as it is, also one that is compressed
    try:
        with (
            httpx.Client(trust_env=False, follow_redirects=False, timeout=SECONDS, headers=sent) as http,
            http.stream("GET", url, auth=credentials) as reply,
            path.open("xb") as file,
        ):
            if reply.status_code != 200:
                raise DataError(f"the file's server answered {reply.status_code}")
            for piece in reply.iter_raw():
                file.write(piece)
                if file.tell() > MOST_BYTES:
                    raise DataError("the file is too large to be fetched")
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise DataError(f"the file could not be fetched ({type(error).__name__})") from None


def sweep(folder: Path) -> None:
    """Delete what processes that were killed have left."""
    if sys.platform == "win32" or not folder.is_dir():
        return
    for left in folder.iterdir():
        number = left.name.partition("-")[0]
        try:
            os.kill(int(number), 0)
        except (ProcessLookupError, ValueError):
            shutil.rmtree(left, ignore_errors=True)
        except PermissionError:
            pass  # somebody else's process has that number now: it is deleted another time
