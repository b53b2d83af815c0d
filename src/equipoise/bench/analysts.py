"""The benchmark of many analysts: 20 of them, 500 conjunctions each, on the reduced table `adult`.

    python -m equipoise.bench.analysts --out bench-out [--data ../shared/data] [--epsilon 1] [--analyst-epsilon 1]

Writes analysts.md and analysts.json. Every mechanism answers every query; beside each stand the largest and the mean
error over all queries, seconds, and whether it beats answering each query with noise alone. A mechanism that would fall
back to noise by itself is also run as it is ("forced"), where it can be. Does nothing when the table is not there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from equipoise.analysts import Session, answer_round
from equipoise.data.table import Table, read
from equipoise.queries.query import Query

__all__ = ["Row", "main", "markdown", "random_conjunctions"]

COLUMNS = ("sex", "income>50K", "race", "marital-status", "occupation", "education-num", "age_10")
NUM_ANALYSTS, QUERIES_EACH = 20, 500


@dataclass(frozen=True)
class Row:
    """One mechanism."""

    name: str
    did: str
    reason: str
    max_error: float
    mean_error: float
    sources: Mapping[str, int]
    seconds: float
    cpu_seconds: float


def random_conjunctions(table: Table, rng: np.random.Generator, number: int) -> list[Query]:
    """Conjunctions of three literals: values drawn from the domain, without looking at the table."""
    sizes = table.schema.domain.sizes
    found = []
    for _ in range(number):
        columns = tuple(int(c) for c in np.sort(rng.choice(len(sizes), 3, replace=False)))
        found.append(Query(columns, tuple(np.arange(sizes[c]) == rng.integers(sizes[c]) for c in columns)))
    return found


def _row(name: str, did: str, reason: str, shares: Any, truth: Any, sources: Any, begun: tuple[float, float]) -> Row:
    errors = np.abs(np.asarray(shares) - truth)
    counted = {source: list(sources).count(source) for source in sorted(set(sources))}
    seconds, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    return Row(name, did, reason, float(errors.max()), float(errors.mean()), counted, seconds, cpu)


def rows_of(table: Table, batches: Mapping[str, Sequence[Query]], settings: dict[str, Any]) -> list[Row]:
    """Every mechanism on the same queries."""
    codes = np.concatenate(list(table.batches()), axis=1)
    queries = [query for batch in batches.values() for query in batch]
    truth = np.array([query.selects(codes).mean() for query in queries])
    made = []
    for name, mode, changes in (
        ("noise on every answer", "noise", {}),
        ("one query to many analysts", "per-query", {}),
        ("one query to many analysts, forced", "per-query", {"only_if_better": False}),
        ("one analyst to many analysts", "per-analyst", {}),
    ):
        begun = time.perf_counter(), time.process_time()
        done = answer_round(table, batches, mode=mode, **settings | changes)  # type: ignore[arg-type]
        answers = [answer for batch in batches for answer in done.answers[batch]]
        shares, sources = [answer.share for answer in answers], [answer.source for answer in answers]
        made.append(_row(name, done.mode, done.reason, shares, truth, sources, begun))
    for name, mode in (("online", "online"), ("multiplicative weights, not private for analysts", "pmw")):
        begun = time.perf_counter(), time.process_time()
        session = Session.open(table, mode=mode, **settings)  # type: ignore[arg-type]
        answers = [answer for who, batch in batches.items() for answer in session.ask_many(who, batch)]
        shares, sources = [answer.share for answer in answers], [answer.source for answer in answers]
        made.append(_row(name, session.plan.mode, session.plan.reason, shares, truth, sources, begun))
    return made


def markdown(rows: Sequence[Row]) -> str:
    """The findings as a page."""
    plain = rows[0]
    lines = [
        "# Many analysts on adult_reduced",
        "",
        "| mechanism | did | max error | mean error | against noise | answers | s | CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        better = "wins" if row.mean_error < plain.mean_error else "does not win"
        if row.did == "noise":
            better = "is noise"
        sources = ", ".join(f"{number} {source}" for source, number in row.sources.items())
        lines.append(
            f"| {row.name} | {row.did} | {row.max_error:.4f} | {row.mean_error:.5f} | {better} | {sources} |"
            f" {row.seconds:.1f} | {row.cpu_seconds:.1f} |"
        )
    lines += ["", *[f"- {row.name}: {row.reason}" for row in rows if row.reason]]
    lines.append("")
    for what in ("max", "mean"):
        best = min(rows, key=lambda row: float(getattr(row, f"{what}_error")))
        lines.append(f"Smallest {what} error: {best.name} ({best.did}).")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--analyst-epsilon", type=float, default=1.0)
    given = parser.parse_args(arguments)
    file, schema = given.data / "adult.parquet", given.data / "adult.domain.json"
    if not file.is_file():
        Console().print(f"left out: there is no {file}", markup=False)
        return
    table = read(file, schema=schema).select(COLUMNS)
    rng = np.random.default_rng(0)
    batches = {f"analyst {i:02}": random_conjunctions(table, rng, QUERIES_EACH) for i in range(NUM_ANALYSTS)}
    settings = {
        "epsilon": given.epsilon,
        "analyst_epsilon": given.analyst_epsilon,
        "num_analysts": NUM_ANALYSTS,
        "queries_each": QUERIES_EACH,
    }
    rows = rows_of(table, batches, settings)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "analysts.md").write_text(markdown(rows))
    (given.out / "analysts.json").write_text(json.dumps([asdict(row) for row in rows], indent=2))
    Console().print(markdown(rows), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
