import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.data.distributions import Histogram, MixtureOfProducts, WeightedRows, from_arrays


def histogram(shape, seed=0, dtype=np.float64):
    cells = np.random.default_rng(seed).random(shape)
    return Histogram((cells / cells.sum()).astype(dtype))


def rows(seed=0, num_rows=40):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, num_rows) for size in (2, 3, 300)]).astype(np.uint16)
    weights = rng.random(num_rows)
    return WeightedRows(codes, weights / weights.sum(), (2, 3, 300))


def mixture(seed=0, num_components=7):
    rng = np.random.default_rng(seed)
    factors = tuple(rng.dirichlet(np.ones(size), num_components) for size in (2, 5, 3))
    return MixtureOfProducts(factors, rng.dirichlet(np.ones(num_components)))


def dense(distribution):
    """Probabilities of all cells, from the definition."""
    if isinstance(distribution, Histogram):
        return np.asarray(distribution.probabilities, dtype=np.float64)
    cells = np.zeros(distribution.shape)
    if isinstance(distribution, WeightedRows):
        for code, weight in zip(distribution.codes.T, distribution.weights, strict=True):
            cells[tuple(code)] += weight
        return cells
    for cell in np.ndindex(*distribution.shape):
        parts = [factor[:, code] for factor, code in zip(distribution.factors, cell, strict=True)]
        cells[cell] = np.sum(distribution.weights * np.prod(parts, axis=0))
    return cells


EXAMPLES = [histogram((2, 3, 4, 1, 2)), histogram((3,)), histogram((4, 2, 2), dtype=np.float32), rows(), mixture()]


@pytest.mark.parametrize("distribution", EXAMPLES)
def test_marginals_match_sums_over_all_cells(distribution):
    cells = dense(distribution)
    axes = range(cells.ndim)
    for size in range(cells.ndim + 1):
        for columns in itertools.permutations(axes, size):
            others = tuple(c for c in axes if c not in columns)
            kept = sorted(columns)
            expected = cells.sum(axis=others).transpose([kept.index(c) for c in columns])
            marginal = distribution.marginal(columns)
            assert marginal.dtype == np.float64
            assert marginal.flags.c_contiguous
            np.testing.assert_allclose(marginal, expected, atol=1e-7 if len(cells) == 4 else 1e-14)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.data())
@settings(max_examples=60, deadline=None)
def test_histogram_marginals_of_any_shape(shape, data):
    distribution = histogram(tuple(shape))
    for _ in range(4):
        columns = tuple(data.draw(st.permutations(range(len(shape))))[: data.draw(st.integers(0, len(shape)))])
        others = tuple(c for c in range(len(shape)) if c not in columns)
        kept = sorted(columns)
        expected = distribution.probabilities.sum(axis=others).transpose([kept.index(c) for c in columns])
        np.testing.assert_allclose(distribution.marginal(columns), expected, atol=1e-14)


@pytest.mark.parametrize("distribution", EXAMPLES)
def test_from_arrays_inverts_to_arrays(distribution, tmp_path):
    np.savez(tmp_path / "model.npz", **distribution.to_arrays())
    with np.load(tmp_path / "model.npz", allow_pickle=False) as stored:
        again = from_arrays(dict(stored))
    assert type(again) is type(distribution)
    assert again.shape == distribution.shape
    for name, array in distribution.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)
        assert again.to_arrays()[name].dtype == array.dtype


def test_from_arrays_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="unknown kind"):
        from_arrays({"kind": np.array("tree")})


@pytest.mark.parametrize("distribution", EXAMPLES)
@pytest.mark.parametrize("num_rows", [0, 1, 5, 1000])
def test_sample_has_the_rows_asked_for(distribution, num_rows):
    codes = distribution.sample(np.random.default_rng(1), num_rows)
    assert codes.shape == (len(distribution.shape), num_rows)
    assert np.issubdtype(codes.dtype, np.unsignedinteger)
    assert all(codes[c].max(initial=0) < size for c, size in enumerate(distribution.shape))
    np.testing.assert_array_equal(codes, distribution.sample(np.random.default_rng(1), num_rows))


