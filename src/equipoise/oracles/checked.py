"""An oracle that is not trusted: what it returns is checked, and a fallback, announced, takes over where it fails.

A solver may be stopped, killed, or simply wrong. Nothing private is at stake (it sees released queries only) and a
wrong record only costs accuracy; but the report must say so. What no check can see is a false proof: an algorithm whose
guarantee rests on proofs must not take them from a solver that it does not trust.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.oracles.instance import Instance
from equipoise.oracles.local_search import LocalSearch
from equipoise.oracles.oracle import Oracle, Solutions

__all__ = ["Checked"]

TOLERANCE = 1e-5
"""How far a claimed value may be from the value of the record, as a share of the instance's size (CP-SAT rounds)."""


@dataclass(frozen=True)
class Checked:
    """`oracle`, with every record validated and every value recomputed from the queries.

    Where the oracle refuses, raises, or returns what does not hold, `fallback` answers instead, and where that fails
    too, a record drawn at random. `notes` says which and how often.

    Attributes:
        oracle: Who is asked first.
        fallback: Who is asked where the first one fails.
    """

    name: ClassVar[str] = "checked"

    oracle: Oracle
    fallback: Oracle = field(default_factory=LocalSearch)

    def refuses(self, instance: Instance) -> str | None:
        """Never: there is always a record to return."""
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        """A valid record for each copy, with its true value; `proved` only where the claims hold together."""
        # Each oracle has its own generator: what the first one drew before it failed does not shift the second.
        first, second, last = rng.spawn(3)
        found, wrong, notes = _attempt(self.oracle, instance, first)
        if not wrong.any():
            return found
        other, also_wrong, more = _attempt(self.fallback, instance, second)
        notes += more
        if answered := int((wrong & ~also_wrong).sum()):
            notes += (f"{self.fallback.name} answered for {answered} of {instance.num_copies} records",)
        if (wrong & also_wrong).any():
            notes += (f"{int((wrong & also_wrong).sum())} records were drawn at random",)
        found = _patched(_patched(found, other, wrong), _guess(instance, last), wrong & also_wrong)
        return replace(found, notes=notes)


def _attempt(
    oracle: Oracle, instance: Instance, rng: np.random.Generator
) -> tuple[Solutions, NDArray[np.bool_], tuple[str, ...]]:
    """An oracle's solutions with true values, the copies for which they are wrong, and what to say of it."""
    everything = np.ones(instance.num_copies, dtype=np.bool_)
    if (reason := oracle.refuses(instance)) is not None:
        return _guess(instance, rng), everything, (f"{oracle.name} refused: {reason}",)
    try:
        found, wrong = _check(instance, oracle.solve(instance, rng))
    except Exception as error:  # a solver may fail in any way at all, and the run goes on
        return _guess(instance, rng), everything, (f"{oracle.name} failed ({type(error).__name__})",)
    if wrong.any():
        return found, wrong, (*found.notes, f"{oracle.name} was wrong for {int(wrong.sum())} records")
    return found, wrong, found.notes


def _check(instance: Instance, found: Solutions) -> tuple[Solutions, NDArray[np.bool_]]:
    """The solutions with values recomputed from the queries, and which of them are wrong.

    Raises:
        ValueError: the shapes are wrong.
    """
    codes = np.asarray(found.codes)
    claims = [np.asarray(claim, dtype=np.float64) for claim in (found.values, found.bounds, found.proved)]
    if codes.shape != (instance.record.num_columns, instance.num_copies) or codes.dtype.kind not in "iu":
        raise ValueError("not one code for each column and copy")
    if any(claim.shape != (instance.num_copies,) for claim in claims):
        raise ValueError("not one value, bound and proof for each copy")
    outside = ((codes < 0) | (codes >= instance.record.sizes[:, None])).any(axis=0)
    valid = np.where(outside, 0, codes).astype(instance.code_type)
    values = instance.values(valid)
    size = TOLERANCE * (1.0 + np.abs(instance.trivial_bounds()))
    holds = (np.abs(claims[0] - values) <= size) & (claims[1] >= values - size)  # not-a-number holds nothing
    proved = claims[2].astype(np.bool_) & (claims[1] - values <= size)
    highest = np.minimum(np.maximum(claims[1], values), np.maximum(instance.trivial_bounds(), values))
    return Solutions(valid, values, highest, proved, found.notes), outside | ~holds


def _guess(instance: Instance, rng: np.random.Generator) -> Solutions:
    sizes = instance.record.sizes[:, None]
    codes = (rng.random((len(sizes), instance.num_copies)) * sizes).astype(instance.code_type)
    bounds = np.maximum(instance.trivial_bounds(), instance.values(codes))
    return Solutions(codes, instance.values(codes), bounds, np.zeros(instance.num_copies, dtype=np.bool_))


def _patched(kept: Solutions, new: Solutions, wrong: NDArray[np.bool_]) -> Solutions:
    return Solutions(
        np.where(wrong, new.codes, kept.codes),
        np.where(wrong, new.values, kept.values),
        np.where(wrong, new.bounds, kept.bounds),
        np.where(wrong, new.proved, kept.proved),
    )
