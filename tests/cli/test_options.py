"""Texts of the command line, understood."""

from __future__ import annotations

import pytest

from equipoise.budget import shown_location
from equipoise.cli.asking import parse_bytes, parse_options
from equipoise.errors import SettingError


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 2**32), ("512MB", 2**29), ("1.5 GiB", 3 * 2**29), ("100", 100), ("2k", 2048), ("1tb", 2**40)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-4GB", "4XB", "0", "0GB", "4 G B"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(SettingError, match="--memory"):
        parse_bytes(text)


def test_options() -> None:
    assert parse_options(["a=1", "b = x=y "]) == {"a": "1", "b": "x=y"}
    assert parse_options(None) == {}
    for bad in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(SettingError, match="NAME=VALUE"):
            parse_options(bad)


def test_a_password_is_never_shown() -> None:
    assert "hunter2" not in shown_location("postgresql://me:hunter2@127.0.0.1/ledger")
    assert shown_location("people.ledger.sqlite") == "people.ledger.sqlite"
