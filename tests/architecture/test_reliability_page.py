"""The page of what was tried names tests that exist: a test that is renamed or removed is missed there."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "reliability.md").read_text()


def test_every_test_that_the_page_names_is_there() -> None:
    files = set(re.findall(r"`(tests/[\w/]+(?:\.py)?)[`: ]", PAGE))
    assert len(files) > 20
    assert [name for name in sorted(files) if not (REPOSITORY / name).exists()] == []
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    defined = {
        name
        for path in (REPOSITORY / "tests").rglob("*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    assert len(named) > 20
    assert sorted(named - defined) == []
