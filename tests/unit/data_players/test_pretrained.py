"""GEM-Pub's network: what public rows teach it, and what they leave alone (MECHANISMS 4.6)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.games import triples
from tests.public_tables import reduced, sister

from equipoise.data.public import PublicRows
from equipoise.data_players.generator import Generator
from equipoise.data_players.pretrained import Pretrained, lessons, public_answers


def player(public: PublicRows, **options: object) -> Pretrained:
    generator = Generator(
        triples().workload, 2000, 3, num_products=50, widths=(16, 32), loss="squared", learning_rate=1e-2
    )
    return Pretrained(generator, public, **{"num_rounds": 5} | options)  # type: ignore[arg-type]


def test_before_the_first_move_it_answers_like_the_public_rows() -> None:
    public, workload = sister(), triples().workload
    taught = player(public)
    plain, ours = (p.play(p.init(np.random.default_rng(0))) for p in (taught.generator, taught))
    shares = public_answers(public, workload)
    assert np.abs(workload.on(ours) - shares).max() < 0.05
    assert np.abs(workload.on(plain) - shares).max() > 0.2


def test_all_answers_are_taught_at_once_or_the_worst_of_them_round_by_round() -> None:
    errors, shares = np.array([0.0, 0.3, 0.1, 0.2]), np.array([0.4, 0.3, 0.2, 0.1])
    whole, few = player(sister(400)), player(sister(400), num_worst=2)
    every = whole._lesson(errors, shares, [])
    assert sorted(every.ids.tolist()) == [0, 1, 2, 3]
    assert len(whole._lesson(errors, shares, [every]).ids) == 0
    first = few._lesson(errors, shares, [])
    assert first.ids.tolist() == [1, 3]
    assert few._lesson(errors, shares, [first]).ids.tolist() == [2, 0]
    # Of 400 rows: the counts, and one standard deviation for all, that of a share of a tenth.
    assert first.values is not None
    assert first.values.tolist() == [120, 40]
    np.testing.assert_allclose(first.stddev, np.sqrt(400 * 0.1 * 0.9))


@pytest.mark.parametrize("num_worst", [1, 50, None])
def test_what_it_learns_is_kept_as_weights_alone(num_worst: int | None) -> None:
    taught = player(sister(), num_worst=num_worst, num_rounds=3)
    state = taught.init(np.random.default_rng(0))
    assert state.measurements.num_moves == 0
    assert len(state.measurements.targets) == 0
    again = taught.init(np.random.default_rng(0))
    here, there = taught.play(state), taught.play(again)
    for mine, other in zip(here.factors, there.factors, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_columns_that_the_public_table_lacks_keep_their_random_start() -> None:
    taught = player(reduced((0, 1)))
    before = taught.generator.init(np.random.default_rng(0)).training.weights[-1]
    after = taught.init(np.random.default_rng(0)).training.weights[-1]
    missing = slice(3 + 3, None)  # a and b have three values each; c and d follow.
    for name in ("matrix", "shift"):
        np.testing.assert_array_equal(np.asarray(before[name])[missing], np.asarray(after[name])[missing])
        assert not np.array_equal(np.asarray(before[name])[:6], np.asarray(after[name])[:6])


def test_lessons_are_the_marginals_of_the_public_columns() -> None:
    learnt = lessons(triples().workload, (0, 1))
    assert learnt is not None
    assert {group.columns for group in learnt.groups} == {(0, 1), (0,), (1,)}
    assert lessons(triples().workload, ()) is None
    public = reduced((0, 1))
    expected = np.zeros((3, 3))
    np.add.at(expected, tuple(public.codes.astype(int)), public.counts / public.num_rows)
    answers = public_answers(public, learnt)
    start = learnt.starts[[group.columns for group in learnt.groups].index((0, 1))]
    np.testing.assert_allclose(answers[start : start + 9], expected.ravel())
