"""From a private table to a rule in a folder: learning's walk from input to output.

    schema -> target and literals -> plan -> read (the only pass over the private rows) -> ledger -> choice -> folder

As for a release: what can be refused is refused before a row is read, and the folder is marked with the run before the
ledger is touched. A second start takes up the same run, and what was chosen is found there; RSPM's choice that was
begun and not finished counts as one without a certificate (privacy/choice.py). Nothing is ever paid for twice.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from equipoise import folder
from equipoise.data.conditions import Conditions, describe_conditions, parse_conditions
from equipoise.errors import CapacityError, CertificateError, SettingError
from equipoise.learning.literals import Literals
from equipoise.learning.plan import Learning, guarantee, plan_learning
from equipoise.learning.rule import Rule, labels_of, literals_for
from equipoise.pipeline import Request, Steps, no_progress, open_account, require_same
from equipoise.privacy.gate import Gate
from equipoise.privacy.learner import PURE
from equipoise.privacy.ledger import Account
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.prsma import MAX_CALLS
from equipoise.privacy.rspm import Chosen
from equipoise.privacy.run import Run
from equipoise.request import limits
from equipoise.statement import outside, versions

__all__ = ["Task", "learn", "run"]

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
        max_calls: Solver calls beyond which PRSMA is refused.
    """

    target: str
    query_class: str = "conjunctions"
    max_literals: int | None = None
    mechanism: str = "exponential"
    max_calls: int = MAX_CALLS


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
) -> Rule:
    """Learn a rule into a folder.

    Args:
        request: Table, epsilon, delta, ledger, and whether inferred declarations are accepted; the rest is not used.
        task: What to learn.
        output: The folder to make.
        overwrite: Replace a rule that is there by a new one, which is paid for anew.
        steps: Shows progress.

    Raises:
        EquipoiseError: it is refused; unless it is a CertificateError, nothing was spent.
    """
    prepared = _prepare(request, task)
    with folder.hold(output, overwrite=overwrite, kind="rule") as place:
        try:
            learned = _learn(prepared, open_account(request, place), folder.run_of(place), steps)
        except CertificateError as error:
            raise CertificateError(f"{error}. Choose another folder with -o") from None
        learned.write(place)
    return learned


def learn(request: Request, task: Task, *, steps: Steps = no_progress) -> Rule:
    """Learn a rule in memory. The ledger is the schema's; without one, spending is forgotten with the process."""
    return _learn(_prepare(request, task), open_account(request), secrets.token_hex(16), steps)


def _prepare(request: Request, task: Task) -> _Prepared:
    schema = request.table.schema
    if schema.items is not None:
        raise SettingError("a rule is learnt from a table of columns, and this is a table of items")
    given = limits(replace(request, pure=task.mechanism in PURE))
    target = parse_conditions(task.target, schema.columns)
    literals = literals_for(schema, target)
    plan = plan_learning(
        task.query_class,
        len(literals.each),
        epsilon=request.epsilon,
        delta=request.delta,
        max_literals=task.max_literals,
        num_records=given.num_rows,
        mechanism=task.mechanism,
        rows_per_unit=schema.rows_per_unit,
        max_calls=task.max_calls,
    )
    if CELL_BYTES * (given.num_rows + plan.learner.num_separators) * len(literals.each) > request.memory_limit:
        raise CapacityError(
            f"the {len(literals.each)} literals of the columns do not fit the memory limit; name fewer columns"
            " (--columns), declare fewer bins, or raise --memory"
        )
    return _Prepared(request, task, target, literals, plan, given.num_rows)


def _learn(prepared: _Prepared, account: Account, run_id: str, steps: Steps) -> Rule:
    book, points = _begin(prepared, account, run_id, steps)
    with steps("Learning"):
        try:
            chosen = prepared.plan.learner.choose(Gate(book), points)
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
            labels.append(labels_of(prepared.target, codes))
        points = PrivatePoints.labelled(np.concatenate(bits), np.concatenate(labels))
    if book is None:
        book = account.start(run=run_id, plan=recorded, reserve=prepared.plan.reserve, unit_seed=unit_seed)
    return book, points


def _recorded(prepared: _Prepared) -> dict[str, Any]:
    schema, plan = prepared.request.table.schema, prepared.plan
    return {
        "plan": {
            "method": f"learn ({plan.learner.mechanism})",
            "class": prepared.task.query_class,
            "max_literals": prepared.task.max_literals,
            "target": describe_conditions(prepared.target, schema.columns),
            "num_rounds": 1,
        },
        "epsilon": prepared.request.epsilon,
        "delta": float(plan.learner.delta),
        "schema": schema.fingerprint,
        "num_rows": prepared.num_rows,
        "accepted_inferred": list(schema.unconfirmed),
    }


def _conclude(prepared: _Prepared, chosen: Chosen, book: Run) -> Rule:
    schema, plan = prepared.request.table.schema, prepared.plan
    rule = Rule(schema, prepared.target, chosen.query_class, chosen.parameters, {})
    statement = {
        "product": "equipoise",
        "format": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "table": schema.name,
        "num_rows": prepared.num_rows,
        **guarantee(plan, book.events(), schema.unit),
        "learning": {
            "target": rule.predicted,
            "rule": rule.words,
            "class": prepared.task.query_class,
            "num_literals": len(prepared.literals.each),
            "mechanism": plan.learner.mechanism,
            "certificate": chosen.certificate,
        },
        "schema_fingerprint": schema.fingerprint,
        "outside_the_guarantee": outside(schema.unconfirmed),
        "accepted_inferred": list(schema.unconfirmed),
        "citations": ["neel2019heuristics"],
        "ledger_run": book.key,
        "versions": versions(),
    }
    return replace(rule, statement=statement)
