"""The optimisation oracle: the best record for weighted conjunctions and a tilt (`Instance`).

DualQuery, DQRS, FEM and sepFEM find their records by an oracle. It sees released queries and public randomness only, so
their guarantee does not rest on it: an oracle that stops early costs accuracy, never privacy. An algorithm whose oracle
reads private data must look at `proved` and fail closed.

Limits are counts of nodes or kicks, never seconds: the same instance and generator give the same record on any
machine, which is what lets a ledger be replayed.

Which one:

    BranchAndBound   the default: exact, in milliseconds for categorical records, and for sparse binary ones
    LocalSearch      dense binary records (more than about one query a bit), where nothing proves anything
    CpSat            exact, an independent check; needs the extra `solvers`
    Highs            exact, slow; needs nothing more than SciPy
    Exhaustive       tests
    Checked          any of them, its records and values checked, with a fallback that is announced
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, FloatArray
from equipoise.oracles.instance import Instance

__all__ = ["Oracle", "Solutions"]


@dataclass(frozen=True, eq=False)
class Solutions:
    """One record for each copy of an instance, and what is known of how good it is.

    Attributes:
        codes: Shape (num_columns, num_copies). What no query and no tilt speaks of comes from the generator.
        values: F of each record.
        bounds: What no record can exceed.
        proved: Whether no record is better, up to the rounding that `bounds` - `values` shows.
        notes: What did not go as asked (a refusal, a failure, a fallback), in words, for the report.
    """

    codes: Codes
    values: FloatArray
    bounds: FloatArray
    proved: NDArray[np.bool_]
    notes: tuple[str, ...] = ()


class Oracle(Protocol):
    """Maximises an `Instance`. A frozen dataclass whose fields are its limits."""

    name: ClassVar[str]

    def refuses(self, instance: Instance) -> str | None:
        """Why this oracle will not try the instance (too large, a package is missing), or None when it will."""
        ...

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        """A record for each copy: the best, or the best found within the limits. Deterministic for `rng`'s state."""
        ...
