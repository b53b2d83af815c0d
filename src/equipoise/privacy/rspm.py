"""Report separator-perturbed minimum (RSPM): a private choice from a class of queries, by Laplace or Gaussian noise.

    neel2019heuristics, section III                  here
    noise η_i for each separator e_i                 `Noise.laplace` or `Noise.gaussian`, whole units of 1/64 record
    oracle on the records and the (e_i, η_i)         `perturbed.certified`, within `gap` of the best
    output its query                                 `choice.choose_once`: paid for first, attempted once

The guarantee is *conditional*: it holds if the minimiser certifies its answer on this table and on its neighbours,
whatever the noise. Without a certificate nothing is released. Proofs: privacy/separators.py. What of the paper holds,
and what does not: docs/s003.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from equipoise.core import IntArray
from equipoise.errors import SettingError
from equipoise.oracles.classes.query_class import Minimiser, QueryClass
from equipoise.privacy import separators
from equipoise.privacy.choice import choose_once
from equipoise.privacy.events import Exponential, Prsma, SeparatorGaussian, SeparatorLaplace
from equipoise.privacy.gate import Gate
from equipoise.privacy.mechanisms import float_above
from equipoise.privacy.noise import Noise
from equipoise.privacy.perturbed import GRID, PublicPoints, accepted, certified, weighed
from equipoise.privacy.private_points import PrivatePoints

__all__ = ["NO_PROOF", "Chosen", "gaussian_event", "gaussian_rspm", "laplace_event", "rspm"]

NO_PROOF = "the published scale has no proof"


@dataclass(frozen=True, eq=False)
class Chosen:
    """A query that was chosen privately. Public.

    Attributes:
        parameters: The query, as `query_class` writes it.
        query_class: Where it is from.
        event: What was paid.
        certificate: What was certified, in words; None where the mechanism needs no certificate.
    """

    parameters: IntArray
    query_class: QueryClass
    event: SeparatorLaplace | SeparatorGaussian | Prsma | Exponential
    certificate: str | None


def laplace_event(query_class: QueryClass, *, epsilon: Fraction, gap: Fraction = Fraction(0)) -> SeparatorLaplace:
    """What `rspm` debits, from public settings.

    Guarantees:
        Precondition: as `rspm`. Statement: the event's price is at most epsilon. Proof: its scale is k m/epsilon,
        rounded up (privacy/separators.py, the shift k).

    Example:
        >>> from equipoise.oracles.classes.conjunctions import Conjunctions
        >>> from equipoise.privacy.accountant import cost
        >>> event = laplace_event(Conjunctions(10), epsilon=Fraction(1))
        >>> cost(event).epsilon, float(event.scale / event.grid)
        (Fraction(1, 1), 20.15625)
    """
    num_separators, units = query_class.num_separators, math.floor(gap * GRID)
    needed = separators.shift(grid=GRID, gap=units) * num_separators / Fraction(epsilon)
    return SeparatorLaplace(num_separators, GRID, units, Fraction(float_above(needed)))


def gaussian_event(
    query_class: QueryClass,
    *,
    epsilon: Fraction,
    delta: Fraction,
    gap: Fraction = Fraction(0),
    published_scale: str | None = None,
) -> SeparatorGaussian:
    """What `gaussian_rspm` debits, from public settings.

    Guarantees:
        Precondition: as `rspm`. Statement: without `published_scale` the event is worth at most (epsilon, delta).
        Proof: `separators.gaussian_stddev`. With it nothing is claimed but what `accountant.cost` says of that noise.

    Args:
        query_class: Its separators carry the noise.
        epsilon: Of the guarantee.
        delta: Of the guarantee.
        gap: What the certificate may leave open, in records.
        published_scale: `NO_PROOF`, written out, for the paper's √(m log(1/delta))/epsilon. It is charged what its
            noise is proved to cost, which is more than epsilon.

    Raises:
        SettingError: the published scale is asked for without these words.
    """
    num_separators, units = query_class.num_separators, math.floor(gap * GRID)
    if published_scale is None:
        stddev = separators.gaussian_stddev(
            shift=separators.shift(grid=GRID, gap=units),
            num_separators=num_separators,
            epsilon=float(epsilon),
            delta=float(delta),
        )
    elif published_scale == NO_PROOF:
        stddev = GRID * math.sqrt(num_separators * -math.log(delta)) / float(epsilon)
    else:
        raise SettingError(
            "the published scale of Gaussian RSPM is not private (docs/s003.md, Theorem 7). To use it all the same, at"
            f' what its noise is proved to cost, pass published_scale="{NO_PROOF}"'
        )
    return SeparatorGaussian(num_separators, GRID, units, Fraction(stddev), Fraction(delta))


def rspm(
    gate: Gate,
    points: PrivatePoints,
    query_class: QueryClass,
    *,
    epsilon: Fraction,
    gap: Fraction = Fraction(0),
    minimiser: Minimiser | None = None,
    public: PublicPoints | None = None,
    number: int = 0,
) -> Chosen:
    """A query of the class with a small weighted sum, by Laplace noise on the separators (P10).

    Guarantees:
        Precondition: the minimiser certifies its answers within `gap` on this table and its neighbours, whatever the
        noise. Postcondition: epsilon-DP for one record replaced, epsilon²/2-zCDP. Proof: privacy/separators.py, after
        neel2019heuristics. Not epsilon²/(2m): the m noises are no composition, since the shift depends on the output.

    Args:
        gate: Debits, and keeps the choice. The run's reservation must hold a conditional cost (`accountant.Cost`).
        points: The records.
        query_class: Where the query is sought.
        epsilon: Pure privacy.
        gap: By how much the query may miss the best, in records, certified.
        minimiser: Who seeks it; CP-SAT without a limit unless told otherwise.
        public: Public records to be weighed with the private ones.
        number: How many choices come before this one in the run.

    Raises:
        CertificateError: no certificate. The debit stays; nothing else is said.
    """
    event = laplace_event(query_class, epsilon=epsilon, gap=gap)
    return _choose(gate, points, query_class, event, minimiser, public, number)


def gaussian_rspm(
    gate: Gate,
    points: PrivatePoints,
    query_class: QueryClass,
    *,
    epsilon: Fraction,
    delta: Fraction,
    gap: Fraction = Fraction(0),
    minimiser: Minimiser | None = None,
    public: PublicPoints | None = None,
    number: int = 0,
    published_scale: str | None = None,
) -> Chosen:
    """As `rspm`, with Gaussian noise: less of it from about 40 separators on, and a delta.

    Guarantees:
        Precondition: as `rspm`. Postcondition: (epsilon, delta)-DP for one record replaced. Proof:
        privacy/separators.py. Not at the published scale: see `gaussian_event`.
    """
    event = gaussian_event(query_class, epsilon=epsilon, delta=delta, gap=gap, published_scale=published_scale)
    return _choose(gate, points, query_class, event, minimiser, public, number)


def _choose(
    gate: Gate,
    points: PrivatePoints,
    query_class: QueryClass,
    event: SeparatorLaplace | SeparatorGaussian,
    minimiser: Minimiser | None,
    public: PublicPoints | None,
    number: int,
) -> Chosen:
    seeker = accepted(points, query_class, minimiser)

    def draw(noise: Noise) -> IntArray | None:
        nothing = np.zeros(event.num_separators, dtype=np.int64)
        if isinstance(event, SeparatorLaplace):
            values = noise.laplace(nothing, float(event.scale))
        else:
            values = noise.gaussian(nothing, float(event.stddev))
        return certified(weighed(points, query_class, public, values), seeker, event.gap)

    parameters = choose_once(gate, number, event, draw)
    missed = f"within {event.gap / event.grid:g} records of the best" if event.gap else "the best"
    words = f"{seeker.name} certified that the query is {missed} for the records and the noise"
    return Chosen(parameters, query_class, event, words)
