"""What `make demo` runs: a private release of the made-up table of this folder, two questions to it, and an evaluation.

python examples/demo.py demo-out
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def equipoise(*arguments: object) -> None:
    """Run a command as you would, after showing it."""
    words = [str(argument) for argument in arguments]
    print(f"\n$ equipoise {shlex.join(words)}", flush=True)
    finished = subprocess.run([sys.executable, "-m", "equipoise.cli", *words], check=False)
    if finished.returncode:
        sys.exit(finished.returncode)


def main() -> None:
    """Release, ask, evaluate."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-out")
    out.mkdir(parents=True, exist_ok=True)
    table, schema, folder = near(HERE / "people.csv"), near(HERE / "people.toml"), out / "people"
    ledger = out / "people.ledger.sqlite"
    print("A made-up table of 20,000 people (examples/README.md) is released with differential privacy, epsilon 1.")
    print(f"All of its twelve columns, for all questions about three of them at once. All output goes to {out}/.")
    if ledger.exists():
        print(
            "The ledger of an earlier demo is thrown away. With real data, never do that: it is what protects people."
        )
        for path in out.glob("people.ledger.sqlite*"):
            path.unlink()
    started = time.monotonic()
    budget = ("--epsilon", 1, "--ledger", ledger)
    work = ("--workload", "3-way")
    equipoise("release", table, "--schema", schema, *work, *budget, "-o", folder, "--overwrite")
    equipoise("answer", folder, "sex = Female and age in 30..39", "work = retired and health <= poor")
    equipoise("ledger", schema, "--ledger", ledger)
    equipoise("evaluate", folder, table)
    print(f"\nDone in {time.monotonic() - started:.0f} seconds. Open the report in a browser: {folder / 'report.html'}")
    print(
        f"The synthetic table is {folder / 'synthetic.csv'} (and .parquet), the guarantee {folder / 'statement.json'}."
    )


def near(path: Path) -> Path:
    """The path as one would type it here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    main()
