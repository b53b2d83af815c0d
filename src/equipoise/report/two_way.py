"""Two columns at a time: how strongly the synthetic rows tie them together, and the strongest pairs in full."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from equipoise.core import FloatArray
from equipoise.queries import counting
from equipoise.report.folding import fold
from equipoise.report.measurements import Measurements
from equipoise.report.numbers import amount, percent
from equipoise.report.subject import Subject
from equipoise.report.svg import Axis, picture, shorten, slanted, tag

__all__ = ["MOST_COLUMNS", "Association", "HeatMap", "associations", "chosen", "draw_matrix", "heat_map", "strongest"]

MOST_COLUMNS = 30
"""Columns in the matrix: beyond it the cells are too small to read on A4."""

MOST_PAIRS = 6
MOST_REPEATS = 2
FAINT = 0.05
"""Below it two columns look independent in a heat map; only the first pair is drawn whatever its strength."""

MOST_SIDE = 12
"""Rows and columns of a heat map."""

DARK = 0.75
"""Opacity from which text is written in the paper's colour: both are then readable on the blends of the style sheet."""

MOST_CELLS = 2**18
"""Cells of a pair that is looked at: beyond it, most cells are empty and an association says little."""

MOST_ROWS = 200_000
"""Rows that the associations are computed from: they are then good to the third decimal."""


class Association(NamedTuple):
    """Two columns and their bias-corrected Cramér's V in the synthetic rows."""

    first: int
    second: int
    strength: float


class HeatMap(NamedTuple):
    """A drawn pair: the picture, and how the synthetic rows sit against the measurements of its cells."""

    title: str
    picture: Markup
    note: str


def cramers_v(counts: NDArray[np.int64]) -> float:
    """Cramér's V with the correction for bias of Bergsma (2013): about 0 for independent columns at any sample size.

    Example:
        >>> round(cramers_v(np.array([[50, 0], [0, 50]])), 2), cramers_v(np.array([[25, 25], [25, 25]]))
        (1.0, 0.0)
    """
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(np.float64)
    total, (num_first, num_second) = float(table.sum()), table.shape
    if total < 2 or min(table.shape) < 2:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / total
    mean_square = float(((table - expected) ** 2 / expected).sum()) / total
    corrected = max(0.0, mean_square - (num_first - 1) * (num_second - 1) / (total - 1))
    sides = [size - (size - 1) ** 2 / (total - 1) for size in (num_first, num_second)]
    return min(1.0, math.sqrt(corrected / max(1e-12, min(sides) - 1)))


def associations(subject: Subject) -> list[Association]:
    """Of every pair of the first columns, up to `MOST_COLUMNS`; pairs with too many cells are left out."""
    sizes = subject.workload.domain.sizes
    pairs = [
        pair
        for pair in itertools.combinations(range(min(len(sizes), MOST_COLUMNS)), 2)
        if sizes[pair[0]] * sizes[pair[1]] <= MOST_CELLS
    ]
    if not pairs:
        return []
    step = math.ceil(subject.rows.shape[1] / MOST_ROWS)
    rows = np.ascontiguousarray(subject.rows[:MOST_COLUMNS, :: max(1, step)])
    found = {columns: cramers_v(tensor) for columns, tensor in counting.count(rows, pairs, sizes[:MOST_COLUMNS])}
    return [Association(*pair, found[pair]) for pair in pairs]


def strongest(pairs: list[Association]) -> list[Association]:
    """All pairs, the strongest first."""
    return sorted(pairs, key=lambda pair: (-pair.strength, pair.first, pair.second))


def chosen(pairs: list[Association]) -> list[Association]:
    """The pairs to draw: the strongest, none that is faint, no column more than twice.

    A rule on the synthetic rows alone: which pairs are drawn tells nothing more of the private table.
    """
    result: list[Association] = []
    for pair in strongest(pairs):
        if result and pair.strength < FAINT:
            break
        seen = [column for drawn in result for column in (drawn.first, drawn.second)]
        if len(result) < MOST_PAIRS and max(seen.count(pair.first), seen.count(pair.second)) < MOST_REPEATS:
            result.append(pair)
    return result


