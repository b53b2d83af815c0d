"""The shipped demo, twice: it must be possible to run it again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_demo_runs_and_runs_again(tmp_path: Path) -> None:
    for _ in range(2):
        command = [sys.executable, str(ROOT / "examples" / "demo.py"), str(tmp_path / "demo")]
        found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert found.returncode == 0, found.stderr
        assert "NOT PRIVATE" in found.stdout
        assert (tmp_path / "demo" / "people" / "report.html").is_file()
