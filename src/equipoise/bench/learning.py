"""The learning benchmark: how far a private rule is from the best rule of its class, on the yardstick table `adult`.

    python -m equipoise.bench.learning --out bench-out [--data ../shared/data] [--repetitions 3]

Writes learning.md and learning.json; what was found is kept in learning.jsonl, so that an interrupted run goes on. What
is learnt, and at which budget, is declared in experiments/series/s003.toml. The target is income above 50K, the
literals are those of the other columns as `equipoise learn` makes them, one a value. The best rule is found without
privacy, and proved by branch and bound or by CP-SAT; of conjunctions it may have any number of literals, of
disjunctions as many as the private one, two. Classes that cannot be enumerated are learnt from three columns by a
solver (rspm), under a guarantee that is conditional on its certificate. Losses are shares of wrong labels (0/1 loss) on
the table that was learnt from. Seconds are wall-clock, of the whole walk from file to rule; CPU seconds beside them.
Does nothing when the table is not there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from equipoise.bench.experiment import Declared, declared
from equipoise.bench.runs import Run, once
from equipoise.data.conditions import parse_conditions
from equipoise.data.table import Table, read
from equipoise.learning.plan import CLASSES
from equipoise.learning.rule import Rule, labels_of, literals_for
from equipoise.learning.table import Task, learn
from equipoise.oracles.classes.branching import ByBranching
from equipoise.oracles.classes.conjunctions import Disjunctions
from equipoise.oracles.classes.minimisers import ByProgram
from equipoise.oracles.classes.query_class import Minimiser, WeightedPoints
from equipoise.pipeline import Request

__all__ = ["FILE", "Case", "Optimum", "Trial", "main", "markdown", "optimum_of", "trial_of"]


class Case(Declared):
    """A class of rules, from which columns (none for all), and who chooses."""

    query_class: str
    mechanism: str
    columns: tuple[str, ...] = ()


class Required(Declared):
    """How far a private rule's loss may be from the best one's, and how long it may take."""

    excess: float
    seconds: float


class File(Declared):
    """The declared experiment; what its constants mean is said there."""

    table: str
    target: str
    epsilons: tuple[float, ...]
    runs: int
    quick_runs: int
    max_literals: int
    max_work: float
    required: Required
    case: tuple[Case, ...]


FILE = declared(File, "series/s003")


@dataclass(frozen=True)
class Optimum:
    """The best rule of a class, without privacy; no rule has a loss below `bound`."""

    query_class: str
    num_literals: int
    rule: str
    loss: float
    bound: float | None
    cpu_seconds: float

    @property
    def proved(self) -> bool:
        """Whether it is known to be the best."""
        return self.bound is not None and self.loss - self.bound < 1e-9


@dataclass(frozen=True)
class Trial:
    """A private rule."""

    query_class: str
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
        return self.excess <= FILE.required.excess and self.seconds <= FILE.required.seconds


def optimum_of(table: Table, target: str, name: str) -> Optimum:
    """The best rule of a class of that name, proved if the solver can."""
    schema = table.schema
    conditions = parse_conditions(target, schema.columns)
    literals = literals_for(schema, conditions)
    codes = np.concatenate(list(table.batches()), axis=1)
    started, labels = time.process_time(), labels_of(conditions, codes).astype(np.int64)
    query_class = CLASSES[name](len(literals.each))
    if name == "disjunctions":  # of many literals they are hard to prove, and nobody asks for such a rule
        query_class = Disjunctions(len(literals.each), max_literals=FILE.max_literals)
    instance = WeightedPoints.of(query_class, query_class.points(literals.bits(codes)), 1 - 2 * labels)
    branching = name in ("conjunctions", "disjunctions")
    minimiser: Minimiser = ByBranching() if branching else ByProgram(max_work=FILE.max_work)
    found = minimiser.solve(instance)
    rule, wrong = Rule(schema, conditions, query_class, found.parameters, {}), int(labels.sum())
    bound = None if found.bound is None else (found.bound + wrong) / len(labels)
    loss, seconds = (found.value + wrong) / len(labels), time.process_time() - started
    return Optimum(name, len(literals.each), rule.words, loss, bound, seconds)


def trial_of(file: Path, schema: Path, target: str, case: Case, optimum: Optimum, *, epsilon: float) -> Trial:
    """A private rule, from the file anew."""
    few = case.query_class in ("conjunctions", "disjunctions")
    task = Task(target, case.query_class, FILE.max_literals if few else None, case.mechanism)
    wall, cpu = time.perf_counter(), time.process_time()
    table = opened(file, schema, target, case)
    learned = learn(Request(table, epsilon=epsilon), task)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    loss = 1 - learned.accuracy(table)
    excess = round(loss - optimum.loss, 12) + 0.0  # no -0.0
    return Trial(case.query_class, case.mechanism, epsilon, learned.words, loss, excess, seconds, cpu_seconds)


def opened(file: Path, schema: Path, target: str, case: Case) -> Table:
    """The table with the columns of a case, and the target's."""
    table = read(file, schema=schema)
    if not case.columns:
        return table
    needed = [table.schema.columns[place].name for place in parse_conditions(target, table.schema.columns)]
    return table.select([*case.columns, *needed])


