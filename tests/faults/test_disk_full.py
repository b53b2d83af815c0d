"""Disks that are full, or may only be read: a clear message, an exact ledger, and the second start finishes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.faults.stage import Result, Stage, can_mount, command, copy, disk
from tests.faults.toy import MORE, Toy, middle

NUM_ROUNDS = 8
KILOBYTE, PLENTY = 2**10, 2**24
QUIETLY = ("--rows", "500", "--threads", "1", "--quiet")

needs_disks = pytest.mark.skipif(not can_mount(), reason="this machine lets nobody mount a disk of their own")


def require_told(result: Result, *codes: int) -> None:
    assert result.code in codes, result
    assert result.said.startswith("error: "), result
    assert "unexpected" not in result.said
    assert "Traceback" not in result.said


def places(folder: Path) -> Toy:
    folder.mkdir()
    return Toy(folder, NUM_ROUNDS).write()


def test_files_that_may_grow_no_further(stage: Stage, quick_folder: Path) -> None:
    """The ledger or a file of the release stops growing at six sizes, from nothing to almost enough."""
    reached, some = set(), middle(quick_folder)
    for number, size in enumerate((100, some // 2, some - MORE, some, some + MORE, 10**6)):
        toy = places(quick_folder / f"{number}")
        first = stage.run(*toy.words("out", *QUIETLY), file_bytes=size)
        before = toy.moves()
        toy.require_sound()
        reached.add(len(before))
        if first.code != 0:
            require_told(first, 8, 9)
            again = stage.run(*toy.words("out", *QUIETLY))
            assert again.code == 0, again
        toy.require_exact(before)
    assert first.code == 0, "the last size must be enough"
    assert {0, NUM_ROUNDS} < reached, "no size stopped a game in its middle"


@needs_disks
def test_a_full_disk_under_the_release_folder(stage: Stage, quick_folder: Path) -> None:
    """No space left in a table, the moves, the queries and the report, one after the other."""
    named = set()
    for number, pages in enumerate((2, 4, 8, 12, 16, 64)):
        toy = places(quick_folder / f"{number}")
        words, out = toy.words("out", *QUIETLY), toy.folder / "out"
        first, again, verified = stage.play(
            disk(out, pages * 4 * KILOBYTE),
            command(*words),
            disk(out, PLENTY, again=True),
            command(*words),
            command("verify", out, "--quiet"),
        )
        if first.code != 0:
            require_told(first, 9)
            assert "No space left on device" in first.said
            named.add(first.said.split(": ")[1].rsplit("/", 1)[1])
            assert again.code == 0, again
        assert verified.code == 0, verified
        toy.require_exact([])
    assert first.code == 0, "the last size must be enough"
    assert len(named) >= 3, named
    assert "report.html" in named


@pytest.mark.slow
@needs_disks
def test_a_full_disk_under_the_ledger(stage: Stage, quick_folder: Path) -> None:
    reached = set()
    for number, pages in enumerate((8, 20, 29, 30, 31, 1000)):
        toy = places(quick_folder / f"{number}")
        full = toy.folder / "ledgers"
        there = replace(toy, location=str(full / "toy.ledger.sqlite"))
        words = there.words("out", *QUIETLY)
        first, again = stage.play(
            disk(full, pages * 4 * KILOBYTE),
            command(*words),
            copy(full, toy.folder / "before"),
            disk(full, PLENTY, again=True),
            command(*words),
            copy(full, toy.folder / "after"),
        )
        _adopt(toy, "before")
        before = toy.moves()
        toy.require_sound()
        reached.add(len(before))
        if first.code != 0:
            require_told(first, 8)
            assert again.code == 0, again
        _adopt(toy, "after")
        toy.require_exact(before)
    assert first.code == 0, "the last size must be enough"
    assert {0, NUM_ROUNDS} <= reached, reached


def _adopt(toy: Toy, name: str) -> None:
    """Have the toy's ledger be what was copied off the disk."""
    for old in toy.folder.glob("toy.ledger.sqlite*"):
        old.unlink()
    for path in (toy.folder / name).iterdir():
        shutil.copy(path, toy.folder / path.name)


def test_what_may_only_be_read_is_told_before_anything_is_spent(stage: Stage, quick_folder: Path) -> None:
    toy = places(quick_folder / "toy")
    ledgers, results = toy.folder / "ledgers", toy.folder / "results"
    ledgers.mkdir()
    results.mkdir()
    there = replace(toy, location=str(ledgers / "toy.ledger.sqlite"))
    words = there.words("results/out", *QUIETLY)

    def attempt(path: Path, mode: int) -> Result:
        usual = path.stat().st_mode
        path.chmod(mode)
        try:
            return stage.run(*words, powerless=True)
        finally:
            path.chmod(usual)

    require_told(attempt(results, 0o500), 9)
    (results / "out").mkdir()
    require_told(attempt(results / "out", 0o500), 9)
    require_told(attempt(ledgers, 0o500), 8)
    require_told(attempt(toy.folder / "toy.parquet", 0o000), 4)
    assert there.moves() == []
    begun = stage.run(*words, powerless=True, file_bytes=middle(quick_folder))
    before = there.moves()
    assert before
    require_told(begun, 8)
    require_told(attempt(Path(there.ledger), 0o400), 8)
    require_told(attempt(ledgers, 0o500), 8)
    assert stage.run(*words, powerless=True).code == 0
    there.require_exact(before)