def draw_matrix(subject: Subject, pairs: list[Association]) -> Markup:
    """The lower triangle of associations, darker for stronger."""
    names = subject.schema.domain.columns[:MOST_COLUMNS]
    number, gutter = len(names), 120.0
    side = min(44.0, 640.0 / number)
    parts: list[Markup] = []
    for pair in pairs:
        x, y = gutter + side * pair.first, side * (pair.second - 1)
        hint = tag("title", f"{names[pair.first]} and {names[pair.second]}: {pair.strength:.2f}")
        parts.append(
            tag(
                "rect",
                hint,
                x=x,
                y=y,
                width=side - 1,
                height=side - 1,
                class_="heat",
                fill_opacity=f"{pair.strength:.2f}",
            )
        )
        parts.append(tag("rect", x=x, y=y, width=side - 1, height=side - 1, class_="frame"))
        if side >= 30:
            shade = "label middle" + (" inverse" if pair.strength > DARK else "")
            parts.append(tag("text", f"{pair.strength:.2f}", x=x + side / 2 - 0.5, y=y + side / 2 + 4, class_=shade))
    for index, name in enumerate(names):
        if index > 0:
            y = side * (index - 0.5) + 3.5
            parts.append(tag("text", shorten(name, gutter - 10), x=gutter - 8, y=y, class_="label end"))
    foot = side * (number - 1)
    labels, depth = slanted(names[:-1], [gutter + side * (i + 0.5) for i in range(number - 1)], foot, 100)
    parts += labels
    title = f"Association between {amount(number, 'column')} of the synthetic rows"
    best = strongest(pairs)[:3]
    told = "; ".join(f"{names[p.first]} and {names[p.second]} {p.strength:.2f}" for p in best)
    return picture(gutter + side * number, foot + depth, title, f"Cramér's V. Strongest: {told}.", parts)


def heat_map(subject: Subject, measurements: Measurements, pair: Association) -> HeatMap:
    """Joint shares of two columns in the synthetic rows, with what was measured of them marked."""
    columns = (pair.first, pair.second)
    first, second = (subject.schema.columns[c] for c in columns)
    ((_, counts),) = counting.count(subject.rows[list(columns)], [(0, 1)], (first.size, second.size))
    shares = counts / max(1, subject.rows.shape[1])
    down, across = fold(first, shares.sum(axis=1), MOST_SIDE), fold(second, shares.sum(axis=0), MOST_SIDE)
    touched = across.sums(down.sums(measurements.touched(columns).astype(np.float64)), axis=1) > 0
    noisy = measurements.marginal(columns)
    known, note = np.zeros(touched.shape, dtype=np.bool_), ""
    if noisy is not None:
        values = across.sums(down.sums(noisy.values), axis=1)
        known = np.isfinite(values)
        cells = np.isfinite(noisy.values)
        near = np.abs(shares - noisy.values)[cells] <= 2 * noisy.stddevs[cells]
        note = (
            f"{amount(int(cells.sum()), 'cell')} measured; in {int(near.sum()):,} the synthetic rows are within two"
            " standard deviations of the measurement."
        )
    title = f"{first.name} by {second.name}"
    joint = across.sums(down.sums(shares), axis=1)
    top = float(joint[: down.num_drawn, : across.num_drawn].max())
    drawn = _draw_cells(title, down.labels, across.labels, joint, top, known, touched)
    return HeatMap(title, drawn, note)


def _draw_cells(
    title: str,
    down: tuple[str, ...],
    across: tuple[str, ...],
    shares: FloatArray,
    top: float,
    known: NDArray[np.bool_],
    touched: NDArray[np.bool_],
) -> Markup:
    gutter, width = 104.0, 440.0
    cell_width, cell_height = (width - gutter) / len(across), 22.0
    scale = Axis(0, max(top, 1e-9), 0, 1)
    foot = cell_height * len(down)
    parts: list[Markup] = []
    for i, j in np.ndindex(shares.shape):
        x, y = gutter + cell_width * j, cell_height * i
        share = float(shares[i, j])
        opacity = f"{scale(share) ** 0.7:.2f}"  # lifts the small shares, which are most of the cells
        box = {"x": x, "y": y, "width": cell_width - 1, "height": cell_height - 1}
        hint = tag("title", f"{down[i]}, {across[j]}: {percent(share)}")
        parts.append(tag("rect", hint, class_="heat", fill_opacity=opacity, **box))
        parts.append(tag("rect", class_="frame", **box))
        if touched[i, j] or known[i, j]:
            size = 8 if known[i, j] else 5
            corner = f"M{x + cell_width - 1 - size:.1f} {y:.1f}h{size}v{size}z"
            parts.append(tag("path", d=corner, class_="whole" if known[i, j] else "part"))
        if cell_width >= 34:
            shade = "label middle" + (" inverse" if float(opacity) > DARK else "")
            text = f"{100 * share:.1f}"
            parts.append(tag("text", text, x=x + cell_width / 2, y=y + 15, class_=shade))
    for i, label in enumerate(down):
        text = shorten(label, gutter - 8)
        parts.append(tag("text", text, x=gutter - 7, y=cell_height * i + 15, class_="label end"))
    labels, depth = slanted(across, [gutter + cell_width * (j + 0.5) for j in range(len(across))], foot, 110)
    parts += labels
    i, j = np.unravel_index(int(shares.argmax()), shares.shape)
    told = f"Share of the synthetic rows. Largest: {down[i]} with {across[j]}, {percent(shares[i, j], 1)}."
    return picture(width, foot + depth, title, told, parts)
