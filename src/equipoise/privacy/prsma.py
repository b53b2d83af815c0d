"""PRSMA: RSPM on random blocks, whose guarantee survives a solver that fails.

    neel2019heuristics, section III B                here
    K random blocks of equal size                    `_blocks`, secret
    R runs of RSPM with epsilon' on each             `perturbed.certified`; a block passes when none failed
    T passing blocks; T + Lap(1/e*) > threshold      `Noise.laplace`, whole numbers
    a random result of the passing blocks            `Noise.draws`

Differences from the paper: (1) K is larger: with the printed one the test fails one time in four even if every block
passes, since K less the threshold is log 2/e*. The proof uses K only through epsilon' and the threshold. (2) The noise
is a whole number, whose tail is exp(-e* k)/(1 + exp(-e*)); the threshold is raised by log(2/(1 + exp(-e*)))/e*, below
1/2, so that the paper's delta*/2 holds. (3) K R calls to a solver: estimated, and refused above a limit before anything
is paid.

The entry is not conditional: a call that is not certified counts as failed, and Theorem 8 takes it from there. What
remains is that a certificate which is given is true.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from equipoise.core import IntArray
from equipoise.errors import CapacityError, SettingError
from equipoise.oracles.classes.query_class import Minimiser, QueryClass
from equipoise.privacy import separators
from equipoise.privacy.choice import choose_once
from equipoise.privacy.events import Prsma
from equipoise.privacy.gate import Gate
from equipoise.privacy.mechanisms import float_above
from equipoise.privacy.noise import Noise
from equipoise.privacy.perturbed import GRID, PublicPoints, accepted, certified, weighed
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.rspm import Chosen

__all__ = ["MAX_CALLS", "Blocks", "blocks_of", "blocks_within", "prsma"]

MAX_CALLS = 100_000
"""Calls to the solver beyond which PRSMA is refused unless told otherwise."""


@dataclass(frozen=True)
class Blocks:
    """What PRSMA will do, from public settings.

    Attributes:
        event: epsilon* and delta*.
        num_blocks: K.
        num_repetitions: R.
        block_size: Records of a block; what does not fit is left out, at random.
        inner_epsilon: Of RSPM on a block.
        threshold: T and its noise must exceed it.
    """

    event: Prsma
    num_blocks: int
    num_repetitions: int
    block_size: int
    inner_epsilon: Fraction
    threshold: float

    @property
    def num_calls(self) -> int:
        """Calls to the solver."""
        return self.num_blocks * self.num_repetitions


def blocks_of(num_records: int, *, epsilon: Fraction, delta: Fraction, failure: float = 0.01) -> Blocks:
    """PRSMA's parameters for (epsilon, delta)-privacy.

    Guarantees:
        Precondition: epsilon <= 31, delta <= 5.5. Statement: with these parameters `prsma` is (epsilon, delta)-DP.
        Proof: neel2019heuristics, Theorem 8, at epsilon* = epsilon/62 and delta* = delta/11, with the differences 1 and
        2 of the module; the inner epsilon is rounded down, threshold and repetitions up.

    Args:
        num_records: Of the table.
        epsilon: Of the guarantee, at most 31.
        delta: Of the guarantee.
        failure: Probability, at most 1/2, that nothing comes out although every call is certified.

    Raises:
        SettingError: there are fewer records than blocks.

    Example:
        >>> found = blocks_of(10**6, epsilon=Fraction(1), delta=Fraction(1, 10**6))
        >>> found.num_blocks, f"{found.num_calls:.1e}"
        (1311, '3.4e+11')
    """
    if not 0 < failure <= 0.5:
        raise SettingError("failure must lie above 0 and be at most 1/2")
    event = Prsma(Fraction(epsilon) / 62, Fraction(delta) / 11)
    e, d = float(event.epsilon), float(event.delta)
    whole = math.log(2 / (1 + math.exp(-e)))
    threshold = (1 + whole - math.log(d)) / e * (1 + 1e-12)
    num_blocks = math.ceil(threshold + (whole - math.log(2 * failure)) / e)
    if num_records < num_blocks:
        raise SettingError(
            f"PRSMA divides the table into {num_blocks} blocks and it has {num_records} records; use a larger epsilon"
        )
    size = num_records // num_blocks
    inner = 1 / math.sqrt(8 * size * math.log(2 * num_blocks / d))
    repetitions = math.ceil(math.log(num_blocks / d) / d)
    return Blocks(event, num_blocks, repetitions, size, Fraction(inner) * Fraction(999_999, 10**6), threshold)


def blocks_within(
    num_records: int, *, epsilon: Fraction, delta: Fraction, failure: float = 0.01, max_calls: int = MAX_CALLS
) -> Blocks:
    """As `blocks_of`, if the solver is not called too often.

    Raises:
        CapacityError: it would be.
    """
    plan = blocks_of(num_records, epsilon=epsilon, delta=delta, failure=failure)
    if plan.num_calls > max_calls:
        raise CapacityError(
            f"PRSMA would call the solver {plan.num_calls:,} times ({plan.num_blocks:,} blocks,"
            f" {plan.num_repetitions:,} times each), and the limit is {max_calls:,}. Use the exponential mechanism or"
            " RSPM, a larger delta, or raise max_calls"
        )
    return plan


def prsma(
    gate: Gate,
    points: PrivatePoints,
    query_class: QueryClass,
    *,
    epsilon: Fraction,
    delta: Fraction,
    failure: float = 0.01,
    minimiser: Minimiser | None = None,
    max_calls: int = MAX_CALLS,
    public: PublicPoints | None = None,
    number: int = 0,
) -> Chosen:
    """A query of the class with a small weighted sum, whether or not the solver does its work.

    Guarantees:
        Precondition: a minimiser that is deterministic and whose certificates are true; nothing is asked of how often
        it gives one. Statement: (epsilon, delta)-DP for one record replaced. Proof: neel2019heuristics, Theorem 8 in
        the FOCS version, with more blocks than there (the module's docstring).

    Args:
        gate: Debits, and keeps the choice.
        points: The records.
        query_class: Where the query is sought.
        epsilon: Of the guarantee.
        delta: Of the guarantee.
        failure: Probability that nothing comes out although every call is certified.
        minimiser: Who seeks; it may have a limit here.
        max_calls: Calls to the minimiser beyond which PRSMA is refused.
        public: Public records to be weighed with the private ones: with those of a block, in its share of the table.
        number: How many choices come before this one in the run.

    Raises:
        CapacityError: too many calls; nothing was paid.
        CertificateError: too few blocks passed. The debit stays; nothing else is said.
    """
    plan = blocks_within(points.num_records, epsilon=epsilon, delta=delta, failure=failure, max_calls=max_calls)
    seeker = accepted(points, query_class, minimiser)
    if public is not None:
        public = PublicPoints(public.bits, public.weights * plan.block_size / points.num_records)
    task = _Task(plan, query_class, seeker, public)
    parameters = choose_once(gate, number, plan.event, lambda noise: _draw(noise, points, task))
    words = f"{plan.num_calls:,} calls of {seeker.name}; the guarantee does not rest on their number that failed"
    return Chosen(parameters, query_class, plan.event, words)


@dataclass(frozen=True, eq=False)
class _Task:
    """What is done on each block."""

    plan: Blocks
    query_class: QueryClass
    minimiser: Minimiser
    public: PublicPoints | None


def _draw(noise: Noise, points: PrivatePoints, task: _Task) -> IntArray | None:
    plan = task.plan
    results = [
        _repeated(noise, points.part(places), task)
        for places in _blocks(points.num_records, plan.num_blocks, plan.block_size)
    ]
    passed = [result for result in results if result is not None]
    count = noise.laplace(np.array([len(passed)], dtype=np.int64), float_above(1 / plan.event.epsilon))[0]
    if count <= plan.threshold or not passed:
        return None
    stored = np.concatenate(passed)
    return np.asarray(stored[noise.draws(np.zeros(len(stored), dtype=np.int64), 1.0, 1)[0]], dtype=np.int64)


def _repeated(noise: Noise, block: PrivatePoints, task: _Task) -> IntArray | None:
    """The results of all runs on a block, or None when one failed; all are made, whatever happens."""
    nothing = np.zeros(task.query_class.num_separators, dtype=np.int64)
    scale = float_above(separators.shift(grid=GRID, gap=0) * len(nothing) / task.plan.inner_epsilon)
    results: list[IntArray | None] = []
    for _ in range(task.plan.num_repetitions):
        instance = weighed(block, task.query_class, task.public, noise.laplace(nothing, scale))
        try:
            results.append(certified(instance, task.minimiser, 0))
        except Exception:  # a solver may fail in any way at all: the call counts as failed
            results.append(None)
    found = [result for result in results if result is not None]
    return np.array(found) if len(found) == len(results) else None


def _blocks(num_records: int, num_blocks: int, block_size: int) -> IntArray:
    """Places of the records of each block: a secret, uniformly random choice, since the proof averages over it."""
    order = list(range(num_records))
    for last in range(num_records - 1, 0, -1):
        other = secrets.randbelow(last + 1)
        order[last], order[other] = order[other], order[last]
    return np.array(order[: num_blocks * block_size], dtype=np.int64).reshape(num_blocks, block_size)
