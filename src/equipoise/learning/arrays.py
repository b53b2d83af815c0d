"""Arrays and data frames as the learner takes them: bits, names of features, labels; refused as scikit-learn would."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.errors import DataError, SettingError

__all__ = ["InputError", "ParameterError", "labels_from", "names_of", "to_bits"]


class InputError(DataError, ValueError):
    """X or y does not fit: our DataError, and the ValueError that scikit-learn's own tools expect."""


class NoNumberError(InputError, TypeError):
    """X holds what is no number; a TypeError too, as of other estimators."""


class ParameterError(SettingError, ValueError):
    """A parameter is out of range: our SettingError, and the ValueError that scikit-learn's own tools expect."""


def to_bits(given: Any, threshold: float | None) -> NDArray[np.uint8]:
    """A table of bits, one row a record.

    Args:
        given: Bits, or with a threshold any real numbers.
        threshold: Public: a bit is 1 where the number is above it. None for bits as they are.

    Raises:
        InputError: it is no such table. No value of it is quoted.
    """
    if hasattr(given, "toarray") or hasattr(given, "tocsr"):
        raise InputError("X is a sparse matrix, which is not supported; pass a dense array (X.toarray())")
    table = np.asarray(given)
    if np.iscomplexobj(table):
        raise InputError("Complex data not supported: X must hold real numbers")
    if table.ndim != 2:
        raise InputError("X must be a table of two dimensions. Reshape your data: one row a record")
    if table.shape[0] == 0:
        raise InputError("Found array with 0 sample(s), and at least 1 is required")
    if table.shape[1] == 0:
        raise InputError(f"Found array with 0 feature(s) (shape={table.shape}) while a minimum of 1 is required.")
    try:
        numbers = table.astype(np.float64)
    except (TypeError, ValueError):
        # Not "from error": numpy's message quotes a cell.
        raise NoNumberError("X must hold numbers; a cell's argument must be a string or a number") from None
    if not np.isfinite(numbers).all():
        raise InputError("X contains NaN or infinity, which are no bits")
    if threshold is not None:
        return np.asarray(numbers > threshold, dtype=np.uint8)
    if not np.isin(numbers, (0, 1)).all():
        raise InputError(
            "X must hold bits, 0 or 1; binarise it by public rules (binarize=0.0 takes what is above 0), or use"
            " `equipoise learn` with a schema"
        )
    return numbers.astype(np.uint8)


def names_of(given: Any) -> list[str] | None:
    """The names of a data frame's columns, when all are text."""
    names = list(getattr(given, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def labels_from(y: ArrayLike | None, classes: tuple[Any, Any], num_records: int) -> NDArray[np.bool_]:
    """Whether each label is the second of the two classes.

    Raises:
        ParameterError: the classes are no two different labels.
        InputError: y is not one label a record, each one of the two.
    """
    try:
        negative, positive = classes
    except (TypeError, ValueError) as error:
        raise ParameterError("classes must be two labels, such as (0, 1)") from error
    if negative == positive:
        raise ParameterError("the two labels of `classes` must differ")
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected", _conversion(), stacklevel=3)
        given = given[:, 0]
    if given.ndim != 1:
        raise InputError("y must be one label for each record, not a table of several")
    if len(given) != num_records:
        raise InputError("X and y do not have the same number of records: inconsistent lengths")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise InputError("y contains NaN or infinity")
    if not np.all((given == negative) | (given == positive)):
        raise InputError(
            "Only binary classification is supported, of the declared `classes`. Unknown label type: each label of y"
            " must be one of the two"
        )
    return np.asarray(given == positive, dtype=np.bool_)


def _conversion() -> type[Warning]:
    """scikit-learn's own warning where its tools are in use, so that their filters find it."""
    if "sklearn" not in sys.modules:
        return UserWarning
    from sklearn.exceptions import DataConversionWarning

    return DataConversionWarning  # type: ignore[no-any-return, unused-ignore]
