"""SipHash-2-4 with 128 bits (Aumasson, Bernstein 2012), compiled: a keyed hash of many byte strings at once.

Without the key nobody can tell or force which strings collide, and with 128 bits none do by chance.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Hashes", "hash_slices", "key_of"]

Hashes = NDArray[np.uint64]
"""Shape (number, 2)."""


def key_of(seed: int) -> Hashes:
    """A 128-bit key from a seed, as an array of one row."""
    return np.frombuffer(hashlib.blake2b(str(seed).encode(), digest_size=16).digest(), dtype="<u8").reshape(1, 2)


def hash_slices(data: NDArray[np.uint8], edges: NDArray[Any], keys: Hashes) -> Hashes:
    """The hash of each of the slices `data[edges[i]:edges[i + 1]]`.

    Args:
        data: Bytes.
        edges: One more than there are slices.
        keys: One row for all, or one for each slice.

    Example:
        >>> key = np.arange(16, dtype=np.uint8).view(np.uint64).reshape(1, 2)
        >>> hash_slices(np.zeros(0, dtype=np.uint8), np.array([0, 0]), key).view(np.uint8).tobytes().hex()[:16]
        'a3817f04ba25a8e6'
    """
    result = np.empty((len(edges) - 1, 2), dtype=np.uint64)
    _hash(result, np.ascontiguousarray(data), edges.astype(np.int64, copy=False), np.ascontiguousarray(keys))
    return result


@njit(nogil=True, cache=True, inline="always")  # type: ignore[untyped-decorator]
def _rotate(x: Any, by: Any) -> Any:
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _mix(v: Any, rounds: int) -> Any:
    v0, v1, v2, v3 = v
    for _ in range(rounds):
        v0 += v1
        v1 = _rotate(v1, 13) ^ v0
        v0 = _rotate(v0, 32)
        v2 += v3
        v3 = _rotate(v3, 16) ^ v2
        v0 += v3
        v3 = _rotate(v3, 21) ^ v0
        v2 += v1
        v1 = _rotate(v1, 17) ^ v2
        v2 = _rotate(v2, 32)
    return v0, v1, v2, v3


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _absorb(v: Any, word: Any) -> Any:
    v0, v1, v2, v3 = _mix((v[0], v[1], v[2], v[3] ^ word), 2)
    return v0 ^ word, v1, v2, v3


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _hash(result: Any, data: Any, edges: Any, keys: Any) -> None:
    for i in range(len(result)):
        k0, k1 = keys[i % len(keys), 0], keys[i % len(keys), 1]
        v = (
            k0 ^ np.uint64(0x736F6D6570736575),
            k1 ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE),
            k0 ^ np.uint64(0x6C7967656E657261),
            k1 ^ np.uint64(0x7465646279746573),
        )
        first, last = edges[i], edges[i + 1]
        word, filled = np.uint64(0), 0
        for place in range(first, last):
            word |= np.uint64(data[place]) << np.uint64(8 * filled)
            filled += 1
            if filled == 8:
                v = _absorb(v, word)
                word, filled = np.uint64(0), 0
        v = _absorb(v, word | (np.uint64((last - first) & 0xFF) << np.uint64(56)))
        v = _mix((v[0], v[1], v[2] ^ np.uint64(0xEE), v[3]), 4)
        result[i, 0] = v[0] ^ v[1] ^ v[2] ^ v[3]
        v = _mix((v[0], v[1] ^ np.uint64(0xDD), v[2], v[3]), 4)
        result[i, 1] = v[0] ^ v[1] ^ v[2] ^ v[3]
