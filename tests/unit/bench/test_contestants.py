"""The benchmark's contestants do the same job; how fast is for `make bench` to say."""

import numpy as np
import pytest

from equipoise.bench.contestants import CONTESTANTS, SIZES, schema
from equipoise.bench.counting import make_codes
from equipoise.queries.build import build


@pytest.fixture(scope="module")
def codes():
    return make_codes(np.random.default_rng(0), 500)


@pytest.mark.parametrize("name", CONTESTANTS)
def test_contestants_agree(name, codes):
    if not name.startswith("equipoise"):
        pytest.importorskip(name.split(",")[0].lower())
    job, dense = CONTESTANTS[name](codes, 1)
    np.testing.assert_array_equal(dense(job()), build("3-way", schema()).count_rows(codes))


def test_made_up_codes_are_skewed_and_correlated():
    codes = make_codes(np.random.default_rng(1), 20_000)
    assert all(codes[c].max() == size - 1 for c, size in enumerate(SIZES))
    assert all((codes[c] == 0).mean() > 1.2 / size for c, size in enumerate(SIZES))
    # A quarter of the pairs follow the same hidden number; 0.05 is 7 standard errors of an independent pair (1e-11).
    assert np.corrcoef(codes[7], codes[8])[0, 1] > 0.05
