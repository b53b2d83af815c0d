"""Best responses by an oracle: the records on which most of what the query player said holds.

The data player of DualQuery and DQRS (gaboardi2014dual, Algorithm 1, arXiv v2: the best record for the queries of the
newest move) and of FEM and sepFEM (vietri2020new, Algorithms 2 and 3, arXiv v1: the best records for all moves and
random noise on the values). A sign of +1 asks for records on which the query holds, -1 for ones on which it does not.

The oracle sees released queries and public randomness only, so nothing that it does (stop early, fail, return
nonsense) touches the guarantee; what went wrong is counted and reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from equipoise.core import Codes, Conclusion, Distribution, FloatArray, IntArray, Move
from equipoise.data.distributions import WeightedRows
from equipoise.data_players.remembered import Remembered, recall, remember, update
from equipoise.errors import QueryError
from equipoise.oracles.cells import instance_of
from equipoise.oracles.instance import Instance, OneHot
from equipoise.oracles.oracle import Oracle
from equipoise.queries.queries import Queries

__all__ = ["BestRecords", "Noise", "Records"]

LEAST_POPULAR = 0.1
"""A value's popularity, 1 on average over its column, is at least this, so that no value is shut out by its noise."""

MAX_TIED = 2**16
"""Values of a one-hot record up to which ties between best records are broken at random. Beyond it hardly any value
occurs in a query, and the oracle fills the others at random anyway."""


@dataclass(frozen=True)
class Noise:
    """Public noise on the values of a record, which makes the follower of the leader's play random.

    Attributes:
        law: Exponential, taken off the values (FEM), or Laplace (sepFEM: a query "column = value" for each value
            separates all records).
        scale: Its mean (exponential) or scale (Laplace), in queries: the papers' 1/eta.
    """

    law: Literal["exponential", "laplace"]
    scale: float

    def draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        """What each value of a record gains, for several copies."""
        if self.law == "exponential":
            return -rng.exponential(self.scale, shape)
        return rng.laplace(0.0, self.scale, shape)


class Records(NamedTuple):
    """What was played so far.

    Attributes:
        rounds: The records of each round, of shape (num_columns, num_records); the first was played before any move.
        opening: The query that was drawn before any move, of FEM; no ids for others.
        asked: How often each value occurred in a query that was to hold; kept by a player that learns its noise.
        heard: The draws of the newest rounds; kept by a player that weighs them.
        notes: What did not go as asked, and in how many rounds.
        num_unproved: Records that the oracle did not prove to be best.
    """

    rounds: tuple[Codes, ...]
    opening: tuple[IntArray, IntArray]
    asked: FloatArray | None
    heard: tuple[Remembered, ...]
    notes: Counter[str]
    num_unproved: int


