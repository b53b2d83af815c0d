"""Public data of every kind: figures 2 and 5 of liu2021iterative (arXiv v2) on the yardstick tables.

    python -m equipoise.bench.public --data ../shared/data --out bench-out

Good support, bad support, wrong weights, missing columns; each method that can use the public table beside the one
without it; below the table, whether the paper's claims hold. Non-private by nature: it compares with the truth, on
public tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.data.public import read_public
from equipoise.data.table import Table, read
from equipoise.evaluation import evaluate
from equipoise.pipeline import Request, release
from equipoise.queries.build import columns_of

__all__ = ["CASES", "PUBLIC_TABLES", "Case", "biased", "main", "mapped", "measure"]

REDUCED = ("sex", "race", "relationship", "marital-status", "occupation", "education-num", "age_10")
"""Columns that appendix F.1 of the paper keeps of ADULT's public table."""


@dataclass(frozen=True)
class Case:
    """One private table, one public table, and who plays.

    Attributes:
        title: What kind of public data it is.
        table: The private table.
        public: Makes the public table, from the folder of tables.
        methods: Who plays, those without public data last.
    """

    title: str
    table: str
    public: Callable[[Path], pa.Table]
    methods: tuple[str, ...]


def biased(data: Path, name: str, column: str, keep: Callable[[Any], Any]) -> pa.Table:
    """Rows of a table whose code in a column is kept."""
    rows = pq.read_table(data / f"{name}.parquet")
    return rows.filter(pa.array(keep(rows[column].to_numpy())))


def mapped(data: Path, name: str, onto: str) -> pa.Table:
    """A table in the codes of another, by label; columns that share no label, and rows without a code, are left out.

    Labels of a binned column are the bins' ends, one more than there are codes: a bin goes where its middle is.
    """
    rows = pq.read_table(data / f"{name}.parquet")
    labels, wanted = (json.loads((data / f"{each}.labels.json").read_text()) for each in (name, onto))
    sizes = json.loads((data / f"{onto}.domain.json").read_text())
    columns: dict[str, Any] = {}
    for column in rows.column_names:
        codes = rows[column].to_numpy()
        found = _codes(labels[column], wanted[column], is_binned=len(wanted[column]) > sizes[column])
        if (found >= 0).any():
            columns[column] = found[codes]
    kept = np.all([codes >= 0 for codes in columns.values()], axis=0)
    return pa.table({column: codes[kept] for column, codes in columns.items()})


def _codes(labels: Sequence[Any], wanted: Sequence[Any], *, is_binned: bool) -> Any:
    """For each code of the one list of labels that of the other; -1: it has none."""
    if not is_binned:
        position = {label: code for code, label in enumerate(wanted)}
        return np.array([position.get(label, -1) for label in labels])
    # The ends of the bins, then perhaps a label for what is missing.
    ends, target = (np.array([end for end in each if isinstance(end, float)]) for each in (labels, wanted))
    middles = (ends[:-1] + ends[1:]) / 2
    found = np.clip(np.searchsorted(target, middles, side="right") - 1, 0, len(target) - 2)
    named = [len(target) - 1 if label in wanted else -1 for label in labels if not isinstance(label, float)]
    return np.concatenate([found, np.array(named, dtype=np.int64)])


def _adult(data: Path) -> pa.Table:
    return pq.read_table(data / "adult_public.parquet")


def _men(data: Path) -> pa.Table:
    return biased(data, "adult_public", "sex", lambda codes: codes == np.bincount(codes).argmax())


def _paid_worse(data: Path) -> pa.Table:
    return biased(data, "adult_public", "income>50K", lambda codes: (codes == 0) | (np.arange(len(codes)) % 5 == 0))


PUBLIC_TABLES: dict[str, Callable[[Path], pa.Table]] = {
    "adult_public, men only": _men,
    "adult_public, one in five of the better paid": _paid_worse,
    "adult_public, 7 of 13 columns": lambda data: _adult(data).select(REDUCED),
    "acs_texas, by label": lambda data: mapped(data, "acs_texas", "acs_national"),
    "acs_massachusetts, by label": lambda data: mapped(data, "acs_massachusetts", "acs_national"),
}
"""Public tables that are made of others, by name."""

ROWS = ("pmw_pub", "pep_pub")
FREE = ("gem_pub", "mixture_pub")
NONE = ("gem", "mixture")

