"""Best response by a private learner: a solver looks for the query on which the played records fall short most.

The query player of OracleQuery (neel2019heuristics, section IV): minimise n (q(played) - q(table)) over the queries and
their negations, that is the weighted sum with weight -1 on each private record and n/s on each of s played ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from equipoise.core import Move
from equipoise.data.distributions import WeightedRows
from equipoise.oracles.classes.workloads import WorkloadClass
from equipoise.privacy.gate import Gate
from equipoise.privacy.learner import Learner
from equipoise.privacy.perturbed import PublicPoints
from equipoise.privacy.private import Private
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.recorded import Recorded
from equipoise.queries.played import Played

__all__ = ["OracleResponse"]


@dataclass(frozen=True)
class OracleResponse:
    """Choose one query or negation a round, in two entries of the ledger (privacy/choice.py).

    Attributes:
        num_rows: Records in the private table (public).
        queries: The workload as a class.
        learner: Who chooses.
    """

    num_rows: int
    queries: WorkloadClass
    learner: Learner

    def init(self, truth: Private) -> PrivatePoints:
        """Remember the records."""
        if not isinstance(truth, Recorded):
            raise TypeError("a solver needs the records, not only the counts (engines/records.py)")
        return truth.records

    def step(self, gate: Gate, state: PrivatePoints, played: Played) -> tuple[PrivatePoints, Move]:
        """Choose; paid for before the solver begins.

        Raises:
            CertificateError: no certificate. The debit stays; the game cannot go on.
        """
        rows = played.distribution
        assert isinstance(rows, WeightedRows)
        weights = rows.weights * (self.num_rows / rows.weights.sum())
        public = PublicPoints(self.queries.features.bits(rows.codes), weights)
        chosen = self.learner.choose(gate, state, public=public, number=len(_chosen(gate.moves)))
        return state, self.queries.move(chosen.parameters)

    def recall(self, state: PrivatePoints, played: Played, move: Move) -> PrivatePoints:
        """Nothing to remember but the records."""
        return state

    def rounds(self, moves: Sequence[Move]) -> Sequence[Move]:
        """See `PaysFirst.rounds`."""
        return [self.queries.move(move.ids) for move in _chosen(moves)]


def _chosen(moves: Sequence[Move]) -> list[Move]:
    """The choices that came with a certificate: after one without, there is none."""
    return list(takewhile(lambda move: len(move.ids) > 0, moves[1::2]))
