"""Gaussian noise on every cell of the workload, clipped to [0, 1]: no rows, no consistency, the baseline of all.

One record is replaced, the number of rows is known, every marginal has the same share. The table is public, and nothing
is protected here: ordinary random numbers do.
"""

from __future__ import annotations

import math
from typing import Any


def synthesise(codes: Any, job: dict[str, Any]) -> tuple[str, Any]:
    """Count, add noise, clip."""
    import numpy as np

    rng = np.random.default_rng()
    stddev = math.sqrt(len(job["marginals"]) / job["rho"]) / len(codes)
    place = {name: k for k, name in enumerate(job["columns"])}
    answers = []
    for marginal in job["marginals"]:
        sizes = [job["sizes"][name] for name in marginal]
        cells = np.ravel_multi_index([codes[:, place[name]].astype("int64") for name in marginal], sizes)
        shares = np.bincount(cells, minlength=math.prod(sizes)) / len(codes)
        answers.append(np.clip(shares + rng.normal(0.0, stddev, len(shares)), 0.0, 1.0))
    return "answers", np.concatenate(answers)
