"""The made-up tables: as the comparison reads them, the same each time, and of the shapes that they should have."""

import numpy as np
import pytest

from equipoise.bench.peers.job import load
from equipoise.bench.shapes import SHAPES, main, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tables")
    assert main([str(made)]) == 0
    return made


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_is_read_by_the_comparison(folder, shape):
    problem = load(shape.name, folder)
    assert problem.workload.domain.sizes == shape.sizes
    assert all(len(group.columns) == shape.order for group in problem.workload.groups)
    assert f"{problem.num_rows:,} rows" in shape.what
    # Every value is there but rare ones, and none beyond.
    for codes, size in zip(problem.codes, shape.sizes, strict=True):
        assert codes.max() < size
        assert len(np.unique(codes)) > size / 2
    independent = [
        np.bincount(codes, minlength=size) / problem.num_rows
        for codes, size in zip(problem.codes, shape.sizes, strict=True)
    ]
    product = np.concatenate([_product(independent, group.columns) for group in problem.workload.groups])
    assert np.abs(problem.truth - product).max() > 0.02  # there is something to learn beyond single columns


def _product(shares, columns):
    result = np.ones(1)
    for column in columns:
        result = np.multiply.outer(result, shares[column]).ravel()
    return result


def test_they_are_the_same_each_time(folder, tmp_path):
    write(tmp_path)
    for path in sorted(folder.rglob("*.*")):
        assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes()
