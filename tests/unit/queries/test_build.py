import json
import math

import numpy as np
import pytest

from equipoise.data.domain import Domain
from equipoise.data.listed import Categorical, Ordinal
from equipoise.data.real import Real
from equipoise.data.schema import Schema
from equipoise.data.whole import Codes, Integer
from equipoise.errors import CapacityError, QueryError
from equipoise.queries.build import build, columns_of
from equipoise.queries.query import Query
from equipoise.queries.text import parse

DOMAIN = Domain(("a", "b", "c", "d", "e"), (2, 3, 4, 2, 2))


@pytest.fixture
def schema():
    return Schema(
        "people",
        (
            Categorical(name="sex", values=("Female", "Male")),
            Integer(name="age", min=0, max=39, bins=4, nullable=True),
            Ordinal(name="education", values=("low", "mid", "high")),
            Real(name="score", min=0, max=1, bins=2),
        ),
    )


def file(tmp_path, content):
    path = tmp_path / "workload.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_all_marginals(order):
    workload = build(f"{order}-way", DOMAIN)
    assert len(workload.groups) == math.comb(5, order)
    assert all(len(columns) == order for columns in workload.column_sets)


def test_several_specs_and_merged_duplicates():
    workload = build("2-way, 1-way,2-way", DOMAIN)
    assert len(workload.groups) == 15
    assert {group.weight for group in workload.groups[:10]} == {2}
    assert {group.weight for group in workload.groups[10:]} == {1}


def test_random_marginals_are_a_function_of_the_seed():
    domain = Domain(tuple(f"c{i}" for i in range(60)), (3,) * 60)
    first = build("random 64 3-way seed 0", domain)
    assert first == build("random 64 3-way", domain)
    assert first != build("random 64 3-way seed 1", domain)
    assert len(set(first.column_sets)) == 64
    assert list(first.column_sets) == sorted(first.column_sets)


def test_random_marginals_of_a_hopelessly_large_set_are_quick():
    domain = Domain(tuple(f"c{i}" for i in range(1000)), (2,) * 1000)
    assert len(build("random 20 8-way seed 5", domain).groups) == 20


def test_random_marginals_can_be_all_of_them():
    assert build("random 10 3-way seed 2", DOMAIN).column_sets == build("3-way", DOMAIN).column_sets


def test_random_conjunctions_are_distinct_cells():
    domain = Domain(tuple(f"c{i}" for i in range(20)), (2,) * 19 + (1,))
    workload = build("random 3-way conjunctions x 1000 seed 0", domain)
    queries = [workload.query(i) for i in range(workload.num_queries)]
    assert len(set(queries)) == workload.num_queries == 1000
    assert all(query.cell is not None and len(query.columns) == 3 and 19 not in query.columns for query in queries)
    assert workload == build("random 3-way x 1000", domain)
    assert workload != build("random 3-way x 1000 seed 1", domain)
    share = np.mean([code for query in queries for code in query.cell])
    # 3000 fair coins, seven standard deviations: a false alarm has probability below 1e-11.
    assert abs(share - 0.5) < 7 * 0.5 / math.sqrt(3000)


def test_prefixes(schema):
    workload = build("prefixes", schema)
    assert workload.column_sets == ((1,), (2,), (3,))
    assert [group.num_queries for group in workload.groups] == [4, 2, 1]
    assert workload.describe(0, schema) == "age in 0..9"
    assert workload.query(1) == parse("age < 20", schema)
    assert workload.query(3) == parse("age is not missing", schema)
    assert workload.norms().l1 == 4 + 2 + 1


def test_ranges(schema):
    workload = build("ranges", schema)
    # age: 10 ranges of four bins, none with the missing value; education: 6 less the whole; score: 3 less the whole.
    assert [group.num_queries for group in workload.groups] == [10, 5, 2]
    texts = {workload.describe(i, schema) for i in range(workload.num_queries)}
    assert {"age in 10..29", "age is not missing", "education >= mid", "score in 0..0.5"} <= texts
    assert len(texts) == workload.num_queries


def test_ranges_of_a_large_column_are_refused_by_name():
    with pytest.raises(CapacityError, match="'income'"):
        build("ranges", Schema("x", (Integer(name="income", min=0, max=99_999),)))


