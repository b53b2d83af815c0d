"""The pictures' arithmetic: axes, folding, associations, and marks where they belong."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.report.releases import NUM_ROWS, made_up, people

from equipoise.data.dates import Date
from equipoise.data.listed import Categorical, Ordinal
from equipoise.data.real import Real
from equipoise.data.schema import Schema
from equipoise.data.whole import Codes
from equipoise.report.folding import brief, fold
from equipoise.report.histogram import draw_histogram
from equipoise.report.measurements import Noisy, collect, singles
from equipoise.report.one_way import Panel, draw
from equipoise.report.scatter import agreement, draw_clearest, draw_residuals
from equipoise.report.svg import Axis, shorten, tag
from equipoise.report.two_way import Association, associations, chosen, cramers_v, heat_map


def test_an_axis_holds_what_is_outside_at_its_ends() -> None:
    axis = Axis(-1, 3, 10, 50)
    assert [axis(-9), axis(-1), axis(1), axis(3), axis(9)] == [10, 10, 30, 50, 50]
    assert Axis(2, 2, 10, 50)(2) == 10


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 0.00037), (-3.5, 3.5), (0.5, 2000.5), (-0.02, 0.9)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = Axis(low, high, 0, 1).ticks()
    assert 2 <= len(ticks) <= 6
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
    assert not any(str(tick) == "-0.0" for tick in ticks)


def test_markup_escapes_children_and_attributes() -> None:
    assert str(tag("text", "<b>", x='"')) == '<text x="&#34;">&lt;b&gt;</text>'


def test_shortened_text_is_never_longer() -> None:
    assert shorten("x" * 50, 55) == "x" * 8 + "…"


def test_folding_keeps_the_largest_values_and_gathers_the_rest() -> None:
    column = Categorical(name="c", values=tuple("abcdefgh"))
    folding = fold(column, np.array([1, 8, 2, 7, 3, 6, 4, 5.0]), 4)
    assert folding.labels == ("b", "d", "f", "5 other values")
    assert folding.sums(np.array([1, 8, 2, 7, 3, 6, 4, 5.0])).tolist() == [8, 7, 6, 15]


def test_folding_keeps_what_is_not_a_bin_apart() -> None:
    column = Real(name="r", min=0, max=20, bins=20, nullable=True, out_of_bounds="bucket")
    folding = fold(column, np.zeros(column.size), 8)
    assert folding.labels[0].startswith("(below")
    assert folding.labels[1:3] == ("0..4", "4..8")
    assert folding.labels[-1] == "(missing)"
    assert len(folding.labels) == 8
    assert np.bincount(folding.place).tolist() == [1, 4, 4, 4, 4, 4, 1, 1]


def test_folding_of_ordered_words_merges_neighbours() -> None:
    column = Ordinal(name="o", values=tuple(f"v{i}" for i in range(7)))
    assert fold(column, np.zeros(7), 3).labels == ("v0..v2", "v3..v5", "v6")


def test_labels_of_whole_months_and_years_are_brief() -> None:
    column = Date(name="d", min="2020-01-01", max="2024-12-31")
    assert brief(column, "2020-02-01..2020-02-29") == "2020-02"
    assert brief(column, "2020-02-01..2020-02-28") == "2020-02-01..2020-02-28"
    assert brief(column, "2020-01-01..2023-12-31") == "2020..2023"
    assert brief(Codes(name="c", size=2), "2020-02-01..2020-02-29") == "2020-02-01..2020-02-29"


def test_association_is_near_zero_for_independent_columns_and_one_for_equal_ones() -> None:
    rng = np.random.default_rng(0)
    free = np.histogram2d(rng.integers(0, 20, 3000), rng.integers(0, 20, 3000), bins=20)[0].astype(np.int64)
    assert cramers_v(free) < 0.05  # without the correction it would be about 0.08
    assert cramers_v(np.diag([5, 7, 9])) == pytest.approx(1.0)
    assert cramers_v(np.array([[5, 0], [7, 0]])) == 0.0
    assert cramers_v(np.zeros((2, 2), dtype=np.int64)) == 0.0


def test_pairs_with_too_many_cells_are_left_out() -> None:
    schema = Schema("big", (Codes(name="a", size=600), Codes(name="b", size=600), Codes(name="c", size=2)))
    subject = made_up(schema, "1-way")
    assert [(pair.first, pair.second) for pair in associations(subject)] == [(0, 2), (1, 2)]


def test_no_column_is_drawn_more_than_twice() -> None:
    pairs = [Association(0, j, 1 - j / 100) for j in range(1, 9)] + [Association(7, 8, 0.1), Association(5, 6, 0.01)]
    assert [(pair.first, pair.second) for pair in chosen(pairs)] == [(0, 1), (0, 2), (7, 8)]


def test_the_first_pair_is_drawn_however_faint() -> None:
    assert chosen([Association(0, 1, 0.0), Association(1, 2, 0.0)]) == [Association(0, 1, 0.0)]


def test_a_heat_map_marks_what_was_measured() -> None:
    whole = made_up(people(), [("sex", "member")], whole_marginals=True)
    drawn = heat_map(whole, collect(whole), Association(0, 6, 0.5))
    assert drawn.picture.count('class="whole"') == 6
    assert drawn.note.startswith("6 cells measured")
    part = made_up(people(), [("sex", "education", "member")], num_measured=1)
    drawn = heat_map(part, collect(part), Association(0, 6, 0.5))
    assert (drawn.picture.count('class="whole"'), drawn.picture.count('class="part"')) == (0, 1)
    assert drawn.note == ""


def test_the_rest_is_told_but_not_drawn() -> None:
    column = Categorical(name="c", values=tuple(f"v{i}" for i in range(40)))
    shares = np.full(40, 1 / 40)
    drawn = draw(Panel(column, shares, shares, None))
    assert "29 other values" in drawn
    assert "72.5 %" in drawn
    assert drawn.count('width="150" height="11" class="rows"') == 11


def test_a_panel_marks_measured_values_only() -> None:
    column = Codes(name="c", size=3)
    shares = np.array([0.2, 0.3, 0.5])
    marks = Noisy(np.array([np.nan, 0.31, np.nan]), np.array([np.nan, 0.01, np.nan]))
    assert draw(Panel(column, shares, shares, None)).count('class="mark"') == 0
    assert draw(Panel(column, shares, shares, marks)).count('<circle class="mark"') == 1


def test_bars_are_as_long_as_the_shares() -> None:
    drawn = draw(Panel(Codes(name="c", size=2), np.array([0.25, 0.75]), np.array([0.25, 0.75]), None))
    assert 'width="50" height="11" class="rows"' in drawn
    assert 'width="150" height="11" class="rows"' in drawn


@pytest.mark.parametrize("values", [np.zeros(5), np.full(5, 0.2), np.array([-0.1, 0.1]), np.array([0.3])])
def test_histograms_of_little_or_nothing(values: np.ndarray) -> None:
    drawn = draw_histogram(values, "title", "words", outline=values / 2, logarithmic=True)
    assert "nan" not in drawn
    assert 'class="rows"' in drawn


def test_measurements_of_one_round_are_drawn_apart() -> None:
    subject = made_up(people(), whole_marginals=True)
    subject = replace(subject, moves=subject.moves[:1])
    model = subject.workload.on(subject.distribution)
    found = agreement(singles(subject), model, model)
    assert found is not None
    places = re.findall(r'<circle cx="([\d.]+)"', str(draw_residuals(found)))
    assert len(set(places)) == len(places) == len(subject.moves[0].ids) > 20


@pytest.mark.parametrize("noise", [100.0, 5.0])
def test_the_clearest_answers_are_not_the_noisiest(noise: float) -> None:
    """A query measured with much noise looks large by chance; one that stands out from little noise comes first.

    So it does where the noise makes a share of several wholes, a standard deviation of its own from none.
    """
    subject = made_up(people(), num_measured=60)
    loud = [move._replace(values=5 * NUM_ROWS + 0 * move.ids, stddev=noise * NUM_ROWS) for move in subject.moves[30:]]
    subject = replace(subject, moves=(*subject.moves[:30], *loud))
    model = subject.workload.on(subject.distribution)
    found = agreement(singles(subject), model, model)
    assert found is not None
    picture = str(draw_clearest(subject, found))
    assert picture.count('class="hollow"') == 20
    assert "500.00 %" not in picture
