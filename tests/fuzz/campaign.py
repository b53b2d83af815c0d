"""A whole campaign: every target in a process of its own, and a table of counts. `make fuzz` runs it.

`python -m tests.fuzz.campaign FOLDER [SHARE]`; a share of 0.01 is a hundredth of the runs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

RUNS = {
    "query_text": 400_000,
    "ledger_event": 400_000,
    "schema_json": 150_000,
    "stored_workload": 150_000,
    "move_log": 60_000,
    "workload_text": 60_000,
    "libsvm_table": 30_000,
    "schema_file": 20_000,
    "csv_table": 10_000,
    "statement": 8_000,
    "http_body": 20_000,
    "ledger_file": 4_000,
    "anchor_file": 8_000,
    "parquet_table": 60_000,
    "release_file": 40_000,
}
"""Runs of each target, by how long one takes: a million and a quarter in all."""


def fuzz(name: str, runs: int, folder: Path) -> dict[str, object]:
    """Fuzz one target; what happened."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "tests.fuzz.coverage_guided", name, str(runs), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    (folder / f"{name}.log").write_text(done.stdout + done.stderr)
    counted = re.findall(r"stat::number_of_executed_units: (\d+)|Done (\d+) in", done.stderr)
    number = max((int(part) for found in counted for part in found if part), default=0)
    covered = re.findall(r"cov: (\d+)", done.stderr)
    return {
        "target": name,
        "runs": number,
        "covered": int(covered[-1]) if covered else 0,
        "crashes": len(list((folder / name).glob("crash-*"))) + (done.returncode not in (0, 77)),
        "seconds": round(time.monotonic() - begun),
    }


def main() -> None:
    """Run all targets."""
    folder, share = Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for name, runs in RUNS.items():
        found.append(fuzz(name, max(1, round(runs * share)), folder))
        sys.stdout.write(json.dumps(found[-1]) + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"{sum(int(str(row['runs'])) for row in found):,} cases in all\n")
    sys.exit(any(row["crashes"] for row in found))


if __name__ == "__main__":
    main()
