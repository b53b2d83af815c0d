"""One column at a time: synthetic rows against the model, and against the noisy measurements where there are any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from equipoise.core import Codes, FloatArray
from equipoise.data.columns import Column
from equipoise.report.folding import Folding, fold
from equipoise.report.measurements import Measurements, Noisy
from equipoise.report.numbers import amount, percent
from equipoise.report.subject import Subject
from equipoise.report.svg import Axis, picture, shorten, tag

__all__ = ["MOST_PANELS", "Panel", "draw", "noisy_panels", "shares_of"]

MOST_PANELS = 30
"""Columns drawn: a reader compares a page of small pictures, not five."""

MOST_LINES = 12
"""Values listed one a line; a column with more is drawn as a histogram, or its rarest values share a line."""

MOST_BARS = 60
"""Bars of a histogram: two pixels each at the width used."""

WIDTH, GUTTER, NUMBER, LINE = 300.0, 104.0, 46.0, 17.0


@dataclass(frozen=True)
class Panel:
    """What is drawn of one column: shares of the synthetic rows, of the model, and marks to compare them with.

    Attributes:
        marks: Noisy measurements, or in the internal report the private table's own shares; NaN where unknown.
        mark_name: What the marks are, for those who read the description.
    """

    column: Column
    rows: FloatArray
    model: FloatArray
    marks: Noisy | None
    mark_name: str = "noisy measurement"


def shares_of(codes: Codes, column: int, size: int) -> FloatArray:
    """Share of the rows with each code."""
    return np.asarray(np.bincount(codes[column], minlength=size) / max(1, codes.shape[1]))


def noisy_panels(subject: Subject, measurements: Measurements) -> list[Panel]:
    """The panels of the report: the first columns, up to `MOST_PANELS`."""
    return [
        Panel(
            column,
            shares_of(subject.rows, index, column.size),
            subject.distribution.marginal((index,)),
            measurements.marginal((index,)),
        )
        for index, column in enumerate(subject.schema.columns[:MOST_PANELS])
    ]


def draw(panel: Panel) -> Markup:
    """The picture of a panel: lines of bars, or a histogram when the column is ordered and long."""
    column = panel.column
    long = column.ordinal and column.size > MOST_LINES
    folding = fold(column, panel.rows, MOST_BARS if long else MOST_LINES)
    rows, model = folding.sums(panel.rows), folding.sums(panel.model)
    marks = None
    if panel.marks is not None:
        values = folding.sums(panel.marks.values)
        marks = Noisy(values, np.sqrt(folding.sums(panel.marks.stddevs**2)))
    title = f"Column {column.name}: share of records by value"
    return (_histogram if long else _lines)(title, _describe(panel, folding, rows), folding, rows, model, marks)


def _describe(panel: Panel, folding: Folding, rows: FloatArray) -> str:
    largest = int(np.argmax(rows))
    gap = float(np.abs(panel.rows - panel.model).max())
    text = (
        f"{amount(panel.column.size, 'value')}. Most frequent in the synthetic rows: {folding.labels[largest]},"
        f" {percent(rows[largest], 1)}. Rows and model differ by at most {percent(gap)}."
    )
    if panel.marks is not None:
        text += f" {amount(int(np.isfinite(panel.marks.values).sum()), 'value')} with a {panel.mark_name}."
    return text


def _upper_end(rows: FloatArray, model: FloatArray, marks: Noisy | None) -> float:
    """The largest share drawn; whiskers count up to a little beyond the bars, so noise cannot flatten the picture."""
    top = max(float(rows.max()), float(model.max()), 1e-9)
    if marks is None or not np.isfinite(marks.values).any():
        return top
    return max(top, min(float(np.nanmax(marks.values + 2 * marks.stddevs)), 1.5 * top))


def _whisker(marks: Noisy, place: int, scale: Axis, across: float, *, upright: bool) -> list[Markup]:
    value, reach = float(marks.values[place]), 2 * float(marks.stddevs[place])
    if not np.isfinite(value):
        return []
    low, middle, high = scale(value - reach), scale(value), scale(value + reach)
    if upright:
        ends, centre = {"x1": across, "x2": across, "y1": low, "y2": high}, {"cx": across, "cy": middle}
    else:
        ends, centre = {"x1": low, "x2": high, "y1": across, "y2": across}, {"cx": middle, "cy": across}
    line = [tag("line", class_="mark", **ends)] if reach > 0 else []
    return [*line, tag("circle", class_="mark", r=2.6, **centre)]


def _lines(
    title: str, description: str, folding: Folding, rows: FloatArray, model: FloatArray, marks: Noisy | None
) -> Markup:
    drawn = slice(0, folding.num_drawn)
    seen = None if marks is None else Noisy(marks.values[drawn], marks.stddevs[drawn])
    scale = Axis(0, _upper_end(rows[drawn], model[drawn], seen), GUTTER, WIDTH - NUMBER)
    height = LINE * len(folding.labels) + 4
    parts: list[Markup] = []
    for place, label in enumerate(folding.labels):
        middle = LINE * place + LINE / 2 + 2
        parts.append(tag("text", shorten(label, GUTTER - 8), x=GUTTER - 7, y=middle + 4, class_="label end"))
        parts.append(tag("text", percent(rows[place], 1), x=WIDTH, y=middle + 4, class_="number end"))
        if place >= folding.num_drawn:
            continue
        end, expected = scale(rows[place]), scale(model[place])
        parts.append(tag("rect", x=GUTTER, y=middle - 5.5, width=end - GUTTER, height=11, class_="rows"))
        parts.append(tag("line", x1=expected, x2=expected, y1=middle - 7, y2=middle + 7, class_="model"))
        if seen is not None:
            parts += _whisker(seen, place, scale, middle, upright=False)
    parts.append(tag("line", x1=GUTTER, x2=GUTTER, y1=0, y2=height, class_="axis"))
    return picture(WIDTH, height, title, description, parts)


def _histogram(
    title: str, description: str, folding: Folding, rows: FloatArray, model: FloatArray, marks: Noisy | None
) -> Markup:
    base, number = 128.0, len(folding.labels)
    scale = Axis(0, _upper_end(rows, model, marks), base, 10)
    step = (WIDTH - 46) / number
    lefts = [40 + step * place for place in range(number)]
    parts: list[Markup] = []
    for tick in scale.ticks(3):
        parts.append(tag("line", x1=40, x2=WIDTH - 6, y1=scale(tick), y2=scale(tick), class_="grid"))
        parts.append(tag("text", f"{100 * tick:g} %", x=36, y=scale(tick) + 4, class_="number end"))
    gap = min(1.0, step / 5)
    for place, left in enumerate(lefts):
        top = scale(rows[place])
        parts.append(tag("rect", x=left, y=top, width=step - gap, height=base - top, class_="rows"))
    outline = " ".join(f"{x:.1f},{scale(model[p]):.1f}" for p, left in enumerate(lefts) for x in (left, left + step))
    parts.append(tag("polyline", points=outline, class_="model"))
    if marks is not None:
        for place, left in enumerate(lefts):
            parts += _whisker(marks, place, scale, left + step / 2, upright=True)
    ends = ((lefts[0], folding.labels[0], "label"), (lefts[-1] + step, folding.labels[-1], "label end"))
    parts += [tag("text", shorten(label, 120), x=x, y=base + 15, class_=kind) for x, label, kind in ends]
    parts.append(tag("line", x1=40, x2=WIDTH - 6, y1=base, y2=base, class_="axis"))
    return picture(WIDTH, base + 20, title, description, parts)
