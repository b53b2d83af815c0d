"""dpmm's AIM and MST, which are the mechanisms of private-pgm's scripts as an installable package.

Both charge add/remove: a marginal has sensitivity 1. They are given epsilon and delta that stand for half of rho.
"""

from __future__ import annotations

from typing import Any


def synthesise(codes: Any, job: dict[str, Any]) -> tuple[str, Any]:
    """Fit on the coded table, then sample as many rows."""
    import pandas as pd
    from dpmm.models.aim import AIM
    from dpmm.models.mst import MST

    table = pd.DataFrame(codes.astype("int64"), columns=job["columns"])
    budget = {"epsilon": job["halved_epsilon"], "delta": job["delta"], "n_jobs": 1}
    if job["model"] == "aim":
        # The size of the model is held down, as its authors advise for trying it out: 80 MB would take hours.
        model = AIM(**budget, domain=job["sizes"], compress=True, **job["options"])
        model.fit(table, W=[(tuple(marginal), 1.0) for marginal in job["marginals"]])
    else:
        model = MST(**budget, domain=job["sizes"], compress=True, **job["options"])
        model.fit(table)
    return "rows", model.generate(n_records=len(table))[job["columns"]].to_numpy()
