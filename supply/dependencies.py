"""Every package that Equipoise or one of its extras brings in: pinned, installed as pinned, under a licence we may use.

`python -m supply.dependencies` checks it and needs no network; `--list` prints the table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["FOR_USERS", "Package", "check", "licence_of", "packages", "pins", "required"]

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
PROJECT = "equipoise"
INSTALLER = "pip"
"""Comes with Python, and does the pinning."""
FOR_USERS = frozenset({"pandas", "polars", "postgres", "spark", "databases", "solvers", "service"})
"""Extras that add to what users run; the others are for whoever works on Equipoise."""

PERMITTED = {
    "Apache": r"apache",
    "BSD": r"\bbsd\b|bsd[- ]?[0123]",
    "MIT": r"\bmit\b|mit-0|mit-cmu|\bhpnd\b",
    "PSF": r"\bpsf\b|python software foundation|python-2\.0",
    "ISC": r"\bisc\b",
    "MPL": r"mpl|mozilla public",
    "LGPL": r"lgpl|lesser general public",
    "Zlib": r"zlib",
    "Unlicense": r"unlicense",
    "CC0": r"cc0",
}
"""Licences under which a package may be used, unchanged, beside ours."""


@dataclass(frozen=True)
class Package:
    """A package that is installed because of us.

    Attributes:
        name: As it calls itself.
        version: As installed.
        licence: As its metadata says; empty when that says nothing.
        extras: Of ours, those that bring it in; "" for all who install Equipoise.
        needs: What it needs itself, by normal names.
    """

    name: str
    version: str
    licence: str
    extras: frozenset[str]
    needs: frozenset[str]


def pins(path: Path = CONSTRAINTS) -> dict[str, str]:
    """The pinned versions by normal name.

    Raises:
        ValueError: a line is not name==version, which alone is safe from an index's whims.
    """
    found = {}
    for line in path.read_text().splitlines():
        match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!_-]+)", line)
        if match is None:
            raise ValueError(f"{path.name}: {line!r} is not name==version")
        found[canonicalize_name(match[1])] = match[2]
    return found


def required(name: str, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """What an installed package, with these extras, needs on this machine: normal names with extras of their own."""
    for text in distribution(name).requires or ():
        need = Requirement(text)
        if any(need.marker is None or need.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(need.name), frozenset(need.extras)


def packages() -> list[Package]:
    """Everything that any of our extras brings in, by name; ourselves left out.

    Raises:
        PackageNotFoundError: something of it is not installed.
    """
    reached: dict[str, set[str]] = {}
    needs: dict[str, set[str]] = {}
    for extra in ("", *(distribution(PROJECT).metadata.get_all("Provides-Extra") or ())):
        for name, own_extras in _closure(extra):
            reached.setdefault(name, set()).add(extra)
            needs.setdefault(name, set()).update(need for need, _ in required(name, own_extras))
    found = []
    for name, extras in sorted(reached.items()):
        here = distribution(name)
        found.append(
            Package(here.metadata["Name"], here.version, licence_of(here), frozenset(extras), frozenset(needs[name]))
        )
    return found


def _closure(extra: str) -> set[tuple[str, frozenset[str]]]:
    """The packages, each with the extras of its own that it is needed with."""
    seen: set[tuple[str, frozenset[str]]] = set()
    open_ends = list(required(PROJECT, frozenset({extra})))
    while open_ends:
        end = open_ends.pop()
        if end in seen or end[0] in (PROJECT, INSTALLER):
            continue
        seen.add(end)
        open_ends += required(*end)
    return seen


def licence_of(package: Distribution) -> str:
    """What a package's metadata says of its licence, in one line."""
    meta = package.metadata
    named = [text.rsplit(" :: ", 1)[1] for text in meta.get_all("Classifier") or () if text.startswith("License :: ")]
    for text in (meta.get("License-Expression"), "; ".join(named), meta.get("License")):
        if text and text.strip() not in ("UNKNOWN", "OSI Approved"):
            return " ".join(text.split())[:80]
    return ""


def check(found: list[Package], pinned: Mapping[str, str]) -> list[str]:
    """What is wrong, a line each."""
    wrong = []
    for package in found:
        pin = pinned.get(canonicalize_name(package.name))
        if pin is None:
            wrong.append(f"{package.name} is not pinned in constraints.txt")
        elif pin != package.version:
            wrong.append(f"{package.name} is pinned to {pin} and installed as {package.version}")
        if not any(re.search(words, package.licence, re.IGNORECASE) for words in PERMITTED.values()):
            wrong.append(
                f"{package.name}: the licence {package.licence or '(none named)'!r} is not among those permitted"
            )
    return wrong


def main() -> None:
    """The command."""
    try:
        found = packages()
    except PackageNotFoundError as error:
        sys.exit(f"dependencies: {error.name} is not installed: run `make install`")
    if "--list" in sys.argv:
        for package in found:
            print(f"{package.name:32} {package.version:16} {package.licence:48} {','.join(sorted(package.extras))}")
    wrong = check(found, pins())
    sys.stdout.flush()
    if wrong:
        sys.exit("\n".join(f"dependencies: {line}" for line in wrong))
    print(f"dependencies: {len(found)} packages, all pinned, installed as pinned, under permitted licences")


if __name__ == "__main__":
    main()
