"""A small release that faults are done to: sixty moves on a toy table, its ledger, and what must hold afterwards."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.schemas import declared, ordinal

from equipoise.core import Move
from equipoise.privacy.accountant import cost
from equipoise.privacy.ledger import Account, Ledger
from equipoise.privacy.run import Run
from equipoise.privacy.stored_events import from_json

MORE = 6144
"""Bytes, a page and a half, that a ledger grows by while a release makes some of eight moves."""
COLUMNS = (ordinal("a", 3), ordinal("b", 4), ordinal("c", 2))


@dataclass(frozen=True)
class Toy:
    """A folder with the table and its schema.

    Attributes:
        folder: Where they are.
        num_rounds: Moves of a release.
        location: Its ledger's path or URL; beside the schema by default.
        total: The table's epsilon and delta.
    """

    folder: Path
    num_rounds: int = 60
    location: str | None = None
    total: tuple[float, float] = (1000.0, 1e-9)

    @property
    def ledger(self) -> str:
        return self.location or str(self.folder / "toy.ledger.sqlite")

    def write(self, num_rows: int = 3000) -> Toy:
        rng = np.random.default_rng(0)
        a = rng.integers(0, 3, num_rows)
        columns = {"a": a, "b": (a + rng.integers(0, 2, num_rows)) % 4, "c": (a + rng.integers(0, 2, num_rows)) % 2}
        rows = pa.table({name: pa.array(values.astype(str)) for name, values in columns.items()})
        pq.write_table(rows, self.folder / "toy.parquet")
        (self.folder / "toy.toml").write_text(declared(*COLUMNS, name="toy", total=self.total))
        return self

    def words(self, out: Path | str, *more: str) -> list[str]:
        """The arguments of a release into a folder (a name of one beside the table, or a path)."""
        return [
            *("release", str(self.folder / "toy.parquet"), "--schema", str(self.folder / "toy.toml"), "--epsilon", "1"),
            *("--workload", "2-way", "--method", "mwem", "--option", f"num_rounds={self.num_rounds}"),
            *("--option", "moves=cell", "--ledger", self.ledger, "-o", str(self.folder / out), *more),
        ]

    def process(self, out: Path | str, *more: str) -> list[str]:
        """The same as a command of its own process."""
        return [sys.executable, "-m", "equipoise.cli", *self.words(out, *more)]

    def account(self) -> Account | None:
        if "://" not in self.ledger and not Path(self.ledger).is_file():
            return None
        return Ledger(self.ledger).existing("toy")

    def moves(self) -> list[Move]:
        """Committed moves of the only run; none when there is no run yet."""
        run = self._run()
        return [] if run is None else run.moves()

    def _run(self) -> Run | None:
        account = self.account()
        if account is None or not (rows := account.runs()):
            return None
        assert len(rows) == 1
        return account.run(rows[0]["run"])

    def require_exact(self, before: list[Move]) -> None:
        """The ledger after a release: every move once and paid once, and those that were there before unchanged."""
        run = self._run()
        account = self.account()
        assert run is not None
        assert account is not None
        account.verify()
        assert run.status == "done"
        assert len(run.moves()) == self.num_rounds
        assert all(same(one, two) for one, two in zip(before, run.moves(), strict=False))
        assert len(run.events()) == 2 * self.num_rounds
        assert run.spent().rho == planned(run.plan) == account.held().rho

    def require_sound(self) -> None:
        """The ledger in the middle of a release: never a debit without its answer, nor the reverse."""
        run = self._run()
        if run is not None:
            account = self.account()
            assert account is not None
            account.verify()
            assert len(run.events()) == 2 * len(run.moves())


def num_moves(ledger: Path) -> int:
    """Moves in a SQLite ledger so far, of all runs; a reader disturbs nobody."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM moves").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def same(move: Move, other: Move) -> bool:
    """Whether two moves are the same, to the bit."""
    return bool(
        np.array_equal(move.ids, other.ids)
        and np.array_equal(np.asarray(move.values), np.asarray(other.values))
        and move.stddev == other.stddev
    )


def planned(plan: dict[str, Any]) -> Fraction:
    """What a run's plan says that it will cost."""
    events = plan["plan"]["events"]
    return sum((cost(from_json(item["event"])).rho * item["times"] for item in events), Fraction(0))


def middle(folder: Path) -> int:
    """So many bytes may a ledger have when a release stops with some of its moves made; an empty one has most."""
    place = folder / "empty.sqlite"
    Ledger(place).account("toy", epsilon=1.0, delta=1e-9)
    with contextlib.closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return place.stat().st_size + MORE
