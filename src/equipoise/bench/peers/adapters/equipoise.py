"""Our own default, in a process like the others': everything from reading to sampled rows."""

from __future__ import annotations

from typing import Any


def synthesise(codes: Any, job: dict[str, Any]) -> tuple[str, Any]:
    """Release with the defaults, then sample as many rows as there were."""
    import pyarrow as pa

    from equipoise.data.schema import Schema
    from equipoise.data.table import read
    from equipoise.data.whole import Codes
    from equipoise.pipeline import Request, release

    names = job["columns"]
    schema = Schema("peers", tuple(Codes(name=name, size=job["sizes"][name]) for name in names))
    table = read(pa.table({name: codes[:, k] for k, name in enumerate(names)}), schema=schema)
    workload = [tuple(marginal) for marginal in job["marginals"]]
    request = Request(
        table,
        epsilon=job["epsilon"],
        delta=job["delta"],
        workload=workload,
        method=job["model"],
        options=job["options"],
    )
    return "rows", release(request).codes().T
