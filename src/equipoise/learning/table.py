"""From a private table to a rule in a folder: learning's walk from input to output.

    schema -> target and literals -> plan -> read (the only pass over the private rows) -> ledger -> choice -> folder

As for a release: what can be refused is refused before a row is read, and the folder is marked with the run before the
ledger is touched. A second start takes up the same run, and what was chosen is found there; RSPM's choice that was
begun and not finished counts as one without a certificate (privacy/choice.py). Nothing is ever paid for twice.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise import folder
from equipoise.core import Codes, Progress, silent
from equipoise.data.conditions import Conditions, describe_conditions, parse_conditions
from equipoise.data.table import Table
from equipoise.data.write import write_bytes
from equipoise.errors import CapacityError, CertificateError, OutputError, SettingError
from equipoise.learning.literals import Literals
from equipoise.learning.plan import Learning, choose, guarantee, plan_learning
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.pipeline import Request, Steps, no_progress, open_account, require_same
from equipoise.privacy.gate import Gate
from equipoise.privacy.ledger import Account
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.rspm import Chosen
from equipoise.privacy.run import Run
from equipoise.releases import STATEMENT
from equipoise.request import limits
from equipoise.statement import outside, versions

__all__ = ["Learned", "Task", "learn", "run", "training_accuracy"]

CELL_BYTES = 32
"""Memory for one bit of one record: as a whole number of the solver, and while equal records are merged."""


@dataclass(frozen=True)
class Task:
    """What is to be learnt.

    Attributes:
        target: A condition on some columns, such as "income = high": what the rule predicts, from the other columns.
        query_class: The class of the rule, by name (`plan.CLASSES`).
        max_literals: Most literals of a conjunction or disjunction; None for 2.
        mechanism: Who chooses (`plan.MECHANISMS`).
    """

    target: str
    query_class: str = "conjunctions"
    max_literals: int | None = None
    mechanism: str = "exponential"


@dataclass(frozen=True, eq=False)
class Learned:
    """A rule, and its guarantee. All of it is public.

    Attributes:
        rule: The rule in words: the target is predicted where it holds.
        target: What it predicts.
        literals: What it may name.
        chosen: The query that it is.
        statement: The guarantee, machine-readable.
    """

    rule: str
    target: Conditions
    literals: Literals
    chosen: Chosen
    statement: dict[str, Any]

    def predict(self, codes: Codes) -> NDArray[np.bool_]:
        """Whether the rule holds, for encoded rows (num_columns, num_rows)."""
        query_class = self.chosen.query_class
        found = query_class.answers(self.chosen.parameters, query_class.points(self.literals.bits(codes)))
        return np.asarray(found[0], dtype=np.bool_)

    def write(self, target: Path) -> None:
        """Write rule.txt, rule.json and, last, statement.json, whose presence means that all is there."""
        (target / STATEMENT).unlink(missing_ok=True)
        predicted = self.statement["learning"]["target"]
        write_bytes(f"Predict {predicted} exactly where: {self.rule}\n".encode(), target / "rule.txt")
        body = self.statement["learning"] | {
            "literals": list(self.literals.texts),
            "parameters": self.chosen.parameters.tolist(),
        }
        write_bytes(_json(body), target / "rule.json")
        write_bytes(_json(self.statement), target / STATEMENT)


@dataclass(frozen=True, eq=False)
class _Prepared:
    request: Request
    task: Task
    target: Conditions
    literals: Literals
    plan: Learning
    num_rows: int


def run(
    request: Request, task: Task, output: str | Path, *, overwrite: bool = False, steps: Steps = no_progress
) -> Learned:
    """Learn a rule into a folder.

    Args:
        request: Table, epsilon, ledger, and whether inferred declarations are accepted; the rest is not used.
        task: What to learn.
        output: The folder to make.
        overwrite: Replace a rule that is there by a new one, which is paid for anew.
        steps: Shows progress.

    Raises:
        EquipoiseError: it is refused; unless it is a CertificateError, nothing was spent.
    """
    prepared = _prepare(request, task)
    with folder.hold(output, overwrite=overwrite) as place:
        if (place / "synthetic.parquet").exists():
            raise OutputError(f"{place} holds a release of synthetic data; choose another folder with -o")
        try:
            learned = _learn(prepared, open_account(request, place), folder.run_of(place), steps)
        except CertificateError as error:
            raise CertificateError(f"{error}. Choose another folder with -o") from None
        learned.write(place)
    return learned


def learn(request: Request, task: Task, *, steps: Steps = no_progress) -> Learned:
    """Learn a rule in memory. The ledger is the schema's; without one, spending is forgotten with the process."""
    return _learn(_prepare(request, task), open_account(request), secrets.token_hex(16), steps)