def test_file(tmp_path):
    path = file(tmp_path, {"marginals": [["c", "a"], ["b"], ["a", "c"]], "weights": [2, 1, 5], "table": "t"})
    workload = build(str(path), DOMAIN)
    assert workload == build(path, DOMAIN)
    assert workload.column_sets == ((0, 2), (1,))
    assert [group.weight for group in workload.groups] == [7, 1]


def test_columns_of(tmp_path):
    assert columns_of("3-way") is None
    assert columns_of([("a", "b")]) is None
    assert columns_of(file(tmp_path, {"marginals": [["a"]]})) is None
    assert columns_of(file(tmp_path, {"marginals": [["a"]], "columns": ["b", "a"]})) == ["b", "a"]
    with pytest.raises(QueryError, match="list of column names"):
        columns_of(file(tmp_path, {"marginals": [["a"]], "columns": "a"}))


def test_list_of_marginals_texts_and_queries(schema):
    query = Query((0,), (np.array([True, False]),))
    workload = build([("age", "sex"), "age < 20 and sex = Male", "age is missing and sex = Female", query], schema)
    assert workload.column_sets == ((0, 1), (0,))
    assert [group.num_queries for group in workload.groups] == [10, 2, 1]
    assert workload.query(11) == parse("age is missing and sex = Female", schema)
    assert workload.query(12) == query


def test_a_workload_passes_through():
    workload = build("1-way", DOMAIN)
    assert build(workload, DOMAIN) is workload
    with pytest.raises(QueryError, match="other columns"):
        build(workload, DOMAIN.project(["a"]))


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "3way",
        "three-way",
        "2-way,",
        "random 3-way",
        "random x 3-way",
        "3-way seed 1",
        "everything",
        7,
        [3],
        [("a", 3)],
        [()],
    ],
)
def test_what_is_not_understood(spec):
    with pytest.raises(QueryError):
        build(spec, DOMAIN)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("6-way", "there are 5"),
        ("0-way", "at least one"),
        ("random 11 3-way", "1 to 10"),
        ("random 0 3-way", "1 to 10"),
        ("random 6-way x 3", "there are 5"),
        ("random 5-way x 10000", "1 to 96"),
        ("prefixes", "a domain does not"),
        (["a = 1"], "a domain does not"),
        ([("a", "z")], "no column 'z'"),
        ([("a", "a")], "twice"),
        ([Query((7,), (np.array([True]),))], "does not have"),
    ],
)
def test_what_does_not_fit(spec, message):
    with pytest.raises(QueryError, match=message):
        build(spec, DOMAIN)


def test_prefixes_need_an_ordinal_column():
    with pytest.raises(QueryError, match="ordinal"):
        build("prefixes", Schema("x", (Categorical(name="sex", values=("F", "M")),)))


@pytest.mark.parametrize(
    "content",
    [
        "{",
        [],
        {},
        {"marginals": []},
        {"marginals": [[]]},
        {"marginals": ["ab"]},
        {"marginals": [["a"]], "weights": [0]},
        {"marginals": [["a"]], "weights": [1, 2]},
        {"marginals": [["a"]], "weights": [1.5]},
        {"marginals": [["a"]], "weights": [True]},
        {"marginals": [["unknown"]]},
    ],
)
def test_bad_files(tmp_path, content):
    with pytest.raises(QueryError):
        build(file(tmp_path, content), DOMAIN)


def test_missing_file(tmp_path):
    with pytest.raises(QueryError, match="no workload file"):
        build(tmp_path / "none.json", DOMAIN)


def test_a_huge_marginal_is_refused_by_name():
    domain = Domain(("zip", "income", "sex"), (50_000, 60_000, 2))
    with pytest.raises(CapacityError, match="zip, income"):
        build("2-way", domain)


def test_too_many_marginals_are_refused():
    with pytest.raises(CapacityError, match="random M 6-way"):
        build("6-way", Domain(tuple(f"c{i}" for i in range(60)), (2,) * 60))


def test_a_query_over_a_huge_marginal_is_refused_by_name():
    schema = Schema("x", (Codes(name="zip", size=60_000), Codes(name="income", size=60_000)))
    with pytest.raises(CapacityError, match="zip, income"):
        build(["zip = 3 and income = 4"], schema)
