"""Every measurement against the model: does the model agree with what was measured, up to the noise that was added?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from equipoise.core import FloatArray, IntArray
from equipoise.report.measurements import Single
from equipoise.report.numbers import amount, count, percent
from equipoise.report.subject import Subject
from equipoise.report.svg import Axis, picture, shorten, tag

__all__ = ["Agreement", "agreement", "draw_agreement", "draw_clearest", "draw_residuals", "draw_worst"]

MOST_POINTS = 2000
"""Points of a scatter plot; with more, evenly spaced ones are drawn and the page says so."""

MOST_LINES = 20
WIDE, LABEL, PLOT = 920.0, 400.0, 260.0


class Agreement(NamedTuple):
    """How the model and the rows answer what was measured.

    Attributes:
        single: The measurements.
        model: The model's answers to them.
        rows: The synthetic rows' answers to them.
        residuals: (measured - model) in standard deviations of the noise.
    """

    single: Single
    model: FloatArray
    rows: FloatArray
    residuals: FloatArray

    @property
    def within_two(self) -> float:
        """Share of the measurements within two standard deviations of the model."""
        return float((np.abs(self.residuals) <= 2).mean())

    def drawn(self) -> IntArray:
        """Positions of the measurements that a scatter plot shows."""
        number = len(self.residuals)
        return np.unique(np.linspace(0, number - 1, min(number, MOST_POINTS)).astype(np.int64))


def agreement(single: Single, model_answers: FloatArray, row_answers: FloatArray) -> Agreement | None:
    """The measurements with the two answers; None when nothing was measured."""
    if not len(single.ids):
        return None
    model = model_answers[single.ids]
    noise = np.maximum(single.stddevs, 1e-12)
    return Agreement(single, model, row_answers[single.ids], (single.values - model) / noise)


def _signed_root(values: FloatArray) -> FloatArray:
    """Spreads the many small shares out; noisy ones may be negative."""
    return np.asarray(np.sign(values) * np.sqrt(np.abs(values)))


def draw_agreement(found: Agreement) -> Markup:
    """Noisy measurement (across) against the model's answer (up), both on a square-root scale."""
    chosen = found.drawn()
    noisy, model = _signed_root(found.single.values[chosen]), _signed_root(found.model[chosen])
    across = Axis(min(0.0, float(noisy.min())), max(float(noisy.max()), 1e-6) * 1.03, 62, 430)
    up = Axis(0, max(float(model.max()), 1e-6) * 1.06, 262, 10)
    parts: list[Markup] = []
    for share in _round_shares(across, 46):
        x = across(float(_signed_root(np.array(share))))
        parts.append(tag("line", x1=x, x2=x, y1=10, y2=262, class_="axis" if share == 0 else "grid"))
        parts.append(tag("text", f"{100 * share:g} %".replace("-", "−"), x=x, y=277, class_="number middle"))
    for share in _round_shares(up, 22):
        y = up(share**0.5)
        parts.append(tag("line", x1=62, x2=430, y1=y, y2=y, class_="axis" if share == 0 else "grid"))
        parts.append(tag("text", f"{100 * share:g} %", x=56, y=y + 4, class_="number end"))
    end = min(across.high, up.high)
    parts.append(tag("line", x1=across(0), y1=up(0), x2=across(end), y2=up(end), class_="model"))
    parts += [tag("circle", cx=across(x), cy=up(y), r=2.2, class_="point") for x, y in zip(noisy, model, strict=True)]
    parts.append(tag("text", "noisy measurement", x=246, y=294, class_="label middle"))
    parts.append(tag("text", "model", x=10, y=136, transform="rotate(-90 10 136)", class_="label middle"))
    told = f"{amount(len(noisy), 'point')} near the diagonal where both agree. Square-root scale."
    return picture(440, 300, "The model's answers against the noisy measurements", told, parts)


def _round_shares(axis: Axis, apart: float) -> list[float]:
    """Shares to mark on an axis of signed roots: 1, 2 or 5 times a power of ten, at least `apart` pixels apart."""
    marks = [0.0]
    rounds = [m * 10.0**k for k in range(-9, 1) for m in (1, 2, 5)]
    for side, limit in ((1, axis.high), (-1, -axis.low)):
        latest = 0.0
        for share in rounds:
            far = abs(axis(side * share**0.5) - axis(side * latest**0.5)) >= apart
            if share**0.5 <= limit and far:
                marks.append(side * float(f"{share:.3g}"))
                latest = share
    return sorted(marks)