def training_accuracy(learned: Learned, table: Table, *, progress: Progress = silent) -> float:
    """The share of the table's own rows that the rule predicts right. NOT PRIVATE: for the steward only."""
    right = sum(
        int(np.count_nonzero(learned.predict(codes) == _labels(learned.target, codes)))
        for codes in table.batches(progress=progress)
    )
    return right / table.num_rows


def _prepare(request: Request, task: Task) -> _Prepared:
    schema = request.table.schema
    if schema.items is not None:
        raise SettingError("a rule is learnt from a table of columns, and this is a table of items")
    given = limits(request)
    target = parse_conditions(task.target, schema.columns)
    places = [place for place in range(len(schema.columns)) if place not in target]
    literals = Literals.of(schema.columns, places)
    plan = plan_learning(
        task.query_class,
        len(literals.each),
        epsilon=request.epsilon,
        max_literals=task.max_literals,
        num_records=given.num_rows,
        mechanism=task.mechanism,
        rows_per_unit=schema.rows_per_unit,
    )
    if CELL_BYTES * given.num_rows * len(literals.each) > request.memory_limit:
        raise CapacityError(
            f"the {len(literals.each)} literals of the columns do not fit the memory limit; name fewer columns"
            " (--columns), declare fewer bins, or raise --memory"
        )
    return _Prepared(request, task, target, literals, plan, given.num_rows)


def _learn(prepared: _Prepared, account: Account, run_id: str, steps: Steps) -> Learned:
    book, points = _begin(prepared, account, run_id, steps)
    with steps("Learning"):
        try:
            chosen = choose(Gate(book), points, prepared.plan)
        except CertificateError:
            book.finish()
            raise
    book.finish()
    return _conclude(prepared, chosen, book)


def _begin(prepared: _Prepared, account: Account, run_id: str, steps: Steps) -> tuple[Run, PrivatePoints]:
    """Read the records, and open the run in the ledger, or find it there: a table that cannot be read costs nothing."""
    book, recorded = account.run(run_id), _recorded(prepared)
    if book is None:
        account.check(prepared.plan.reserve)
    else:
        require_same(book.plan, recorded)
    unit_seed = secrets.randbits(63) if book is None else book.unit_seed
    with steps("Reading") as progress:
        bits, labels = [], []
        for codes in prepared.request.table.bounded(unit_seed).batches(progress=progress):
            bits.append(prepared.literals.bits(codes))
            labels.append(_labels(prepared.target, codes))
        points = PrivatePoints.labelled(np.concatenate(bits), np.concatenate(labels))
    if book is None:
        book = account.start(run=run_id, plan=recorded, reserve=prepared.plan.reserve, unit_seed=unit_seed)
    return book, points


def _labels(target: Conditions, codes: Codes) -> NDArray[np.bool_]:
    return reduce(np.logical_and, (mask[codes[place]] for place, mask in target.items()))


def _recorded(prepared: _Prepared) -> dict[str, Any]:
    schema, plan = prepared.request.table.schema, prepared.plan
    return {
        "plan": {
            "method": f"learn ({plan.mechanism})",
            "class": prepared.task.query_class,
            "max_literals": prepared.task.max_literals,
            "target": describe_conditions(prepared.target, schema.columns),
            "num_rounds": 1,
        },
        "epsilon": prepared.request.epsilon,
        "delta": 0.0,
        "schema": schema.fingerprint,
        "num_rows": prepared.num_rows,
        "accepted_inferred": list(schema.unconfirmed),
    }


def _conclude(prepared: _Prepared, chosen: Chosen, book: Run) -> Learned:
    schema, plan = prepared.request.table.schema, prepared.plan
    rule = _words(prepared.literals, chosen)
    statement = {
        "product": "equipoise",
        "format": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "table": schema.name,
        "num_rows": prepared.num_rows,
        **guarantee(plan, book.events(), schema.unit),
        "learning": {
            "target": describe_conditions(prepared.target, schema.columns),
            "rule": rule,
            "class": prepared.task.query_class,
            "num_literals": len(prepared.literals.each),
            "mechanism": plan.mechanism,
            "certificate": chosen.certificate,
        },
        "schema_fingerprint": schema.fingerprint,
        "outside_the_guarantee": outside(schema.unconfirmed),
        "accepted_inferred": list(schema.unconfirmed),
        "citations": ["neel2019heuristics"],
        "ledger_run": book.key,
        "versions": versions(),
    }
    return Learned(rule, prepared.target, prepared.literals, chosen, statement)


def _words(literals: Literals, chosen: Chosen) -> str:
    if isinstance(chosen.query_class, Conjunctions):
        return literals.conjunction(np.flatnonzero(chosen.parameters).tolist())
    return chosen.query_class.describe(chosen.parameters, literals.texts)


def _json(body: Any) -> bytes:
    return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False).encode()
