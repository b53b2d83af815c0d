"""`import equipoise as eq`: the public list, and the example that the README shows."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import Any

import pandas as pd
import pytest

import equipoise as eq

Bench = Any


def test_the_example_of_the_readme(bench: Bench) -> None:
    table = eq.read(bench.table, schema=bench.schema)
    release = eq.release(table.select(["sex", "age", "region"]), workload="3-way", epsilon=1.0, method="pep")
    frame = release.sample(500).to_pandas()
    assert list(frame.columns) == ["sex", "age", "region"]
    assert len(frame) == 500
    assert repr(release).startswith("<Release of people: 200 records, 3 columns (sex, age, region)")
    assert len(repr(release)) < 200
    release.write(bench.out)
    again = eq.load(bench.out)
    assert again.answer("sex = Female") == release.answer("sex = Female")
    assert bench.run("ledger", bench.schema, "--json").json["runs"][0]["epsilon"] == 1.0


def test_every_public_name_is_there_and_documented() -> None:
    for name in eq.__all__:
        found = getattr(eq, name)
        if name != "__version__":
            assert inspect.getdoc(found)
    assert set(eq.__all__) == set(dir(eq))
    with pytest.raises(AttributeError, match="nosuch"):
        eq.nosuch  # noqa: B018


def test_release_stays_a_function_whatever_is_imported() -> None:
    import_module("equipoise.pipeline")
    for module in pkgutil.iter_modules(eq.__path__):
        assert module.name not in eq.__all__ or module.name == "analysts"  # the one name that is a package
    assert inspect.isfunction(eq.release)


def test_plan_touches_nothing(bench: Bench) -> None:
    table = eq.read(bench.table, schema=bench.schema)
    plan = eq.plan(table, epsilon=1.0, workload="2-way", method="mwem", options={"num_rounds": 4})
    assert plan.num_rounds == 4
    assert not bench.ledger.exists()


def test_what_newcomers_try_first_is_understood_or_explained(bench: Bench) -> None:
    table = eq.read(bench.table, schema=bench.schema)
    small = eq.release(table.select(["sex", "region"]), epsilon=0.5, method="mwem")
    assert small.statement["workload"]["text"] == "2-way"
    assert small.sample(0).num_rows == 0
    with pytest.raises(eq.SettingError, match="cannot be negative"):
        small.sample(-1)
    with pytest.raises(eq.SettingError, match=r"a DataFrame has no schema: give the table that eq\.read"):
        eq.release(pd.read_csv(bench.table), epsilon=1.0)


def test_our_errors_are_one_family(bench: Bench) -> None:
    table = eq.read(bench.table, schema=bench.schema)
    with pytest.raises(eq.EquipoiseError):
        eq.release(table, epsilon=0)
    assert issubclass(eq.BudgetError, eq.EquipoiseError)
