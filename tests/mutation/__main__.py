"""Mutation testing of `privacy/`: `python -m tests.mutation FOLDER [--share P] [--draw N] [--module M ...]`.

Writes `FOLDER/mutants.jsonl`, a line a mutant, and prints the score and what survived. What an earlier call tried is
not tried again; with `--again` the mutants that were not killed are. Quickest is a call with `--near`, which runs the
tests of `privacy/` itself alone, and then one with `--again`, which tries what they did not notice with all of them.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import sys
from pathlib import Path

import pytest
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.trial import KILLED, TIMEOUT, UNCHANGED, Trials

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src" / "equipoise"
TESTS = (
    "tests/unit/privacy",
    "tests/statistics",
    "tests/audits",
    "tests/unit/audit",
    "tests/unit/analysts",
    "tests/unit/learning/test_learning.py",
    "tests/unit/test_tuning.py",
    "tests/faults/test_sessions.py",
    "tests/theory/test_analyst_games.py",
    "tests/cli/test_analyst_ledger.py",
    "src/equipoise/privacy",
)
"""What might notice a change of the private side: no PostgreSQL, nothing that starts processes, no whole releases."""
NEAR = ("tests/unit/privacy", "tests/statistics", "src/equipoise/privacy")
"""The quickest of them, which notice most."""
OPTIONS = ["-q", "-p", "no:randomly", "-p", "no:xdist", "--doctest-modules", "-o", "tmp_path_retention_policy=none"]
NOT_RUN = "not slow"
DEAD = (KILLED, TIMEOUT)
LEFT_OUT = "not postgres and not processes and not test_leaks"


def main() -> None:
    """Try the mutants."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--module", action="append", help="name of a file of privacy/, without .py; all if not given")
    parser.add_argument("--allowance", type=float, default=30.0, help="seconds of tests a mutant")
    parser.add_argument("--share", type=float, default=1.0, help="of the mutants, chosen at random")
    parser.add_argument("--draw", type=int, default=0, help="which random sample; the same each time")
    parser.add_argument("--near", action="store_true", help="run the tests of privacy/ itself alone")
    parser.add_argument("--again", action="store_true")
    told = parser.parse_args()
    told.folder = told.folder.resolve()  # mutants run elsewhere
    told.folder.mkdir(parents=True, exist_ok=True)
    report = told.folder / "mutants.jsonl"
    names = told.module or sorted(path.stem for path in (SOURCE / "privacy").glob("*.py"))
    mutants = [mutant for name in names for mutant in mutants_of(SOURCE, f"privacy/{name}.py", told.share, told.draw)]
    random.Random(0).shuffle(mutants)  # what has been tried when time is up is a fair sample of all modules
    rows = _rows(report)
    tried = {key: row["outcome"] for key, row in rows.items()}
    if told.again:
        left = [mutant for mutant in mutants if tried.get(_key(mutant.__dict__), KILLED) not in DEAD]
    else:
        left = [mutant for mutant in mutants if _key(mutant.__dict__) not in tried]
    sys.stdout.write(f"{len(mutants)} mutants, {len(left)} to try\n")
    sys.stdout.flush()
    if left:
        _run(told, left, report)
    _tell([row for key, row in _rows(report).items() if key in {_key(mutant.__dict__) for mutant in mutants}])


def _run(told: argparse.Namespace, left: list[Mutant], report: Path) -> None:
    tests = [str(REPOSITORY / path) for path in (NEAR if told.near else TESTS)]
    arguments = [*OPTIONS, "-m", NOT_RUN, "-k", LEFT_OUT, f"--basetemp={told.folder / 'tmp'}", *tests]
    sys.path.insert(0, str(REPOSITORY))
    trials = Trials(SOURCE, left, told.allowance, report, told.folder / "reach.jsonl")
    status = pytest.main(arguments, plugins=[trials])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(status)


def _key(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("file", "function", "number", "before", "after"))


def _rows(report: Path) -> dict[tuple[object, ...], dict[str, object]]:
    """The last word on each mutant."""
    lines = report.read_text().splitlines() if report.exists() else []
    return {_key(row): row for row in map(json.loads, lines)}


def _tell(rows: list[dict[str, object]]) -> None:
    outcomes: dict[object, collections.Counter[object]] = collections.defaultdict(collections.Counter)
    for row in rows:
        outcomes[row["file"]][row["outcome"]] += 1
    for name, counter in sorted(outcomes.items(), key=str):
        sys.stdout.write(f"{name}: {', '.join(f'{number} {outcome}' for outcome, number in counter.most_common())}\n")
    counted = [row for row in rows if row["outcome"] != UNCHANGED]
    dead = sum(row["outcome"] in DEAD for row in counted)
    sys.stdout.write(f"{dead} of {len(counted)} killed: {dead / max(1, len(counted)):.1%}\n")
    for row in sorted(counted, key=lambda row: (str(row["file"]), row["lines"])):
        if row["outcome"] not in DEAD:
            sys.stdout.write(f"{row['file']}:{row['lines'][0]} {row['outcome']}: {row['before']} -> {row['after']}\n")  # type: ignore[index]


if __name__ == "__main__":
    main()
