"""A solver that fails in any way is caught, announced, and replaced; the run goes on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.instances import SMALL_ADULT, like_a_game

from equipoise.errors import CapacityError, SettingError
from equipoise.oracles import cp_sat
from equipoise.oracles.apart import Apart
from equipoise.oracles.branch_and_bound import BranchAndBound
from equipoise.oracles.checked import Checked
from equipoise.oracles.cp_sat import CpSat
from equipoise.oracles.exhaustive import Exhaustive
from equipoise.oracles.instance import Instance, OneHot
from equipoise.oracles.local_search import LocalSearch
from equipoise.oracles.oracle import Solutions

INSTANCE = like_a_game(np.random.default_rng(0), SMALL_ADULT, num_queries=30, width=3, num_copies=4, mean_noise=1.0)


@dataclass(frozen=True)
class Spoilt:
    """A good oracle's solutions, spoilt."""

    spoil: Callable[[Solutions], Solutions]
    name: str = "spoilt"

    def refuses(self, instance: Instance) -> str | None:
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        return self.spoil(BranchAndBound().solve(instance, rng))


@dataclass(frozen=True)
class Dies:
    name: str = "dies"

    def refuses(self, instance: Instance) -> str | None:
        return None

    def solve(self, instance: Instance, rng: np.random.Generator) -> Solutions:
        os._exit(3)


def raises(_: Solutions) -> Solutions:
    raise RuntimeError("the solver broke at value 17")


def third(solutions: Solutions, name: str, value: float) -> Solutions:
    spoilt = getattr(solutions, name).copy()
    spoilt[..., 2] = value
    return replace(solutions, **{name: spoilt})


def test_a_good_oracle_passes_untouched() -> None:
    plain = BranchAndBound().solve(INSTANCE, np.random.default_rng(0).spawn(3)[0])
    checked = Checked(BranchAndBound()).solve(INSTANCE, np.random.default_rng(0))
    assert (checked.codes == plain.codes).all()
    assert (checked.values == plain.values).all()
    assert checked.proved.all()
    assert checked.notes == ()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: third(s, "codes", 255),
        lambda s: third(s, "values", 1e6),
        lambda s: third(s, "values", np.nan),
        lambda s: third(s, "bounds", -1e6),
        lambda s: third(s, "bounds", np.nan),
    ],
    ids=["code", "value", "no value", "bound", "no bound"],
)
def test_one_wrong_record_is_replaced_and_announced(spoil: Callable[[Solutions], Solutions]) -> None:
    found = Checked(Spoilt(spoil)).solve(INSTANCE, np.random.default_rng(0))
    good = BranchAndBound().solve(INSTANCE, np.random.default_rng(1))
    assert found.notes == ("spoilt was wrong for 1 records", "local_search answered for 1 of 4 records")
    np.testing.assert_allclose(found.values, INSTANCE.values(found.codes))
    np.testing.assert_allclose(np.delete(found.values, 2), np.delete(good.values, 2), atol=1e-6)
    assert (found.bounds >= good.values - 1e-6).all()
    assert np.delete(found.proved, 2).all()


@pytest.mark.parametrize(
    ("spoil", "note"),
    [
        (raises, "spoilt failed (RuntimeError)"),
        (lambda s: replace(s, codes=s.codes[:, :2]), "spoilt failed (ValueError)"),
        (lambda s: replace(s, codes=s.codes + 0.5), "spoilt failed (ValueError)"),
        (lambda s: replace(s, values=s.values[:1]), "spoilt failed (ValueError)"),
        (lambda s: replace(s, values=None), "spoilt failed (ValueError)"),
    ],
    ids=["raises", "too few", "fractions", "too few values", "nothing"],
)
def test_an_oracle_that_fails_is_replaced_and_the_message_says_nothing_of_the_instance(
    spoil: Callable[[Solutions], Solutions], note: str
) -> None:
    found = Checked(Spoilt(spoil)).solve(INSTANCE, np.random.default_rng(0))
    assert found.notes == (note, "local_search answered for 4 of 4 records")
    np.testing.assert_allclose(found.values, INSTANCE.values(found.codes))


def test_when_everything_fails_a_random_record_is_returned() -> None:
    found = Checked(Spoilt(raises), Spoilt(raises)).solve(INSTANCE, np.random.default_rng(0))
    assert found.notes == (*["spoilt failed (RuntimeError)"] * 2, "4 records were drawn at random")
    assert not found.proved.any()
    assert (found.codes < INSTANCE.record.sizes[:, None]).all()
    assert (found.bounds >= BranchAndBound().solve(INSTANCE, np.random.default_rng(0)).values).all()


def test_a_proof_that_its_own_bound_contradicts_is_not_passed_on() -> None:
    found = Checked(Spoilt(lambda s: third(s, "bounds", 1e5))).solve(INSTANCE, np.random.default_rng(0))
    assert found.proved.tolist() == [True, True, False, True]
    assert found.bounds[2] == INSTANCE.trivial_bounds()[2]


def test_a_refusal_is_announced() -> None:
    found = Checked(Exhaustive(max_records=10)).solve(INSTANCE, np.random.default_rng(0))
    assert found.notes[0] == "exhaustive refused: the domain has more than 10 records"
    with pytest.raises(CapacityError, match="more than 10 records"):
        Exhaustive(max_records=10).solve(INSTANCE, np.random.default_rng(0))


def test_a_killed_process_is_replaced_and_the_next_call_works() -> None:
    with Apart(Dies()) as dies, Apart(LocalSearch(num_kicks=1)) as works:
        found = Checked(dies).solve(INSTANCE, np.random.default_rng(0))
        assert found.notes[0] == "apart failed (BrokenProcessPool)"
        there = works.solve(INSTANCE, np.random.default_rng(0))
        (child,) = np.random.default_rng(0).spawn(1)
        assert (there.codes == LocalSearch(num_kicks=1).solve(INSTANCE, child).codes).all()


def test_a_call_beyond_its_wall_clock_limit_is_replaced() -> None:
    with Apart(LocalSearch(num_kicks=10**9), max_seconds=0.01) as slow:
        found = Checked(slow).solve(INSTANCE, np.random.default_rng(0))
    assert found.notes[0] == "apart failed (TimeoutError)"


def test_cp_sat_without_its_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cp_sat, "find_spec", lambda name: None)
    assert "equipoise[solvers]" in str(CpSat().refuses(INSTANCE))
    with pytest.raises(SettingError, match="OR-tools"):
        CpSat().solve(INSTANCE, np.random.default_rng(0))


def test_cp_sat_refuses_weights_that_do_not_fit_whole_numbers() -> None:
    large = Instance.of(OneHot.of([2]), [[0]], [[1]], [1e12])
    assert "too large" in str(CpSat().refuses(large))


def test_cp_sat_stopped_at_once_keeps_the_hint_and_claims_nothing() -> None:
    found = CpSat(max_work=0.0, num_kicks=0).solve(INSTANCE, np.random.default_rng(0))
    best = BranchAndBound().solve(INSTANCE, np.random.default_rng(0))
    np.testing.assert_allclose(found.values, INSTANCE.values(found.codes))
    assert (found.bounds >= best.values - 1e-6).all()
