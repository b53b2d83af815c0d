import numpy as np
import pytest
from tests.unit.data_players.games import move

from equipoise.core import Move
from equipoise.data_players.measurements import Measurements


def test_repeated_measurements_combine_by_inverse_variance():
    measured = Measurements(num_rows=100)
    assert measured.absorb(move([7, 3], [10, 40], 2.0)) == ([0, 1], [7, 3])
    assert measured.absorb(move([3], [50], 1.0)) == ([1], [])
    # Variances 4 and 1: weights 1/5 and 4/5.
    np.testing.assert_allclose(measured.targets, [0.10, (40 / 5 + 50 * 4 / 5) / 100])
    np.testing.assert_allclose(measured.stddevs, [0.02, np.sqrt(4 / 5) / 100])
    assert measured.num_moves == 2


def test_one_move_may_measure_a_query_twice():
    measured = Measurements(num_rows=10)
    assert measured.absorb(move([4, 4], [1, 3], 1.0)) == ([0], [4])
    np.testing.assert_allclose(measured.targets, [0.2])


def test_exact_measurements_replace():
    measured = Measurements(num_rows=10)
    measured.absorb(move([0], [1], 5.0))
    measured.absorb(move([0], [4], 0.0))
    assert measured.targets.tolist() == [0.4]
    assert measured.stddevs.tolist() == [0.0]


def test_a_move_without_values_is_refused():
    with pytest.raises(ValueError, match="measured answers"):
        Measurements(10).absorb(Move(np.array([0]), np.array([1]), None, 0.0))
