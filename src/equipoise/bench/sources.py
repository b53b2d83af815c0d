"""Public tables that the experiments can be run on: where each comes from, and what makes codes of its files.

    equipoise bench load adult adult.data adult.test --data tables/

Nothing is downloaded here: fetch the files with whatever you trust, and this checks them where a checksum is known.
Codes are made by looking at the rows (sorted values, equal bins between the extremes), which is fine for public tables
and for no others. Bins are ours: sizes are those of the papers where they say, edges need not be.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.core import IntArray
from equipoise.errors import DataError

__all__ = ["SOURCES", "Made", "Remote", "Source", "prepare"]

MISSING = frozenset({"", "?", "NA", "N", "nan"})
"""What the sources write for a value that is not there."""


@dataclass(frozen=True)
class Remote:
    """A file to download. `sha256` is None where no stable one is known."""

    address: str
    sha256: str | None = None


@dataclass(frozen=True)
class Made:
    """A table with its workload, made of a source.

    Attributes:
        name: Of table and workload.
        columns: Those it keeps, all unless given.
        order: Columns of a marginal.
        num_marginals: How many, drawn by a fixed seed; all unless given.
        share: Which rows: from this share of a fixed shuffle to that.
    """

    name: str
    columns: tuple[str, ...] | None = None
    order: int = 3
    num_marginals: int | None = None
    share: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class Source:
    """A public source.

    Attributes:
        name: For the command.
        files: What to download.
        licence: Under which it may be used.
        made: The tables that it gives.
        header: Column names, where the files have none.
        bins: For numeric columns, how many bins; others are taken by their values.
        skewed: Numeric columns whose bins are equal on a logarithmic scale.
        drop: Columns that are left out.
    """

    name: str
    files: tuple[Remote, ...]
    licence: str
    made: tuple[Made, ...]
    header: tuple[str, ...] | None = None
    bins: Mapping[str, int] = field(default_factory=dict)
    skewed: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()

    @property
    def address(self) -> str:
        """Where the first of its files is."""
        return self.files[0].address


ADULT_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain"
    " capital-loss hours-per-week native-country income>50K"
)
ADULT_REDUCED = ("sex", "race", "relationship", "marital-status", "occupation", "education-num", "age")
KDD_COLUMNS = (
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot num_failed_logins"
    " logged_in num_compromised root_shell su_attempted num_root num_file_creations num_shells num_access_files"
    " num_outbound_cmds is_host_login is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate"
    " srv_rerror_rate same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count"
    " dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate dst_host_srv_diff_host_rate"
    " dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate attack"
)
KDD_COUNTS = "duration src_bytes dst_bytes hot num_compromised num_root num_file_creations count srv_count"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_NIST = "https://raw.githubusercontent.com/usnistgov/SDNist/main/nist%20diverse%20communities%20data%20excerpts"

SOURCES = {
    source.name: source
    for source in (
        Source(
            "adult",
            (
                Remote(f"{_UCI}/adult/adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
                Remote(f"{_UCI}/adult/adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
            ),
            "CC BY 4.0",
            (
                Made("adult", share=(0.0, 0.9)),
                Made("adult_public", share=(0.9, 1.0)),
                Made("adult_reduced", columns=ADULT_REDUCED, share=(0.0, 0.9)),
            ),
            tuple(ADULT_COLUMNS.split()),
            {"age": 10, "capital-gain": 16, "capital-loss": 6, "hours-per-week": 10},
            frozenset({"capital-gain", "capital-loss"}),
            frozenset({"fnlwgt", "education"}),
        ),
        Source(
            "kdd99",
            (
                Remote(
                    f"{_UCI}/kddcup99-mld/kddcup.data_10_percent.gz",
                    "8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
                ),
            ),
            "CC BY 4.0",
            (Made("kdd99", order=2),),
            tuple(KDD_COLUMNS.split()),
            {name: 10 for name in KDD_COLUMNS.split() if name.endswith("_rate") or name in KDD_COUNTS.split()}
            | {"dst_host_count": 10, "dst_host_srv_count": 10},
            frozenset({"src_bytes", "dst_bytes"}),
            frozenset({"num_outbound_cmds", "is_host_login"}),
        ),
        Source(
            "acs_national",
            (Remote(f"{_NIST}/national/national2019.csv"),),
            "public domain (United States government)",
            (Made("acs_national", num_marginals=128),),
            bins={"AGEP": 32, "PINCP": 32, "POVPIP": 32, "DENSITY": 20},
            skewed=frozenset({"DENSITY"}),
            drop=frozenset({"PWGTP", "WGTP"}),
        ),
        Source(
            "loans_wide",
            (Remote("https://www.openintro.org/data/csv/loans_full_schema.csv"),),
            "public loan book of Lending Club, sample by OpenIntro (CC BY-SA 3.0)",
            (Made("loans_wide", num_marginals=64),),
            bins={
                name: 100
                for name in [
                    "annual_income",
                    "debt_to_income",
                    "annual_income_joint",
                    "debt_to_income_joint",
                    "total_credit_limit",
                    "total_credit_utilized",
                    "total_collection_amount_ever",
                    "total_debit_limit",
                    "loan_amount",
                    "interest_rate",
                    "installment",
                    "balance",
                    "paid_total",
                    "paid_principal",
                    "paid_interest",
                    "paid_late_fees",
                    "account_never_delinq_percent",
                    "months_since_90d_late",
                ]
            },
            drop=frozenset({"emp_title"}),
        ),
    )
}
"""The public sources, by name."""


def prepare(source: Source, files: Sequence[Path], folder: Path) -> list[str]:
    """Make the source's tables and workloads in a folder, from its downloaded files; returns the tables' names.

    Raises:
        DataError: A file is missing, is not the one that is known, or is not of the expected form.
    """
    if len(files) != len(source.files):
        wanted = ", ".join(remote.address for remote in source.files)
        raise DataError(f"{source.name} is made of {len(source.files)} files, in this order: {wanted}")
    for path, remote in zip(files, source.files, strict=True):
        _check(path, remote)
    rows = list(itertools.chain.from_iterable(_rows(path, source) for path in files))
    names, columns = list(rows[0]), {name: [row[name] for row in rows] for name in rows[0]}
    codes: dict[str, IntArray] = {}
    labels: dict[str, list[str]] = {}
    for name in names:
        codes[name], labels[name] = _coded(columns[name], source.bins.get(name), name in source.skewed)
    order = np.random.default_rng(0).permutation(len(rows))
    for made in source.made:
        _write(made, codes, labels, order, folder)
    return [made.name for made in source.made]


def _check(path: Path, remote: Remote) -> None:
    if not path.is_file():
        raise DataError(f"{path} is not there; download {remote.address}")
    if remote.sha256 is not None and hashlib.sha256(path.read_bytes()).hexdigest() != remote.sha256:
        raise DataError(f"{path} is not the file that {remote.address} had: its checksum differs; download it again")


def _rows(path: Path, source: Source) -> Iterable[dict[str, str]]:
    """The file's rows as texts; comments, empty lines and the full stops that end Adult's test labels are left out."""
    open_ = gzip.open if path.suffix == ".gz" else open
    with open_(path, "rt", encoding="utf-8") as text:
        lines = (line for line in text if line.strip() and not line.startswith("|"))
        reader = csv.reader(lines, skipinitialspace=True)
        header = source.header or tuple(next(reader, ()))
        for cells in reader:
            if len(cells) != len(header):
                raise DataError(f"{path} has a line of {len(cells)} cells where {len(header)} are expected")
            row = dict(zip(header, (cell.strip().rstrip(".") for cell in cells), strict=True))
            yield {name: value for name, value in row.items() if name and name not in source.drop}


def _coded(values: Sequence[str], num_bins: int | None, skewed: bool) -> tuple[IntArray, list[str]]:
    """Codes and what they stand for; a value that is missing has the last code."""
    present = [value not in MISSING for value in values]
    lacking = [] if all(present) else ["missing"]
    if num_bins is None:
        known = sorted({value for value, there in zip(values, present, strict=True) if there})
        position = {value: code for code, value in enumerate(known)}
        return np.array([position.get(value, len(known)) for value in values], dtype=np.int64), known + lacking
    try:
        numbers = np.array([float(value) if there else np.nan for value, there in zip(values, present, strict=True)])
    except ValueError:
        raise DataError("a column that should be numeric is not; is it the right file?") from None
    scaled = np.sign(numbers) * np.log1p(np.abs(numbers)) if skewed else numbers
    low, high = float(np.nanmin(scaled)), float(np.nanmax(scaled))
    edges = np.linspace(low, high, num_bins + 1)
    found = np.clip(np.searchsorted(edges, scaled, side="right") - 1, 0, num_bins - 1)
    found[np.isnan(scaled)] = num_bins
    return found.astype(np.int64), [f"bin {k}" for k in range(num_bins)] + lacking


def _write(
    made: Made, codes: Mapping[str, IntArray], labels: Mapping[str, Sequence[str]], order: IntArray, folder: Path
) -> None:
    columns = made.columns or tuple(codes)
    first, last = (round(share * len(order)) for share in made.share)
    (folder / "workloads").mkdir(parents=True, exist_ok=True)
    kept = order[first:last]
    table = pa.table({name: codes[name][kept].astype(np.uint16) for name in columns})
    pq.write_table(table, folder / f"{made.name}.parquet")
    (folder / f"{made.name}.domain.json").write_text(json.dumps({name: len(labels[name]) for name in columns}))
    (folder / f"{made.name}.labels.json").write_text(json.dumps({name: list(labels[name]) for name in columns}))
    marginals = list(itertools.combinations(columns, made.order))
    if made.num_marginals is not None and made.num_marginals < len(marginals):
        chosen = np.sort(np.random.default_rng(0).choice(len(marginals), made.num_marginals, replace=False))
        marginals = [marginals[k] for k in chosen]
    workload = {"table": made.name, "columns": list(columns), "marginals": [list(each) for each in marginals]}
    (folder / "workloads" / f"{made.name}.json").write_text(json.dumps(workload))
