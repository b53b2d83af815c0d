"""Equipoise where nothing may be written: in a container whose disk may only be read, say."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from equipoise import kernel_cache


def test_there_is_no_folder_of_its_own_where_another_may_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(kernel_cache.VARIABLE, raising=False)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    kernel_cache.ensure()
    assert kernel_cache.VARIABLE not in os.environ


def test_without_one_it_is_private_and_gone_with_the_process(tmp_path: Path) -> None:
    """A file in the place of each folder blocks it for everybody, root too."""
    package = Path(kernel_cache.__file__).parent
    copy = tmp_path / "equipoise"
    copy.mkdir()
    for name in ("__init__.py", "errors.py", "kernel_cache.py"):
        (copy / name).write_bytes((package / name).read_bytes())
    (copy / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    script = (
        "import os, stat, equipoise; folder = os.environ['NUMBA_CACHE_DIR']; print(folder);"
        " print(oct(stat.S_IMODE(os.stat(folder).st_mode)))"
    )
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "home"),
        "TMPDIR": tempfile.gettempdir(),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.pop(kernel_cache.VARIABLE, None)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stderr
    folder, mode = done.stdout.split()
    assert mode == "0o700"
    assert not Path(folder).exists()
