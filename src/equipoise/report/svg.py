"""Small SVG pictures, written by hand: no fonts, no script, no colours (the page's style sheet has them)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

__all__ = ["Axis", "picture", "shorten", "slanted", "tag"]

CHARACTER = 0.55
"""Width of an average character as a share of the font size, for sans-serif faces; a little generous."""

SINE = 0.643
"""Of the 40 degrees at which labels are slanted."""


def _attribute(value: object) -> str:
    if isinstance(value, float | np.floating):
        # A tenth of a pixel is finer than a printer's dot at the sizes used here.
        text = f"{value:.1f}"
        return text[:-2] if text.endswith(".0") else text
    return str(value)


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """An element; children and attributes are escaped, `class_` is written class and `font_size` font-size.

    Example:
        >>> print(tag("text", "a < b", x=1.25, class_="label"))
        <text x="1.2" class="label">a &lt; b</text>
        >>> print(tag("g", tag("rect", width=3)))
        <g><rect width="3"/></g>
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _attribute(value))
        for key, value in attributes.items()
        if value is not None
    )
    if not children:
        return Markup("<{}{}/>").format(Markup(name), written)
    inside = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), written, inside)


def picture(width: float, height: float, title: str, description: str, children: Iterable[Markup]) -> Markup:
    """A whole SVG with its title and description for readers who cannot see it."""
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        *children,
        viewBox=f"0 0 {_attribute(float(width))} {_attribute(float(height))}",
        width=float(width),
        height=float(height),
        role="img",
        # The title is the accessible name: screen readers take the first <title> child.
        class_="chart",
    )


def shorten(text: str, width: float, font_size: float = 11) -> str:
    """The text, cut with an ellipsis when it would be wider than `width`.

    Example:
        >>> shorten("education", 100), shorten("education", 30)
        ('education', 'edu…')
    """
    fits = max(2, int(width / (CHARACTER * font_size)))
    return text if len(text) <= fits else text[: fits - 1].rstrip() + "…"


def slanted(labels: Iterable[str], xs: Iterable[float], y: float, width: float) -> tuple[list[Markup], float]:
    """Labels under the columns of a picture, rising to the right, and the height that they need."""
    texts = [shorten(label, width) for label in labels]
    parts = [
        tag("text", text, x=x + 3, y=y + 10, transform=f"rotate(-40 {x + 3:.1f} {y + 10:.1f})", class_="label end")
        for text, x in zip(texts, xs, strict=True)
    ]
    longest = max((len(text) for text in texts), default=0)
    return parts, 16 + longest * CHARACTER * 11 * SINE


@dataclass(frozen=True)
class Axis:
    """A straight map from values low..high to pixels start..end; values outside are held at the ends."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        width = self.high - self.low
        share = 0.0 if width <= 0 else (float(value) - self.low) / width
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))

    def ticks(self, most: int = 5) -> list[float]:
        """Round values inside the axis, at most about `most`.

        Example:
            >>> Axis(0, 0.23, 0, 100).ticks()
            [0.0, 0.05, 0.1, 0.15, 0.2]
        """
        width = self.high - self.low
        if width <= 0:
            return [self.low]
        power = 10.0 ** np.floor(np.log10(width / most))
        step = next(power * m for m in (1, 2, 2.5, 5, 10, 20) if width / (power * m) <= most)
        first, last = np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9)
        # Adding zero turns -0.0, which would print its sign, into 0.0.
        return [round(float(i * step), 12) + 0.0 for i in np.arange(first, last + 1)]
