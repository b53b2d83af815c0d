"""The oracle benchmark: branch and bound against CP-SAT, sparse binary records, and every problem of a FEM run.

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
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console

from equipoise.core import Codes
from equipoise.data.domain import Domain
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.cp_sat import CpSat
from equipoise.oracles.instance import Instance, OneHot
from equipoise.oracles.oracle import Oracle, Solutions
from equipoise.queries.build import build

__all__ = ["Duel", "Finding", "Race", "follow_leader", "main", "make_binary", "make_instance", "markdown", "race"]

ADULT = (74, 9, 16, 7, 15, 6, 5, 2, 100, 99, 99, 42, 2)
LOANS = (
    *(3, 8, 36, 12, 6, 4, 30, 5, 15, 51, 3, 4, 2, 7, 17, 4, 3, 26, 6, 5, 4, 12),
    *(*(10,) * 6, *(8,) * 4, *(10,) * 4, *(8,) * 4, *(6,) * 4, *(5,) * 3, 4),
)
"""Sizes of the columns of the tables after which the instances are modelled (ORACLES.md section 2)."""

NUM_COPIES = 100
SKEW = 1.3
"""Exponent of the popularity of a column's values."""


@dataclass(frozen=True)
class Race:
    """A class of instances, and how many times faster than CP-SAT branch and bound must be."""

    name: str
    sizes: tuple[int, ...]
    num_queries: int
    width: int
    mean_noise: float
    required: float


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


@dataclass(frozen=True)
class Finding:
    """Something else that was measured; `met` is None when it could not be."""

    name: str
    said: str
    met: bool | None


def make_instance(rng: np.random.Generator, race: Race, num_copies: int) -> Instance:
    """Random conjunctions over distinct columns, popular values more often, half negated; exponential noise."""
    record = OneHot.of(race.sizes)
    order = np.argsort(rng.random((race.num_queries, len(race.sizes))), axis=1)
    columns = np.sort(order[:, : race.width], axis=1)
    codes = np.empty_like(columns)
    for column, size in enumerate(race.sizes):
        chances = 1.0 / np.arange(1, size + 1) ** SKEW
        here = columns == column
        codes[here] = rng.choice(rng.permutation(size), size=int(here.sum()), p=chances / chances.sum())
    tilts = -rng.exponential(race.mean_noise, size=(num_copies, record.num_values))
    negated = rng.random(race.num_queries) < 0.5
    return Instance.of(record, columns, codes, np.ones(race.num_queries), negated, tilts)


def make_binary(rng: np.random.Generator, num_bits: int, num_queries: int) -> Instance:
    """Random conjunctions of three bits, half negated."""
    bits = rng.integers(num_bits, size=(num_queries, 3))
    negated = rng.random(num_queries) < 0.5
    return Instance.of(OneHot.of(np.full(num_bits, 2)), bits, np.ones_like(bits), np.ones(num_queries), negated)


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
    ours, our_seconds = _timed(BranchAndBound(), instance)
    theirs, their_seconds = _timed(CpSat(), few)
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


def _timed(oracle: Oracle, instance: Instance) -> tuple[Solutions, float]:
    began = time.process_time()
    found = oracle.solve(instance, np.random.default_rng(0))
    return found, time.process_time() - began


def measure_binary(num_bits: int, num_queries: int, limit: float | None, num_runs: int = 10) -> Finding:
    """The slowest of several sparse binary instances."""
    seconds, proved = [], True
    for seed in range(num_runs):
        found, spent = _timed(BranchAndBound(), make_binary(np.random.default_rng(seed), num_bits, num_queries))
        seconds.append(spent)
        proved = proved and bool(found.proved.all())
    said = f"median {1000 * np.median(seconds):.1f} ms, slowest {1000 * max(seconds):.1f} ms, all proved: {proved}"
    met = None if limit is None else proved and float(np.median(seconds)) <= limit
    return Finding(f"{num_bits:,} bits x {num_queries:,} queries", said, met)


def follow_leader(
    codes: Codes, domain: Domain, *, workload: str, num_rounds: int, num_records: int, mean_noise: float
) -> tuple[int, int, float]:
    """FEM's data player against a noisy best response; returns problems, how many were proved, and CPU seconds.

    A benchmark on a public table: the noise of the selection is not the private kind.
    """
    rng = np.random.default_rng(0)
    queries = build(workload, domain)
    truth = queries.on_rows(codes)
    record, oracle = OneHot.of(domain.sizes), BranchAndBound()
    ids, signs = [int(rng.integers(queries.num_queries))], [1]
    num_proved, seconds = 0, 0.0
    for _ in range(num_rounds):
        columns, values = queries.literals(np.array(ids))
        tilts = -rng.exponential(mean_noise, size=(num_records, record.num_values))
        instance = Instance.of(record, columns, values, np.ones(len(ids)), np.array(signs) < 0, tilts)
        found, spent = _timed(oracle, instance)
        num_proved, seconds = num_proved + int(found.proved.sum()), seconds + spent
        errors = truth - queries.on_rows(found.codes)
        noisy = np.abs(errors) + rng.gumbel(scale=0.002, size=len(errors))
        ids.append(int(noisy.argmax()))
        signs.append(1 if errors[ids[-1]] > 0 else -1)
    return num_rounds * num_records, num_proved, seconds


def measure_game(data: Path, mean_noise: float) -> Finding:
    """Every problem of a FEM run on the yardstick table."""
    name = f"FEM on adult, 200 rounds of 50 records, 64 three-way marginals, noise {mean_noise:g}"
    if not (data / "adult.parquet").is_file():
        return Finding(name, "not run: there is no table adult.parquet in the folder given by --data", None)
    sizes: dict[str, int] = json.loads((data / "adult.domain.json").read_text(encoding="utf-8"))
    table = pq.read_table(data / "adult.parquet")
    codes = np.stack([table.column(column).to_numpy() for column in sizes]).astype(np.uint8)
    domain = Domain(tuple(sizes), tuple(sizes.values()))
    total, proved, seconds = follow_leader(
        codes,
        domain,
        workload="random 64 3-way seed 0",
        num_rounds=200,
        num_records=50,
        mean_noise=mean_noise,
    )
    return Finding(name, f"{proved:,} of {total:,} proved, {seconds:.1f} CPU s", proved == total)


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
    text = markdown(duels, findings)
    (options.out / "oracles.md").write_text(text, encoding="utf-8")
    stored = {"races": [asdict(duel) for duel in duels], "findings": [asdict(finding) for finding in findings]}
    (options.out / "oracles.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    console.print(text, markup=False, soft_wrap=True)
    return 0 if all(duel.met for duel in duels) and all(finding.met is not False for finding in findings) else 1


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
