"""Known weaknesses of the pinned packages, by pip-audit, which asks a public database: without one, nothing is claimed.

pip-audit reports "no known vulnerabilities" of packages that it could not look up. Here those count as skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from supply.dependencies import CONSTRAINTS

__all__ = ["ask", "verdict"]

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
    lines, known = verdict(*ask())
    print("\n".join(lines))
    sys.exit(int(known))


if __name__ == "__main__":
    main()
