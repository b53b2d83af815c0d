"""opendp's contingency tables, by AIM or MST, through its context interface; needs its extra `mbi`.

It is told that a person adds or removes one row, and is given half of rho. Every column is public: its values are the
keys. The package adds a category for all other values; the last value of a column is left to that.
"""

from __future__ import annotations

from typing import Any


def synthesise(codes: Any, job: dict[str, Any]) -> tuple[str, Any]:
    """Release a table, then sample as many rows as there were."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    names, sizes = job["columns"], job["sizes"]
    table = pl.LazyFrame({name: codes[:, k].astype("int64") for k, name in enumerate(names)})
    budget = {"rho": job["halved_rho"]}
    if job["model"] == "aim":
        queries = [dp.mbi.Count(by=tuple(marginal)) for marginal in job["marginals"]]
        algorithm = dp.mbi.AIM(queries=queries, **job["options"])
    else:
        algorithm = dp.mbi.MST(**job["options"])
    context = dp.Context.compositor(
        data=table, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(**budget)
    )
    keys = {name: list(range(max(1, sizes[name] - 1))) for name in names}
    release = context.query(**budget).select(*names).contingency_table(keys=keys, algorithm=algorithm).release()
    # Its default, "round", gives columns that hang on the same one false correlations among each other (mbi 1.1).
    rows = release.synthesize(rows=len(codes), method="sample").select(names)
    return "rows", rows.with_columns(pl.col(name).fill_null(sizes[name] - 1) for name in names).to_numpy()