@dataclass(frozen=True)
class BestRecords:
    """Plays the best records for what was drawn; concludes with all records that it played.

    Attributes:
        workload: The queries.
        oracle: Finds best records.
        num_records: Records a round, played with equal weights: best for different noise, or different best ones.
        noise: None for a best response (ties broken at random), else the law of the perturbation.
        learns: Whether the noise on a value is smaller the oftener it was asked for. Exponential noise then fills a
            column of which no query speaks with each value by its popularity, instead of by equal chances.
        memory: How many of the newest moves to respond to, together; None for all.
        rate: The learning rate of the query player, by which draws of earlier rounds are weighted; None: all alike.
        skipped: Rounds left out of the conclusion: those before the query player had learnt anything.
        opens: Whether a random query is drawn before the first round, and its records count (FEM).
    """

    workload: Queries
    oracle: Oracle
    num_records: int = 1
    noise: Noise | None = None
    learns: bool = False
    memory: int | None = 1
    rate: float | None = None
    skipped: int = 1
    opens: bool = False

    def init(self, rng: np.random.Generator) -> Records:
        """Records for no query at all, or for one that is drawn at random, which costs nothing."""
        drawn = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        if self.opens:
            drawn = rng.integers(self.workload.num_queries, size=1), rng.choice(np.array([-1, 1]), size=1)
        asked = np.zeros(self._layout.num_values) if self.learns and self.noise is not None else None
        return self._respond(rng, Records((), drawn, asked, (), Counter(), 0), *drawn)

    def step(self, rng: np.random.Generator, state: Records, moves: Sequence[Move]) -> Records:
        """Respond to the newest moves."""
        if state.asked is not None:
            state = state._replace(asked=state.asked + self._asked(moves[-1]))
        if self.rate is not None:
            return self._recall(rng, state, moves)
        heard = moves if self.memory is None else moves[-self.memory :]
        ids = np.concatenate([state.opening[0], *(move.ids for move in heard)])
        signs = np.concatenate([state.opening[1], *(move.signs for move in heard)])
        return self._respond(rng, state, ids, signs)

    def _recall(self, rng: np.random.Generator, state: Records, moves: Sequence[Move]) -> Records:
        """Respond to the newest draws and, by what they are worth now, to earlier ones."""
        newest = remember(self.workload, moves[-1], state.rounds[1:] or state.rounds)
        heard = (*state.heard, newest)[-self.memory :] if self.memory is not None else (*state.heard, newest)
        after = self._respond(rng, state, *recall(heard, num_rounds=len(moves)))
        return after._replace(heard=update(self.workload, heard, after.rounds[-1], self._rates))

    def play(self, state: Records) -> Distribution:
        """The records of the last round, with equal weights."""
        return self._rows(state.rounds[-1:])

    def conclude(self, state: Records) -> Conclusion:
        """All records of the rounds that count, and what went wrong with how many."""
        kept = state.rounds[min(self.skipped, len(state.rounds) - 1) :]
        notes = [f"{note} ({times} of {len(state.rounds)} rounds)" for note, times in sorted(state.notes.items())]
        if state.num_unproved:
            total = sum(codes.shape[1] for codes in state.rounds)
            notes.append(
                f"{state.num_unproved} of {total} best records were not proved to be best: accuracy may have suffered,"
                " the guarantee has not"
            )
        return Conclusion(self._rows(kept), tuple(notes))

    @cached_property
    def _rates(self) -> FloatArray:
        """The learning rate of each query: a weight below the largest slows it down."""
        weights = self.workload.weights()
        return np.asarray((self.rate or 0.0) * weights / weights.max(initial=1), dtype=np.float64)

    @cached_property
    def _layout(self) -> OneHot:
        return OneHot.of(self.workload.domain.sizes)

    def _rows(self, rounds: Sequence[Codes]) -> WeightedRows:
        codes = np.concatenate(rounds, axis=1)
        weights = np.full(codes.shape[1], 1 / codes.shape[1])
        return WeightedRows(codes, weights, tuple(self.workload.domain.sizes))

    def _respond(
        self,
        rng: np.random.Generator,
        state: Records,
        ids: IntArray,
        signs: IntArray,
        weights: FloatArray | None = None,
    ) -> Records:
        instance = self._instance(ids, signs, self._tilts(rng, state.asked), weights)
        found = self.oracle.solve(instance, rng)
        return state._replace(
            rounds=(*state.rounds, found.codes),
            notes=state.notes + Counter(set(found.notes)),
            num_unproved=state.num_unproved + int((~found.proved).sum()),
        )

    def _asked(self, move: Move) -> FloatArray:
        """How often each value occurs in the queries that the move asks to hold."""
        held = move.signs > 0
        positions = self._instance(move.ids[held], move.signs[held], None).literals
        counts = np.bincount(positions[positions >= 0], minlength=self._layout.num_values)
        return counts.astype(np.float64)

    def _popularity(self, asked: FloatArray) -> FloatArray:
        """How often each value was asked for, one time more, over the mean of its column."""
        starts, sizes = self._layout.starts[:-1], self._layout.sizes
        means = np.add.reduceat(asked + 1, starts) / sizes
        return np.maximum((asked + 1) / np.repeat(means, sizes), LEAST_POPULAR)

    def _tilts(self, rng: np.random.Generator, asked: FloatArray | None) -> FloatArray | None:
        """What each value of a record gains in each copy of the problem."""
        shape = self.num_records, self._layout.num_values
        if self.noise is not None and asked is not None:
            # The smallest of independent exponentials is each with a chance in proportion to its rate.
            return self.noise.draw(rng, shape) / self._popularity(asked)
        if self.noise is not None:
            tilts = self.noise.draw(rng, shape)
            if (self._layout.sizes == 2).all():
                # A record of bits is its own encoding: "is 1" carries noise, "is 0" none.
                tilts[:, ::2] = 0.0
            return tilts
        if shape[1] > MAX_TIED:
            return None
        # Less than half a query in all, so that only ties are decided by it.
        return rng.random(shape) / (2 * self._layout.num_columns)

    def _instance(
        self, ids: IntArray, signs: IntArray, tilts: FloatArray | None, weights: FloatArray | None = None
    ) -> Instance:
        negated, factors = signs < 0, np.ones(len(ids)) if weights is None else weights
        try:
            columns, codes = self.workload.literals(ids)
        except QueryError:  # ranges and the like: split into cells
            queries = [self.workload.query(int(i)) for i in ids]
            instance = instance_of(self._layout, queries, factors[np.newaxis], negated, tilts)
        else:
            instance = Instance.of(self._layout, columns, codes, factors[np.newaxis], negated, tilts)
        return replace(instance, num_copies=self.num_records)
