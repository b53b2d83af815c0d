"""The benchmark of many analysts: 20 of them, 500 conjunctions each, on the reduced table `adult`.

    python -m equipoise.bench.analysts --out bench-out [--data ../shared/data]

Writes analysts.md and analysts.json; what was found is kept in analysts.jsonl, so that an interrupted run goes on. The
mechanisms are declared in experiments/series/s004.toml. Every one answers every query; beside each stand the largest
and the mean error over all queries, seconds, and whether it beats answering each query with noise alone. A mechanism
that would fall back to noise by itself is also run as it is ("forced"), where it can be. Does nothing when the table is
not there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console

from equipoise.analysts import Session, answer_round
from equipoise.bench.experiment import Declared, declared
from equipoise.bench.runs import Run, once
from equipoise.data.table import Table, read
from equipoise.queries.query import Query

__all__ = ["FILE", "Row", "main", "markdown", "random_conjunctions", "row_of"]


class Mechanism(Declared):
    """Who answers: a round of all analysts at once, or a session one query after the other.

    Attributes:
        forced: Play it also where noise on every answer promises as much.
    """

    name: str
    answers: Literal["round", "session"]
    mode: str
    forced: bool = False


class File(Declared):
    """The declared experiment."""

    table: str
    columns: tuple[str, ...]
    epsilons: tuple[float, ...]
    analyst_epsilon: float
    num_analysts: int
    queries_each: int
    num_literals: int
    mechanism: tuple[Mechanism, ...]


FILE = declared(File, "series/s004")


@dataclass(frozen=True)
class Row:
    """One mechanism."""

    name: str
    epsilon: float
    did: str
    reason: str
    max_error: float
    mean_error: float
    sources: Mapping[str, int]
    seconds: float
    cpu_seconds: float


def random_conjunctions(table: Table, rng: np.random.Generator, number: int) -> list[Query]:
    """Conjunctions of a few literals: values drawn from the domain, without looking at the table."""
    sizes = table.schema.domain.sizes
    found = []
    for _ in range(number):
        columns = tuple(int(c) for c in np.sort(rng.choice(len(sizes), FILE.num_literals, replace=False)))
        found.append(Query(columns, tuple(np.arange(sizes[c]) == rng.integers(sizes[c]) for c in columns)))
    return found


def row_of(table: Table, batches: Mapping[str, Sequence[Query]], mechanism: Mechanism, settings: dict[str, Any]) -> Row:
    """One mechanism's answers against the truth."""
    codes = np.concatenate(list(table.batches()), axis=1)
    truth = np.array([query.selects(codes).mean() for batch in batches.values() for query in batch])
    wall, cpu = time.perf_counter(), time.process_time()
    if mechanism.answers == "round":
        changes = {"only_if_better": False} if mechanism.forced else {}
        done = answer_round(table, batches, mode=mechanism.mode, **settings | changes)  # type: ignore[arg-type]
        answers = [answer for batch in batches for answer in done.answers[batch]]
        did, reason = str(done.mode), done.reason
    else:
        session = Session.open(table, mode=mechanism.mode, **settings)  # type: ignore[arg-type]
        answers = [answer for who, batch in batches.items() for answer in session.ask_many(who, batch)]
        did, reason = str(session.plan.mode), session.plan.reason
    seconds, cpu = time.perf_counter() - wall, time.process_time() - cpu
    errors = np.abs(np.array([answer.share for answer in answers]) - truth)
    sources = dict(sorted(Counter(str(answer.source) for answer in answers).items()))
    largest, mean = float(errors.max()), float(errors.mean())
    return Row(mechanism.name, settings["epsilon"], did, reason, largest, mean, sources, seconds, cpu)


def markdown(rows: Sequence[Row]) -> str:
    """The findings as a page."""
    lines = [
        "# Many analysts on adult_reduced",
        "",
        "| mechanism | epsilon | did | max error | mean error | against noise | answers | s | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        plain = next(each for each in rows if each.epsilon == row.epsilon)
        better = "wins" if row.mean_error < plain.mean_error else "does not win"
        if row.did == "noise":
            better = "is noise"
        sources = ", ".join(f"{number} {source}" for source, number in row.sources.items())
        lines.append(
            f"| {row.name} | {row.epsilon:g} | {row.did} | {row.max_error:.4f} | {row.mean_error:.5f} | {better} |"
            f" {sources} | {row.seconds:.1f} | {row.cpu_seconds:.1f} |"
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
    given = parser.parse_args(arguments)
    file, schema = given.data / f"{FILE.table}.parquet", given.data / f"{FILE.table}.domain.json"
    if not file.is_file():
        Console().print(f"left out: there is no {file}", markup=False)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    table = read(file, schema=schema).select(FILE.columns)
    rng = np.random.default_rng(0)
    batches = {f"analyst {i:02}": random_conjunctions(table, rng, FILE.queries_each) for i in range(FILE.num_analysts)}
    common = {"num_analysts": FILE.num_analysts, "queries_each": FILE.queries_each}
    rows = []
    for epsilon in FILE.epsilons:
        settings = {"epsilon": epsilon, "analyst_epsilon": FILE.analyst_epsilon, **common}
        for mechanism in FILE.mechanism:

            def answered(mechanism: Mechanism = mechanism, settings: dict[str, Any] = settings) -> Run:
                return asdict(row_of(table, batches, mechanism, settings))

            run = once(given.out / "analysts.jsonl", f"{mechanism.name}, epsilon {epsilon:g}", answered)
            rows.append(Row(**{name: value for name, value in run.items() if name != "label"}))
    (given.out / "analysts.md").write_text(markdown(rows))
    (given.out / "analysts.json").write_text(json.dumps([asdict(row) for row in rows], indent=2))
    Console().print(markdown(rows), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
