"""Secrets that are shown once: made, stored as digests, compared in constant time.

A token is `eqp_<id>_<secret>`; the id finds the row, the secret proves the right to it. The secret has 256 random bits,
so one round of SHA-256 hides it as well as any slow hash would.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

__all__ = ["NOBODY", "Token", "digest", "matches", "new", "new_id", "parse"]

_FORM = re.compile(r"eqp_([0-9a-f]{16})_([0-9a-f]{64})")

NOBODY = hashlib.sha256(b"nobody").hexdigest()
"""What a secret is compared with when there is no such id, so that an unknown id takes as long as a known one."""


class Token(NamedTuple):
    """A token taken apart."""

    id: str
    secret: str

    def __str__(self) -> str:
        return f"eqp_{self.id}_{self.secret}"

    def __repr__(self) -> str:
        return f"Token({self.id}, hidden)"


def new_id() -> str:
    """An id that tells nothing of how many there are."""
    return secrets.token_hex(8)


def new() -> Token:
    """A new token."""
    return Token(new_id(), secrets.token_hex(32))


def parse(text: str) -> Token | None:
    """The token that a text is, or None.

    Example:
        >>> token = new()
        >>> parse(str(token)) == token, parse("eqp_1_2") is None, repr(Token("0" * 16, "secret"))
        (True, True, 'Token(0000000000000000, hidden)')
    """
    found = _FORM.fullmatch(text)
    return Token(found[1], found[2]) if found else None


def digest(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def matches(secret: str, stored: str) -> bool:
    """Whether a secret is the one that was stored; takes the same time whichever byte differs."""
    return hmac.compare_digest(digest(secret), stored)
