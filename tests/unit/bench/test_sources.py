"""Public sources: small files of the same form become tables that an experiment can read; others are refused."""

import gzip
import hashlib
import json
import zipfile
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from equipoise.bench import fem_cases
from equipoise.bench.experiment import load, names
from equipoise.bench.public import mapped
from equipoise.bench.source_files import prepare
from equipoise.bench.sources import SOURCES, Remote
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
LENT = """\
Notes offered by Prospectus (https://www.lendingclub.com/info/prospectus.action)
"id","loan_amnt","term","emp_length","home_ownership","annual_inc","verification_status","loan_status","desc","zip_code","addr_state","delinq_2yrs","inq_last_6mths","open_acc","pub_rec","revol_bal","revol_util","total_acc"
"","5000"," 36 months","10+ years","RENT","24000","Verified","Fully Paid","  Borrower added on 12/22/11 > I need to

upgrade, ""soon"".","860xx","AZ","0","1","3","0","13648","83.7%","9"
"","2500"," 60 months","n/a","RENT","30000","Source Verified","Charged Off","","309xx","GA","0","5","3","0","1687","","4"


Loans that do not meet the credit policy
"","7000"," 36 months","1 year","RENT","47004","Not Verified","Fully Paid","","231xx","PA","0","3","7","0","17726","85.5%","11"

Total amount funded in policy code 1: 460296150
"""  # noqa: E501


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


def test_adult_of_the_other_paper_keeps_more_values(tmp_path):
    (tmp_path / "adult.data").write_text(ADULT)
    (tmp_path / "adult.test").write_text(TEST)
    prepare(without_checksums("adult_star"), [tmp_path / "adult.data", tmp_path / "adult.test"], tmp_path)
    sizes, table, marginals = stored(tmp_path, "adult_star")
    assert (len(sizes), len(marginals), table.num_rows) == (14, 64, 7)
    assert (sizes["age"], sizes["fnlwgt"], sizes["hours-per-week"]) == (85, 100, 99)


def archived(path, *files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files:
            archive.writestr(name, text)
    return path


def test_loans_are_read_from_their_archive_up_to_the_line_that_ends_them(tmp_path):
    path = archived(tmp_path / "LoanStats3a.csv.zip", ("LoanStats3a.csv", LENT))
    assert prepare(without_checksums("loans"), [path], tmp_path) == ["loans"]
    sizes, table, marginals = stored(tmp_path, "loans")
    assert (len(sizes), len(marginals), table.num_rows) == (16, 64, 2)
    labels = json.loads((tmp_path / "loans.labels.json").read_text())
    assert labels["emp_length"] == ["10+ years", "missing"]
    assert (sizes["revol_util"], sizes["loan_amnt"]) == (122, 100)
    assert sorted(table["loan_amnt"].to_pylist()) == [0, 99]
    assert 121 in table["revol_util"].to_pylist(), "missing"


def test_other_archives_and_other_columns_are_refused(tmp_path):
    two = archived(tmp_path / "two.zip", ("a.csv", LENT), ("b.csv", LENT))
    (tmp_path / "none.zip").write_bytes(b"not an archive")
    for path in (two, tmp_path / "none.zip"):
        with pytest.raises(DataError, match="archive of one file"):
            prepare(without_checksums("loans"), [path], tmp_path)
    (tmp_path / "other.csv").write_text("Notes\nloan_amnt,term\n1,2\n")
    with pytest.raises(DataError, match="no column addr_state"):
        prepare(without_checksums("loans"), [tmp_path / "other.csv"], tmp_path)
    (tmp_path / "empty.csv").write_text(ACS.splitlines()[0] + "\n")
    with pytest.raises(DataError, match="no rows"):
        prepare(without_checksums("acs_texas"), [tmp_path / "empty.csv"], tmp_path)


def test_bins_of_another_place_are_found_by_their_ends(tmp_path):
    """The same income has another bin in another state's table; mapped, it has the bin of this one."""
    head = "PUMA,AGEP,SEX,DENSITY,PINCP,POVPIP\n"
    (tmp_path / "here.csv").write_text(head + "a,0,1,5,0,1\na,50,2,5,32000,9\na,64,1,5,N,N\n")
    (tmp_path / "there.csv").write_text(head + "b,0,1,7,0,1\nb,96,2,7,48000,9\nb,60,1,7,24700,N\nb,9,2,7,N,N\n")
    prepare(without_checksums("acs_national"), [tmp_path / "here.csv"], tmp_path)
    prepare(without_checksums("acs_texas"), [tmp_path / "there.csv"], tmp_path)
    found = mapped(tmp_path, "acs_texas", "acs_national")
    assert "PUMA" not in found.column_names, "no place is in both"
    pairs = set(zip(found["PINCP"].to_pylist(), found["SEX"].to_pylist(), strict=True))
    missing = json.loads((tmp_path / "acs_national.domain.json").read_text())["PINCP"] - 1
    assert (24, 0) in pairs, "24,700 is in the 25th of 32 bins up to 32,000"
    assert (missing, 1) in pairs


def test_what_was_loaded_is_recorded_and_a_changed_file_is_taken_when_told(tmp_path):
    (tmp_path / "national2019.csv").write_text(ACS)
    digest = hashlib.sha256(ACS.encode()).hexdigest()
    command = ["bench", "load", "acs_national", str(tmp_path / "national2019.csv"), "--data", str(tmp_path / "tables")]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == DataError.exit_code
    assert "--changed" in " ".join(refused.output.split())
    assert CliRunner().invoke(app, [*command, "--changed"]).exit_code == 0
    told = json.loads((tmp_path / "tables" / "acs_national.source.json").read_text())
    assert told["licence"] == SOURCES["acs_national"].licence
    (file,) = told["files"]
    assert (file["sha256"], file["is_known"]) == (digest, False)
    begun = replace(SOURCES["acs_national"], files=(Remote("there", digest[:7]),))
    prepare(begun, [tmp_path / "national2019.csv"], tmp_path / "tables")
    assert json.loads((tmp_path / "tables" / "acs_national.source.json").read_text())["files"][0]["is_known"] is True


def test_every_table_of_the_experiments_has_a_source():
    """Whoever has internet access can make each of them; the exceptions are made up by the benchmarks."""
    wanted = {panel.table for name in names() for panel in load(name).panels} | {"acs_texas", "acs_massachusetts"}
    wanted |= {panel.table for panel in fem_cases.FILE.panel}
    assert wanted <= {made.name for source in SOURCES.values() for made in source.made}


@pytest.mark.parametrize("source", SOURCES.values(), ids=lambda source: source.name)
def test_a_source_says_where_it_is_and_what_it_may_be_used_for(source):
    assert source.licence
    for remote in source.files:
        assert remote.address.startswith("https://")
        assert remote.sha256 is None or (len(remote.sha256) >= 7 and int(remote.sha256, 16))


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
