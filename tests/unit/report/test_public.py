"""The public report: complete, self-contained, escaped, bounded in size, and the same every time."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from markupsafe import escape
from tests.unit.report.pages import read, words
from tests.unit.report.releases import NUM_ROWS, made_up, people

from equipoise.data.listed import Categorical
from equipoise.data.schema import Schema
from equipoise.data.whole import Codes
from equipoise.queries.query import Query
from equipoise.report import Subject, build


@pytest.fixture(scope="module")
def subject() -> Subject:
    return made_up(people())


@pytest.fixture(scope="module")
def page(subject: Subject) -> str:
    return build(subject)


def test_needs_nothing_from_the_network_and_no_script(page: str) -> None:
    reader = read(page)
    assert "script" not in reader.tags
    assert "link" not in reader.tags
    assert reader.addresses
    assert all(address.startswith("#") for address in reader.addresses)
    assert "url(" not in page
    assert "@import" not in page
    assert not re.search(r"https?://", page)


def test_links_lead_to_sections_of_the_page(page: str) -> None:
    for address in read(page).addresses:
        assert f'id="{address[1:]}"' in page


def test_every_picture_has_a_title_and_a_description(page: str) -> None:
    reader = read(page)
    assert reader.pictures > 10
    assert reader.named_pictures == reader.pictures
    assert page.count("<desc>") == reader.pictures


def test_holds_the_guarantee_in_figures_and_in_words(page: str, subject: Subject) -> None:
    text = words(page)
    for part in ("people", "person_id", "20,000", "2.5 × 10⁻⁹", "2.72 times", "13.6 %", "0.01235", "1 March 2025"):
        assert part in text
    for part in subject.statement["outside_the_guarantee"]:
        assert part in text
    for epsilon in ("0.654", "0.812", "0.946", "1.079", "1.178"):
        assert epsilon in text
    assert subject.statement["ledger_run"] in text


def test_holds_the_budget_by_event(page: str) -> None:
    text = words(page)
    assert "private selection of 1 query, epsilon 0.02" in text
    assert "33.3 %" in text
    assert "66.7 %" in text


def test_holds_the_error_bars(page: str, subject: Subject) -> None:
    assert subject.error_bars is not None
    text = words(page)
    assert f"{100 * np.median(subject.error_bars):.3f} %" in text
    assert f"{100 * subject.error_bars.max():.3f} %" in text
    assert f"{subject.error_bars.max() * NUM_ROWS:,.0f}" in text


def test_says_when_all_error_bars_are_the_same(subject: Subject) -> None:
    uniform = np.full(subject.workload.num_queries, 0.0123)
    text = words(build(replace(subject, error_bars=uniform)))
    assert "nearly the same for all queries" in text
    assert "1.230 %" in text


def test_describes_every_column_and_where_it_came_from(page: str, subject: Subject) -> None:
    text = words(page)
    for column in subject.schema.columns:
        assert column.name in text
    assert "read from the data, accepted" in text
    assert "phone, notes" in text
    assert "a value of its own on each side" in text
    assert "becomes “elsewhere”" in text


def test_holds_the_papers(page: str) -> None:
    text = words(page)
    assert "@inproceedings{liu2021iterative," in text
    assert "@inproceedings{canonne2020discrete," in text
    assert "gaboardi2014dual" not in text


def test_is_the_same_every_time(page: str, subject: Subject) -> None:
    assert build(subject) == page


def test_shows_single_columns_against_measurements_that_add_up_to_them() -> None:
    assert "8 of 8" in words(build(made_up(people(), whole_marginals=True, num_measured=100)))
    assert "No measurement was of a single column" in words(build(made_up(people(), num_measured=3)))


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a & b", "{{ 7 * 7 }}", "'; --", "é" * 300]
)
def test_hostile_names_and_labels_stay_text(name: str) -> None:
    columns = (
        Categorical(name=name, values=(f"{name} one", "two"), nullable=True),
        Categorical(name="other", values=tuple(f"{name} {i}" for i in range(40)), other=f"{name} rest"),
    )
    page = build(made_up(Schema(name, columns, dropped=(f"{name}!",)), [(name, "other")]))
    reader = read(page)
    assert "script" not in reader.tags
    assert "img" not in reader.tags
    assert name in words(page)
    assert f"<h1>{escape(name)}</h1>" in page


def test_hostile_statement_stays_text() -> None:
    schema = people()
    base = made_up(schema).statement
    attack = "<script>alert(1)</script>"
    method = base["method"] | {"options": {attack: attack}, "title": attack}
    page = build(made_up(schema, method=method, outside_the_guarantee=[attack], ledger_run=attack))
    assert "script" not in read(page).tags


def test_one_column() -> None:
    text = words(build(made_up(Schema("tiny", (Codes(name="only", size=2),)), "1-way")))
    assert "There is no pair of columns" in text
    assert "any one record of tiny" in text


def test_one_column_of_one_value() -> None:
    assert "100.0 %" in words(build(made_up(Schema("tiny", (Codes(name="only", size=1),)), "1-way")))


def test_many_columns_are_capped_and_the_page_says_so() -> None:
    schema = Schema("wide", tuple(Codes(name=f"c{i:02d}", size=4) for i in range(53)))
    page = build(made_up(schema, "random 64 2-way", num_measured=300))
    text = words(page)
    assert "The first 30 columns are drawn; 23 columns are left out here and listed below." in text
    assert "The first 30 columns; 23 columns are left out." in text
    assert all(f"c{i:02d}" in text for i in range(53))
    assert len(page) < 1_000_000


def test_many_values_are_folded_and_the_page_stays_small() -> None:
    columns = (
        Categorical(name="city", values=tuple(f"City {i}" for i in range(900))),
        Codes(name="postcode", size=5_000),
        Codes(name="sex", size=2),
    )
    page = build(made_up(Schema("places", columns), [("city",), ("city", "sex"), ("postcode",)], num_measured=2_500))
    text = words(page)
    assert "889 other values" in text
    assert "show 2,000 of them" in text
    assert len(page) < 2_000_000


def test_nothing_measured_and_no_error_bars() -> None:
    text = words(build(made_up(people(), num_measured=0, error_bars=False, events=[])))
    assert "No noisy answer was measured" in text
    assert "This method gives no error bars." in text
    assert "Nothing was asked of the private table." in text


def test_moves_that_select_without_measuring() -> None:
    subject = made_up(people())
    moves = tuple(move._replace(values=None, stddev=0.0) for move in subject.moves)
    text = words(build(replace(subject, moves=moves)))
    assert "No noisy answer was measured" in text


def test_a_model_that_misses_its_measurements_is_told(subject: Subject) -> None:
    far = tuple(
        move._replace(values=move.values + np.int64(3_000)) for move in subject.moves if move.values is not None
    )
    assert "does not follow its measurements well" in words(build(replace(subject, moves=far)))
    assert "does not follow its measurements well" not in words(build(subject))


def test_masked_workloads() -> None:
    schema = people()
    text = words(build(made_up(schema, "prefixes", num_measured=30)))
    assert "age (conjunctions or ranges)" in text
    assert "age <= " in text
    conjunction = Query((0, 7), (np.array([True, False]), np.arange(9) > 4))
    assert "sex × work" in words(build(made_up(schema, [conjunction])))


def test_no_synthetic_rows() -> None:
    assert "There is no pair of columns" in words(build(made_up(people(), num_synthetic=0)))


def test_a_pure_release_has_no_delta() -> None:
    schema = people()
    base = made_up(schema).statement["guarantee"]
    text = words(build(made_up(schema, guarantee=base | {"delta": 0.0, "unit": "one record", "rows_per_unit": 1})))
    assert "up to an added probability" not in text
    assert "any one record of people was as it is or had been replaced by another" in text


def test_shows_noisy_values_and_model_but_only_of_measured_queries() -> None:
    subject = made_up(people(), "1-way", num_measured=1)
    (move,) = subject.moves
    assert move.values is not None
    page = build(subject)
    assert subject.workload.describe(int(move.ids[0]), subject.schema) in words(page)
    assert f"{100 * move.values[0] / NUM_ROWS:.2f} %".replace("-", "−") in words(page)
