"""A generator network that learnt from public rows before the game: the data player of GEM-Pub.

Pretraining needs no privacy: the network plays GEM against the public table, whose answers anybody may see. What it
learns is kept as weights alone; the game then begins with nothing measured.

The lessons are the marginals of the workload that the public table has all columns of, and, of the others, the part on
the columns it has. A column that it lacks is in no lesson: its output weights keep their random start, bit by bit
(liu2021iterative, appendix E.1, arXiv v2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from equipoise.core import FloatArray, Move
from equipoise.data.distributions import MixtureOfProducts, WeightedRows
from equipoise.data.public import PublicRows
from equipoise.data_players.generator import Generator
from equipoise.queries.workload import Group, Workload

if TYPE_CHECKING:
    from equipoise.data_players.generator import Trained

__all__ = ["Pretrained", "lessons"]

SPREAD = 0.3
"""Standard deviation of a lesson's answers, relative to the root of the number of rows: that of a cell with a tenth of
them, for all cells. Held each to its own, the many that are empty in the public table would drown the large ones."""

PATIENCE = 10
"""Public rounds without a smaller largest error after which the network has learnt what it can."""


def lessons(workload: Workload, columns: Sequence[int]) -> Workload | None:
    """The workload's marginals, restricted to some columns; None when nothing is left.

    Example:
        >>> from equipoise.data.domain import Domain
        >>> domain = Domain(("x", "y", "z"), (2, 3, 4))
        >>> whole = Workload(domain, (Group((0, 1, 2), (2, 3, 4)), Group((1, 2), (3, 4))))
        >>> [group.columns for group in lessons(whole, (0, 2)).groups]
        [(0, 2), (2,)]
    """
    sizes = workload.domain.sizes
    kept = dict.fromkeys(tuple(c for c in group.columns if c in columns) for group in workload.groups)
    groups = tuple(Group(part, tuple(sizes[c] for c in part)) for part in kept if part)
    return Workload(workload.domain, groups) if groups else None


@dataclass(frozen=True)
class Pretrained:
    """Plays what `generator` plays, from weights that fit the public rows.

    Attributes:
        generator: The player of the private game.
        public: The public rows, of all columns or of some.
        num_worst: Answers that a public round teaches: those that are furthest off. None: all there are, in one round.
        num_rounds: Public rounds at most.
        max_steps: Steps of the optimiser a public round at most. None: as many as in a round of the private game.
    """

    generator: Generator
    public: PublicRows
    num_worst: int | None = None
    num_rounds: int = 20
    max_steps: int | None = None

    def init(self, rng: np.random.Generator) -> Trained:
        """A network with random weights, taught by the public rows."""
        state = self.generator.init(rng)
        taught = self._teach(rng, state)
        if taught is not None:
            from equipoise.data_players import jax_generator

            state.training, state.noise, state.linearised = (
                jax_generator.start(taught.training.weights),
                taught.noise,
                None,
            )
        return state

    def step(self, rng: np.random.Generator, state: Trained, moves: Sequence[Move]) -> Trained:
        """See `Generator.step`."""
        return self.generator.step(rng, state, moves)

    def play(self, state: Trained) -> MixtureOfProducts:
        """See `Generator.play`."""
        return self.generator.play(state)

    def _teach(self, rng: np.random.Generator, begun: Trained) -> Trained | None:
        learnt = lessons(self.generator.workload, self.public.columns)
        if learnt is None:
            return None
        shares = public_answers(self.public, learnt)
        pupil = replace(
            self.generator,
            workload=learnt,
            num_rows=self.public.num_rows,
            num_rounds=self.num_rounds + 1,  # Never the last round: averaged weights are for noisy games.
            max_steps=self.max_steps or self.generator.max_steps,
        )
        state = pupil.init(rng)
        state.training, state.noise, state.linearised = begun.training, begun.noise, None
        moves: list[Move] = []
        best, waited = np.inf, 0
        for _ in range(self.num_rounds):
            errors = np.abs(learnt.on(pupil.play(state)) - shares)
            waited = 0 if errors.max() < best else waited + 1
            if waited >= PATIENCE:
                break
            best = min(best, float(errors.max()))
            taught = self._lesson(errors, shares, moves)
            if len(taught.ids) == 0:
                break
            moves.append(taught)
            state = pupil.step(rng, state, moves)
        return state

    def _lesson(self, errors: FloatArray, shares: FloatArray, moves: Sequence[Move]) -> Move:
        left = errors.copy()
        for move in moves:
            left[move.ids] = -1.0
        ids = np.argsort(-left, kind="stable")[: self.num_worst].astype(np.int64)
        ids = ids[left[ids] >= 0]
        counts = np.rint(shares[ids] * self.public.num_rows).astype(np.int64)
        return Move(ids, np.zeros_like(ids), counts, np.full(len(ids), SPREAD * self.public.num_rows**0.5))


def public_answers(public: PublicRows, workload: Workload) -> FloatArray:
    """The public rows' own answers to marginals of columns that they have."""
    shape = workload.domain.sizes
    codes = np.zeros((len(shape), public.num_distinct), dtype=public.codes.dtype)
    codes[list(public.columns)] = public.codes
    return workload.on(WeightedRows(codes, public.counts / public.num_rows, shape))
