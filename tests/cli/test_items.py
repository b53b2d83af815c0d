"""A table of items on the command line: drafted, planned, released, asked and evaluated."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from equipoise.cli import app

WORKLOAD = "random 2-way x 50"
OPTIONS = ["--option", "num_rounds=5", "--option", "num_draws=100"]


def run(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return done.exit_code, " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def ratings(tmp_path):
    """More items than any method but dual_query takes."""
    rng = np.random.default_rng(1)
    lists = [np.flatnonzero(rng.random(1500) < 0.2).tolist() for _ in range(300)]
    pq.write_table(pa.table({"items": pa.array(lists, pa.list_(pa.int16()))}), tmp_path / "ratings.parquet")
    (tmp_path / "ratings.toml").write_text("[items]\ncount = 1500\n")
    return tmp_path / "ratings.parquet"


def test_the_whole_way(ratings):
    out, given = ratings.parent / "out", ("--schema", ratings.with_suffix(".toml"), "--epsilon", 1)
    code, text = run("plan", ratings, *given, "--workload", WORKLOAD)
    assert (code, "1,500 items" in text, "2^1,500 cells" in text, "dual_query" in text) == (0, True, True, True)
    code, text = run("release", ratings, *given, "--workload", WORKLOAD, "--method", "dual_query", *OPTIONS, "-o", out)
    assert code == 0, text
    assert {"synthetic.parquet", "synthetic.libsvm", "report.html"} <= {path.name for path in out.iterdir()}
    code, text = run("answer", out, "3 = true and 7 = false")
    assert (code, "3 = true and 7 = false" in text) == (0, True)
    code, text = run("evaluate", out, ratings)
    assert (code, "NOT PRIVATE" in text) == (0, True)


def test_what_does_not_suit_it_is_refused_with_what_does(ratings):
    given = ("--schema", ratings.with_suffix(".toml"), "--epsilon", 1)
    code, text = run("plan", ratings, *given, "--workload", "3-way")
    assert (code != 0, "random 3-way x 1000" in text) == (True, True)
    code, text = run("plan", ratings, *given, "--workload", WORKLOAD, "--method", "mixture")
    assert (code != 0, "dual_query" in text) == (True, True)
    code, text = run("plan", ratings, *given, "--columns", "3,4")
    assert (code != 0, "all of its items" in text) == (True, True)


@pytest.mark.parametrize("ending", ["parquet", "libsvm"])
def test_a_draft_has_to_be_confirmed(ratings, tmp_path, ending):
    if ending == "libsvm":
        ratings = tmp_path / "other.libsvm"
        ratings.write_text("1 1:1 3:1\n" * 20)
    draft = tmp_path / "draft.toml"
    code, text = run("schema", ratings, "-o", draft)
    assert (code, "check it" in text) == (0, True)
    expected = "count = 1500" if ending == "parquet" else "count = 3\nfirst = 1"
    assert expected in draft.read_text()
    given = ("--schema", draft, "--epsilon", 1, "--workload", WORKLOAD if ending == "parquet" else "2-way")
    code, text = run("release", ratings, *given, "-o", tmp_path / "out")
    assert (code != 0, "the items was read from the data" in text) == (True, True)
    draft.write_text(draft.read_text().replace("confirmed = false", "confirmed = true"))
    code, text = run("plan", ratings, *given)
    assert code == 0, text
