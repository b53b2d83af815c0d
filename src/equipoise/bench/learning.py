"""The learning benchmark: how far a private rule is from the best rule of its class, on the yardstick table `adult`.

    python -m equipoise.bench.learning --out bench-out [--data ../shared/data] [--repetitions 3]

Writes learning.md and learning.json. The target is income above 50K, the literals are those of the other columns as
`equipoise learn` makes them. The best conjunction, of any number of literals, is found without privacy and proved by
branch and bound; the private rule has at most two. Losses are shares of wrong labels (0/1 loss) on the table that was
learnt from. Seconds are wall-clock, of the whole walk from file to rule; CPU seconds beside them. Does nothing when the
table is not there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from equipoise.data.conditions import parse_conditions
from equipoise.data.table import Table, read
from equipoise.learning.literals import Literals
from equipoise.learning.table import Learned, Task, learn, training_accuracy
from equipoise.oracles.classes.branching import ByBranching
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.oracles.classes.query_class import WeightedPoints
from equipoise.pipeline import Request

__all__ = ["Optimum", "Trial", "main", "markdown", "optimum_of", "trials_of"]

TARGET = "`income>50K` = 1"
MAX_LITERALS = 2
REQUIRED = 0.02
"""How far the private rule's loss may be from the best one's."""
SECONDS = 60.0


@dataclass(frozen=True)
class Optimum:
    """The best conjunction, without privacy."""

    rule: str
    loss: float
    proved: bool
    cpu_seconds: float


@dataclass(frozen=True)
class Trial:
    """A private rule."""

    mechanism: str
    epsilon: float
    rule: str
    loss: float
    excess: float
    seconds: float
    cpu_seconds: float

    @property
    def met(self) -> bool:
        """Whether it is as near as required, in time."""
        return self.excess <= REQUIRED and self.seconds <= SECONDS


def optimum_of(table: Table, target: str) -> Optimum:
    """The best conjunction, proved."""
    columns = table.schema.columns
    conditions = parse_conditions(target, columns)
    ((place, mask),) = conditions.items()
    literals = Literals.of(columns, [other for other in range(len(columns)) if other != place])
    codes = np.concatenate(list(table.batches()), axis=1)
    started, labels = time.process_time(), mask[codes[place]].astype(np.int64)
    query_class = Conjunctions(len(literals.each))
    instance = WeightedPoints.of(query_class, query_class.points(literals.bits(codes)), 1 - 2 * labels)
    found = ByBranching().solve(instance)
    rule = literals.conjunction(np.flatnonzero(found.parameters).tolist())
    loss = (found.value + int(labels.sum())) / len(labels)
    return Optimum(rule, loss, found.proved(0), time.process_time() - started)


def trials_of(
    file: Path, schema: Path, target: str, optimum: Optimum, *, epsilon: float, mechanism: str, repetitions: int
) -> Iterator[Trial]:
    """Private rules, each from the file anew."""
    for _ in range(repetitions):
        wall, cpu = time.perf_counter(), time.process_time()
        table = read(file, schema=schema)
        task = Task(target, max_literals=MAX_LITERALS, mechanism=mechanism)
        learned: Learned = learn(Request(table, epsilon=epsilon, pure=True), task)
        seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        loss = 1 - training_accuracy(learned, table)
        excess = round(loss - optimum.loss, 12) + 0.0  # no -0.0
        yield Trial(mechanism, epsilon, learned.rule, loss, excess, seconds, cpu_seconds)


def markdown(optimum: Optimum, trials: Sequence[Trial]) -> str:
    """The findings as a page."""
    lines = [
        "# Private learning on adult",
        "",
        f"Best conjunction: `{optimum.rule}`, 0/1 loss {optimum.loss:.4f},"
        f" {'proved' if optimum.proved else 'NOT PROVED'}, {optimum.cpu_seconds:.1f} s of CPU.",
        "",
        "| mechanism | epsilon | rule | loss | above the best | s | CPU s | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {trial.mechanism} | {trial.epsilon:g} | `{trial.rule}` | {trial.loss:.4f} | {trial.excess:.4f} |"
        f" {trial.seconds:.1f} | {trial.cpu_seconds:.1f} | {'yes' if trial.met else 'no'} |"
        for trial in trials
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--mechanisms", nargs="+", default=["exponential", "rspm"])
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args(arguments)
    file, schema = given.data / "adult.parquet", given.data / "adult.domain.json"
    if not file.is_file():
        Console().print(f"left out: there is no {file}", markup=False)
        return
    optimum = optimum_of(read(file, schema=schema), TARGET)
    trials = [
        trial
        for mechanism in given.mechanisms
        for trial in trials_of(
            file,
            schema,
            TARGET,
            optimum,
            epsilon=given.epsilon,
            mechanism=mechanism,
            repetitions=given.repetitions,
        )
    ]
    given.out.mkdir(parents=True, exist_ok=True)
    page = markdown(optimum, trials)
    (given.out / "learning.md").write_text(page)
    body = {"optimum": asdict(optimum), "trials": [asdict(trial) | {"met": trial.met} for trial in trials]}
    (given.out / "learning.json").write_text(json.dumps(body, indent=2))
    Console().print(page, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
