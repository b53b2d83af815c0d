"""What every column kind does: turn cells into codes 0..size-1, codes into cells, and query texts into masks.

The kinds are final classes: `Categorical`, `Ordinal`, `Boolean` (listed.py), `Integer`, `Codes` (whole.py), `Real`
(real.py), `Date` (dates.py). A column is its declaration: its fields are the keys of the schema file, and nothing in
it was computed from data. Order of the codes: (below), the values or bins in order, (above), (missing).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from equipoise.core import code_type
from equipoise.data.conversion import ArrowArray, BoolArray, blank, plain, readable
from equipoise.errors import DataError, QueryError

__all__ = ["LARGEST_SIZE", "MISSING", "Column", "Comparison", "Listing", "listing"]

MISSING = "(missing)"
"""Label of the code that stands for a missing value."""

LARGEST_SIZE = 2**20
"""Most codes a column may have: beyond it even one column's histogram says little of anyone but single people."""

Comparison: TypeAlias = Literal["<", "<=", ">", ">="]

Listing = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)
"""TOML and JSON have lists, a frozen column has tuples."""


class Column(BaseModel, ABC):
    """One column: its declaration, and the codes it stands for.

    Attributes:
        name: Its name in the table.
        nullable: Whether cells may be missing; adds a code of its own, the last.
        missing: Texts that stand for a missing value, besides the empty one (needs `nullable`).
        confirmed: False while bounds or categories were read from the data and nobody has checked them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    ordinal: ClassVar[bool] = False
    """Whether the codes have an order, so that ranges and prefixes make sense."""

    name: str = Field(min_length=1)
    nullable: bool = False
    missing: Annotated[tuple[str, ...], Listing] = ()
    confirmed: bool = True

    @model_validator(mode="after")
    def _check(self) -> Column:
        if self.missing and not self.nullable:
            raise ValueError("`missing` needs nullable = true")
        self._check_values()
        if self.size > LARGEST_SIZE:
            raise ValueError(f"it would have more than {LARGEST_SIZE} codes; give fewer `bins` or `edges`")
        if len(set(self.labels)) != self.size:
            raise ValueError("two of its codes would carry the same label")
        return self

    def _declared(self) -> tuple[object, ...]:
        return tuple(getattr(self, key) for key in type(self).model_fields)

    # Pydantic's own comparison trips over cached arrays.
    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Column) and self._declared() == other._declared()

    def __hash__(self) -> int:
        return hash((type(self), self._declared()))

    def _check_values(self) -> None:
        """Raise ValueError where the declaration contradicts itself."""

    @property
    def kind(self) -> str:
        """The word that `type` has in the schema file."""
        return str(getattr(self, "type", ""))

    @property
    @abstractmethod
    def num_values(self) -> int:
        """Number of codes, not counting the one for missing."""

    @abstractmethod
    def _value_labels(self) -> tuple[str, ...]:
        """Labels of all codes but the one for missing."""

    @abstractmethod
    def _encode(self, array: ArrowArray) -> tuple[NDArray[Any], BoolArray]:
        """Codes of a plain array, and which cells are missing (their codes mean nothing)."""

    @abstractmethod
    def _decode(self, codes: NDArray[Any], rng: np.random.Generator) -> ArrowArray:
        """Cells of codes below `num_values`."""

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.num_values + self.nullable

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each code stands for, in words: `30..39`, `Female`, `(missing)`."""
        return self._value_labels() + ((MISSING,) if self.nullable else ())

    @cached_property
    def _code_of_label(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels)}

    def encode(self, array: ArrowArray) -> NDArray[Any]:
        """Codes of the cells of an Arrow array.

        Args:
            array: An Arrow array or chunked array, of any type the kind can read (texts included).

        Returns:
            One unsigned code a cell.

        Raises:
            DataError: A cell breaks the declaration. Names the column and the rule, never the cell.
        """
        return readable(f"column {self.name!r}", lambda: self._encode_any(array))

    def _encode_any(self, array: ArrowArray) -> NDArray[Any]:
        array = plain(array, self.name)
        if pa.types.is_dictionary(array.type):
            return self._encode_dictionary(array)
        if self.missing:
            array = blank(array, self.missing, self.name)
        codes, missing = self._encode(array)
        codes = codes.astype(code_type(self.size), copy=False)
        if missing.any():
            if not self.nullable:
                raise DataError(
                    f"column {self.name!r}: a value is missing and the column is not nullable;"
                    " set nullable = true in the schema, or fill the gaps first"
                )
            codes = np.where(missing, codes.dtype.type(self.size - 1), codes)
        return codes

    def _encode_dictionary(self, array: ArrowArray) -> NDArray[Any]:
        """Encode each distinct value once. Entries no row uses are left out: they need not fit the schema."""
        nulls = array.indices.is_null().to_numpy(zero_copy_only=False)
        indices = array.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        used = np.flatnonzero(np.bincount(indices[~nulls], minlength=len(array.dictionary)))
        entries = array.dictionary.take(pa.array(used))
        if nulls.any():
            entries = pa.concat_arrays([entries, pa.nulls(1, entries.type)])
        position = np.zeros(max(len(array.dictionary), 1), dtype=np.int64)
        position[used] = np.arange(len(used))
        return self.encode(entries)[np.where(nulls, len(used), position[indices])]

    def decode(self, codes: NDArray[Any], rng: np.random.Generator) -> ArrowArray:
        """Cells that `encode` takes back to the same codes; a value inside a bin is drawn with `rng`."""
        codes = np.asarray(codes)
        if not self.nullable:
            return self._decode(codes, rng)
        missing = codes == self.size - 1
        cells = self._decode(np.where(missing, codes.dtype.type(0), codes), rng)
        return pa.compute.if_else(pa.array(missing), pa.scalar(None, cells.type), cells)

    def equals(self, text: str) -> BoolArray:
        """Which codes `column = text` selects; any label is a legal text.

        Raises:
            QueryError: The text is no value of the column, or only part of a bin.
        """
        code = self._code_of_label.get(text)
        if code is None and text == MISSING:
            raise self.refuse("by its schema no value is missing")
        if code is None:
            return self._equals(text)
        mask = np.zeros(self.size, dtype=np.bool_)
        mask[code] = True
        return mask

    def _equals(self, text: str) -> BoolArray:
        """`equals` for a text that is not a label."""
        raise self.refuse(f"{text!r} is not one of its values: {listing(self.labels)}")

    def between(self, low: str | None, high: str | None) -> BoolArray:
        """Which codes `column in low..high` selects; None leaves that side open; missing is never inside.

        Both ends belong to the range, except on a real column, where the upper end does not unless it is the maximum
        (as with its bins).

        Raises:
            QueryError: The column has no order, an end is no value of it, or the range cuts through a bin.
        """
        raise self.refuse(f"a {self.kind} column has no order; use = or in {{...}} with {listing(self.labels)}")

    def compare(self, operator: Comparison, text: str) -> BoolArray:
        """Which codes `column < text` (or `<=`, `>`, `>=`) selects; missing is never among them.

        Raises:
            QueryError: As for `between`.
        """
        raise self.refuse(f"a {self.kind} column has no order; use = or in {{...}} with {listing(self.labels)}")

    def refuse(self, rule: str) -> QueryError:
        """The error for a query that does not fit this column."""
        return QueryError(f"column {self.name!r}: {rule}")


def listing(texts: tuple[str, ...], most: int = 60) -> str:
    """The texts, comma separated; the middle left out when there are too many to read."""
    if len(texts) <= most:
        return ", ".join(texts)
    return ", ".join(texts[: most // 2]) + f", ... ({len(texts) - most} more) ..., " + ", ".join(texts[-most // 2 :])
