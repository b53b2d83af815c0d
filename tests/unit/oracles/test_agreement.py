"""Every oracle equals brute force on tiny instances, and the exact ones equal each other on larger ones."""

from __future__ import annotations

import numpy as np
import pytest
from tests.instances import SMALL_ADULT, binary, like_a_game, tiny

from equipoise.core import Codes, FloatArray
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.checked import Checked
from equipoise.oracles.cp_sat import CpSat
from equipoise.oracles.exhaustive import Exhaustive
from equipoise.oracles.highs import Highs
from equipoise.oracles.instance import Instance
from equipoise.oracles.local_search import LocalSearch
from equipoise.oracles.oracle import Oracle, Solutions

NUMBER = 200
EXACT: tuple[Oracle, ...] = (BranchAndBound(), CpSat(), Highs(), Checked(BranchAndBound()))


def by_hand(instance: Instance, codes: Codes) -> FloatArray:
    """F of each copy's record, literal by literal: nothing here is shared with the solvers or with `Instance`."""
    sizes, totals = instance.record.sizes.tolist(), []
    places = [(column, code) for column, size in enumerate(sizes) for code in range(size)]
    for b, record in enumerate(codes.T.tolist()):
        weights = instance.weights[b if len(instance.weights) > 1 else 0].tolist()
        total = 0.0
        for literals, negated, weight in zip(instance.literals.tolist(), instance.negated, weights, strict=True):
            holds = all(record[places[value][0]] == places[value][1] for value in literals if value >= 0)
            total += weight * (holds != negated)
        if instance.tilts is not None:
            total += sum(instance.tilts[b, place] for place, (c, code) in enumerate(places) if record[c] == code)
        totals.append(total)
    return np.array(totals)


@pytest.mark.parametrize("oracle", [*EXACT, LocalSearch()], ids=lambda oracle: oracle.name)
def test_equals_brute_force_on_200_tiny_instances(oracle: Oracle) -> None:
    for seed in range(NUMBER):
        instance = tiny(np.random.default_rng(seed), num_copies=2)
        best = Exhaustive().solve(instance, np.random.default_rng(0))
        found = oracle.solve(instance, np.random.default_rng(1))
        assert found.codes.shape == (instance.record.num_columns, 2)
        assert (found.codes < instance.record.sizes[:, None]).all()
        np.testing.assert_allclose(found.values, by_hand(instance, found.codes), atol=1e-9)
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
        rng, SMALL_ADULT, num_queries=int(rng.integers(20, 90)), width=width, num_copies=1, mean_noise=noise
    )


@pytest.fixture(scope="module")
def cp_sats() -> list[Solutions]:
    """CP-SAT's records of all middle-sized instances, each proved."""
    found = [CpSat().solve(middle_sized(seed), np.random.default_rng(0)) for seed in range(NUMBER)]
    assert all(each.proved.all() for each in found)
    return found


@pytest.mark.parametrize(
    "oracle",
    [
        BranchAndBound(),
        Checked(BranchAndBound()),
        LocalSearch(num_kicks=5000),
        pytest.param(Highs(), marks=pytest.mark.slow),
    ],
    ids=lambda oracle: oracle.name,
)
def test_equals_cp_sat_on_200_middle_sized_instances(oracle: Oracle, cp_sats: list[Solutions]) -> None:
    for seed, theirs in enumerate(cp_sats):
        instance = middle_sized(seed)
        ours = oracle.solve(instance, np.random.default_rng(0))
        here, there = by_hand(instance, ours.codes), by_hand(instance, theirs.codes)
        np.testing.assert_allclose(here, there, atol=1e-4, err_msg=f"instance {seed}")
        np.testing.assert_allclose(ours.values, here, atol=1e-9)
        assert (theirs.bounds >= here - 1e-9).all()
        assert (ours.bounds >= there - 1e-9).all()
        # Local search proves what its first bound happens to prove.
        assert ours.proved.all() or oracle.name == "local_search"


def test_a_batch_of_copies_equals_cp_sat_copy_by_copy() -> None:
    rng = np.random.default_rng(11)
    instance = like_a_game(rng, SMALL_ADULT, num_queries=60, width=3, num_copies=20, mean_noise=1.0)
    ours, theirs = (oracle.solve(instance, np.random.default_rng(0)) for oracle in (BranchAndBound(), CpSat()))
    assert ours.proved.all()
    assert theirs.proved.all()
    np.testing.assert_allclose(by_hand(instance, ours.codes), by_hand(instance, theirs.codes), atol=1e-4)


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
