"""Coverage-guided fuzzing of one target by atheris: `python -m tests.fuzz.coverage_guided TARGET RUNS [FOLDER]`.

Inputs that find new code are kept in the folder. The process ends with an error at the first input that makes the
target raise anything but one of our own errors, and writes that input to `crash-...` there.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

INSTRUMENTED = [
    "equipoise.data",
    "equipoise.queries.text",
    "equipoise.queries.build",
    "equipoise.queries.stored",
    "equipoise.privacy.anchor",
    "equipoise.privacy.composed_events",
    "equipoise.privacy.events",
    "equipoise.privacy.primitive_events",
    "equipoise.privacy.run",
    "equipoise.privacy.store",
    "equipoise.releases",
    "equipoise.verification",
]

with atheris.instrument_imports(include=INSTRUMENTED):
    from tests.fuzz.targets import SEEDS, attempt


def main() -> None:
    """Fuzz."""
    name, runs = sys.argv[1], int(sys.argv[2])
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp()) / name
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        (folder / f"seed-{number}").write_bytes(seed)
    options = [f"-atheris_runs={runs}", "-max_len=2048", "-timeout=60", "-rss_limit_mb=3000", "-print_final_stats=1"]
    atheris.Setup(
        [sys.argv[0], *options, f"-artifact_prefix={folder}/crash-", str(folder)], lambda data: attempt(name, data)
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
