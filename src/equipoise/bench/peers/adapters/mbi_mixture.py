"""mbi's mixture of products. The package has no private mechanism: the workload is measured here, each marginal once.

The noise is ours (replace one record, known number of rows; equal shares), the fit and the rows are the package's.
"""

from __future__ import annotations

import math
from typing import Any


def synthesise(codes: Any, job: dict[str, Any]) -> tuple[str, Any]:
    """Measure, fit, sample."""
    import jax

    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]  # the package asks for it above 100,000 rows
    import numpy as np
    import optax
    from mbi import Dataset, Domain, LinearMeasurement
    from mbi.extensions.mixture_of_products import MixtureOfProductsEstimator

    rng = np.random.default_rng()
    domain = Domain(tuple(job["columns"]), tuple(job["sizes"][name] for name in job["columns"]))
    data = Dataset({name: codes[:, k].astype("int64") for k, name in enumerate(job["columns"])}, domain)
    # One record replaced moves two cells of each marginal by one: rho = 2 marginals / (2 stddev^2).
    stddev = math.sqrt(len(job["marginals"]) / job["rho"])
    measured = []
    for marginal in map(tuple, job["marginals"]):
        counts = np.asarray(data.project(marginal).datavector())
        measured.append(LinearMeasurement(counts + rng.normal(0.0, stddev, len(counts)), marginal, stddev))
    # The optimiser that the package's documentation gives as the example.
    estimator = MixtureOfProductsEstimator(optimizer=optax.adam(0.1), **job["options"])
    rows = estimator.estimate(domain, measured, known_total=len(codes)).synthetic_data(len(codes)).to_dict()
    return "rows", np.stack([np.asarray(rows[name]) for name in job["columns"]], axis=1)
