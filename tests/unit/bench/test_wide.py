"""The benchmark of wide tables: what it times is what it says, and a missed limit shows."""

import numpy as np

from equipoise.bench import wide


def test_the_table_has_dependence_between_neighbours_and_through_the_class():
    codes = wide.make_codes(np.random.default_rng(0), 20_000, 4)
    assert codes.shape == (4, 20_000)
    assert codes.max() < wide.SIZE
    for first, second in ((0, 1), (0, 3)):
        joint = np.histogram2d(codes[first], codes[second], bins=wide.SIZE)[0] / 20_000
        independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        assert np.abs(joint - independent).sum() > 0.1


def test_a_command_is_timed_and_a_limit_that_is_missed_shows():
    quick = wide.timed("version", ["--version"], limit_seconds=1e6, limit_gb=100.0)
    assert quick.met
    assert 0 < quick.peak_gb < 10
    assert quick.cpu > 0
    late = wide.timed("nonsense", ["release"], limit_seconds=1e6)
    assert late.exit_code == 2
    page = wide.markdown([quick, late], 100, 1000, 0.5)
    assert "all 4,950 pairs" in page
    assert page.count("| yes |") == page.count("| NO |") == 1