CASES = (
    Case("good support", "adult", _adult, ROWS + FREE + NONE),
    Case("bad support: men only", "adult", _men, ROWS + FREE),
    Case("wrong weights: one in five of the better paid", "adult", _paid_worse, ROWS + FREE),
    Case("missing columns: 7 of 13", "adult", PUBLIC_TABLES["adult_public, 7 of 13 columns"], FREE),
    Case("another state, without places: Texas", "acs_national", PUBLIC_TABLES["acs_texas, by label"], FREE + NONE),
    Case(
        "another state, without places: Massachusetts",
        "acs_national",
        PUBLIC_TABLES["acs_massachusetts, by label"],
        ("mixture_pub",),
    ),
)


def measure(case: Case, method: str, epsilon: float, data: Path, runs: int) -> dict[str, Any]:
    """Mean errors of the sampled rows over several runs."""
    workload = data / "workloads" / f"{case.table}.json"
    table = read(data / f"{case.table}.parquet", schema=data / f"{case.table}.domain.json")
    columns = columns_of(workload)
    table = table if columns is None else table.select(columns)
    public: Table | None = read_public(case.public(data), table.schema) if method.endswith("_pub") else None
    errors, began = [], time.process_time()
    for _ in range(runs):
        made = release(Request(table, epsilon=epsilon, workload=workload, method=method, public=public))
        found = evaluate(made, table, rows=made.codes())
        errors.append((found.rows.max, found.rows.mean))
    largest, mean = np.mean(errors, axis=0)
    return {
        "table": case.table,
        "public data": case.title if public is not None else "none",
        "method": method,
        "epsilon": epsilon,
        "max": float(largest),
        "mean": float(mean),
        "cpu s": (time.process_time() - began) / runs,
    }


def claims(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The paper's orderings, each with what was found; those whose rows were not run are left out."""
    found = {(row["table"], row["public data"], row["method"], row["epsilon"]): row["max"] for row in rows}
    lines = []
    for case in CASES:
        for epsilon in sorted({row["epsilon"] for row in rows}):
            ours = {m: found.get((case.table, case.title, m, epsilon)) for m in ROWS + FREE}
            plain = {m: found.get((case.table, "none", m, epsilon)) for m in NONE}
            pairs = [(ours["gem_pub"], plain["gem"], "gem_pub beats gem")]
            pairs += [(ours["mixture_pub"], plain["mixture"], "mixture_pub is no worse than mixture")]
            if case.title.startswith("bad support"):
                pairs += [(ours[m], ours["pmw_pub"], f"pmw_pub stalls, {m} does not") for m in FREE]
            for better, worse, claim in pairs:
                if better is not None and worse is not None:
                    held = "holds" if better < worse else "DOES NOT HOLD"
                    lines.append(f"- {case.title}, epsilon {epsilon:g}: {claim}: {better:.4f}, {worse:.4f}: {held}")
    return lines


def markdown(rows: Sequence[dict[str, Any]], runs: int) -> str:
    """The table, and the claims, for people."""
    shown = ["table", "public data", "method", "epsilon", "max", "mean", "cpu s"]
    lines = [f"# Public data: errors of the sampled rows, mean of {runs} runs, one record replaced, delta = 1/n^2", ""]
    lines += ["| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    for row in rows:
        cells = [f"{row[name]:.3g}" if isinstance(row[name], float) else str(row[name]) for name in shown]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *claims(rows), ""])


def main(arguments: list[str] | None = None) -> int:
    """Measure and write `public.md`; exit code 1 when a claim does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the yardstick tables")
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 0.1])
    parser.add_argument("--only", default="", help="only rows whose 'table public-data method' contains this text")
    chosen = parser.parse_args(arguments)
    if not chosen.data.is_dir():
        sys.stdout.write(f"public: the yardstick tables are not at {chosen.data}; skipped\n")
        return 0
    rows: list[dict[str, Any]] = []
    chosen.out.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        for method in case.methods:
            for epsilon in chosen.epsilon:
                label = f"{case.table} {case.title} {method}"
                if chosen.only in label:
                    sys.stderr.write(f"{label} {epsilon:g} ...\n")
                    rows.append(measure(case, method, epsilon, chosen.data, chosen.runs))
                    (chosen.out / "public.md").write_text(markdown(rows, chosen.runs))
    sys.stdout.write(markdown(rows, chosen.runs))
    return 0 if not any("DOES NOT" in line for line in claims(rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
