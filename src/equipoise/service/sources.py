"""Tables elsewhere that the server's owner allows: in databases, and files over http(s), each under a name.

    [sources.census]
    url = "postgresql://reader:secret@db.example/census"
    table = "public.people"

    [sources.survey]
    url = "https://data.example/survey.parquet"

A request names one, `source:census`. Its address, with whatever credentials it has, stays in the owner's file: it is in
no reply, message or log and not in the service's database. Nothing else is ever connected to, whatever a request says.
"""

from __future__ import annotations

import stat
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from equipoise.data.databases import open_database
from equipoise.data.files import ENDINGS, ending_of
from equipoise.data.sources import Source
from equipoise.errors import SettingError
from equipoise.service.fetched import Fetched
from equipoise.service.remote import Remote

__all__ = ["PREFIX", "Place", "load", "named"]

PREFIX = "source:"
DATABASES = ("postgresql", "postgres", "sqlite", "duckdb")


class Place(BaseModel):
    """Where a table is."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: str = Field(repr=False, min_length=1)
    table: str | None = None
    query: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> Place:
        parts = urlsplit(self.url)
        if parts.scheme in ("http", "https"):
            if not parts.hostname or ending_of(Path(parts.path)) is None:
                raise ValueError(f"an http address names a host and a file that ends in {', '.join(ENDINGS)}")
            if self.table is not None or self.query is not None:
                raise ValueError("a table or a query goes with a database's address")
        elif parts.scheme not in DATABASES:
            raise ValueError(f"the address begins with http, https, {', '.join(DATABASES)}")
        elif (self.table is None) == (self.query is None):
            raise ValueError("a database's address needs either a table or a query")
        return self

    @property
    def has_password(self) -> bool:
        """Whether the address holds one."""
        return urlsplit(self.url).password is not None

    @property
    def address(self) -> str | None:
        """The address of a file over http(s), without credentials; None for a database."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https"):
            return None
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def open(self, name: str, folder: Path) -> Remote:
        """The table, connected to or fetched into the folder when it is first read."""

        def opened() -> Source:
            if self.address is not None:
                return Fetched(self.url, folder)
            return open_database(self.url, table=self.table, query=self.query)

        return Remote(PREFIX + name, opened)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    sources: dict[str, Place]


def load(path: Path | None) -> dict[str, Place]:
    """The places that a file lists; none without a file.

    Raises:
        SettingError: it cannot be read, something in it is not right, or others can read its passwords.
    """
    if path is None:
        return {}
    try:
        found = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).sources
    except OSError as error:
        raise SettingError(f"--sources {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise SettingError(f"--sources {path}: this is not a TOML file") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]  # the input may hold a password
        where = ".".join(str(part) for part in first["loc"])
        raise SettingError(f"--sources {path}: {where}: {first['msg']}") from None
    if any(place.has_password for place in found.values()) and sys.platform != "win32":
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise SettingError(f"--sources {path}: it holds a password and others may read it; run chmod 600 on it")
    return found


def named(places: Mapping[str, Place], given: str) -> str | None:
    """The name of the place that a request means, by name or by an http address; None when it means a file.

    Raises:
        SettingError: it means a place that is not listed.

    Example:
        >>> places = {"survey": Place(url="https://me:secret@data.example/survey.csv")}
        >>> named(places, "source:survey"), named(places, "https://data.example/survey.csv"), named(places, "a.csv")
        ('survey', 'survey', None)
        >>> named(places, "https://data.example/other.csv")
        Traceback (most recent call last):
        equipoise.errors.SettingError: this server reads ...
    """
    scheme = urlsplit(given).scheme if "://" in given else ""
    if not given.startswith(PREFIX) and scheme in ("", "file"):
        return None
    for name, place in places.items():
        if given in (PREFIX + name, place.address):
            return name
    raise SettingError(
        "this server reads files under its root folder, and the sources that its owner has listed (`--sources`): give a"
        f" path, a file:// address, or {PREFIX}<name>"
    )
