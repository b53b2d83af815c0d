"""A choice that is paid for before it is begun, and made at most once.

How long a solver takes, and whether it ends, depends on the records. If the debit were committed with the answer, as
for other moves, whoever kills a run that takes long and starts it again would see only answers that came quickly, and
would have paid for one. So the debit is a move of its own. A second start that finds the debit and no answer does not
try again: it fails like a solver without a certificate does, with the same words, and the debit stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equipoise.core import IntArray, Move
from equipoise.errors import CertificateError
from equipoise.privacy.events import Event
from equipoise.privacy.gate import Gate, Turn
from equipoise.privacy.noise import Noise

__all__ = ["choose_once"]

NOTHING = np.zeros(0, dtype=np.int64)
REFUSAL = (
    "this private choice was paid for and has no certificate; nothing was released, and the reason is private. What it"
    " cost stays spent. A new choice has to be paid for anew; the exponential mechanism needs no certificate"
)


def choose_once(gate: Gate, number: int, event: Event, draw: Callable[[Noise], IntArray | None]) -> IntArray:
    """The parameters of a query, chosen by `draw` after `event` was debited.

    Two moves: the debit, whose ids are empty, and the choice, whose ids are the parameters, or empty for none.

    Guarantees:
        Precondition: `draw` has the privacy that `event` claims. Statement: however often a run is interrupted and
        begun again, `draw` is called at most once for a debit, and what is seen is its result or the refusal, which is
        the same for every reason. Proof: the debit is committed before the call, and a start that finds it does not
        call; an exception is turned into the refusal.

    Args:
        gate: Of a run whose moves are such pairs.
        number: How many choices come before this one in the run; one that was made is returned as it was.
        event: What it costs.
        draw: Makes the choice, or returns None without a certificate. Whatever it raises counts as None.

    Raises:
        CertificateError: there is no certificate, or the run was interrupted after the debit.
    """
    made = len(gate.moves) - 2 * number
    if made <= 0:

        def pay(turn: Turn) -> Move:
            turn.debit(event)
            return Move(NOTHING, NOTHING, None, 0.0)

        gate.play(pay)
        # Outside the ledger's transaction, which a long search would keep others waiting for.
        found = _attempt(gate.noise, draw)
        parameters = gate.play(lambda _: Move(found, np.zeros_like(found), None, 0.0)).ids
    else:
        parameters = gate.moves[2 * number + 1].ids if made > 1 else NOTHING
    if len(parameters) == 0:
        raise CertificateError(REFUSAL)
    return parameters


def _attempt(noise: Noise, draw: Callable[[Noise], IntArray | None]) -> IntArray:
    try:
        parameters = draw(noise)
    except Exception:  # what a solver raises may depend on the records, so nothing of it is passed on
        parameters = None
    return NOTHING if parameters is None else np.asarray(parameters, dtype=np.int64)
