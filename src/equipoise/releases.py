"""A release: the model, what it was learnt from, and its guarantee; and the folder it is kept in.

The folder is self-contained and holds nothing private: synthetic.parquet and synthetic.csv (of a table of items,
synthetic.libsvm), statement.json (written
last: its presence means that the release is complete), report.html, moves.parquet (the noisy measurements),
model.npz, schema.json, workload.json, asked.json (the queries that the moves refer to).
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.answers import Answer, half_width, unbiased
from equipoise.core import Codes, Distribution, FloatArray, Move, Progress, silent
from equipoise.data.conditioning import condition
from equipoise.data.distributions import WeightedRows
from equipoise.data.encoding import decode
from equipoise.data.learnt import model_from_file, model_to_bytes, moves_from_table, moves_to_table
from equipoise.data.manifest import STATEMENT, write_statement
from equipoise.data.rules import Rules
from equipoise.data.schema import Schema
from equipoise.data.write import write_bytes, write_csv, write_items, write_libsvm, write_parquet
from equipoise.errors import OutputError, QueryError, SettingError
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.queries import Queries
from equipoise.queries.rounding import round_rows
from equipoise.queries.stored import from_json
from equipoise.queries.text import describe, parse
from equipoise.queries.workload import Workload
from equipoise.report import build as build_report
from equipoise.report.subject import Subject

__all__ = ["Answer", "Release", "is_complete", "load"]

MOST_LIBSVM = 10**7
"""Items in all synthetic rows up to which a table of items is written as libsvm too; beyond it, only as Parquet."""


@dataclass(frozen=True)
class Release:
    """Private synthetic data, ready to sample, query and write. All of it is public.

    Attributes:
        schema: The declared columns.
        workload: The queries it was made for.
        num_rows: Records of the private table (public).
        distribution: The model.
        moves: What was selected and measured, with noise.
        error_bars: Simultaneous 95 % half-widths of the workload's answers, or None.
        statement: The guarantee, machine-readable.
        seed: Seed of the sampling (public randomness).
        asked: What the moves' ids refer to: the workload, possibly followed by others (marginals of fewer columns).
    """

    schema: Schema
    workload: Queries
    num_rows: int
    distribution: Distribution
    moves: tuple[Move, ...]
    error_bars: FloatArray | None
    statement: dict[str, Any]
    seed: int
    asked: Queries

    def __repr__(self) -> str:
        """In a line: a release holds as many numbers as its model has."""
        guarantee, names = self.statement["guarantee"], self.schema.domain.columns
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        return (
            f"<Release of {self.schema.name}: {self.num_rows:,} records, {len(names):,} columns ({shown}),"
            f" {self.workload.num_queries:,} queries,"
            f" epsilon {guarantee['epsilon']:g} at delta {guarantee['delta']:.3g}>"
        )

    def codes(
        self,
        num_rows: int | None = None,
        *,
        seed: int | None = None,
        where: str | None = None,
        progress: Progress = silent,
    ) -> Codes:
        """Encoded synthetic rows whose answers follow the model's more closely than independent draws would.

        Raises:
            QueryError: `where` cannot be read, or (almost) no record of the model fulfils it.
            SettingError: the number of rows is negative.
        """
        if num_rows is not None and num_rows < 0:
            raise SettingError("the number of synthetic rows cannot be negative")
        rng = np.random.default_rng([self.seed if seed is None else seed, 2**32 - 1])
        model, rules, share = self._model, self.schema.rules, 1.0
        if where is not None:
            event = parse(where, self.schema)
            share, rules = event.answer(model), rules.inside(event.conditions)
            given = condition(model, Rules(model.shape).inside(event.conditions))
            if given is None or not rules.allow({}):
                why = "the model has (almost) no such records" if rules.allow({}) else "by the schema, no record can"
                raise QueryError(f"cannot draw rows where {describe(event, self.schema)}: {why}")
            model = given
        wanted = max(1, round(share * self.num_rows)) if num_rows is None else num_rows
        if isinstance(self.workload, Conjunctions):
            if isinstance(model, WeightedRows):
                return model.sample(rng, self._default_rows(model, wanted) if num_rows is None else wanted)
            return round_rows(rng, model, self.workload.grouped(), wanted, rules=rules, progress=progress)
        assert isinstance(self.workload, Workload)
        return round_rows(rng, model, self.workload, wanted, rules=rules, progress=progress)

    def _default_rows(self, model: WeightedRows, wanted: int) -> int:
        """A table of items is at most as long as the model has records: copies of so wide a record say nothing."""
        return wanted if self.schema.items is None else min(wanted, len(model.weights))

    @cached_property
    def _model(self) -> Distribution:
        """The distribution given the schema's rules: the same, unless it was made without them."""
        given = condition(self.distribution, self.schema.rules)
        if given is None:
            raise OutputError("the release's model has no record that obeys its schema's rules; release it again")
        return given

    def sample(self, num_rows: int | None = None, *, seed: int | None = None, where: str | None = None) -> pa.Table:
        """Synthetic rows in the columns' own types.

        Args:
            num_rows: How many; by default as many as the private table has, with `where` by the model's estimate.
            seed: Of this sample; by default the release's own, which gives the same rows each time.
            where: Only records that fulfil a condition such as "sex = Female and age in 30..39": rows of the model
                given that, not a selection from other rows. Costs nothing.

        Raises:
            QueryError: `where` cannot be read, or (almost) no record of the model fulfils it.
        """
        return self._decode(self.codes(num_rows, seed=seed, where=where), seed)

    def _decode(self, codes: Codes, seed: int | None = None) -> pa.Table:
        return decode(codes, self.schema, np.random.default_rng([self.seed if seed is None else seed, 2**32 - 2]))

    def answer(self, text: str) -> Answer:
        """The model's answer to a query such as "sex = Female and age in 30..39"; costs nothing.

        What the schema's rules exclude is exactly 0, by declaration.
        """
        query = parse(text, self.schema)
        if not self.schema.rules.allow(query.conditions):
            return Answer(describe(query, self.schema), 0.0, 0.0, 0.0)
        share = query.answer(self.distribution)
        tuning = self.statement.get("tuning")
        width = half_width(
            *(query, share, self.asked, self.moves, self.error_bars, self.num_rows),
            num_trials=1.0 if tuning is None else tuning["mean_runs"],
        )
        return Answer(describe(query, self.schema), share, share * self.num_rows, width)

    def unbiased(self) -> pa.Table | None:
        """The best unbiased counts of the workload's marginals, with their stddevs, from the measurements alone.

        None when the workload is not of marginals, or was not measured enough. They may be negative; the model's
        answers are not, and are usually closer to the truth.
        """
        found = unbiased(self.workload, self.asked, self.moves, self.num_rows)
        if found is None:
            return None
        ids = np.arange(self.workload.num_queries)
        return pa.table({"query": pa.array(ids), "count": pa.array(found[0]), "stddev": pa.array(found[1])})

    @cached_property
    def citations(self) -> Sequence[str]:
        """Keys of the papers that this release used (report/references.bib)."""
        return tuple(self.statement.get("citations", ()))

    def write(self, folder: str | Path, *, num_rows: int | None = None, progress: Progress = silent) -> Path:
        """Write the whole folder; each file appears complete or not at all, the statement last.

        Raises:
            OutputError: the folder cannot be written.
        """
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make the folder {target}: {error.strerror}") from error
        rows = self.codes(num_rows, progress=progress)
        (target / STATEMENT).unlink(missing_ok=True)  # of an earlier release, which is replaced from here on
        names = self._write_rows(rows, target)
        write_parquet(moves_to_table(self.moves), target / "moves.parquet")
        if (counts := self.unbiased()) is not None:
            write_parquet(counts, target / "unbiased.parquet")
            names.append("unbiased.parquet")
        contents = {
            "model.npz": model_to_bytes(self.distribution, self.error_bars),
            "schema.json": self.schema.to_json().encode(),
            "workload.json": _json(self.workload.to_json()),
            "asked.json": _json(self.asked.to_json()),
            "report.html": build_report(self.subject(rows)).encode(),
        }
        for name, content in contents.items():
            write_bytes(content, target / name)
        stated = self.statement | {"seed": self.seed, "synthetic_rows": rows.shape[1]}
        write_statement(stated, target, [*names, "moves.parquet", *contents])
        return target

    def _write_rows(self, rows: Codes, target: Path) -> list[str]:
        """Write the synthetic rows; returns the files' names."""
        table, items = self._decode(rows), self.schema.items
        if items is None:
            write_parquet(table, target / "synthetic.parquet")
            write_csv(table, target / "synthetic.csv")
            return ["synthetic.parquet", "synthetic.csv"]
        write_items(table, target / "synthetic.parquet")
        if np.count_nonzero(rows) > MOST_LIBSVM:
            return ["synthetic.parquet"]
        write_libsvm(rows, target / "synthetic.libsvm", first=items.first if items.listed is None else 1)
        return ["synthetic.parquet", "synthetic.libsvm"]

    def subject(self, rows: Codes) -> Subject:
        """What a report of the release is about, with these synthetic rows."""
        # The same queries with the same ids, if the method asked for them in groups: then more can be shown of them.
        grouped = isinstance(self.workload, Conjunctions) and isinstance(self.asked, Workload)
        return Subject(
            self.schema,
            self.asked if grouped else self.workload,
            self.num_rows,
            self.distribution,
            rows,
            self.moves,
            self.error_bars,
            self.statement,
            self.asked,
        )


