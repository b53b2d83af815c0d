"""What a comparison shows: a table for each data set, ratios to ours, and wherever ours is not the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from equipoise.bench.peers.peer import OURS, Peer
from equipoise.bench.runs import Run

__all__ = ["ERRORS", "Findings", "Row", "Shortfall"]

ERRORS = ("max", "mean", "rmse", "tv")
MEASURED = (*ERRORS, "wall", "cpu", "GiB")
ALLOWED = {"max": 1, "mean": 2}
"""The worst place that ours is to have: lowest largest error, lowest or second-lowest mean error."""
CLOSE = 1.1
"""A first place whose next one has at most so many times ours is told, because few runs do not settle it."""


@dataclass(frozen=True)
class Row:
    """A peer on a table at a budget: means over its good runs.

    Attributes:
        measured: By name; empty when no run was good.
        ratios: Its errors, processor seconds and memory divided by ours.
        failed: What the last bad run said; empty when there was none.
        spreads: Standard errors of the means of its errors, where there are several runs.
    """

    peer: str
    num_runs: int
    measured: dict[str, float]
    ratios: dict[str, float]
    failed: str
    spreads: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Shortfall:
    """Where ours is not as good as it should be.

    Attributes:
        place: Ours in the order, 1 the lowest.
        better: Who is lower, with ours divided by theirs.
    """

    table: str
    epsilon: float
    error: str
    place: int
    better: tuple[tuple[str, float], ...]

    @property
    def words(self) -> str:
        """For people."""
        told = ", ".join(f"{name} (ours is {ratio:.2f} times as large)" for name, ratio in self.better)
        return (
            f"{self.table}, epsilon {self.epsilon:g}: ours has place {self.place} in {self.error} error, after {told}"
        )


@dataclass(frozen=True)
class Findings:
    """What the results say of the peers, in their order."""

    peers: Sequence[Peer]
    results: Sequence[Run]

    @cached_property
    def contests(self) -> list[tuple[str, float]]:
        """Tables and budgets that were run, in order of appearance, larger budgets first."""
        tables = list(dict.fromkeys(run["table"] for run in self.results))
        found = {(run["table"], run["epsilon"]) for run in self.results}
        return sorted(found, key=lambda each: (tables.index(each[0]), -each[1]))

    def rows(self, table: str, epsilon: float) -> list[Row]:
        """Everybody who was run there, in the order of the peers."""
        mine = [run for run in self.results if (run["table"], run["epsilon"]) == (table, epsilon)]
        means = {peer.name: _means([run for run in mine if run["peer"] == peer.name]) for peer in self.peers}
        ours = means.get(OURS, {})
        rows = []
        for name, measured in means.items():
            runs = [run for run in mine if run["peer"] == name]
            if runs:
                compared = {
                    key: measured[key] / ours[key]
                    for key in (*ERRORS, "cpu", "GiB")
                    if key in measured and ours.get(key)
                }
                bad = [run["failed"] for run in runs if "failed" in run]
                spreads = _spreads(runs)
                rows.append(Row(name, len(runs) - len(bad), measured, compared, bad[-1] if bad else "", spreads))
        return rows

    @cached_property
    def shortfalls(self) -> list[Shortfall]:
        """Every table and budget where ours is not in the place that it should have."""
        found = []
        for table, epsilon in self.contests:
            rows = self.rows(table, epsilon)
            ours = next((row for row in rows if row.peer == OURS and row.measured), None)
            if ours is None:
                continue
            for error, worst in ALLOWED.items():
                mine = ours.measured[error]
                lower = sorted(
                    (row.measured[error], row.peer) for row in rows if row.measured and row.measured[error] < mine
                )
                if len(lower) >= worst:
                    better = tuple((name, mine / value) for value, name in lower)
                    found.append(Shortfall(table, epsilon, error, len(lower) + 1, better))
        return found

    @cached_property
    def close(self) -> list[str]:
        """In words: every table and budget where ours has the lowest max error, but another's is hardly larger."""
        found = []
        for table, epsilon in self.contests:
            rows = self.rows(table, epsilon)
            ours = next((row.measured["max"] for row in rows if row.peer == OURS and row.measured), None)
            others = sorted((row.measured["max"], row.peer) for row in rows if row.measured and row.peer != OURS)
            if ours is not None and others and ours <= others[0][0] <= CLOSE * ours:
                value, name = others[0]
                found.append(
                    f"{table}, epsilon {epsilon:g}: the next in max error, {name}, has {value / ours:.2f} times ours"
                )
        return found

    @property
    def verdict(self) -> str:
        """One sentence."""
        judged = [each for each in self.contests if any(row.peer == OURS and row.measured for row in self.rows(*each))]
        places = {1: "the lowest", 2: "the lowest or second-lowest"}
        told = []
        for error, worst in ALLOWED.items():
            missed = sum(shortfall.error == error for shortfall in self.shortfalls)
            told.append(f"{places[worst]} {error} error in {len(judged) - missed} of {len(judged)} comparisons")
        return f"Ours has {' and '.join(told)}."

    @property
    def markdown(self) -> str:
        """The same for a text file."""
        lines = [self.verdict, ""]
        lines += [f"- {shortfall.words}" for shortfall in self.shortfalls]
        if self.close:
            lines += ["", "First places that few runs do not settle:", "", *(f"- {words}" for words in self.close)]
        for table, epsilon in self.contests:
            lines += [
                "",
                f"### {table}, epsilon {epsilon:g}",
                "",
                "| | runs | max | mean | RMSE | TV | max / ours | mean / ours | wall s | CPU s | GiB |",
                "|---" + "|---:" * 10 + "|",
            ]
            rows = self.rows(table, epsilon)
            lines += [_line(row) for row in rows]
            if notes := [_note(row) for row in rows if row.failed]:
                lines += ["", *notes]
        return "\n".join(lines) + "\n"


def _means(runs: Sequence[Run]) -> dict[str, float]:
    good = [run for run in runs if "failed" not in run]
    return {name: float(np.mean([run[name] for run in good])) for name in MEASURED} if good else {}


def _spreads(runs: Sequence[Run]) -> dict[str, float]:
    """Standard errors of the mean largest and mean error."""
    good = [run for run in runs if "failed" not in run]
    if len(good) < 2:
        return {}
    return {name: float(np.std([run[name] for run in good], ddof=1) / len(good) ** 0.5) for name in ALLOWED}


def _note(row: Row) -> str:
    """Below the table: last words are too long for a column of numbers."""
    words = row.failed.replace("`", "'")
    return f"- {row.peer}{': a run' if row.measured else ''} failed: `{words}`"


def _line(row: Row) -> str:
    if not row.measured:
        return f"| {row.peer} | failed |" + " |" * 9
    found, ratios = row.measured, row.ratios
    errors = [f"{found[name]:.3g}" + (f" ± {row.spreads[name]:.1g}" if name in row.spreads else "") for name in ERRORS]
    compared = [f"{ratios[name]:.2f}" if name in ratios else "" for name in ("max", "mean")]
    used = [f"{found['wall']:.0f}", f"{found['cpu']:.0f}", f"{found['GiB']:.2f}"]
    return f"| {row.peer} | {row.num_runs} | " + " | ".join(errors + compared + used) + " |"
