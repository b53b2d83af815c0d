"""Who is compared: declared in peers.toml."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field

from equipoise.bench.experiment import Declared, Option

__all__ = ["OURS", "Peer", "peers"]

OURS = "equipoise"


class Peer(Declared):
    """A package's method, with the options it is given.

    Attributes:
        name: In tables.
        environment: Of pinned requirements; None for our own.
        adapter: A file in `adapters/`.
        model: What the adapter is asked for.
        charge: Which neighbouring tables its budget protects, and how it was made equal to ours.
        options: For the package's method.
        about: What else must be said.
        program: A program that is run in the place of the environment's Python and our entry; it is given the folder.
    """

    name: str
    environment: str | None = None
    adapter: str = ""
    model: str = ""
    charge: str
    options: dict[str, Option] = Field(default_factory=dict)
    about: str = ""
    program: Path | None = None

    @property
    def slug(self) -> str:
        """The name in files' names."""
        return re.sub(r"[^a-z0-9]+", "_", self.name.lower())


def peers() -> list[Peer]:
    """Everybody, ours first.

    Example:
        >>> peers()[0].name == OURS
        True
    """
    text = files("equipoise.bench.peers").joinpath("peers.toml").read_text(encoding="utf-8")
    declared: list[dict[str, Any]] = tomllib.loads(text)["peer"]
    return [Peer.model_validate(each) for each in declared]
