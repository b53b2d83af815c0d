"""Known weaknesses of the pinned packages, by pip-audit, which asks a public database: without one, nothing is claimed.

pip-audit reports "no known vulnerabilities" of packages that it could not look up. Here those count as skipped. A
mirror may have no page of each version but one of the newest: that is asked next, and taken if the pin is that version.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version
from pip_audit._service.interface import ResolvedDependency, ServiceError
from pip_audit._service.pypi import PyPIService
from requests import RequestException

from supply.dependencies import CONSTRAINTS, pins

__all__ = ["ask", "complete", "newest", "verdict"]

SECONDS = "10"


def ask() -> tuple[str, str]:
    """What pip-audit answers, and what it says besides."""
    words = ["-r", str(CONSTRAINTS), "--no-deps", "--disable-pip", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", *words, "--progress-spinner", "off", "--timeout", SECONDS],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.stderr


def complete(answer: str, versions: Mapping[str, str], look: Callable[[str, str], list[str] | None]) -> str:
    """The answer with what `look(name, version)` knows of skipped packages: ids, or None; it stops when out of reach.

    Example:
        >>> complete('{"dependencies": [{"name": "a", "skip_reason": "no"}]}', {"a": "1"}, lambda name, pin: ["CVE-1"])
        '{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}]}'
    """
    try:
        asked: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return answer
    for place, item in enumerate(asked):
        version = versions.get(canonicalize_name(item["name"]))
        if "vulns" in item or version is None:
            continue
        try:
            found = look(item["name"], version)
        except (RequestException, ServiceError):
            break
        if found is not None:
            asked[place] = {"name": item["name"], "version": version, "vulns": [{"id": name} for name in found]}
    return json.dumps({"dependencies": asked})


def newest(name: str, version: str, service: PyPIService | None = None) -> list[str] | None:
    """Ids of weaknesses that the page of a package's newest version lists; None if that is another version."""
    service = service or PyPIService(timeout=int(SECONDS))
    service.session = _Newest(service.session, version)
    asked, found = service.query(ResolvedDependency(name, Version(version)))
    return None if asked.is_skipped() else [weakness.id for weakness in found]


class _Newest:
    """Asks for the page of the newest version in place of that of one version, and gives it if they are the same."""

    def __init__(self, session: Any, version: str) -> None:
        self.session, self.version = session, version

    def get(self, url: str, timeout: int | None) -> Any:
        page = self.session.get(url=url.rsplit("/", 2)[0] + "/json", timeout=timeout)
        if page.ok and page.json()["info"]["version"] != self.version:
            page.status_code = 404
        return page


def verdict(answer: str, said: str) -> tuple[list[str], bool]:
    """Lines to print, and whether a weakness is known.

    Example:
        >>> verdict('{"dependencies": [{"name": "a", "skip_reason": "not found"}]}', "")
        (['vulnerabilities: skipped: none of 1 packages could be looked up; is there a network?'], False)
    """
    try:
        asked: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = (said.strip().splitlines() or ["no answer"])[-1]
        return [f"vulnerabilities: skipped: pip-audit gave no answer ({reason[:200]})"], False
    known = [item for item in asked if item.get("vulns")]
    skipped = [item["name"] for item in asked if "vulns" not in item]
    if len(skipped) == len(asked):
        words = f"none of {len(asked)} packages could be looked up; is there a network?"
        return [f"vulnerabilities: skipped: {words}"], False
    lines = [
        f"vulnerabilities: {item['name']} {item['version']}: {', '.join(found['id'] for found in item['vulns'])}"
        for item in known
    ]
    lines.append(f"vulnerabilities: {len(known)} of {len(asked) - len(skipped)} packages have known ones")
    if skipped:
        lines.append(f"vulnerabilities: skipped, could not be looked up: {', '.join(sorted(skipped))}")
    return lines, bool(known)


def main() -> None:
    """The command."""
    answer, said = ask()
    lines, known = verdict(complete(answer, pins(), newest), said)
    print("\n".join(lines))
    sys.exit(int(known))


if __name__ == "__main__":
    main()
