"""What a data player can play: a dense histogram, weighted rows, or a mixture of products.

Each is a `core.Distribution`: it gives the marginals of any set of columns and draws rows from itself. Rows are
drawn by systematic sampling (one random start, equal steps through the cumulative weights), so an outcome of
probability p gets floor(np) or ceil(np) of n rows; n independent draws would add a sampling error that is larger
than the privacy noise on easy tables.

`to_arrays` and `from_arrays` are exact inverses: a release folder stores its model as an .npz file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from equipoise.core import Codes, Distribution, FloatArray, IntArray, code_type

__all__ = [
    "Histogram",
    "MixtureOfProducts",
    "NotFinite",
    "WeightedRows",
    "from_arrays",
    "is_finite",
    "sum_middle",
    "systematic",
]


class NotFinite(ValueError):
    """Probabilities or weights that are not numbers: NaN, or infinite."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """A probability for every cell of the domain.

    Attributes:
        probabilities: One axis a column; float64, or float32 to halve the memory. Sums to 1. The array is not
            copied: hand over one that nobody writes to any more.

    Example:
        >>> histogram = Histogram(np.array([[0.1, 0.2], [0.3, 0.4]]))
        >>> histogram.marginal((1,)).round(3).tolist(), histogram.marginal((1, 0)).tolist()
        ([0.4, 0.6], [[0.1, 0.3], [0.2, 0.4]])
        >>> histogram.sample(np.random.default_rng(0), 10).shape
        (2, 10)
    """

    probabilities: NDArray[Any]
    _sums: dict[frozenset[int], NDArray[Any]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        _require_one(float(self.probabilities.sum(dtype=np.float64)))
        contiguous = np.ascontiguousarray(self.probabilities).view()
        contiguous.flags.writeable = False
        object.__setattr__(self, "probabilities", contiguous)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each column."""
        return self.probabilities.shape

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        """Probabilities of the cells of a marginal: one axis a column, in the order given."""
        ordered = tuple(sorted(columns))
        sums = self._summed(frozenset(ordered))
        return np.ascontiguousarray(sums.transpose([ordered.index(c) for c in columns]), dtype=np.float64)

    def _summed(self, kept: frozenset[int]) -> NDArray[Any]:
        """The marginal of `kept`, in column order, through ever smaller sums that later calls reuse.

        The largest missing column goes first. All k-way marginals of the domain then read the whole tensor at most
        k+1 times, and what is kept is a fraction of it (about 1/size of each of the k+1 largest columns).
        """
        if len(kept) == len(self.shape):
            return self.probabilities
        if kept not in self._sums:
            # Adding back the smallest missing column: the larger ones are gone already in that sum.
            added = min((c for c in range(len(self.shape)) if c not in kept), key=lambda c: (self.shape[c], c))
            wider = self._summed(kept | {added})
            axis = sum(c < added for c in kept)
            before, after = wider.shape[:axis], wider.shape[axis + 1 :]
            flat = wider.reshape(math.prod(before), self.shape[added], math.prod(after))
            self._sums[kept] = sum_middle(flat).reshape(before + after)
        return self._sums[kept]

    def sample(self, rng: np.random.Generator, num_rows: int) -> Codes:
        """Rows in random order; every cell of probability p gets floor or ceil of p * num_rows of them."""
        cells = systematic(rng, self.probabilities.reshape(-1), num_rows)
        rng.shuffle(cells)
        return np.stack(np.unravel_index(cells, self.shape)).astype(_code_type(self.shape))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays from which `from_arrays` makes the same distribution."""
        return {"kind": np.array("histogram"), "probabilities": self.probabilities}


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows with weights: what a method plays that keeps a support of its own, for instance public rows.

    Attributes:
        codes: Encoded rows, shape (num_columns, num_rows).
        weights: Not negative, one a row; sum to 1.
        shape: Number of values of each column.
    """

    codes: Codes
    weights: FloatArray
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.shape), len(self.weights)):
            raise ValueError("codes need one row a column of the domain and one column a weight")
        _require_one(float(self.weights.sum()))

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        """Probabilities of the cells of a marginal: one axis a column, in the order given."""
        sizes = tuple(self.shape[c] for c in columns)
        cells = np.zeros(len(self.weights), dtype=np.int64)
        for column, size in zip(columns, sizes, strict=True):
            cells = cells * size + self.codes[column]
        sums: FloatArray = np.bincount(cells, weights=self.weights, minlength=math.prod(sizes)).astype(np.float64)
        return sums.reshape(sizes)

    def sample(self, rng: np.random.Generator, num_rows: int) -> Codes:
        """Rows in random order; a row of weight w comes floor or ceil of w * num_rows times."""
        rows = systematic(rng, self.weights, num_rows)
        rng.shuffle(rows)
        return np.ascontiguousarray(self.codes[:, rows])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays from which `from_arrays` makes the same distribution."""
        shape = np.array(self.shape, dtype=np.int64)
        arrays = {"kind": np.array("rows"), "codes": self.codes, "weights": self.weights, "shape": shape}
        if max(self.shape) == 2:  # an eighth of the memory, which matters with thousands of columns
            return arrays | {"kind": np.array("bits"), "codes": np.packbits(self.codes, axis=1)}
        return arrays


@dataclass(frozen=True, eq=False)
class MixtureOfProducts:
    """A weighted mixture of K distributions, each with independent columns.

    Attributes:
        factors: One array of shape (K, size) a column; each of its rows sums to 1.
        weights: Not negative, shape (K,); sum to 1.
    """

    factors: tuple[FloatArray, ...]
    weights: FloatArray
    _transposed: dict[int, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if any(len(factor) != len(self.weights) for factor in self.factors):
            raise ValueError("every factor needs one row a weight")
        _require_one(float(self.weights.sum()))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each column."""
        return tuple(factor.shape[1] for factor in self.factors)

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        """Probabilities of the cells of a marginal: one axis a column, in the order given."""
        if not columns:
            return np.array(self.weights.sum(dtype=np.float64))
        # All columns but the largest as one (cells, K) product, so that the sum over components is one matrix product
        # and what is multiplied out beforehand is small, along whole rows of components.
        sizes = [self.factors[column].shape[1] for column in columns]
        order = sorted(range(len(columns)), key=sizes.__getitem__)
        *others, largest = [self._by_value(columns[axis]) for axis in order]
        product = self.weights[None, :].astype(np.float64)
        for values in others:
            product = (product[:, None, :] * values[None, :, :]).reshape(-1, len(self.weights))
        sums = product @ largest.T
        tensor = sums.reshape([sizes[axis] for axis in order])
        return np.ascontiguousarray(tensor.transpose(np.argsort(order)))

    def _by_value(self, column: int) -> FloatArray:
        """A column's factor with a row for each value; made once."""
        if column not in self._transposed:
            self._transposed[column] = np.ascontiguousarray(self.factors[column].T, dtype=np.float64)
        return self._transposed[column]

    def sample(self, rng: np.random.Generator, num_rows: int) -> Codes:
        """Rows in random order; components, and each column within a component, drawn systematically."""
        component = np.sort(systematic(rng, self.weights, num_rows))
        counts = np.bincount(component, minlength=len(self.weights))
        rank = np.arange(num_rows) - (np.cumsum(counts) - counts)[component]
        codes = np.empty((len(self.factors), num_rows), dtype=_code_type(self.shape))
        for column, factor in enumerate(self.factors):
            cumulative = np.cumsum(factor, axis=1, dtype=np.float64)
            cumulative /= cumulative[:, -1:]
            # Component k owns the interval [k, k+1): one search serves all components at once.
            ends = (cumulative + np.arange(len(factor))[:, None]).reshape(-1)
            steps = (rank + rng.random(len(counts))[component]) / counts[component]
            found = np.searchsorted(ends, component + steps, side="right") - component * factor.shape[1]
            # Rounding may push a step past the end: the last value of positive probability owns it.
            values = np.minimum(found, np.count_nonzero(cumulative < 1.0, axis=1)[component])
            # Columns are independent within a component: each gets its own order there.
            order = np.lexsort((rng.random(num_rows), component))
            codes[column] = values[order]
        return np.ascontiguousarray(codes[:, rng.permutation(num_rows)])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays from which `from_arrays` makes the same distribution."""
        factors = {f"factor_{column}": factor for column, factor in enumerate(self.factors)}
        return {"kind": np.array("products"), "weights": self.weights} | factors


def is_finite(distribution: Distribution) -> bool:
    """Whether a distribution is made of numbers: neither NaN nor infinity anywhere.

    Example:
        >>> is_finite(MixtureOfProducts((np.array([[0.5, 0.5]]),), np.array([1.0])))
        True
        >>> is_finite(MixtureOfProducts((np.array([[np.nan, 0.5]]),), np.array([1.0])))
        False
    """
    if isinstance(distribution, WeightedRows):  # as arrays its codes would be packed, and codes are whole numbers
        arrays: Any = [distribution.weights]
    else:
        arrays = distribution.to_arrays().values()
    # A sum is finite only if all are, and needs no second array as large as the first.
    return all(math.isfinite(float(array.sum(dtype=np.float64))) for array in arrays if array.dtype.kind == "f")


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Distribution:
    """The distribution that `to_arrays` took apart.

    Example:
        >>> rows = WeightedRows(np.array([[0, 1]], dtype=np.uint8), np.array([0.25, 0.75]), (2,))
        >>> from_arrays(rows.to_arrays()).marginal((0,)).tolist()
        [0.25, 0.75]
    """
    kind = str(arrays["kind"])
    if kind == "histogram":
        return Histogram(arrays["probabilities"])
    if kind == "rows":
        return WeightedRows(arrays["codes"], arrays["weights"], tuple(int(s) for s in arrays["shape"]))
    if kind == "bits":
        codes = np.unpackbits(arrays["codes"], axis=1, count=len(arrays["weights"]))
        return WeightedRows(codes, arrays["weights"], tuple(arrays["shape"].tolist()))
    if kind in ("products", "relaxed"):
        num_columns = sum(key.startswith("factor_") for key in arrays)
        factors = tuple(arrays[f"factor_{c}"] for c in range(num_columns))
        if kind == "products":
            return MixtureOfProducts(factors, arrays["weights"])
        # Relaxed rows are made of mixtures, so that module imports this one.
        from equipoise.data.relaxed import RelaxedRows

        return RelaxedRows(factors)
    raise ValueError(f"unknown kind of distribution {kind!r}; known are histogram, rows, bits, products and relaxed")


def _require_one(total: float) -> None:
    """Refuse probabilities or weights that do not add up, with another error if they are no numbers at all."""
    if not math.isfinite(total):
        raise NotFinite("probabilities and weights must be finite numbers")
    if not abs(total - 1.0) < 1e-5:
        raise ValueError(f"probabilities and weights must sum to 1, not {total}")


def _code_type(shape: tuple[int, ...]) -> type[np.unsignedinteger[Any]]:
    return code_type(max(shape, default=1))


def systematic(rng: np.random.Generator, weights: NDArray[Any], num_rows: int) -> IntArray:
    """`num_rows` positions in increasing order, position i floor or ceil of its share of them."""
    cumulative = np.cumsum(weights, dtype=np.float64)
    points = (np.arange(num_rows) + rng.random()) * (cumulative[-1] / max(num_rows, 1))
    found = np.searchsorted(cumulative, points, side="right")
    # Rounding may push the last point past the end: the last position of positive weight owns it.
    positions: IntArray = np.minimum(found, np.searchsorted(cumulative, cumulative[-1]))
    return positions


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sum_middle(tensor: NDArray[Any]) -> NDArray[Any]:
    """Sum over the middle of three axes; in float64 whatever the input is."""
    outer, middle, inner = tensor.shape
    sums = np.zeros((outer, inner))
    for i in range(outer):
        for j in range(middle):
            for k in range(inner):
                sums[i, k] += tensor[i, j, k]
    return sums
