"""What the report says in words: the promise is never stronger than the numbers, and every paper resolves."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from tests.unit.report.releases import made_up, people

from equipoise.data.dates import Date
from equipoise.data.schema import Schema
from equipoise.data.whole import Codes, Integer
from equipoise.report.declarations import declarations
from equipoise.report.guarantee import budget, guarantee, largest_power
from equipoise.report.references import bibliography, entries

KEYS = (
    "hardt2012simple",
    "liu2021iterative",
    "liu2021leveraging",
    "mckenna2020permute",
    "bun2016concentrated",
    "canonne2020discrete",
    "cesar2021bounding",
    "durfee2019practical",
    "mcsherry2007mechanism",
    "gaboardi2014dual",
    "vietri2020new",
    "neel2019heuristics",
    "hsu2013differential",
)


def statement(**changes: Any) -> dict[str, Any]:
    base = made_up(people()).statement
    return base | {"guarantee": base["guarantee"] | changes}


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(0.1, "can hardly tell"), (1.0, "can hardly tell"), (2.0, "only with limited confidence"), (10.0, "is weak")],
)
def test_the_promise_weakens_with_epsilon(epsilon: float, words: str) -> None:
    assert words in guarantee(statement(epsilon=epsilon)).promise


def test_the_power_is_bounded_by_both_sides_of_the_definition() -> None:
    assert largest_power(0.5, 0.01) == pytest.approx(0.05 * 2.718281828459045**0.5 + 0.01)
    assert largest_power(5.0, 0.0) == pytest.approx(1 - 0.95 * 2.718281828459045**-5)
    assert largest_power(1e6, 0.0) == 1.0
    assert largest_power(0.0, 1.0) == 1.0
    # Neyman and Pearson: N(0, 1) against N(mu, 1) at level 0.05, z = 1.6449; where epsilon says less, that counts.
    assert largest_power(1.0, 1e-9, mu=0.178) == pytest.approx(0.5 * math.erfc((1.6448536 - 0.178) / math.sqrt(2)))
    assert largest_power(0.01, 0.0, mu=3.0) == largest_power(0.01, 0.0)


def test_a_unit_is_named_with_its_rows() -> None:
    assert "the rows (up to 3) of any one person_id in people were as they are" in guarantee(statement()).promise
    assert "the row of any one person_id in people was as it is" in guarantee(statement(rows_per_unit=1)).promise


def test_shares_of_the_budget_add_up() -> None:
    spent = budget(statement())
    assert sum(line.share for line in spent) == pytest.approx(1.0)
    assert spent[1].share == pytest.approx(2 / 3)


def test_a_budget_without_cost_has_no_shares() -> None:
    free = statement() | {"events": [{"words": "nothing", "times": 1, "rho": 0.0}]}
    assert budget(free)[0].share == 0.0


def test_every_paper_has_a_whole_entry() -> None:
    assert set(KEYS) <= set(bibliography())
    for key, entry in bibliography().items():
        assert entry.count("{") == entry.count("}")
        for field in ("author", "title", "year"):
            assert re.search(rf"^  {field}\s+= \{{.+\}}", entry, flags=re.MULTILINE), key
        assert re.search(r"eprint +=|doi +=", entry), key


def test_entries_keep_the_order_once_each_and_name_what_is_unknown() -> None:
    found = entries(["gaboardi2014dual", "nobody2099nothing", "gaboardi2014dual"])
    assert len(found) == 2
    assert found[0].startswith("@inproceedings{gaboardi2014dual,")
    assert "nobody2099nothing" in found[1]


def test_declarations_say_what_the_schema_says() -> None:
    lines = {line.name: line for line in declarations(people(), ["age"])}
    assert lines["age"].values == "16 to 90, 15 bins"
    assert lines["age"].source == "read from the data, accepted"
    assert lines["income"].inferred
    assert not lines["sex"].inferred
    assert lines["income"].values == "0 to 100000, 20 bins"
    assert lines["income"].num_codes == 23
    assert lines["hired"].outside == "moved to the nearest bound"
    assert lines["work"].values == "0 to 8"
    assert lines["region"].values.endswith("and 13 more")
    assert lines["member"].missing == "a value of its own"


def test_declarations_of_columns_of_a_single_bin() -> None:
    columns = (
        Integer(name="one", min=7, max=7),
        Date(name="day", min="2024-05-01", max="2024-05-01"),
        Codes(name="code", size=1),
    )
    lines = declarations(Schema("small", columns), [])
    assert [line.values for line in lines] == ["7 to 7, 1 bin", "2024-05-01 to 2024-05-01, 1 bin", "0 to 0"]
