"""A private learner of a query class: the four mechanisms of neel2019heuristics behind one name, with their prices.

exponential    every query is tried: nothing rests on a solver
rspm           noise on the separators, Laplace; conditional on the solver's certificates
gaussian_rspm  the same with Gaussian noise, and a delta
prsma          rspm on random blocks, and a delta; conditional on nothing
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from equipoise.oracles.classes.query_class import Minimiser, QueryClass
from equipoise.privacy.enumerated import choose_enumerated
from equipoise.privacy.events import Exponential, Prsma, SeparatorGaussian, SeparatorLaplace
from equipoise.privacy.gate import Gate
from equipoise.privacy.perturbed import PublicPoints
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.prsma import MAX_CALLS, blocks_within, prsma
from equipoise.privacy.rspm import Chosen, gaussian_event, gaussian_rspm, laplace_event, rspm

__all__ = ["MECHANISMS", "PURE", "Learner", "Mechanism"]

Mechanism: TypeAlias = Literal["exponential", "rspm", "gaussian_rspm", "prsma"]
MECHANISMS: tuple[Mechanism, ...] = ("exponential", "rspm", "gaussian_rspm", "prsma")
PURE: tuple[Mechanism, ...] = ("exponential", "rspm")
"""Those without a delta."""


@dataclass(frozen=True)
class Learner:
    """Chooses a query of a class with a small weighted sum.

    Attributes:
        query_class: Where it is sought.
        mechanism: How.
        epsilon: Of the guarantee of one choice, for one record.
        delta: Of the guarantee of one choice; 0 for a pure one.
        minimiser: Who seeks, where a solver does.
        num_records: Of the table.
        max_calls: Solver calls beyond which PRSMA is refused.

    Guarantees:
        Precondition: the records have bits and weights of -1, 0 or 1; for the separators' mechanisms a minimiser whose
        certificates are true. Statement: one choice costs `event` for one record replaced. Proof: that of
        `choose_enumerated`, `rspm`, `gaussian_rspm` or `prsma` (neel2019heuristics; what of it holds: docs/s003.md).
    """

    query_class: QueryClass
    mechanism: Mechanism
    epsilon: Fraction
    delta: Fraction
    minimiser: Minimiser
    num_records: int
    max_calls: int = MAX_CALLS

    @property
    def event(self) -> Exponential | SeparatorLaplace | SeparatorGaussian | Prsma:
        """What one choice costs.

        Raises:
            CapacityError: PRSMA would call its solver too often.
        """
        match self.mechanism:
            case "exponential":
                return Exponential(self.epsilon)
            case "rspm":
                return laplace_event(self.query_class, epsilon=self.epsilon)
            case "gaussian_rspm":
                return gaussian_event(self.query_class, epsilon=self.epsilon, delta=self.delta)
            case "prsma":
                return blocks_within(
                    self.num_records, epsilon=self.epsilon, delta=self.delta, max_calls=self.max_calls
                ).event

    @property
    def num_separators(self) -> int:
        """How many points carry noise."""
        return 0 if self.mechanism == "exponential" else self.query_class.num_separators

    @property
    def noise_scale(self) -> float:
        """Of the noise on each separator, in records; 0 where there is none, or it is on blocks."""
        match self.event:
            case SeparatorLaplace(grid=grid, scale=scale):
                return float(scale / grid)
            case SeparatorGaussian(grid=grid, stddev=stddev):
                return float(stddev / grid)
            case _:
                return 0.0

    def choose(
        self, gate: Gate, points: PrivatePoints, *, public: PublicPoints | None = None, number: int = 0
    ) -> Chosen:
        """The query, paid for; or what the run chose before, if it did.

        Args:
            gate: Debits, and keeps the choice.
            points: The records.
            public: Public records to be weighed with them.
            number: How many choices come before this one in the run.

        Raises:
            CertificateError: the solver gave no certificate. The debit stays; nothing else is said.
        """
        common = gate, points, self.query_class
        epsilon, delta, minimiser = self.epsilon, self.delta, self.minimiser
        match self.mechanism:
            case "exponential":
                most = self.query_class.num_queries
                return choose_enumerated(*common, epsilon=epsilon, max_queries=most, public=public, number=number)
            case "rspm":
                return rspm(*common, epsilon=epsilon, minimiser=minimiser, public=public, number=number)
            case "gaussian_rspm":
                return gaussian_rspm(
                    *common, epsilon=epsilon, delta=delta, minimiser=minimiser, public=public, number=number
                )
            case "prsma":
                return prsma(
                    *common,
                    epsilon=epsilon,
                    delta=delta,
                    minimiser=minimiser,
                    max_calls=self.max_calls,
                    public=public,
                    number=number,
                )
