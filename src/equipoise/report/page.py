"""From parts to one HTML file: templates with escaping always on, and nothing that a browser would have to fetch."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined

from equipoise.report.numbers import amount, count, day, percent, power, significant

__all__ = ["render"]

TEMPLATES = (
    "page.html",
    "report.html",
    "internal.html",
    "experiment.html",
    "series.html",
    "peers.html",
    "style.css",
    "pieces.html",
)


@cache
def _environment() -> Environment:
    folder = files("equipoise.report").joinpath("templates")
    sources = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in TEMPLATES}
    environment = Environment(
        loader=DictLoader(sources),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "amount": amount,
        "day": day,
        "number": count,
        "percent": percent,
        "power": power,
        "significant": significant,
    }
    return environment


def render(template: str, **parts: Any) -> str:
    """The page that a template makes of the parts."""
    return _environment().get_template(template).render(**parts)
