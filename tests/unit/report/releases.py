"""Made-up releases for the report's tests: no pipeline, no private table, every number from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.core import Move
from equipoise.data.columns import Column
from equipoise.data.dates import Date
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data.listed import Boolean, Categorical, Ordinal
from equipoise.data.real import Real
from equipoise.data.schema import Schema
from equipoise.data.whole import Codes, Integer
from equipoise.queries.build import build as build_workload
from equipoise.queries.workload import Workload
from equipoise.report import Subject

__all__ = ["NUM_ROWS", "made_up", "people", "statement"]

NUM_ROWS = 20_000


def people() -> Schema:
    """One column of every kind."""
    columns: tuple[Column, ...] = (
        Categorical(name="sex", values=("Female", "Male")),
        Integer(name="age", min=16, max=90, bins=15),
        Categorical(name="region", values=tuple(f"Region {i:02d}" for i in range(20)), other="elsewhere"),
        Ordinal(name="education", values=("none", "primary", "secondary", "vocational", "bachelor", "master or more")),
        Real(name="income", min=0, max=100_000, bins=20, nullable=True, out_of_bounds="bucket", confirmed=False),
        Date(name="hired", min="2015-01-01", max="2024-12-31", out_of_bounds="clip"),
        Boolean(name="member", nullable=True),
        Codes(name="work", size=9),
    )
    return Schema("people", columns, unit="person_id", rows_per_unit=3, dropped=("phone", "notes"))


def statement(schema: Schema, workload: Workload, **changes: Any) -> dict[str, Any]:
    """A statement of the form that a release writes."""
    return {
        "product": "equipoise",
        "format": 1,
        "created": "2025-03-01T10:00:00+00:00",
        "table": schema.name,
        "num_rows": NUM_ROWS,
        "guarantee": {
            "epsilon": 1.0,
            "delta": 2.5e-9,
            "rho": 0.0123456,
            "rho_exact": "1/81",
            "definition": "(epsilon, delta)-differential privacy by zCDP",
            "adjacency": "one record replaced by another; the number of records is public",
            "unit": schema.unit or "one record",
            "rows_per_unit": schema.rows_per_unit,
            "curve": {"0.0001": 0.6543, "1e-06": 0.8123, "1e-08": 0.9456, "1e-10": 1.0789, "1e-12": 1.1777},
        },
        "events": [
            {"event": {}, "words": "private selection of 1 query, epsilon 0.02", "times": 100, "rho": 0.0041152},
            {"event": {}, "words": "noisy measurement, Gaussian noise", "times": 100, "rho": 0.0082304},
        ],
        "method": {
            "name": "pep",
            "title": "entropy projection on everything measured",
            "options": {"num_rounds": 100, "selection_share": "1/3"},
            "num_rounds": 100,
            "measurement_stddev": 60 / NUM_ROWS,
            "selection_resolution": 400 / NUM_ROWS,
            "bound": None,
        },
        "workload": {
            "text": "custom",
            "num_queries": workload.num_queries,
            "num_marginals": len(workload.groups),
            "fingerprint": workload.fingerprint,
        },
        "schema_fingerprint": schema.fingerprint,
        "outside_the_guarantee": ["The number of records is treated as public."],
        "accepted_inferred": list(schema.unconfirmed),
        "citations": ["liu2021iterative", "canonne2020discrete"],
        "ledger_run": "0123456789abcdef",
        "versions": {"equipoise": "0.1.0", "opendp": "0.16.0", "numpy": "2.0.0", "python": "3.11.0"},
    } | changes


def made_up(
    schema: Schema,
    workload: Any = "2-way",
    *,
    num_measured: int = 100,
    whole_marginals: bool = False,
    num_synthetic: int = 5_000,
    error_bars: bool = True,
    **changes: Any,
) -> Subject:
    """A release of that schema: a random mixture as the model, and measurements that scatter around it."""
    rng = np.random.default_rng(5)
    built = build_workload(workload, schema)
    model = MixtureOfProducts(
        tuple(rng.dirichlet(np.full(column.size, 0.6), size=4) for column in schema.columns), rng.dirichlet(np.ones(4))
    )
    answers, stddev = built.on(model), 60.0
    if whole_marginals:
        parts = [np.arange(built.starts[g], built.starts[g + 1]) for g in range(len(built.groups))]
    else:
        number = min(num_measured, built.num_queries)
        parts = [np.array([i]) for i in rng.choice(built.num_queries, size=number, replace=False)]
    moves = tuple(
        Move(
            ids.astype(np.int64),
            np.ones(len(ids), dtype=np.int64),
            np.rint(NUM_ROWS * answers[ids] + rng.normal(0, stddev, len(ids))).astype(np.int64),
            stddev,
        )
        for ids in parts[: num_measured or 0]
    )
    bars = rng.gamma(4.0, 0.002, built.num_queries) if error_bars else None
    return Subject(
        schema,
        built,
        NUM_ROWS,
        model,
        model.sample(rng, num_synthetic),
        moves,
        bars,
        statement(schema, built, **changes),
    )
