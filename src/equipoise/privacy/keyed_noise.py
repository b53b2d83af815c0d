"""Noise that belongs to a question, not to the moment it is asked: the same label always gets the same noise.

An analyst's query must not change the noise of anybody else's, and a request that is repeated after a crash must not
get another try. So each query's noise is a function of its label and of a secret of 32 bytes, drawn from the
operating system and kept in the ledger with the session. The bits come from BLAKE2b with the secret as its key, in
counter mode; the sampler that they feed is exact.

Assumption: keyed BLAKE2b is a pseudorandom function. Then the noises of different labels cannot be told from
independent ones by anybody without the secret, in any practical time. The operating system's own generator, which the
rest of this package draws from, rests on the same kind of assumption. Whoever reads the ledger knows the secret, and
with it the noise: a ledger with an open session is as secret as the table.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from fractions import Fraction

__all__ = ["KeyedNoise", "fresh_laplace", "laplace_from", "new_secret"]

SECRET_BYTES = 32
_BLOCK = 64


def new_secret() -> bytes:
    """A secret for a new session, from the operating system."""
    return secrets.token_bytes(SECRET_BYTES)


class KeyedNoise:
    """Discrete Laplace noise by label.

    Guarantees:
        Precondition: a key that nobody knows, and the module's assumption on the bits made of it. Statement: the noise
        of a label has Pr[k] proportional to exp(-|k| / scale), independent of that of every other label; exactly so for
        independent uniform bits. Proof: `laplace_from`; labels are told apart whatever their parts contain, so no two
        share bits.

    Example:
        >>> noise = KeyedNoise(bytes(32))
        >>> noise.laplace(("ada", 1), Fraction(50)) == noise.laplace(("ada", 1), Fraction(50))
        True
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"a session's secret has {SECRET_BYTES} bytes")
        self._secret = secret

    def laplace(self, label: tuple[str | int, ...], scale: Fraction) -> int:
        """The noise of a label: parts that together name a query once."""
        return laplace_from(_Bits(self._blocks(json.dumps(label).encode())), scale)

    def _blocks(self, label: bytes) -> Iterator[int]:
        number = 0
        while True:
            message = number.to_bytes(8, "big") + label
            block = hashlib.blake2b(message, key=self._secret, digest_size=_BLOCK, person=b"equipoise noise").digest()
            yield int.from_bytes(block, "big")
            number += 1


def fresh_laplace(scale: Fraction) -> int:
    """Discrete Laplace noise by the same sampler, from the operating system: for what is not asked for again.

    Guarantees:
        Precondition: none. Statement: Pr[k] proportional to exp(-|k| / scale), exactly, for bits of the operating
        system. Proof: `laplace_from`.
    """
    return laplace_from(_Bits(iter(lambda: int.from_bytes(os.urandom(_BLOCK), "big"), -1)), scale)


class _Bits:
    """A stream of uniform bits, taken in any number."""

    def __init__(self, blocks: Iterator[int]) -> None:
        self._blocks = blocks
        self._held, self._count = 0, 0

    def take(self, count: int) -> int:
        """The next `count` bits as a number."""
        while self._count < count:
            self._held = self._held << (8 * _BLOCK) | next(self._blocks)
            self._count += 8 * _BLOCK
        self._count -= count
        taken = self._held >> self._count
        self._held &= (1 << self._count) - 1
        return taken

    def below(self, limit: int) -> int:
        """A uniform number below a limit, by rejection."""
        count = (limit - 1).bit_length()
        while (drawn := self.take(count)) >= limit:
            pass
        return drawn


def laplace_from(bits: _Bits, scale: Fraction) -> int:
    """Discrete Laplace noise of an exact scale t/s from uniform bits.

    Guarantees:
        Precondition: independent uniform bits, and a positive scale t/s. Statement: exactly Pr[k] proportional to
        exp(-|k| s/t). Proof: canonne2020discrete, Algorithm 2 in v4: X = U + t V, with U uniform below t and kept with
        probability exp(-U/t), V the number of successes before the first failure of coins of bias e^-1, has Pr[x]
        proportional to exp(-x/t); X // s has scale t/s; a sign is drawn, and "minus 0" drawn again. Integers only: no
        rounding.
    """
    t, s = scale.numerator, scale.denominator
    while True:
        uniform = bits.below(t)
        if not _exponential_coin(bits, uniform, t):
            continue
        whole = 0
        while _exponential_coin(bits, 1, 1):
            whole += 1
        magnitude = (uniform + t * whole) // s
        if not bits.take(1):
            return magnitude
        if magnitude:
            return -magnitude


def _exponential_coin(bits: _Bits, numerator: int, denominator: int) -> bool:
    """A coin of bias exp(-numerator/denominator), the fraction at most 1 (canonne2020discrete, Algorithm 1 in v4)."""
    number = 1
    while bits.below(number * denominator) < numerator:
        number += 1
    return number % 2 == 1
