"""Exact-enumeration audits: the law of every move of a real game on two neighbouring tables, against its charge.

The players, the gate and the mechanisms are the product's own. Only the noise is not drawn: every outcome that it can
have is tried in turn, with the probabilities that its law gives it on the one table and on the other. So a wrong sign,
scale, sensitivity or price shows without statistics. And with the noise's outcomes given, the move, its charge and
whether it is the last must be the same on both tables: else something was told that the noise did not protect.

A game is taken round by round: given the moves so far (one game is played with real noise to have some), the law of the
next move is enumerated on both tables. By composition (bun2016concentrated, Lemma 1.7), if each conditional divergence
is within its charge, the game's is within the sum; the charge may depend on the move, as the ledger's filter allows
(E exp((a - 1)(L - a c)) <= 1 with L the log-ratio and c the charge).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from equipoise.audit.laws import MOST_OUTCOMES, Factor, factors_of
from equipoise.core import Move
from equipoise.errors import SettingError
from equipoise.privacy.cost import Cost

__all__ = ["ORDERS", "Law", "Loss", "Made", "enumerate_move", "loss_of"]

ORDERS = (1.5, 2.0, 4.0, 16.0)


class Made(NamedTuple):
    """A move that was made, what it was charged, and whether the game is over."""

    move: Move
    charge: Cost
    over: bool = False

    def same(self, other: Made) -> bool:
        """Whether nothing tells this from another one."""
        if (self.charge, self.over) != (other.charge, other.over):
            return False
        return all(np.array_equal(mine, its) for mine, its in zip(self.move, other.move, strict=True))  # type: ignore[arg-type]


World = Callable[[Any], Made]
"""Plays one move with the noise it is given."""


class _Asked(Exception):
    def __init__(self, kind: str, values: Any, scale: float, more: dict[str, Any]) -> None:
        super().__init__(kind)
        self.call = (kind, np.array(values), scale, more)


@dataclass
class _Script:
    """Noise that returns what is scripted, and asks at the first call beyond."""

    outcomes: list[Any]
    used: int = 0

    def _next(self, kind: str, values: Any, scale: float, **more: Any) -> Any:
        if self.used == len(self.outcomes):
            raise _Asked(kind, values, scale, more)
        self.used += 1
        return self.outcomes[self.used - 1]

    def gaussian(self, values: Any, scale: float) -> Any:
        return np.array(self._next("gaussian", values, scale), dtype=np.int64)

    def laplace(self, values: Any, scale: float) -> Any:
        return np.array(self._next("laplace", values, scale), dtype=np.int64)

    def largest(self, scores: Any, scale: float, num_selected: int, law: str) -> Any:
        found = self._next("largest", scores, scale, num_selected=num_selected, law=law)
        return np.array(found[0], dtype=np.int64)

    def draws(self, scores: Any, scale: float, num_draws: int) -> Any:
        return np.array(self._next("draws", scores, scale, num_draws=num_draws), dtype=np.int64)

    def coins(self, exponents: Any, scale: float) -> Any:
        return np.array(self._next("coins", exponents, scale), dtype=np.bool_)


@dataclass
class Law:
    """What was found of one move: for each order log E_there-weighted moments, in both directions.

    Attributes:
        moments: For each (order, direction): log sum p^a q^(1-a).
        filtered: The same less (a - 1) a times the move's charge.
        mass: How much of the probability was enumerated.
        largest: The largest |log p/q| less the pure charge, and the largest |log p/q|.
        charge: The largest charge of any outcome.
    """

    moments: dict[tuple[float, int], float]
    filtered: dict[tuple[float, int], float]
    mass: float
    largest: float
    beyond: float
    charge: Cost


@dataclass
class _Sums:
    """Sums over outcomes, kept in logarithms."""

    moments: dict[tuple[float, int], list[float]] = field(default_factory=dict)
    filtered: dict[tuple[float, int], list[float]] = field(default_factory=dict)
    mass: list[float] = field(default_factory=list)
    largest: float = 0.0
    beyond: float = -math.inf
    charge: Cost = field(default_factory=Cost)


def enumerate_move(here: World, there: World, *, sabotage: float = 1.0, only: tuple[str, ...] = ()) -> Law:
    """The law of one move on two tables.

    Args:
        here: The move on the one table.
        there: The same on its neighbour.
        sabotage: Multiplies the scale of the noise behind the players' backs: 0.5 is half the noise, a negative
            control that must be found.
        only: The kinds of noise that are sabotaged; all by default.

    Raises:
        SettingError: the players ask for different things on the two tables, or there is too much to enumerate.
    """
    sums = _Sums()
    _follow(here, there, _Branch(), lambda kind: sabotage if not only or kind in only else 1.0, sums)
    keys = list(itertools.product(ORDERS, (0, 1)))
    return Law(
        {key: float(np.logaddexp.reduce(sums.moments[key])) for key in keys},
        {key: float(np.logaddexp.reduce(sums.filtered[key])) for key in keys},
        math.exp(float(np.logaddexp.reduce(sums.mass))),
        sums.largest,
        sums.beyond,
        sums.charge,
    )


def _ask(world: World, script: tuple[Any, ...]) -> Made | tuple[Any, ...]:
    try:
        return world(_Script(list(script)))
    except _Asked as asked:
        return asked.call


@dataclass(frozen=True)
class _Branch:
    """Where an enumeration stands: what was drawn, its log-probabilities on both tables, and parts that are to come.

    `carried` are parts of earlier draws on which nothing later depends: they are multiplied in at the end.
    """

    script: tuple[Any, ...] = ()
    logs: tuple[float, float] = (0.0, 0.0)
    carried: tuple[Factor, ...] = ()

    def after(self, outcome: list[Any], here: float = 0.0, there: float = 0.0) -> _Branch:
        return _Branch((*self.script, outcome), (self.logs[0] + here, self.logs[1] + there), self.carried)


def _follow(here: World, there: World, branch: _Branch, scaled: Callable[[str], float], sums: _Sums) -> None:
    one, two = _ask(here, branch.script), _ask(there, branch.script)
    if isinstance(one, Made) or isinstance(two, Made):
        if not (isinstance(one, Made) and isinstance(two, Made) and one.same(two)):
            raise SettingError(
                "the move, its charge or its draws differ on a neighbouring table, at the same noise: it leaks"
            )
        _leaf(branch.carried, branch.logs, one.charge, sums)
        return
    kind, values, scale, more = one
    if kind != two[0] or more != two[3] or len(values) != len(two[1]):
        raise SettingError("the player draws other noise on a neighbouring table: it leaks")
    parts = factors_of(kind, values, two[1], (scale * scaled(kind), two[2] * scaled(kind)), **more)
    if _leads_nowhere(here, branch, parts):
        likely = [part.outcomes[int(np.argmax(part.here))] for part in parts]
        after = branch.after(likely)
        _follow(here, there, _Branch(after.script, after.logs, branch.carried + parts), scaled, sums)
        return
    if math.prod(len(part.outcomes) for part in parts) > MOST_OUTCOMES:
        raise SettingError("this move has too many outcomes to enumerate; audit it with a smaller workload")
    for choice in itertools.product(*(range(len(part.outcomes)) for part in parts)):
        picked = list(zip(parts, choice, strict=True))
        logs = (sum(part.here[i] for part, i in picked), sum(part.there[i] for part, i in picked))
        _follow(here, there, branch.after([part.outcomes[i] for part, i in picked], *logs), scaled, sums)


def _leads_nowhere(world: World, branch: _Branch, parts: tuple[Factor, ...]) -> bool:
    """Whether nothing later depends on a draw, as far as its most and its least likely outcomes tell.

    If they told wrong, later draws would be looked at for one outcome only, and less would be found, never more.
    """
    found = []
    for pick in (np.argmax, np.argmin):
        asked = _ask(world, (*branch.script, [part.outcomes[int(pick(part.here))] for part in parts]))
        found.append(asked.charge if isinstance(asked, Made) else (asked[0], asked[1].tolist(), *asked[2:]))
    return bool(found[0] == found[1])


def _leaf(parts: tuple[Factor, ...], so_far: Any, charge: Cost, sums: _Sums) -> None:
    """Add a branch whose last draw has these independent parts: sums of products are products of sums."""
    rho, pure = float(charge.rho), None if charge.epsilon is None else float(charge.epsilon)
    for order, way in itertools.product(ORDERS, (0, 1)):
        log = order * so_far[way] + (1 - order) * so_far[1 - way]
        for part in parts:
            p, q = (part.here, part.there) if way == 0 else (part.there, part.here)
            log += float(np.logaddexp.reduce(order * p + (1 - order) * q))
        sums.moments.setdefault((order, way), []).append(log)
        sums.filtered.setdefault((order, way), []).append(log - (order - 1) * order * rho)
    sums.mass.append(so_far[0] + sum(float(np.logaddexp.reduce(part.here)) for part in parts))
    ratios = [so_far[0] - so_far[1] + sum(float(f(part.here - part.there)) for part in parts) for f in (np.max, np.min)]
    found = max(map(abs, ratios))
    sums.largest = max(sums.largest, found)
    sums.beyond = max(sums.beyond, -math.inf if pure is None else found - pure)
    sums.charge = max(sums.charge, charge, key=lambda cost: cost.rho)


@dataclass(frozen=True)
class Loss:
    """What a move was charged, and what it was found to cost.

    Attributes:
        claimed_rho: The charge.
        rho: The largest divergence found, over its order.
        claimed_epsilon: The pure charge, or None.
        epsilon: The largest log-ratio found among the outcomes looked at.
        holds: Whether all that was found is within the charge.
    """

    claimed_rho: float
    rho: float
    claimed_epsilon: float | None
    epsilon: float
    holds: bool


def loss_of(law: Law) -> Loss:
    """The verdict on one move's law. Floats err by 1e-9 at most here.

    Raises:
        SettingError: too little of the law was enumerated to say anything.
    """
    if not 0.999 < law.mass < 1.001:
        raise SettingError("only a part of the move's law was enumerated")
    rho = max(moment / ((order - 1) * order) for (order, _), moment in law.moments.items())
    holds = max(law.filtered.values()) <= 1e-9 and law.beyond <= 1e-9
    claimed = None if law.charge.epsilon is None else float(law.charge.epsilon)
    return Loss(float(law.charge.rho), rho, claimed, law.largest, holds)
