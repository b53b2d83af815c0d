from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.stage import Stage, opened


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with opened() as found:
        yield found


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk in memory, where there is one: a sweep writes through to the disk a thousand times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)
