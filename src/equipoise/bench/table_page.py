"""What a benchmark that gives a table left in its folder, NAME.md and NAME.json, as a page and as Parquet too."""

from __future__ import annotations

import json
from pathlib import Path

from equipoise.bench.runs import write_parquet
from equipoise.bench.series_page import build

__all__ = ["publish"]


def publish(folder: Path, name: str, about: str) -> Path:
    """Write NAME.parquet, a row a trial, and index.html; returns the page's path.

    NAME.json is a list of trials, or has it as "trials".
    """
    text, body = (folder / f"{name}.md").read_text(), json.loads((folder / f"{name}.json").read_text())
    write_parquet(body["trials"] if isinstance(body, dict) else body, folder / f"{name}.parquet")
    title = next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    page = folder / "index.html"
    page.write_text(build(title, about, [], text), encoding="utf-8")
    return page
