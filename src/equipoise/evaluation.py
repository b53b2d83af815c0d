"""True errors of a release, for the steward only. NOT PRIVATE: everything here is computed from the private table.

This is the one place outside `equipoise.privacy` that opens true counts. Nothing that it returns may be published, and
nothing else in the product uses it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise import report
from equipoise.core import Codes, FloatArray, Progress, silent
from equipoise.data.encoding import encode
from equipoise.data.schema import Schema
from equipoise.data.table import Table
from equipoise.engines.scan import count
from equipoise.errors import OutputError, SchemaError
from equipoise.privacy.private import reveal
from equipoise.queries.queries import Queries
from equipoise.queries.workload import Workload
from equipoise.releases import Release

__all__ = ["Errors", "Evaluation", "errors_of", "evaluate", "internal_report", "stored_rows"]


@dataclass(frozen=True)
class Errors:
    """Differences between answers and the truth, as shares of the records.

    Attributes:
        max: The largest, over all queries of the workload.
        mean: The mean absolute one.
        rmse: The root of the mean square.
        total_variation: Half the summed difference of a marginal's cells, averaged over the marginals; None when the
            workload has no whole marginals.
    """

    max: float
    mean: float
    rmse: float
    total_variation: float | None


@dataclass(frozen=True)
class Evaluation:
    """What a release got right and wrong. Not private, not for release.

    Attributes:
        model: Errors of the model's answers.
        rows: Errors of the synthetic rows' answers.
        coverage: Share of the workload's queries whose true answer lies within the error bar; None without bars.
        truth: The true answers.
    """

    model: Errors
    rows: Errors
    coverage: float | None
    truth: FloatArray = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """The errors as plain values, labelled; the true answers are left out."""
        return {
            "private": False,
            "warning": "computed from the private table; not for release",
            "model": asdict(self.model),
            "rows": asdict(self.rows),
            "coverage": self.coverage,
        }


def evaluate(
    release: Release,
    table: Table,
    *,
    rows: Codes | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Compare a release with the table it was made from. NOT PRIVATE.

    Where the schema names a unit with more rows than are kept, the rows kept here are another random choice than the
    release's, whose seed is secret; that difference then counts as error.

    Args:
        release: The release.
        table: The private table, with the schema that the release was made with.
        rows: Encoded synthetic rows; sampled when not given.
        threads: Threads for the scan; None for all cores.
        progress: Told the number of rows counted.

    Raises:
        SchemaError: The table's schema is another than the release's.
    """
    private = table.select(release.schema.domain.columns).bounded(seed=0)
    if private.schema.columns != release.schema.columns:
        raise SchemaError("the release was made with another schema than this table's; evaluate it with its own")
    counts = reveal(count(private, release.workload, threads=threads, progress=progress))
    truth = np.asarray(counts / private.num_rows, dtype=np.float64)
    answers = release.workload.on(release.distribution)
    sampled = release.workload.on_rows(release.codes() if rows is None else rows)
    coverage = None
    if release.error_bars is not None:
        coverage = float(np.mean(np.abs(answers - truth) <= release.error_bars))
    return Evaluation(
        model=errors_of(release.workload, answers - truth),
        rows=errors_of(release.workload, sampled - truth),
        coverage=coverage,
        truth=truth,
    )


def errors_of(workload: Queries, differences: FloatArray) -> Errors:
    """Errors of answers to a workload, from their differences to the truth. NOT PRIVATE."""
    off = np.abs(differences)
    groups = workload.groups if isinstance(workload, Workload) else ()
    whole = np.array([group.masks is None for group in groups], dtype=np.bool_)
    return Errors(
        max=float(off.max()),
        mean=float(off.mean()),
        rmse=float(np.sqrt(np.mean(off**2))),
        total_variation=float(np.add.reduceat(off, workload.starts[:-1])[whole].mean() / 2) if whole.any() else None,
    )


def stored_rows(folder: str | Path, schema: Schema) -> Codes:
    """The encoded rows of a release folder's synthetic table.

    Raises:
        OutputError: The folder has none, or it cannot be read.
    """
    path = Path(folder) / "synthetic.parquet"
    try:
        rows = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise OutputError(f"{path} cannot be read; release again, or restore the file") from error
    # Synthetic rows belong to nobody, so they have no unit.
    return encode(rows, replace(schema, unit=None, rows_per_unit=1))


def internal_report(release: Release, rows: Codes, found: Evaluation) -> str:
    """The steward's report as one HTML page. NOT PRIVATE: it shows true answers."""
    return report.build_internal(release.subject(rows), found.truth)
