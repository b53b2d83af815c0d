"""What runs in a peer's environment: reads a job, calls an adapter, stores the rows. Nothing of Equipoise is imported.

    PEER'S PYTHON entry.py FOLDER

FOLDER has `job.json` and `codes.npy` (a row a record, a column an attribute). An adapter is a file in `adapters/` with
a function `synthesise(codes, job)`, which returns what it made, "rows" or "answers" (of the workload, in its order, as
shares of the records), and the array; it is stored under that name.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import numpy as np

__all__ = ["main"]


def main(folder: Path) -> None:
    """Do the job that the folder describes."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    adapter = runpy.run_path(str(Path(__file__).parent / "adapters" / f"{job['adapter']}.py"))
    kind, made = adapter["synthesise"](np.load(folder / "codes.npy"), job)
    np.save(folder / f"{kind}.npy", np.asarray(made))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