def draw_residuals(found: Agreement) -> Markup:
    """Residuals in standard deviations, in the order of the rounds, with the band where 95 % of pure noise lies."""
    chosen = found.drawn()
    residuals = found.residuals[chosen]
    reach = max(3.5, float(np.abs(residuals).max()) * 1.05)
    across, up = Axis(0.5, len(found.residuals) + 0.5, 40, 430), Axis(-reach, reach, 262, 10)
    parts = [tag("rect", x=40, y=up(2), width=390, height=up(-2) - up(2), class_="band")]
    for tick in up.ticks(7):
        parts.append(tag("line", x1=40, x2=430, y1=up(tick), y2=up(tick), class_="axis" if tick == 0 else "grid"))
        parts.append(tag("text", f"{tick:g}".replace("-", "−"), x=34, y=up(tick) + 4, class_="number end"))
    for tick in across.ticks(6):
        if tick == int(tick) and tick >= 1:
            parts.append(tag("text", count(tick), x=across(tick), y=277, class_="number middle"))
    parts += [
        tag("circle", cx=across(x), cy=up(y), r=2.2, class_="point") for x, y in zip(chosen + 1, residuals, strict=True)
    ]
    parts.append(tag("text", "measurement, in the order of the rounds", x=235, y=294, class_="label middle"))
    told = f"{percent(found.within_two, 0)} of the measurements lie within two standard deviations of the model."
    return picture(440, 300, "Measurement minus model, in standard deviations of the noise", told, parts)


def draw_clearest(subject: Subject, found: Agreement) -> Markup:
    """The measured queries whose noisy answers stand out most from their noise."""
    # No answer is above 1, so what noise puts beyond that is no clearer for it.
    possible = np.minimum(found.single.values, 1.0)
    order = np.argsort(-possible / np.maximum(found.single.stddevs, 1e-12), kind="stable")
    return _lines(subject, found, order, MOST_LINES, "The clearest measured answers")


def draw_worst(subject: Subject, found: Agreement) -> Markup:
    """The measured queries that the model is furthest from."""
    order = np.argsort(-np.abs(found.residuals), kind="stable")
    return _lines(subject, found, order, MOST_LINES // 2, "The measured answers furthest from the model")


def _lines(subject: Subject, found: Agreement, order: IntArray, most: int, title: str) -> Markup:
    # A query measured more than once is shown once, by its first place in the order.
    _, firsts = np.unique(found.single.ids[order], return_index=True)
    chosen = order[np.sort(firsts)][:most]
    single, step = found.single, 20.0
    tops = [single.values[chosen] + 2 * single.stddevs[chosen], found.model[chosen], found.rows[chosen]]
    lows = single.values[chosen] - 2 * single.stddevs[chosen]
    values = Axis(min(0.0, float(lows.min())), max(float(top.max()) for top in tops), LABEL, LABEL + PLOT)
    spread = max(3.0, float(np.abs(found.residuals[chosen]).max()) * 1.1)
    noise = Axis(-spread, spread, LABEL + PLOT + 74, WIDE - 8)
    foot = 22 + step * len(chosen)
    parts = _line_scales(values, noise, foot)
    for line, k in enumerate(chosen):
        y = 22 + step * (line + 0.5)
        value, reach = float(single.values[k]), 2 * float(single.stddevs[k])
        text = subject.workload.describe(int(single.ids[k]), subject.schema)
        label = tag(
            "text", tag("title", text[:400]), shorten(text, LABEL - 12), x=LABEL - 10, y=y + 4, class_="label end"
        )
        model, rows = values(found.model[k]), values(found.rows[k])
        parts += [
            label,
            tag("line", x1=values(value - reach), x2=values(value + reach), y1=y, y2=y, class_="mark"),
            tag("circle", cx=values(value), cy=y, r=3, class_="mark"),
            tag("line", x1=model, x2=model, y1=y - 7, y2=y + 7, class_="model"),
            tag("circle", cx=rows, cy=y, r=4.6, class_="hollow"),
            tag("text", percent(value), x=LABEL + PLOT + 60, y=y + 4, class_="number end"),
            tag("line", x1=noise(0), x2=noise(-found.residuals[k]), y1=y, y2=y, class_="stem"),
            tag("circle", cx=noise(-found.residuals[k]), cy=y, r=3, class_="point"),
        ]
    told = (
        "For each query: the noisy answer with two standard deviations, the model's answer, the synthetic rows' answer."
    )
    return picture(WIDE, foot + 22, title, told, parts)


def _line_scales(values: Axis, noise: Axis, foot: float) -> list[Markup]:
    parts = [
        tag("text", "share of the records", x=(values.start + values.end) / 2, y=11, class_="label middle"),
        tag("text", "model − measured, stddevs", x=(noise.start + noise.end) / 2, y=11, class_="label middle"),
        tag("text", "measured", x=LABEL + PLOT + 60, y=11, class_="label end"),
        tag("rect", x=noise(-2), y=20, width=noise(2) - noise(-2), height=foot - 20, class_="band"),
    ]
    for tick in values.ticks(4):
        parts.append(tag("line", x1=values(tick), x2=values(tick), y1=20, y2=foot, class_="grid"))
        text = f"{100 * tick:g} %".replace("-", "−")
        parts.append(tag("text", text, x=values(tick), y=foot + 15, class_="number middle"))
    for tick in noise.ticks(5):
        kind = "axis" if tick == 0 else "grid"
        parts.append(tag("line", x1=noise(tick), x2=noise(tick), y1=20, y2=foot, class_=kind))
        text = f"{tick:g}".replace("-", "−")
        parts.append(tag("text", text, x=noise(tick), y=foot + 15, class_="number middle"))
    return parts