def _json(body: Any) -> bytes:
    return (json.dumps(body, indent=2, ensure_ascii=False) + "\n").encode()


def is_complete(folder: str | Path) -> bool:
    """Whether a folder holds a finished release."""
    return (Path(folder) / STATEMENT).is_file()


UNREADABLE = (
    *(OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError, OverflowError, RecursionError),
    *(NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error, pa.ArrowException),
)
"""What json, numpy, zipfile and Arrow raise on files that are not what they were written as."""


def load(folder: str | Path) -> Release:
    """The release kept in a folder.

    Raises:
        OutputError: the folder holds none, or a file of it is missing or damaged.
    """
    source = Path(folder)
    if source.is_file():
        raise OutputError(f"{source} is a file; give the folder that `equipoise release ... -o FOLDER` made")
    if not is_complete(source):
        raise OutputError(
            f"{source} holds no finished release (no {STATEMENT}); run `equipoise release ... -o {source}`"
        )
    try:
        statement = json.loads((source / STATEMENT).read_text())
        schema = Schema.from_json((source / "schema.json").read_text())
        workload, asked = (
            from_json(json.loads((source / name).read_text())) for name in ("workload.json", "asked.json")
        )
        model, bars = model_from_file(source / "model.npz")
        moves = moves_from_table(pq.read_table(source / "moves.parquet"))
        num_rows, seed = statement["num_rows"], statement["seed"]
        if not (type(num_rows) is type(seed) is int and num_rows > 0):
            raise TypeError("rows and seed are numbers")
        if not tuple(model.shape) == schema.domain.sizes == workload.domain.sizes == asked.domain.sizes:
            raise ValueError("the files are not of one release")
    except UNREADABLE as error:
        raise OutputError(f"{source} is not a complete release folder: {type(error).__name__}") from error
    return Release(schema, workload, num_rows, model, moves, bars, statement, seed, asked)
