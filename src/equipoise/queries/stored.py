"""Workloads as JSON: what a release folder keeps of them."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.data.domain import Domain
from equipoise.errors import QueryError
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.workload import Workload

__all__ = ["conjunctions_to_json", "from_json"]


def from_json(stored: dict[str, Any]) -> Workload | Conjunctions:
    """The workload that `to_json` described.

    Raises:
        QueryError: It did not.
    """
    if not isinstance(stored, dict) or "conjunctions" not in stored:
        return Workload.from_json(stored)
    try:
        body = stored["conjunctions"]
        shape = (int(body["number"]), int(body["order"]))
        domain = Domain(_names(stored["columns"]), _sizes(stored["sizes"], stored["columns"]))
        return Conjunctions(domain, _array(body["columns"], "<i4", shape), _array(body["values"], "<u4", shape))
    except (KeyError, TypeError, ValueError, OverflowError, zlib.error, binascii.Error) as error:
        raise QueryError("the stored workload cannot be read: it is damaged or of another format") from error


def conjunctions_to_json(workload: Conjunctions) -> dict[str, Any]:
    """The literals as packed arrays; names that are the numbers 0, 1, ... as their number, equal sizes as one.

    Example:
        >>> domain = Domain(("0", "1", "2"), (2, 2, 2))
        >>> stored = conjunctions_to_json(Conjunctions.of(domain, [[0, 2]], [[1, 0]]))
        >>> stored["columns"], stored["sizes"], from_json(stored).columns.tolist()
        (3, 2, [[0, 2]])
    """
    names, sizes = workload.domain.columns, workload.domain.sizes
    return {
        "columns": len(names) if names == _names(len(names)) else list(names),
        "sizes": sizes[0] if len(set(sizes)) == 1 else list(sizes),
        "conjunctions": {
            "number": workload.num_queries,
            "order": workload.order,
            "columns": _text(workload.columns, "<i4"),
            "values": _text(workload.values, "<u4"),
        },
    }


def _names(stored: int | list[str]) -> tuple[str, ...]:
    return tuple(map(str, range(stored))) if isinstance(stored, int) else tuple(stored)


def _sizes(stored: int | list[int], columns: int | list[str]) -> tuple[int, ...]:
    number = columns if isinstance(columns, int) else len(columns)
    return (stored,) * number if isinstance(stored, int) else tuple(int(size) for size in stored)


def _text(array: NDArray[Any], kind: str) -> str:
    return base64.b64encode(zlib.compress(array.astype(kind).tobytes(), 1)).decode()


def _array(stored: str, kind: str, shape: tuple[int, int]) -> NDArray[Any]:
    content = zlib.decompress(base64.b64decode(stored, validate=True))
    return np.frombuffer(content, dtype=kind).reshape(shape)
