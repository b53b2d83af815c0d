"""The oracle benchmark: branch and bound against CP-SAT, binary records, local search, every problem of a FEM run.

    python -m equipoise.bench.oracles --out bench-out [--data ../shared/data] [--peer-copies 4]

Writes oracles.md and oracles.json. Times are CPU seconds of this process, with everything compiled. Both solvers get
the same instances; their values are recomputed from the queries and must agree wherever both prove theirs. CP-SAT
solves the first few copies of a batch only. The FEM run needs the yardstick table `adult`, and is left out, with the
reason, when the folder is not there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from equipoise.bench.oracle_findings import (
    Finding,
    measure_binary,
    measure_dense,
    measure_game,
    measure_search,
    measure_unperturbed,
)
from equipoise.bench.oracle_instances import ADULT, LOANS, NUM_COPIES, Race, make_instance, timed
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.cp_sat import CpSat
from equipoise.oracles.instance import Instance

__all__ = ["Duel", "main", "markdown", "race"]

RACES = (
    Race("adult3 t50", ADULT, 50, 3, 1.0, 10.0),
    Race("adult3 t200", ADULT, 200, 3, 1.0, 10.0),
    Race("adult3 t500", ADULT, 500, 3, 1.0, 10.0),
    Race("adult5 t500", ADULT, 500, 5, 1.0, 10.0),
    Race("loans3 t50", LOANS, 50, 3, 1.0, 10.0),
    Race("loans3 t200", LOANS, 200, 3, 1.0, 10.0),
    Race("loans3 t500, noise 4", LOANS, 500, 3, 4.0, 25.0),
    Race("loans3 t500", LOANS, 500, 3, 1.0, 2.5),
)


@dataclass(frozen=True)
class Duel:
    """How a race went: problems a CPU second, and how many copies were proved."""

    name: str
    ours: float
    theirs: float
    proved: str
    peer_proved: str
    agree: bool
    required: float

    @property
    def ratio(self) -> float:
        """How many times faster branch and bound is."""
        return self.ours / self.theirs

    @property
    def met(self) -> bool:
        """Whether it is fast enough, everything proved, and no value contradicted."""
        proved, total = self.proved.split("/")
        return self.ratio >= self.required and proved == total and self.agree


def race(entry: Race, peer_copies: int, num_copies: int = NUM_COPIES) -> Duel:
    """Both solvers on the same instances."""
    instance = make_instance(np.random.default_rng(1), entry, num_copies)
    assert instance.tilts is not None
    few = Instance(
        instance.record,
        instance.literals,
        instance.negated,
        instance.weights,
        instance.tilts[:peer_copies],
        peer_copies,
    )
    ours, our_seconds = timed(BranchAndBound(), instance)
    theirs, their_seconds = timed(CpSat(), few)
    both = ours.proved[:peer_copies] & theirs.proved
    apart = np.abs(few.values(ours.codes[:, :peer_copies]) - few.values(theirs.codes))
    return Duel(
        entry.name,
        num_copies / our_seconds,
        peer_copies / their_seconds,
        f"{int(ours.proved.sum())}/{num_copies}",
        f"{int(theirs.proved.sum())}/{peer_copies}",
        bool((apart[both] < 1e-3).all() and (theirs.values <= ours.bounds[:peer_copies] + 1e-6).all()),
        entry.required,
    )


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; the exit code is 1 when a requirement is missed."""
    parser = argparse.ArgumentParser(prog="python -m equipoise.bench.oracles", description="Oracle benchmark.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the yardstick tables")
    parser.add_argument("--peer-copies", type=int, default=4, help="problems of each class that CP-SAT solves")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    console = Console()
    # Small first: everything is compiled, and OR-tools loaded, before anything is timed.
    race(Race("warm-up", ADULT, 300, 3, 1.0, 0.0), 1, 4)
    duels, findings = [], []
    for entry in RACES:
        duels.append(race(entry, options.peer_copies))
        console.print(f"{entry.name}: {duels[-1].ours:.1f} a second, {duels[-1].ratio:.1f} times CP-SAT")
    for num_bits, limit in ((17_770, 0.020), (512_000, None)):
        findings.append(measure_binary(num_bits, 5000, limit))
        console.print(f"{findings[-1].name}: {findings[-1].said}")
    for mean_noise in (1.0, 4.0):
        findings.append(measure_game(options.data, mean_noise))
        console.print(f"{findings[-1].name}: {findings[-1].said}")
    findings += _further()
    text = markdown(duels, findings)
    (options.out / "oracles.md").write_text(text, encoding="utf-8")
    stored = {"races": [asdict(duel) for duel in duels], "findings": [asdict(finding) for finding in findings]}
    (options.out / "oracles.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    console.print(text, markup=False, soft_wrap=True)
    return 0 if all(duel.met for duel in duels) and all(finding.met is not False for finding in findings) else 1


def _further() -> list[Finding]:
    """The aims of ORACLES.md section 9 that are no race; those in absolute times depend on the core."""
    adult, loans = (next(entry for entry in RACES if entry.name == name) for name in ("adult3 t500", "loans3 t500"))
    return [
        measure_unperturbed(adult, "50 ms"),
        measure_search(adult, 80, NUM_COPIES, "350 a second, excess 0.99"),
        measure_search(loans, 100, 20, "500 a second, excess 0.95"),
        measure_dense(396, 1000, 1000, "0.9947 in 20 ms"),
        measure_dense(396, 5000, 300, "0.9977 in 50 ms"),
    ]


def markdown(duels: Sequence[Duel], findings: Sequence[Finding]) -> str:
    """The results for people."""
    lines = ["# Optimisation oracles: branch and bound against CP-SAT (one worker, linearisation level 2)", ""]
    lines += [f"{platform.machine()}, {os.cpu_count()} cores; problems a CPU second, one process.", ""]
    lines += [
        "| instances | ours | proved | CP-SAT | proved | ratio | to reach | values agree | met |",
        "|" + "---|" * 9,
    ]
    for duel in duels:
        numbers = f"{duel.ours:.1f} | {duel.proved} | {duel.theirs:.2f} | {duel.peer_proved} | {duel.ratio:.1f}"
        told = " | ".join("yes" if fact else "NO" for fact in (duel.agree, duel.met))
        lines.append(f"| {duel.name} | {numbers} | {duel.required:g} | {told} |")
    lines += ["", "| other | found | met |", "|---|---|---|"]
    words = {True: "yes", False: "NO", None: ""}
    lines += [f"| {finding.name} | {finding.said} | {words[finding.met]} |" for finding in findings]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
