"""The scan of the private table, wherever it is: the same whole numbers from every engine."""

from __future__ import annotations

from equipoise.core import Progress, silent
from equipoise.data.sources import Distributed
from equipoise.data.table import Table
from equipoise.engines import arrow
from equipoise.privacy import Private
from equipoise.queries.queries import Queries

__all__ = ["count"]


def count(
    table: Table,
    workload: Queries,
    *,
    threads: int | None = None,
    memory: int | None = None,
    progress: Progress = silent,
) -> Private:
    """The true count of every query, sealed: by Spark for a table of its own, else on this machine.

    Args and errors: see `engines.arrow.count`.
    """
    if isinstance(table.source, Distributed):
        from equipoise.engines import spark

        return spark.count(table, workload, memory=memory, progress=progress)
    return arrow.count(table, workload, threads=threads, memory=memory, progress=progress)
