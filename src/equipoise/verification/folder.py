"""A release folder against its statement: form, figures, files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from equipoise.data.manifest import STATEMENT, digest_of
from equipoise.errors import OutputError
from equipoise.verification.claims import Check, check_claims
from equipoise.verification.form import Statement

__all__ = ["Verified", "verify"]

OWN = (".lock", ".run.json")


@dataclass(frozen=True)
class Verified:
    """What was found.

    Attributes:
        statement: As read.
        digest: SHA-256 of statement.json, which no file vouches for: compare it with what its maker says.
        checks: All that was looked at.
        strangers: Files in the folder that the statement does not vouch for, hidden ones too; not the two that a
            release keeps for itself, its lock and the id of its entry in the ledger.
    """

    statement: dict[str, Any]
    digest: str
    checks: tuple[Check, ...]
    strangers: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether everything that was looked at stands."""
        return all(check.holds for check in self.checks)


def verify(folder: str | Path) -> Verified:
    """Check a finished release or rule.

    Raises:
        OutputError: the folder has no statement, or one that cannot be read.
    """
    source = Path(folder)
    try:
        text = (source / STATEMENT).read_bytes()
        statement = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise OutputError(f"{source} holds no statement that can be read ({STATEMENT}): nothing to verify") from error
    try:
        Statement.model_validate(statement)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise OutputError(f"{source / STATEMENT} is not of the published form: {where}: {first['msg']}") from None
    listed = statement["files"]
    found = sorted(path.name for path in source.iterdir())
    strangers = tuple(name for name in found if name not in {*listed, STATEMENT, *OWN})
    checks = (*check_claims(statement), *(_file(source, name, listed[name]) for name in sorted(listed)))
    return Verified(statement, digest_of(source / STATEMENT)["sha256"], checks, strangers)


def _file(source: Path, name: str, listed: dict[str, Any]) -> Check:
    claimed = str(listed["sha256"])
    if Path(name).name != name:
        return Check(f"file {name}", claimed[:16], "outside the folder", False)
    try:
        found = digest_of(source / name)
    except OSError:
        return Check(f"file {name}", claimed[:16], "missing", False)
    return Check(f"file {name}", claimed[:16], found["sha256"][:16], found == listed)