@pytest.mark.parametrize("distribution", [EXAMPLES[0], EXAMPLES[2], EXAMPLES[3]])
def test_systematic_sample_gives_each_cell_floor_or_ceil_of_its_share(distribution):
    cells, num_rows = dense(distribution), 997
    for seed in range(5):
        codes = distribution.sample(np.random.default_rng(seed), num_rows)
        counts = np.zeros(cells.shape)
        np.add.at(counts, tuple(codes.astype(np.int64)), 1)
        assert np.abs(counts - num_rows * cells).max() < 1 + 1e-4 * num_rows * (cells.ndim == 3)


@pytest.mark.parametrize("distribution", [EXAMPLES[0], EXAMPLES[3]])
def test_systematic_sample_is_unbiased(distribution):
    # A cell's share of 50 rows lies in an interval of length 1/50. By Hoeffding the mean of 400 shares is off by more
    # than 0.005 with probability 2 exp(-2 * 400 * 0.25^2) = 4e-22 a cell, below 1e-18 for the at most 1800 cells.
    cells, num_rows = dense(distribution), 50
    counts = np.zeros(cells.shape)
    for seed in range(400):
        codes = distribution.sample(np.random.default_rng(seed), num_rows)
        np.add.at(counts, tuple(codes.astype(np.int64)), 1)
    assert np.abs(counts / (400 * num_rows) - cells).max() < 0.005


def test_mixture_sample_is_unbiased():
    # Hoeffding, which holds without replacement: 2 exp(-2 * 200000 * 0.011^2) < 2e-21 a cell; 30 cells, and less than
    # 0.001 for rounding the components' rows.
    distribution = mixture()
    codes = distribution.sample(np.random.default_rng(0), 200_000)
    counts = np.zeros(distribution.shape)
    np.add.at(counts, tuple(codes.astype(np.int64)), 1)
    assert np.abs(counts / 200_000 - dense(distribution)).max() < 0.012


def test_sample_rows_are_shuffled():
    codes = histogram((50, 50)).sample(np.random.default_rng(0), 2000)[0].astype(float)
    # In drawing order the first column would be sorted: correlation with the position near 1. 2000 shuffled rows
    # exceed 0.2 (nine standard deviations) with probability below 1e-17.
    assert abs(np.corrcoef(codes, np.arange(2000))[0, 1]) < 0.2


def test_mixture_columns_are_independent_within_a_component():
    uniform = MixtureOfProducts((np.full((1, 10), 0.1), np.full((1, 10), 0.1)), np.ones(1))
    codes = uniform.sample(np.random.default_rng(0), 4000).astype(float)
    # Nine standard deviations of the correlation of 4000 independent pairs.
    assert abs(np.corrcoef(codes)[0, 1]) < 9 / np.sqrt(4000)


def test_histogram_cannot_be_written_to():
    distribution = histogram((2, 2))
    with pytest.raises(ValueError, match="read-only"):
        distribution.probabilities[0, 0] = 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Histogram(np.full(4, 0.5)),
        lambda: Histogram(np.full(4, np.nan)),
        lambda: WeightedRows(np.zeros((1, 2), dtype=np.uint8), np.array([0.5, 0.6]), (2,)),
        lambda: WeightedRows(np.zeros((2, 2), dtype=np.uint8), np.array([0.5, 0.5]), (2,)),
        lambda: MixtureOfProducts((np.ones((2, 1)),), np.ones(1)),
        lambda: MixtureOfProducts((np.ones((1, 1)),), np.full(1, 0.5)),
    ],
)
def test_what_is_not_a_distribution_is_refused(make):
    with pytest.raises(ValueError, match=r"sum to 1|one row a|finite"):
        make()
