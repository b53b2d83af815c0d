"""smartnoise-synth's MST and AIM. Both charge add/remove and are given epsilon and delta that stand for half of rho."""

from __future__ import annotations

from typing import Any


def synthesise(codes: Any, job: dict[str, Any]) -> tuple[str, Any]:
    """Fit on the coded table, then sample as many rows."""
    import pandas as pd
    from snsynth import Synthesizer

    table = pd.DataFrame(codes.astype("int64"), columns=job["columns"])
    options = job["options"]
    if job["model"] == "aim":
        options = {**options, "degree": max(map(len, job["marginals"]))}
    model = Synthesizer.create(job["model"], epsilon=job["halved_epsilon"], delta=job["delta"], **options)
    model.fit(table, categorical_columns=job["columns"], preprocessor_eps=0.0)
    return "rows", model.sample(len(table))[job["columns"]].astype("int64").to_numpy()
