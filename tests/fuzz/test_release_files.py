"""A release folder whose files are whole, and not of one release: told when it is read, not when it is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.targets import RELEASE

from equipoise.errors import EquipoiseError, OutputError
from equipoise.releases import load

Change = Callable[[Any], object]
DAMAGES: dict[str, tuple[str, Change]] = {
    "a column less": ("schema.json", lambda body: body["columns"].pop()),
    "a value more": ("schema.json", lambda body: body["columns"][0]["values"].append("Neither")),
    "rows as text": ("statement.json", lambda body: body.update(num_rows="90")),
    "no rows": ("statement.json", lambda body: body.update(num_rows=0)),
    "rows that are neither": ("statement.json", lambda body: body.update(num_rows=True)),
    "no seed": ("statement.json", lambda body: body.pop("seed")),
    "seed as text": ("statement.json", lambda body: body.update(seed="7")),
    "another domain": ("workload.json", lambda body: body.update(sizes=[2, 5, 6])),
    "another domain of what was asked": ("asked.json", lambda body: body.update(sizes=[2, 5, 6])),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, body in RELEASE.items():
        (tmp_path / name).write_bytes(body)
    return tmp_path


def test_a_whole_folder_is_read(folder: Path) -> None:
    assert load(folder).num_rows == 90


@pytest.mark.parametrize("damage", DAMAGES)
def test_files_that_do_not_belong_together_are_told(folder: Path, damage: str) -> None:
    name, change = DAMAGES[damage]
    body = json.loads((folder / name).read_text())
    change(body)
    (folder / name).write_text(json.dumps(body))
    with pytest.raises(OutputError):
        load(folder)


@pytest.mark.parametrize("name", RELEASE)
def test_files_that_are_something_else_are_told(folder: Path, name: str) -> None:
    for text in (b"", b"[]", b"null", b"PK\x05\x06" + bytes(18), RELEASE["moves.parquet"], RELEASE["model.npz"][:-30]):
        if text == RELEASE[name]:
            continue
        (folder / name).write_bytes(text)
        with pytest.raises(EquipoiseError):
            load(folder)
