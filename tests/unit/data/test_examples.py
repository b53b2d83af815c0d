"""The example table: shipped file, generator and schema agree."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from equipoise.data.draft import draft
from equipoise.data.schema import load
from equipoise.data.table import Table, read

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def people() -> Table:
    return read(EXAMPLES / "people.csv", schema=EXAMPLES / "people.toml")


def test_the_generator_writes_the_shipped_file_byte_for_byte(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_people", EXAMPLES / "make_people.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    generator.write_people(tmp_path / "people.csv")
    assert (tmp_path / "people.csv").read_bytes() == (EXAMPLES / "people.csv").read_bytes()


def test_the_table_fits_its_schema_and_the_demo(people: Table) -> None:
    assert people.num_rows == people.bounded(0).num_rows == 20_000
    assert len(people.schema.columns) == 12
    assert people.schema.unconfirmed == ()
    assert people.schema.unit == "person_id"
    assert people.schema.epsilon == 4.0
    demo = people.select(["sex", "age", "region", "education", "work", "income"])
    assert demo.schema.domain.num_cells < 2_000_000
    assert np.flatnonzero(people.schema.column("age").between("30", "39")).tolist() == [3, 4]


def test_the_table_has_what_a_real_one_has(people: Table) -> None:
    assert {column.kind for column in people.schema.columns} == {
        "categorical", "ordinal", "boolean", "integer", "real", "date",
    }  # fmt: skip
    assert max(people.schema.domain.sizes) == 50
    codes = np.concatenate(list(people.batches()), axis=1)
    for row, column in enumerate(people.schema.columns):
        counts = np.bincount(codes[row], minlength=column.size)
        if column.nullable:
            assert 500 < counts[-1] < 6000
        assert counts.max() < 17_000
    domain = people.schema.domain
    age, income, education, health = codes[list(domain.index(["age", "income", "education", "health"]))].astype(float)
    answered = income < people.schema.column("income").size - 1
    assert np.corrcoef(education[answered], income[answered])[0, 1] > 0.3
    assert np.corrcoef(age, health)[0, 1] < -0.2


def test_a_draft_of_it_loads_and_fits(tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(draft(EXAMPLES / "people.csv"), encoding="utf-8")
    schema = load(tmp_path / "people.toml")
    assert schema.dropped == ("person_id",)
    assert len(schema.unconfirmed) == 11  # all but the boolean
    assert sum(codes.shape[1] for codes in read(EXAMPLES / "people.csv", schema=schema).batches()) == 20_000
