"""Every oracle equals brute force on tiny instances, and the exact ones equal each other on larger ones."""

from __future__ import annotations

import numpy as np
import pytest
from tests.instances import SMALL_ADULT, binary, like_a_game, tiny

from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.checked import Checked
from equipoise.oracles.cp_sat import CpSat
from equipoise.oracles.exhaustive import Exhaustive
from equipoise.oracles.highs import Highs
from equipoise.oracles.instance import Instance
from equipoise.oracles.local_search import LocalSearch
from equipoise.oracles.oracle import Oracle

EXACT: tuple[Oracle, ...] = (BranchAndBound(), CpSat(), Highs(), Checked(BranchAndBound()))


@pytest.mark.parametrize("oracle", [*EXACT, LocalSearch()], ids=lambda oracle: oracle.name)
def test_equals_brute_force_on_200_tiny_instances(oracle: Oracle) -> None:
    for seed in range(50):
        instance = tiny(np.random.default_rng(seed))  # four copies each
        best = Exhaustive().solve(instance, np.random.default_rng(0))
        found = oracle.solve(instance, np.random.default_rng(1))
        assert found.codes.shape == (instance.record.num_columns, 4)
        assert (found.codes < instance.record.sizes[:, None]).all()
        np.testing.assert_allclose(found.values, instance.values(found.codes), atol=1e-9)
        np.testing.assert_allclose(found.values, best.values, atol=2e-5, err_msg=f"instance {seed}")
        assert (found.bounds >= best.values - 1e-9).all()
        assert not found.notes
        if oracle.name != "local_search":
            assert found.proved.all()
        assert (found.bounds - found.values)[found.proved].max(initial=0.0) < 1e-4


def middle_sized(seed: int) -> Instance:
    rng = np.random.default_rng([seed, 7])
    width = int(rng.integers(2, 6))
    noise = float(rng.choice([0.25, 1.0, 4.0]))
    return like_a_game(
        rng, SMALL_ADULT, num_queries=int(rng.integers(20, 90)), width=width, num_copies=10, mean_noise=noise
    )


def test_equals_cp_sat_on_200_middle_sized_instances() -> None:
    for seed in range(20):
        instance = middle_sized(seed)
        ours = BranchAndBound().solve(instance, np.random.default_rng(0))
        theirs = CpSat().solve(instance, np.random.default_rng(0))
        assert ours.proved.all()
        assert theirs.proved.all()
        np.testing.assert_allclose(instance.values(ours.codes), instance.values(theirs.codes), atol=1e-4)
        assert (theirs.bounds >= ours.values - 1e-9).all()
        assert (ours.bounds >= theirs.values - 1e-9).all()


@pytest.mark.parametrize("num_bits", [30, 300])
def test_equals_cp_sat_on_binary_records(num_bits: int) -> None:
    instance = binary(np.random.default_rng(num_bits), num_bits, 60)
    ours = BranchAndBound().solve(instance, np.random.default_rng(0))
    assert ours.proved.all()
    assert ours.values == CpSat().solve(instance, np.random.default_rng(0)).values


def test_equals_highs_on_a_middle_sized_instance() -> None:
    instance = like_a_game(np.random.default_rng(3), SMALL_ADULT, num_queries=40, width=3, mean_noise=1.0)
    ours = BranchAndBound().solve(instance, np.random.default_rng(0))
    theirs = Highs().solve(instance, np.random.default_rng(0))
    assert theirs.proved.all()
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-4)
