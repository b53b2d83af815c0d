"""Folding loses no record: whatever the column, each code has one place and sums are kept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from equipoise.data.columns import Column
from equipoise.data.listed import Categorical, Ordinal
from equipoise.data.real import Real
from equipoise.data.whole import Codes
from equipoise.report.folding import fold


@st.composite
def columns(draw: st.DrawFn) -> Column:
    size, nullable = draw(st.integers(1, 80)), draw(st.booleans())
    kind = draw(st.sampled_from(["categorical", "ordinal", "codes", "real"]))
    if kind == "real":
        policy = draw(st.sampled_from(["refuse", "clip", "bucket"]))
        return Real(name="c", min=0, max=1, bins=size, nullable=nullable, out_of_bounds=policy)
    if kind == "codes":
        return Codes(name="c", size=size, nullable=nullable)
    made = Categorical if kind == "categorical" else Ordinal
    return made(name="c", values=tuple(f"v{i}" for i in range(size)), nullable=nullable)


@given(columns(), st.integers(4, 20), st.integers(0, 2**32 - 1))
def test_every_code_has_one_place_and_sums_are_kept(column: Column, most: int, seed: int) -> None:
    shares = np.random.default_rng(seed).dirichlet(np.ones(column.size))
    folding = fold(column, shares, most)
    assert len(folding.labels) <= most
    assert len(folding.place) == column.size
    assert sorted(set(folding.place.tolist())) == list(range(len(folding.labels)))
    assert abs(folding.sums(shares).sum() - 1) < 1e-9
    if folding.order:
        assert (np.diff(folding.place) >= 0).all()
