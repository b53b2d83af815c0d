"""The audit of an algorithm, and the table of claimed against measured privacy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from equipoise.algorithms import ALGORITHMS, Algorithm, create
from equipoise.audit.enumeration import Loss, loss_of
from equipoise.audit.less_noise import LessNoise
from equipoise.audit.sampling import Sampled, sample
from equipoise.audit.subject import Subject, quick_options, subject_of
from equipoise.errors import SettingError
from equipoise.privacy.noise import ExactNoise, Noise

__all__ = ["Audit", "audit", "audits"]

HALF = 0.5
"""The negative control: half of the noise behind the players' backs."""
DELTA = 1e-3
"""Where sampled epsilons of charges that are not pure are compared: smaller deltas hide what few runs can show."""


@dataclass(frozen=True)
class Audit:
    """What was found of an algorithm in one currency.

    Attributes:
        method: Its name.
        pure: Whether its budget was a pure one.
        losses: Of each move, by enumeration.
        controls: The same with half the noise.
        sampled: Of the dearest move, by sampling; None where that was not asked for.
        sampled_control: The same with half the noise: few runs may not find it out.
    """

    method: str
    pure: bool
    losses: tuple[Loss, ...]
    controls: tuple[Loss, ...]
    sampled: Sampled | None
    sampled_control: Sampled | None

    @property
    def holds(self) -> bool:
        """Whether everything that was found is within what was charged."""
        return all(loss.holds for loss in self.losses) and (self.sampled is None or self.sampled.holds)

    @property
    def control_found(self) -> bool:
        """Whether half the noise was found out, in some move: else the audit could not have seen anything."""
        return any(not loss.holds for loss in self.controls)

    @property
    def claimed(self) -> float:
        """What all moves together were charged: rho, or epsilon."""
        return sum((loss.claimed_epsilon or 0.0) if self.pure else loss.claimed_rho for loss in self.losses)

    @property
    def measured(self) -> float:
        """What was found of it: the sum over moves of the largest divergence over its order, or log-ratio."""
        return sum(loss.epsilon if self.pure else loss.rho for loss in self.losses)

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "method": self.method,
            "currency": "epsilon" if self.pure else "rho",
            "claimed": self.claimed,
            "measured": self.measured,
            "moves": len(self.losses),
            "holds": self.holds,
            "half_the_noise": sum(loss.epsilon if self.pure else loss.rho for loss in self.controls),
            "half_the_noise_found": self.control_found,
            "sampled": _told(self.sampled),
            "half_the_noise_sampled": _told(self.sampled_control),
        }


def _told(sampled: Sampled | None) -> dict[str, Any] | None:
    return None if sampled is None else sampled._asdict() | {"holds": sampled.holds}


def audit(algorithm: Algorithm, *, pure: bool = False, num_runs: int = 0) -> Audit:
    """Audit an algorithm on the toy table: every move of a game by enumeration, the dearest by runs.

    Raises:
        EquipoiseError: it cannot be audited so: it has no pure variant, or too many outcomes to enumerate.
    """
    subject = subject_of(algorithm, pure=pure)
    numbers = range(len(subject.history[0]))
    if not numbers:
        raise SettingError("the game has no moves: there is nothing to audit")
    return Audit(
        str(getattr(algorithm, "name", type(algorithm).__name__)),
        pure,
        tuple(loss_of(subject.law(number)) for number in numbers),
        tuple(loss_of(subject.law(number, sabotage=HALF)) for number in numbers),
        _sampled(subject, num_runs, ExactNoise()) if num_runs else None,
        _sampled(subject, num_runs, LessNoise(HALF)) if num_runs else None,
    )


def _sampled(subject: Subject, num_runs: int, noise: Noise) -> Sampled:
    """Of the move that is charged most: the first one of some games is free."""
    charges = [subject.play(subject.game.rows, number).charge for number in range(len(subject.history[0]))]
    number = max(range(len(charges)), key=lambda place: charges[place].rho)
    charge = charges[number]
    return sample(
        lambda: subject.play(subject.game.rows, number, noise).move,
        lambda: subject.play(subject.neighbour, number, noise).move,
        charge,
        num_runs=num_runs,
        delta=0.0 if charge.epsilon is not None else DELTA,
    )


def audits(*, num_runs: int = 0, only: tuple[str, ...] = ()) -> Iterator[Audit]:
    """Audit every algorithm of the registry, in every currency that it has."""
    for cls in ALGORITHMS:
        if only and cls.name not in only:
            continue
        for pure in (False, True):
            try:
                algorithm = create(cls.name, quick_options(cls))
                subject_of(algorithm, pure=pure)
            except SettingError:
                if not pure:
                    raise
                continue  # it has no pure variant
            yield audit(algorithm, pure=pure, num_runs=num_runs)
