"""Public tables that the experiments can be run on: where each comes from, what it may be used for, what is made of it.

    equipoise bench load adult adult.data adult.test --data tables/

Nothing is downloaded: fetch the files with whatever you trust; `bench.source_files` checks them and makes the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["SOURCES", "Made", "Remote", "Source"]


@dataclass(frozen=True)
class Remote:
    """A file to download.

    Attributes:
        address: Where it is.
        sha256: Its checksum, or the beginning of it where no more was published; of an archive that of the file in it.
            None where none is known: what was loaded is then recorded, and not checked.
    """

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
        keep: The only columns that are taken; all but the dropped ones unless given.
        skip: Lines before the column names.
        until: How the line begins that ends the table, where something else follows.
    """

    name: str
    files: tuple[Remote, ...]
    licence: str
    made: tuple[Made, ...]
    header: tuple[str, ...] | None = None
    bins: Mapping[str, int] = field(default_factory=dict)
    skewed: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()
    skip: int = 0
    until: str | None = None

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
LOAN_COLUMNS = (
    "loan_amnt annual_inc delinq_2yrs inq_last_6mths open_acc pub_rec revol_bal revol_util total_acc term emp_length"
    " home_ownership verification_status loan_status zip_code addr_state"
)
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_NIST = "https://raw.githubusercontent.com/usnistgov/SDNist/main/nist%20diverse%20communities%20data%20excerpts"

_ADULT = (
    Remote(f"{_UCI}/adult/adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
    Remote(f"{_UCI}/adult/adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
)


def _acs(name: str, file: str, sha256: str, num_marginals: int | None) -> Source:
    """An excerpt of the American Community Survey 2019; a place's density is a value of its own, not a number."""
    return Source(
        name,
        (Remote(f"{_NIST}/{file}", sha256),),
        "public domain (United States government)",
        (Made(name, num_marginals=num_marginals),),
        bins={"AGEP": 32, "PINCP": 32, "POVPIP": 32},
        drop=frozenset({"PWGTP", "WGTP"}),
    )


SOURCES = {
    source.name: source
    for source in (
        Source(
            "adult",
            _ADULT,
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
            "adult_star",
            _ADULT,
            "CC BY 4.0",
            (Made("adult_star", num_marginals=64),),
            tuple(ADULT_COLUMNS.split()),
            {"age": 85, "fnlwgt": 100, "capital-gain": 100, "capital-loss": 100, "hours-per-week": 99},
            drop=frozenset({"education"}),
        ),
        # The beginnings of these checksums are in the list of benchmark tables of nics-tw/petsard.
        _acs("acs_national", "national/national2019.csv", "9e039c8", 128),
        _acs("acs_texas", "texas/tx2019.csv", "0dab7a8", 128),
        _acs("acs_massachusetts", "massachusetts/ma2019.csv", "5489f7d", 128),
        # Loans of 2007 to 2011; those below the line did not meet the credit policy.
        Source(
            "loans",
            (
                Remote(
                    "https://resources.lendingclub.com/LoanStats3a.csv.zip",
                    "9af5ac078f1a22879ed026fb5ba394c9f76badd917e97b6d9ec59f34f535db69",
                ),
            ),
            "published by Lending Club without a licence",
            (Made("loans", num_marginals=64),),
            bins={"loan_amnt": 100, "annual_inc": 100, "revol_bal": 100, "revol_util": 121, "total_acc": 100},
            skewed=frozenset({"annual_inc", "revol_bal"}),
            keep=frozenset(LOAN_COLUMNS.split()),
            skip=1,
            until="Loans that do not meet the credit policy",
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
