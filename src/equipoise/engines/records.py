"""Reading the records themselves, for the methods whose query player asks a solver: as bits, sealed."""

from __future__ import annotations

import numpy as np

from equipoise.core import Progress, silent
from equipoise.data.table import Table
from equipoise.engines.arrow import count_codes
from equipoise.errors import QueryError
from equipoise.oracles.classes.features import Features
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.recorded import Recorded
from equipoise.queries.queries import Queries
from equipoise.queries.workload import Workload

__all__ = ["count_and_keep"]


def count_and_keep(
    table: Table, workload: Queries, features: Features, *, threads: int | None = None, progress: Progress = silent
) -> Recorded:
    """The true count of every query, and every record as bits: one pass over the table.

    Raises:
        QueryError: The workload is over other columns than the table's.
        DataError: A row does not fit the schema, or the table changed while it was read.
    """
    if workload.domain != table.schema.domain:
        raise QueryError("the workload was built over other columns than the table's; build it from the table's schema")
    batches = list(table.batches(progress=progress))
    bits = np.concatenate([features.bits(codes) for codes in batches])
    if isinstance(workload, Workload):
        counts = count_codes(batches, workload, num_rows=table.num_rows, threads=threads)
    else:
        counts = np.sum([workload.count_rows(codes) for codes in batches], axis=0, dtype=np.int64)
    return Recorded(counts, workload, PrivatePoints(bits, np.full(len(bits), -1)))