def markdown(optima: Sequence[Optimum], trials: Sequence[Trial]) -> str:
    """The findings as a page."""
    lines = [
        "# Private learning on adult",
        "",
        "| class | literals | best rule | loss | | CPU s |",
        "|---|---|---|---|---|---|",
    ]
    for best in optima:
        proof = "proved" if best.proved else "no bound" if best.bound is None else f"at least {best.bound:.4f}"
        lines.append(
            f"| {best.query_class} | {best.num_literals} | `{_short(best.rule)}` | {best.loss:.4f} | {proof} |"
            f" {best.cpu_seconds:.1f} |"
        )
    lines += [
        "",
        "| class | mechanism | epsilon | rule | loss | above the best | s | CPU s | met |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {trial.query_class} | {trial.mechanism} | {trial.epsilon:g} | `{_short(trial.rule)}` | {trial.loss:.4f} |"
        f" {trial.excess:.4f} | {trial.seconds:.1f} | {trial.cpu_seconds:.1f} | {'yes' if trial.met else 'no'} |"
        for trial in trials
    ]
    return "\n".join(lines) + "\n"


def _short(rule: str) -> str:
    return rule if len(rule) <= 60 else f"{rule[:57]}..."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--epsilons", type=float, nargs="+", default=FILE.epsilons)
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--repetitions", type=int, default=FILE.runs)
    parser.add_argument("--quick", action="store_true", help=f"{FILE.quick_runs} repetition")
    given = parser.parse_args(arguments)
    file, schema = given.data / f"{FILE.table}.parquet", given.data / f"{FILE.table}.domain.json"
    if not file.is_file():
        Console().print(f"left out: there is no {file}", markup=False)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    best, trials = _found(given, file, schema)
    page = markdown(best, trials)
    (given.out / "learning.md").write_text(page)
    body = {
        "optima": [asdict(optimum) | {"proved": optimum.proved} for optimum in best],
        "trials": [asdict(trial) | {"met": trial.met} for trial in trials],
    }
    (given.out / "learning.json").write_text(json.dumps(body, indent=2))
    Console().print(page, markup=False, soft_wrap=True)


def _found(given: argparse.Namespace, file: Path, schema: Path) -> tuple[list[Optimum], list[Trial]]:
    """What is kept, and what was missing."""
    kept = given.out / "learning.jsonl"
    optima: dict[str, Optimum] = {}
    trials: list[Trial] = []
    for case in (each for each in FILE.case if each.query_class in given.classes):
        rules = " ".join(["best", case.query_class, *case.columns])

        def best(case: Case = case) -> Run:
            return asdict(optimum_of(opened(file, schema, FILE.target, case), FILE.target, case.query_class))

        optima[rules] = Optimum(**_unlabelled(once(kept, rules, best)))
        for epsilon in given.epsilons:
            for number in range(FILE.quick_runs if given.quick else given.repetitions):

                def private(case: Case = case, epsilon: float = epsilon, optimum: Optimum = optima[rules]) -> Run:
                    return asdict(trial_of(file, schema, FILE.target, case, optimum, epsilon=epsilon))

                label = " ".join([case.mechanism, case.query_class, *case.columns, f"{epsilon:g}", f"run {number}"])
                trials.append(Trial(**_unlabelled(once(kept, label, private))))
    return list(optima.values()), trials


def _unlabelled(run: Run) -> Run:
    return {name: value for name, value in run.items() if name != "label"}


if __name__ == "__main__":
    main()
