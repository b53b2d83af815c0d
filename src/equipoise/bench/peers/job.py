"""One table as every peer gets it, and the judge of what comes back. NOT PRIVATE: it compares with the truth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from equipoise.bench.peers.peer import Peer
from equipoise.bench.runs import Run
from equipoise.core import Codes, FloatArray
from equipoise.data.domain import Domain
from equipoise.errors import DataError
from equipoise.evaluation import errors_of
from equipoise.privacy.conversion import epsilon_of, rho_of
from equipoise.queries.build import build
from equipoise.queries.workload import Workload

__all__ = ["Entrant", "Problem", "Unusable", "load"]


class Unusable(Exception):
    """What a peer left behind is not what was asked for; it says why."""


@dataclass(frozen=True)
class Entrant:
    """A peer on a problem at a budget, for the so-manieth time."""

    peer: Peer
    epsilon: float
    number: int = 0


@dataclass(frozen=True)
class Problem:
    """A coded table and its workload.

    Attributes:
        name: The workload file's.
        codes: A row an attribute, a column a record.
        workload: Whole marginals.
        truth: The workload's answers on the table.
    """

    name: str
    codes: Codes
    workload: Workload
    truth: FloatArray

    @property
    def num_rows(self) -> int:
        """Records, which everybody knows."""
        return int(self.codes.shape[1])

    @property
    def delta(self) -> float:
        """1/n^2."""
        return self.num_rows**-2

    def job(self, entrant: Entrant) -> dict[str, Any]:
        """What a peer is told.

        A peer that charges add/remove takes a marginal's cells to change by 1 in length; replacing a record changes
        them by sqrt(2). So it is given half of rho. Its selections would need a fourth (their scores change twice as
        much): what it is given there is to its advantage.
        """
        domain, peer = self.workload.domain, entrant.peer
        rho = float(rho_of(epsilon=entrant.epsilon, delta=self.delta))
        return {
            "adapter": peer.adapter,
            "model": peer.model,
            "options": peer.options,
            "columns": list(domain.columns),
            "sizes": dict(zip(domain.columns, domain.sizes, strict=True)),
            "marginals": [[domain.columns[k] for k in group.columns] for group in self.workload.groups],
            "epsilon": entrant.epsilon,
            "delta": self.delta,
            "rho": rho,
            "halved_rho": rho / 2,
            "halved_epsilon": epsilon_of(rho=rho / 2, delta=self.delta),
        }

    def write(self, entrant: Entrant, folder: Path) -> None:
        """Put the job and the table into a folder."""
        (folder / "job.json").write_text(json.dumps(self.job(entrant)), encoding="utf-8")
        np.save(folder / "codes.npy", np.ascontiguousarray(self.codes.T))

    def judge(self, folder: Path) -> Run:
        """Errors of the rows, or of the answers, that a peer left in the folder.

        Raises:
            Unusable: There is nothing, or it does not fit the table.
        """
        answers = self._answers(folder)
        found = errors_of(self.workload, answers - self.truth)
        return {"max": found.max, "mean": found.mean, "rmse": found.rmse, "tv": found.total_variation}

    def _answers(self, folder: Path) -> FloatArray:
        if (folder / "answers.npy").is_file():
            answers = np.load(folder / "answers.npy", allow_pickle=False)
            if answers.shape != self.truth.shape or not np.isfinite(answers).all():
                raise Unusable(f"it left {answers.size:,} answers, not {len(self.truth):,} finite ones")
            return np.asarray(answers, dtype=np.float64)
        if not (folder / "rows.npy").is_file():
            raise Unusable("it ended well and left neither rows nor answers")
        rows = np.load(folder / "rows.npy", allow_pickle=False)
        if rows.shape != self.codes.T.shape:
            raise Unusable(f"it left rows of shape {rows.shape}, not {self.codes.T.shape}")
        sizes = np.array(self.workload.domain.sizes)
        if not np.isfinite(rows).all() or (rows < 0).any() or (rows >= sizes).any():
            raise Unusable("its rows have values outside the domain")
        return self.workload.on_rows(np.ascontiguousarray(rows.T.astype(np.uint16)))


def load(name: str, data: Path) -> Problem:
    """The problem that a workload file of the folder of tables describes.

    Raises:
        DataError: A file is missing.
    """
    path = data / "workloads" / f"{name}.json"
    if not path.is_file():
        raise DataError(f"{path} is missing: name the folder of tables with --data; docs/bench.md says what is in it")
    declared = json.loads(path.read_text(encoding="utf-8"))
    sizes: Mapping[str, int] = json.loads((data / f"{declared['table']}.domain.json").read_text(encoding="utf-8"))
    used = {column for marginal in declared["marginals"] for column in marginal}
    columns = tuple(column for column in sizes if column in used)
    table = pq.read_table(data / f"{declared['table']}.parquet", columns=list(columns))
    codes = np.stack([table[column].to_numpy().astype(np.uint16) for column in columns])
    workload = build(
        [tuple(each) for each in declared["marginals"]], Domain(columns, tuple(sizes[column] for column in columns))
    )
    assert isinstance(workload, Workload)
    return Problem(name, codes, workload, workload.on_rows(codes))
