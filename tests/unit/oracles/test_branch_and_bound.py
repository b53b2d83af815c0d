from __future__ import annotations

import numba
import numpy as np
import pytest
from tests.instances import SMALL_ADULT, binary, like_a_game, tiny

from equipoise.errors import SettingError
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.instance import Instance, OneHot
from equipoise.oracles.local_search import LocalSearch

HARD = like_a_game(np.random.default_rng(1), (9,) * 30, num_queries=300, width=3, num_copies=3, mean_noise=1.0)


def test_the_same_generator_gives_the_same_records_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = like_a_game(np.random.default_rng(2), SMALL_ADULT, num_queries=60, width=3, num_copies=9, mean_noise=1.0)
    for oracle in (BranchAndBound(), LocalSearch(num_kicks=5)):
        found = []
        for num_threads in (1, 2, 3, 3):
            monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", num_threads)
            found.append(oracle.solve(instance, np.random.default_rng(4)))
        for other in found[1:]:
            assert (other.codes == found[0].codes).all()
            assert (other.bounds == found[0].bounds).all()


def test_a_node_limit_keeps_a_record_and_a_bound_and_does_not_claim_a_proof() -> None:
    stopped = BranchAndBound(max_nodes=3, num_kicks=0).solve(HARD, np.random.default_rng(0))
    best = BranchAndBound().solve(HARD, np.random.default_rng(0))
    assert best.proved.all()
    assert not stopped.proved.all()
    assert (stopped.values <= best.values + 1e-6).all()
    assert (stopped.bounds >= best.values - 1e-9).all()
    assert (stopped.bounds - stopped.values)[~stopped.proved].min() > 1e-6


def test_a_part_of_too_many_columns_is_only_searched() -> None:
    narrow = BranchAndBound(max_columns=5).solve(HARD, np.random.default_rng(0))
    assert not narrow.proved.any()
    assert (narrow.bounds > narrow.values).all()


def test_local_search_gets_better_with_kicks_and_bounds_stay_above() -> None:
    best = BranchAndBound().solve(HARD, np.random.default_rng(0)).values
    values = [LocalSearch(num_kicks=kicks).solve(HARD, np.random.default_rng(0)) for kicks in (0, 3000)]
    assert values[0].values.sum() < values[1].values.sum()
    assert (values[1].values > best - 0.02 * np.abs(best)).all()
    assert all((found.bounds >= best - 1e-9).all() for found in values)


def test_whole_weights_are_proved_without_closing_the_last_gap() -> None:
    instance = binary(np.random.default_rng(4), 40, 60)
    found = BranchAndBound().solve(instance, np.random.default_rng(0))
    assert found.proved.all()
    assert found.bounds == found.values == np.round(found.values)


@pytest.mark.parametrize("num_bits", [17_770, 512_000])
def test_sparse_bits_are_proved(num_bits: int) -> None:
    instance = binary(np.random.default_rng(0), num_bits, 5000)
    found = BranchAndBound().solve(instance, np.random.default_rng(0))
    assert found.proved.all()
    assert found.codes.dtype == np.uint8
    # Bits that no query names are fair coins: half a million of them, within seven standard deviations (1e-11).
    unnamed = np.delete(found.codes[:, 0], np.unique(instance.literal_columns))
    assert abs(int(unnamed.sum()) - len(unnamed) / 2) < 7 * np.sqrt(len(unnamed)) / 2


def test_dense_bits_are_not_proved_but_searched() -> None:
    found = BranchAndBound(max_nodes=50).solve(binary(np.random.default_rng(0), 150, 400), np.random.default_rng(0))
    assert not found.proved.any()
    assert (found.bounds > found.values).all()


def test_one_bit_and_k_equal_queries_follow_the_closed_form() -> None:
    """max k·x - σx: the bit is 1 exactly when σ < k. Catches a sign, and a rate in the place of a scale."""
    sigma = np.random.default_rng(6).exponential(2.0, size=400)
    tilts = np.stack([np.zeros(400), -sigma], axis=1)
    instance = Instance.of(OneHot.of([2]), [[0]] * 3, [[1]] * 3, np.ones(3), tilts=tilts)
    found = BranchAndBound().solve(instance, np.random.default_rng(0))
    assert (found.codes[0] == (sigma < 3)).all()


def test_adding_a_query_and_its_negation_changes_every_value_by_its_weight() -> None:
    for seed in range(20):
        instance = tiny(np.random.default_rng(seed))
        if len(instance.literals) == 0:
            continue
        literals = np.concatenate([instance.literals, instance.literals[:1], instance.literals[:1]])
        negated = np.concatenate([instance.negated, [False, True]])
        weights = np.concatenate([instance.weights, np.full((len(instance.weights), 2), 2.0)], axis=1)
        longer = Instance(instance.record, literals, negated, weights, instance.tilts, instance.num_copies)
        one, two = (BranchAndBound().solve(each, np.random.default_rng(0)).values for each in (instance, longer))
        np.testing.assert_allclose(two, one + 2.0, atol=1e-6)


def test_limits_are_checked() -> None:
    with pytest.raises(SettingError):
        BranchAndBound(max_nodes=0)
    with pytest.raises(SettingError):
        LocalSearch(num_kicks=-1)
