"""A learnt rule: its words, its predictions, its folder. All of it is public; it is applied to any table of its schema.

rule.txt         the rule, for people
rule.json        the rule, for machines
schema.json      what its words mean
statement.json   its guarantee; written last, so its presence means that all is there
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from equipoise.core import Codes, IntArray, Progress, silent
from equipoise.data.conditions import Conditions, describe_conditions, parse_conditions
from equipoise.data.manifest import STATEMENT, write_statement
from equipoise.data.schema import Schema
from equipoise.data.table import Table, read
from equipoise.data.write import write_bytes
from equipoise.errors import EquipoiseError, OutputError
from equipoise.learning.literals import Literals
from equipoise.learning.plan import CLASSES
from equipoise.oracles.classes.conjunctions import Conjunctions
from equipoise.oracles.classes.query_class import QueryClass

__all__ = ["Rule", "is_rule", "labels_of", "literals_for", "load_rule"]

FILE = "rule.json"


@dataclass(frozen=True, eq=False)
class Rule:
    """A query that predicts a condition: the target is predicted exactly where it holds.

    Attributes:
        schema: Of the table that it was learnt from.
        target: What it predicts.
        query_class: The class that it is from.
        parameters: The query, as its class writes it.
        statement: The guarantee, machine-readable.
    """

    schema: Schema
    target: Conditions
    query_class: QueryClass
    parameters: IntArray
    statement: dict[str, Any]

    @property
    def literals(self) -> Literals:
        """What it may name."""
        return literals_for(self.schema, self.target)

    @property
    def words(self) -> str:
        """The rule in words."""
        if isinstance(self.query_class, Conjunctions):
            return self.literals.conjunction(np.flatnonzero(self.parameters).tolist())
        return self.query_class.describe(self.parameters, self.literals.texts)

    @property
    def predicted(self) -> str:
        """What it predicts, in words."""
        return describe_conditions(self.target, self.schema.columns)

    @property
    def inputs(self) -> Schema:
        """The columns that it predicts from."""
        names = [column.name for place, column in enumerate(self.schema.columns) if place not in self.target]
        return replace(self.schema.select(names), unit=None, rows_per_unit=1)

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Whether it holds, for encoded rows of the whole schema (num_columns, num_rows)."""
        found = self.query_class.answers(self.parameters, self.query_class.points(self.literals.bits(codes)))
        return np.asarray(found[0], dtype=np.bool_)

    def predict(self, source: Any, *, progress: Progress = silent) -> NDArray[np.bool_]:
        """Whether the target is predicted, for each row of a file or data frame, which need not have its column.

        Raises:
            DataError: a column that the rule was learnt from is missing, or a cell does not fit the schema.
        """
        places = [place for place in range(len(self.schema.columns)) if place not in self.target]
        found = []
        for given in read(source, schema=self.inputs).batches(progress=progress):
            codes = np.zeros((len(self.schema.columns), given.shape[1]), dtype=given.dtype)
            codes[places] = given
            found.append(self.holds(codes))
        return np.concatenate(found)

    def accuracy(self, source: Any, *, progress: Progress = silent) -> float:
        """The share of rows that it predicts right. NOT PRIVATE for the rows it is computed from: for the steward only.

        Args:
            source: A table, or what `equipoise.read` takes, with the target's columns: what was learnt from, or others.
            progress: Told the number of rows done.
        """
        table = (
            source
            if isinstance(source, Table)
            else read(source, schema=replace(self.schema, unit=None, rows_per_unit=1))
        )
        right = sum(
            int(np.count_nonzero(self.holds(codes) == labels_of(self.target, codes)))
            for codes in table.batches(progress=progress)
        )
        return right / table.num_rows

    def write(self, folder: Path) -> None:
        """Write the folder, the statement last."""
        (folder / STATEMENT).unlink(missing_ok=True)
        write_bytes(f"Predict {self.predicted} exactly where: {self.words}\n".encode(), folder / "rule.txt")
        body = self.statement["learning"] | {
            "literals": list(self.literals.texts),
            "parameters": self.parameters.tolist(),
        }
        write_bytes(_json(body), folder / FILE)
        write_bytes(self.schema.to_json().encode(), folder / "schema.json")
        write_statement(self.statement, folder, ["rule.txt", FILE, "schema.json"])


def literals_for(schema: Schema, target: Conditions) -> Literals:
    """The literals of all columns but the target's."""
    places = [place for place in range(len(schema.columns)) if place not in target]
    return Literals.of(schema.columns, places)


def labels_of(target: Conditions, codes: Codes) -> NDArray[np.bool_]:
    """Whether the target is true, for encoded rows."""
    return reduce(np.logical_and, (mask[codes[place]] for place, mask in target.items()))


def is_rule(folder: str | Path) -> bool:
    """Whether a folder holds a finished rule."""
    return (Path(folder) / FILE).is_file() and (Path(folder) / STATEMENT).is_file()


def load_rule(folder: str | Path) -> Rule:
    """The rule kept in a folder.

    Raises:
        OutputError: the folder holds none, or a file of it is missing, damaged or of another rule.
    """
    source = Path(folder)
    if not is_rule(source):
        raise OutputError(f"{source} holds no finished rule; run `equipoise learn ... -o {source}`")
    try:
        body = json.loads((source / FILE).read_text())
        statement = json.loads((source / STATEMENT).read_text())
        schema = Schema.from_json((source / "schema.json").read_text())
        target = parse_conditions(body["target"], schema.columns)
        literals = literals_for(schema, target)
        parameters = np.array(body["parameters"], dtype=np.int64)
        rule = Rule(schema, target, CLASSES[body["class"]](len(literals.each)), parameters, statement)
        rule.holds(np.zeros((len(schema.columns), 1), dtype=np.int64))  # fails with too few parameters, or too many
        # The words are made anew from schema and parameters: files of two rules would not agree on them.
        genuine = (
            list(literals.texts) == body["literals"] and rule.words == body["rule"] == statement["learning"]["rule"]
        )
    except (OSError, ValueError, KeyError, IndexError, TypeError, pa.ArrowInvalid, EquipoiseError) as error:
        raise OutputError(f"{source} is not a complete folder of a rule: {type(error).__name__}") from error
    if not genuine:
        raise OutputError(f"{source}: its files do not belong together; learn the rule again, in another folder")
    return rule


def _json(body: Any) -> bytes:
    return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False).encode()
