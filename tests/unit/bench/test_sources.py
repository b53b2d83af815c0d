"""Public sources: small files of the same form become tables that an experiment can read; others are refused."""

import gzip
import hashlib
import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from equipoise.bench.sources import SOURCES, Remote, prepare
from equipoise.cli import app
from equipoise.data.table import read
from equipoise.errors import DataError
from equipoise.queries.build import build

ADULT = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K
50, Self-emp-not-inc, 83311, Bachelors, 13, Married-civ-spouse, Exec-managerial, Husband, White, Male, 0, 0, 13, United-States, <=50K
38, Private, 215646, HS-grad, 9, Divorced, Handlers-cleaners, Not-in-family, White, Male, 0, 0, 40, ?, <=50K
53, Private, 234721, 11th, 7, Married-civ-spouse, Handlers-cleaners, Husband, Black, Male, 0, 1902, 40, Cuba, >50K
28, Private, 338409, Bachelors, 13, Married-civ-spouse, Prof-specialty, Wife, Black, Female, 0, 0, 40, Cuba, <=50K
"""  # noqa: E501
TEST = """|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, United-States, <=50K.

90, ?, 89814, HS-grad, 9, Married-civ-spouse, Farming-fishing, Husband, White, Male, 99999, 0, 99, United-States, >50K.
"""
KDD = """\
0,tcp,http,SF,181,5450,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,8,8,0.00,0.00,0.00,0.00,1.00,0.00,0.00,9,9,1.00,0.00,0.11,0.00,0.00,0.00,0.00,0.00,normal.
0,udp,private,SF,105,146,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,1,0.50,0.00,0.00,0.00,1.00,0.00,0.00,255,254,1.00,0.01,0.00,0.00,0.00,0.00,0.00,0.00,snmp.
"""
ACS = "PUMA,AGEP,SEX,DENSITY,PINCP,POVPIP,PWGTP\n01-1,20,1,100.5,9000.0,501,12\n06-2,91,2,5,N,N,7\n06-2,0,2,5,N,250,7\n"
LOANS = (
    "emp_title,emp_length,state,annual_income,interest_rate,issue_month\n"
    '"teacher, high school",3,NJ,90000,14.07,Mar-2018\nNA,NA,HI,40000,12.61,Feb-2018\n'
)


def without_checksums(name):
    source = SOURCES[name]
    return replace(source, files=tuple(Remote(remote.address) for remote in source.files))


def stored(folder, name):
    sizes = json.loads((folder / f"{name}.domain.json").read_text())
    workload = folder / "workloads" / f"{name}.json"
    table = read(folder / f"{name}.parquet", schema=folder / f"{name}.domain.json")
    build(workload, table.schema)  # refuses columns that the table does not have
    return sizes, pq.read_table(folder / f"{name}.parquet"), json.loads(workload.read_text())["marginals"]


def test_adult_is_split_and_its_test_file_agrees_with_the_other(tmp_path):
    (tmp_path / "adult.data").write_text(ADULT)
    (tmp_path / "adult.test").write_text(TEST)
    made = prepare(without_checksums("adult"), [tmp_path / "adult.data", tmp_path / "adult.test"], tmp_path)
    assert made == ["adult", "adult_public", "adult_reduced"]
    sizes, table, marginals = stored(tmp_path, "adult")
    assert len(sizes) == 13
    assert (sizes["income>50K"], sizes["age"], sizes["capital-gain"], sizes["workclass"]) == (2, 10, 16, 4)
    assert len(marginals) == 286
    public = stored(tmp_path, "adult_public")[1]
    assert (table.num_rows, public.num_rows) == (6, 1)
    assert len(stored(tmp_path, "adult_reduced")[2]) == 35
    assert max(table["age"].to_pylist() + public["age"].to_pylist()) == 9


def test_kdd_is_read_compressed_with_pairs(tmp_path):
    path = tmp_path / "kddcup.data_10_percent.gz"
    path.write_bytes(gzip.compress(KDD.encode()))
    assert prepare(without_checksums("kdd99"), [path], tmp_path) == ["kdd99"]
    sizes, table, marginals = stored(tmp_path, "kdd99")
    assert (len(sizes), len(marginals), table.num_rows) == (40, 780, 2)
    assert json.loads((tmp_path / "kdd99.labels.json").read_text())["attack"] == ["normal", "snmp"]


@pytest.mark.parametrize(
    ("name", "text", "column", "size"), [("acs_national", ACS, "PINCP", 33), ("loans_wide", LOANS, "emp_length", 2)]
)
def test_missing_values_have_a_code_of_their_own(tmp_path, name, text, column, size):
    (tmp_path / "file.csv").write_text(text)
    prepare(without_checksums(name), [tmp_path / "file.csv"], tmp_path)
    sizes, table, _ = stored(tmp_path, name)
    assert sizes[column] == size
    assert max(table[column].to_pylist()) == size - 1
    assert not SOURCES[name].drop & set(sizes)


def test_another_file_than_the_known_one_is_refused(tmp_path):
    for name in ("adult.data", "adult.test"):
        (tmp_path / name).write_text(ADULT)
    command = ["bench", "load", "adult", str(tmp_path / "adult.data"), str(tmp_path / "adult.test")]
    found = CliRunner().invoke(app, [*command, "--data", str(tmp_path / "tables")])
    assert found.exit_code == DataError.exit_code
    assert "checksum differs" in found.output
    assert not (tmp_path / "tables").exists()


def test_the_known_file_is_taken(tmp_path):
    (tmp_path / "k.gz").write_bytes(gzip.compress(KDD.encode()))
    digest = hashlib.sha256((tmp_path / "k.gz").read_bytes()).hexdigest()
    prepare(replace(SOURCES["kdd99"], files=(Remote("there", digest),)), [tmp_path / "k.gz"], tmp_path)


def test_lines_of_another_length_and_too_few_files_are_refused(tmp_path):
    (tmp_path / "adult.data").write_text("1, 2, 3\n")
    with pytest.raises(DataError, match="2 files"):
        prepare(without_checksums("adult"), [tmp_path / "adult.data"], tmp_path)
    with pytest.raises(DataError, match="3 cells where 15"):
        prepare(without_checksums("adult"), [tmp_path / "adult.data"] * 2, tmp_path)
    with pytest.raises(DataError, match="download"):
        prepare(without_checksums("kdd99"), [tmp_path / "absent.gz"], tmp_path)
