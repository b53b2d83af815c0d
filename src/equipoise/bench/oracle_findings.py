"""What is measured of the optimisation oracles besides races: sparse and dense bits, local search, a whole game."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from equipoise.bench.oracle_instances import Race, make_binary, make_instance, timed
from equipoise.core import Codes
from equipoise.data.domain import Domain
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.instance import Instance, OneHot
from equipoise.oracles.local_search import LocalSearch
from equipoise.queries.build import build

__all__ = [
    "Finding",
    "follow_leader",
    "measure_binary",
    "measure_dense",
    "measure_game",
    "measure_search",
    "measure_unperturbed",
]


@dataclass(frozen=True)
class Finding:
    """Something else that was measured; `met` is None when it could not be."""

    name: str
    said: str
    met: bool | None


def measure_binary(num_bits: int, num_queries: int, limit: float | None, num_runs: int = 10) -> Finding:
    """The slowest of several sparse binary instances."""
    seconds, proved = [], True
    for seed in range(num_runs):
        found, spent = timed(BranchAndBound(), make_binary(np.random.default_rng(seed), num_bits, num_queries))
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
        found, spent = timed(oracle, instance)
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


def measure_search(entry: Race, num_kicks: int, num_copies: int, aim: str) -> Finding:
    """Local search against the proved best records.

    The plain ratio flatters: negated queries are nearly free. The excess is what of the gain over the record that
    ignores the queries is reached, the hit rate the share of copies whose record is a best one.
    """
    instance = make_instance(np.random.default_rng(1), entry, num_copies)
    assert instance.tilts is not None
    best, _ = timed(BranchAndBound(), instance)
    found, seconds = timed(LocalSearch(num_kicks), instance)
    starts = instance.record.starts
    ignoring = instance.values(np.stack([instance.tilts[:, a:b].argmax(axis=1) for a, b in pairwise(starts)]))
    excess = float((found.values - ignoring).sum() / (best.values - ignoring).sum())
    ratio, hits = float((found.values / best.values).mean()), float((found.values > best.values - 1e-6).mean())
    said = f"{num_copies / seconds:.0f} a second, excess {excess:.3f}, ratio {ratio:.4f}, hit rate {hits:.2f}"
    return Finding(f"local search, {num_kicks} kicks, {entry.name}", f"{said} (aim: {aim})", None)


def measure_dense(num_bits: int, num_queries: int, num_kicks: int, aim: str, *, num_runs: int = 8) -> Finding:
    """Local search on dense binary records, where nothing proves anything, against a search of a hundred times that."""
    instance = make_binary(np.random.default_rng(0), num_bits, num_queries)
    runs = [_searched(instance, num_kicks, seed) for seed in range(num_runs)]
    best = max(_searched(instance, 100 * num_kicks, 0)[0], *(value for value, _ in runs))
    share, seconds = (float(np.mean(column)) for column in zip(*runs, strict=True))
    said = f"{share / best:.4f} of the best known, {1000 * seconds:.1f} ms"
    return Finding(f"local search, {num_kicks} kicks, {num_bits} bits x {num_queries:,}", f"{said} (aim: {aim})", None)


def _searched(instance: Instance, num_kicks: int, seed: int) -> tuple[float, float]:
    began = time.process_time()
    found = LocalSearch(num_kicks).solve(instance, np.random.default_rng(seed))
    return float(found.values[0]), time.process_time() - began


def measure_unperturbed(entry: Race, aim: str, *, num_runs: int = 100) -> Finding:
    """Problems without noise, as DualQuery as printed has them: one each, so nothing is shared between copies."""
    seconds, num_proved = [], 0
    for seed in range(num_runs):
        instance = replace(make_instance(np.random.default_rng(seed), entry, 1), tilts=None)
        found, spent = timed(BranchAndBound(), instance)
        seconds.append(spent)
        num_proved += int(found.proved.sum())
    said = f"{num_proved} of {num_runs} proved, 95 % within {1000 * np.quantile(seconds, 0.95):.0f} ms"
    return Finding(f"{entry.name} without noise", f"{said} (aim: {aim})", num_proved == num_runs)
