"""A changed function takes the place of the one that is imported, whatever it is wrapped in."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.mutation.swap import swap

TEXT = """
import functools
from contextlib import contextmanager

def plain(x, y=1, *, z=2):
    return x + y + z

@functools.lru_cache
def cached(x):
    return x + 1

class Thing:
    @property
    def size(self):
        return 1

    @classmethod
    def made(cls):
        return 1

    @contextmanager
    def held(self):
        yield 1

    def outer(self):
        def inner():
            return 1
        return inner()
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    made = ModuleType("swapped")
    made.__file__ = str(tmp_path / "swapped.py")
    exec(compile(TEXT, made.__file__, "exec"), vars(made))
    monkeypatch.setitem(sys.modules, "swapped", made)
    return made


def test_code_and_defaults_are_swapped(module: ModuleType) -> None:
    plain = module.plain
    swap("swapped", "plain", TEXT.replace("x + y + z", "x - y - z").replace("y=1, *, z=2", "y=3, *, z=4"))
    assert plain(0) == -7


def test_a_cached_function_forgets_what_it_knew(module: ModuleType) -> None:
    assert module.cached(1) == 2
    swap("swapped", "cached", TEXT.replace("x + 1", "x + 2"))
    assert module.cached(1) == 3


def test_methods_of_every_kind(module: ModuleType) -> None:
    for name in ("size", "made", "held", "outer"):
        swap("swapped", f"Thing.{name}", TEXT.replace("1", "5"))
    thing = module.Thing()
    assert (thing.size, thing.made(), thing.outer()) == (5, 5, 5)
    with thing.held() as value:
        assert value == 5


def test_what_is_not_there_is_said(module: ModuleType) -> None:
    with pytest.raises(LookupError):
        swap("swapped", "nothing", TEXT)
