"""Packages for publication: wheel and source built to the same bytes by everybody, and their checksums.

`python -m supply.dist FOLDER` builds them; the maintainer then signs SHA256SUMS (`make sign`, SECURITY.md).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

__all__ = ["SUMS", "build"]

REPOSITORY = Path(__file__).resolve().parent.parent
SUMS = "SHA256SUMS"
OLDEST = 315_532_800
"""1980, in seconds since 1970: a wheel is a zip file, and those know no earlier time."""


def _time() -> str:
    """When the last commit was made: the one time that everybody who builds it agrees on."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is not None:
        return given
    words = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout.strip() or str(OLDEST)


def build(target: Path) -> list[Path]:
    """Build wheel and source into a folder, with their checksums; returns the files."""
    target.mkdir(parents=True, exist_ok=True)
    for old in (*target.glob("equipoise-*"), *target.glob(f"{SUMS}*")):
        old.unlink()  # or checksums, or their signature, would be of something else
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(target.resolve())],
        cwd=REPOSITORY,
        env=os.environ | {"SOURCE_DATE_EPOCH": _time()},
        check=True,
        stdout=sys.stderr,
    )
    made = sorted(path for path in target.glob("equipoise-*") if path.name.endswith((".whl", ".tar.gz")))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made]
    (target / SUMS).write_text("".join(lines))
    return [*made, target / SUMS]


def main() -> None:
    """The command."""
    for path in build(Path(sys.argv[1])):
        print(path)


if __name__ == "__main__":
    main()
