"""The comparison: a file for every peer, table, budget and repetition. What is there is kept; what is missing is run.

A peer that crashes, refuses, does not install, or passes a limit has a file too, which says so.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.bench.peers import entry
from equipoise.bench.peers.environments import NotInstalled, python_of
from equipoise.bench.peers.job import Entrant, Problem, Unusable, load
from equipoise.bench.peers.peer import Peer
from equipoise.bench.peers.process import Limits, run
from equipoise.bench.runs import ALONE, Run, write_parquet
from equipoise.core import Progress, silent

__all__ = ["Contest", "read_results"]


@dataclass(frozen=True)
class Contest:
    """What is compared.

    Attributes:
        tables: Workload files' names.
        epsilons: Budgets.
        peers: Who takes part.
        runs: Repetitions.
        limits: For each process.
        cache: Where environments are kept.
    """

    tables: Sequence[str]
    epsilons: Sequence[float]
    peers: Sequence[Peer]
    limits: Limits
    cache: Path
    runs: int = 1

    def run(
        self,
        *,
        data: Path,
        out: Path,
        again: bool = False,
        progress: Progress = silent,
        told: Callable[[str], None] = lambda text: None,
    ) -> list[Run]:
        """Run what is missing, one process at a time, and return all results that are kept in `out`.

        Args:
            data: The folder of tables.
            out: Where results are kept.
            again: Run anew what failed.
            progress: Told how many are done, of how many.
            told: Told what happened, as it ends.
        """
        cells = out / "cells"
        cells.mkdir(parents=True, exist_ok=True)
        todo = [
            (table, entrant, path)
            for table in self.tables
            for entrant in self._entrants()
            if _is_wanted(path := cells / f"{_name(table, entrant)}.json", again=again)
        ]
        problem: Problem | None = None
        for number, (table, entrant, path) in enumerate(todo, start=1):
            if problem is None or problem.name != table:
                problem = load(table, data)
            found = _described(table, entrant) | self._made(problem, entrant)
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            partial.rename(path)  # a result is there as a whole or not at all
            progress(number, len(todo))
            said = found.get("failed") or f"max {found['max']:.3g}, mean {found['mean']:.3g}, {found['cpu']:.0f} CPU s"
            told(f"{number} of {len(todo)}: {table}, epsilon {entrant.epsilon:g}, {entrant.peer.name}: {said}")
        results = read_results(out)
        if results:
            write_parquet(results, out / "peers.parquet")
        return results

    def _entrants(self) -> list[Entrant]:
        """The first run of everything before the second of anything."""
        return [
            Entrant(peer, epsilon, number)
            for number in range(self.runs)
            for epsilon in self.epsilons
            for peer in self.peers
        ]

    def _made(self, problem: Problem, entrant: Entrant) -> Run:
        """One run: what it used, and its errors or why there are none."""
        peer = entrant.peer
        try:
            command = [str(peer.program)] if peer.program else _command(peer, python_of(peer.environment, self.cache))
        except NotInstalled as error:
            return {"failed": str(error)}
        # Ours finds its own sources as this process does; the others must not see them, nor the user's site.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | ALONE
        if peer.environment is None and "PYTHONPATH" in os.environ:
            environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            problem.write(entrant, folder)
            outcome = run([*command, made], environment=environment, folder=folder, limits=self.limits)
            used: Run = {"wall": outcome.wall, "cpu": outcome.cpu, "GiB": outcome.peak / 2**30}
            if outcome.failed is not None:
                return used | {"failed": outcome.failed}
            try:
                return used | problem.judge(folder)
            except Unusable as error:
                return used | {"failed": str(error)}


def _command(peer: Peer, python: Path) -> list[str]:
    # -P: no module of ours beside the entry hides one of the peer's; -I: nothing of the user's is seen, either.
    return [str(python), "-P" if peer.environment is None else "-I", str(Path(entry.__file__).resolve())]


def _name(table: str, entrant: Entrant) -> str:
    return f"{table}-{entrant.epsilon:g}-{entrant.peer.slug}-{entrant.number}"


def _described(table: str, entrant: Entrant) -> Run:
    return {"table": table, "epsilon": entrant.epsilon, "peer": entrant.peer.name, "run": entrant.number}


def _is_wanted(path: Path, *, again: bool) -> bool:
    return not path.exists() or (again and "failed" in json.loads(path.read_text(encoding="utf-8")))


def read_results(out: Path) -> list[Run]:
    """All results that a folder has, in the order of their files' names."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((out / "cells").glob("*.json"))]
