"""Single columns first, then merged ones: what it costs, when it is done, and that moves are about what they say."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.book import MemoryBook
from tests.games import TinyGame
from tests.noise import NoNoise, SeededNoise
from tests.schemas import declared

import equipoise as eq
from equipoise.algorithms import Plan, Players, Setting
from equipoise.algorithms.auto import Auto
from equipoise.algorithms.merged_plan import COARSEST, NUM_SWEEPS
from equipoise.algorithms.mixture import Mixture
from equipoise.answers import half_width
from equipoise.data.domain import Domain
from equipoise.data_players.merged_mixture import MergedMixture
from equipoise.errors import CapacityError, SettingError
from equipoise.game.error_bars import error_bars
from equipoise.game.loop import Outcome, play
from equipoise.privacy import Private
from equipoise.privacy.events import Exponential, Gaussian
from equipoise.privacy.gate import Gate
from equipoise.privacy.noise import Noise
from equipoise.queries.merging import merging_of
from equipoise.queries.query import Query
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.best_marginal import LIKELY, likely_errors
from equipoise.query_players.merged import Merged

SIZES = (40, 30, 25, 2, 6)


def wide(num_rows: int = 3000, seed: int = 0) -> TinyGame:
    """Columns of many values, ordered, of which the second follows the first; all pairs and some triples."""
    rng = np.random.default_rng(seed)
    a = np.minimum(rng.gamma(3.0, 4.0, num_rows).astype(np.int64), 39)
    b = np.clip(a * 3 // 4 + rng.integers(-2, 3, num_rows), 0, 29)
    c = np.where(rng.random(num_rows) < 0.8, 0, rng.integers(0, 25, num_rows))
    d = (rng.random(num_rows) < np.where(a > 12, 0.9, 0.2)).astype(np.int64)
    e = rng.choice(6, num_rows, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
    domain = Domain(tuple("abcde"), SIZES)
    sets = [(0, 1, 3), (0, 1, 4), (0, 2, 3), (1, 2, 4), (2, 3, 4), (0, 2, 4)]
    groups = tuple(Group(s, tuple(SIZES[i] for i in s)) for s in sets)
    return TinyGame(Workload(domain, groups), np.stack([a, b, c, d, e]))


GAME = wide()
COARSEST_OF_ALL, COARSE, FINE = Fraction(1, 4000), Fraction(1, 1000), Fraction(1)
"""Budgets at which 3,000 rows and five columns are merged and what is least sure is measured, are merged, and are not.
"""


def setting(rho: Fraction, unit: int = 1) -> Setting:
    return Setting(GAME.workload, GAME.num_rows, rho, None, unit, 2**32)


def played(
    algorithm: Mixture, where: Setting, noise: Noise, book: MemoryBook | None = None, game: TinyGame = GAME
) -> tuple[Outcome, Plan, Players]:
    plan = algorithm.plan(where)
    players = algorithm.players(where, plan)
    assert isinstance(plan.asked, Workload)
    outcome = play(
        gate=Gate(book or MemoryBook(plan.reserve), noise=noise),
        truth=Private(plan.asked.count_rows(game.rows.astype(np.uint8)), plan.asked),
        workload=plan.asked,
        query_player=players.query_player,
        data_player=players.data_player,
        num_rounds=plan.num_rounds,
        seed=0,
    )
    return outcome, plan, players


def quick(**options: object) -> Mixture:
    return Mixture(num_components=20, num_sweeps=2, **options)  # type: ignore[arg-type]


@given(st.fractions(min_value=Fraction(1, 10**5), max_value=1), st.integers(1, 5), st.integers(1, 5))
def test_all_parts_recompose_to_the_budget(rho: Fraction, unit: int, num_top_ups: int) -> None:
    plan = Mixture(num_top_ups=num_top_ups, merges=True).plan(setting(rho, unit))
    assert Fraction(99, 100) * rho <= plan.cost.rho <= rho
    noise = (len(SIZES) / (GAME.num_rows**2 * rho / unit**2)) ** 0.5
    assert plan.num_rounds == 2 + num_top_ups + (noise > COARSEST)


def test_values_are_merged_where_noise_is_coarse_and_columns_are_wide() -> None:
    assert Mixture().plan(setting(COARSE)).options["merges"] is True
    assert Mixture().plan(setting(FINE)).options["merges"] is None
    assert "counted together" in Auto().plan(setting(COARSE)).options["chosen_because"]
    assert "counted together" not in Auto().plan(setting(FINE)).options["chosen_because"]
    assert Mixture(merges=False).plan(setting(COARSE)).options["merges"] is False
    narrow = Domain(tuple("abcde"), (3, 3, 3, 2, 4))
    sets = [group.columns for group in GAME.workload.groups]
    small = Workload(narrow, tuple(Group(s, tuple(narrow.sizes[i] for i in s)) for s in sets))
    assert Mixture().plan(Setting(small, 3000, COARSE, None, 1, 2**32)).options["merges"] is None


@pytest.mark.parametrize("budget", [COARSE, COARSEST_OF_ALL])
def test_events_do_not_depend_on_what_is_merged(budget: Fraction) -> None:
    for seed in range(3):
        plan = quick().plan(setting(budget))
        book = MemoryBook(plan.reserve)
        played(quick(), setting(budget), SeededNoise(seed), book)
        assert book.spent.rho == plan.cost.rho
        kinds = [type(event) for event, _ in book.charged]
        assert kinds[-2:] == [Exponential, Gaussian]
        assert kinds.count(Exponential) == plan.options["num_top_ups"]


@pytest.mark.parametrize("budget", [COARSE, COARSEST_OF_ALL])
def test_every_value_is_the_count_of_the_query_that_its_id_names(budget: Fraction) -> None:
    """Without noise: of single columns, of planned, of least sure and of selected marginals of parts."""
    outcome, plan, players = played(quick(), setting(budget), NoNoise())
    assert players.asks is not None
    asked = players.asks(outcome.moves)
    assert isinstance(asked, Workload)
    exact = asked.count_rows(GAME.rows.astype(np.uint8))
    for number, move in enumerate(outcome.moves):
        np.testing.assert_array_equal(move.values, exact[move.ids])
        assert (move.ids.min() >= plan.asked.num_queries) == (number > 0)
    assert asked.groups[: len(plan.asked.groups)] == plan.asked.groups  # type: ignore[attr-defined]
    sizes = {len(group.columns) for group in asked.groups if group.merged is not None}
    assert sizes == {1, 2, 3}


def test_what_is_least_sure_is_measured_as_often_as_planned_and_stated_as_precisely() -> None:
    """Of the second move: its noise is that of the mean of so many measurements, and these were charged for."""
    where = setting(COARSEST_OF_ALL)
    book = MemoryBook(quick().plan(where).reserve)
    outcome, plan, players = played(quick(), where, NoNoise(), book)
    query_player = players.query_player
    assert isinstance(query_player, Merged)
    unsure, move = query_player.unsure, outcome.moves[1]
    assert unsure is not None
    charged = [event for event, _ in book.charged if event == Gaussian(Fraction(2), Fraction(unsure.stddev) ** 2)]
    assert len(charged) == unsure.num_times == 2 * len(SIZES)
    assert (charged[0], unsure.num_times) in plan.events
    assert players.asks is not None
    asked = players.asks(outcome.moves)
    assert isinstance(asked, Workload)
    owners = asked.group_of(move.ids)
    stddevs = [float(np.asarray(move.stddev)[owners == owner][0]) for owner in np.unique(owners)]
    often = [round((unsure.stddev / stddev) ** 2) for stddev in stddevs]
    assert sum(often) == unsure.num_times
    assert max(often) > 1
    for stddev, times in zip(stddevs, often, strict=True):
        assert unsure.stddev / times**0.5 <= stddev <= unsure.stddev / times**0.5 + 0.5
    assert (np.diff(move.ids) > 0).all(), "a marginal's cells are looked up in their order"


def test_the_mean_of_several_measurements_is_as_far_off_as_is_stated() -> None:
    where, off = setting(COARSEST_OF_ALL), []
    for seed in range(30):
        outcome, _, players = played(quick(num_top_ups=1), where, SeededNoise(seed))
        assert players.asks is not None
        asked, move = players.asks(outcome.moves), outcome.moves[1]
        assert isinstance(asked, Workload)
        assert move.values is not None
        exact = asked.count_rows(GAME.rows.astype(np.uint8))
        off.append((move.values - exact[move.ids]) / np.asarray(move.stddev))
    # Some 5,000 values or more, so the standard error is below 0.01.
    assert np.concatenate(off).std() == pytest.approx(1.0, abs=0.04)


def test_a_selected_pair_is_the_one_whose_agreement_of_parts_is_and_is_likely_furthest_off() -> None:
    outcome, _, players = played(quick(num_top_ups=1), setting(COARSE), NoNoise())
    assert players.asks is not None
    asked = players.asks(outcome.moves)
    assert isinstance(asked, Workload)
    assert outcome.last_played is not None
    off = asked.count_rows(GAME.rows.astype(np.uint8)) - GAME.num_rows * asked.on(outcome.last_played.distribution)
    scores = np.full(len(asked.groups), -1.0)
    for number, group in enumerate(asked.groups):
        if group.merged is None or len(group.columns) > 2:
            continue
        cells = off[asked.starts[number] : asked.starts[number + 1]]
        if len(group.columns) == 2:
            table = cells.reshape([int(part.max()) + 1 for part in group.merged])
            cells = 2 * table - table.sum(axis=0) - table.sum(axis=1, keepdims=True) + table.sum()
        scores[number] = np.abs(cells).max()
    player = players.query_player
    assert isinstance(player, Merged)
    merging = merging_of(player.asked, outcome.moves[0], GAME.num_rows, player.most)
    before, merged = player.asked, merging.workload(player.column_sets)
    likely = likely_errors(asked.on(outcome.last_played.distribution)[before.num_queries :], merged)
    scores[len(before.groups) :] += LIKELY * 2 / float(player.later.selected.selection_epsilon) * likely
    assert asked.group_of(outcome.moves[-1].ids[:1])[0] == np.argmax(scores)


@pytest.mark.parametrize(("rho", "num_moves"), [(COARSE, 4), (COARSEST_OF_ALL, 5)])
def test_a_game_goes_on_from_recorded_moves_without_paying_again(rho: Fraction, num_moves: int) -> None:
    algorithm, where = quick(num_top_ups=2), setting(rho)
    book = MemoryBook(algorithm.plan(where).reserve)
    whole, _, _ = played(algorithm, where, SeededNoise(1), book)
    for num_kept in range(1, num_moves + 1):
        rest = MemoryBook(book.reserved, stored=book.stored[:num_kept])
        again, _, _ = played(algorithm, where, SeededNoise(1), rest)
        assert len(rest.ends) == num_moves - num_kept
        if num_kept == num_moves:
            np.testing.assert_array_equal(again.distribution.marginal((0, 1)), whole.distribution.marginal((0, 1)))


def test_values_within_a_part_are_as_in_the_column() -> None:
    outcome, _, players = played(quick(), setting(COARSE), NoNoise())
    player = players.data_player
    assert isinstance(player, MergedMixture)
    state = player.step(np.random.default_rng(0), player.init(np.random.default_rng(0)), outcome.moves[:1])
    assert state.merging is not None
    part, within = state.merging.parts[0], state.merging.within[0]
    pair = outcome.distribution.marginal((0, 3))
    for number in range(int(part.max()) + 1):
        here = part == number
        np.testing.assert_allclose(pair[here], np.multiply.outer(within[here], pair[here].sum(axis=0)), atol=1e-12)


def test_before_anything_is_fitted_columns_are_independent() -> None:
    outcome, _, players = played(quick(), setting(COARSE), NoNoise())
    player, rng = players.data_player, np.random.default_rng(0)
    np.testing.assert_allclose(player.play(player.init(rng)).marginal((3,)), 0.5)
    first = player.play(player.step(rng, player.init(rng), outcome.moves[:1]))
    exact = np.bincount(GAME.rows[2], minlength=25) / GAME.num_rows
    np.testing.assert_allclose(first.marginal((2,)), exact, atol=0.02)


@pytest.mark.parametrize("budget", [COARSE, COARSEST_OF_ALL])
def test_error_bars_hold(budget: Fraction) -> None:
    """Each of 20 games' bars hold with probability 0.95; 10 failures have probability below 1e-7."""
    where, failures = setting(budget), 0
    for seed in range(20):
        outcome, _, players = played(quick(num_top_ups=1), where, SeededNoise(seed))
        assert players.evidence is not None
        assert players.asks is not None
        asked = players.asks(outcome.moves)
        assert isinstance(asked, Workload)
        bars = error_bars(outcome, asked, GAME.num_rows, players.evidence)
        exact = asked.count_rows(GAME.rows.astype(np.uint8)) / GAME.num_rows
        failures += bool((np.abs(asked.on(outcome.distribution) - exact) > bars).any())
    assert failures < 10


def test_merging_tells_more_where_noise_is_coarse() -> None:
    """Ten columns of thirty values that hang on a hidden one, all pairs, five seeds."""
    rng, num_rows = np.random.default_rng(0), 2000
    hidden = rng.choice(3, num_rows, p=[0.5, 0.3, 0.2])
    middles = rng.integers(3, 27, (10, 3))
    rows = np.clip(np.rint(rng.normal(middles[:, hidden], 2.5)), 0, 29).astype(np.int64)
    sets = list(combinations(range(10), 2))
    workload = Workload(Domain(tuple("abcdefghij"), (30,) * 10), tuple(Group(pair, (30, 30)) for pair in sets))
    game = TinyGame(workload, rows)
    exact = workload.count_rows(rows.astype(np.uint8)) / num_rows

    def errors(*, merges: bool) -> tuple[float, float]:
        algorithm, found = Mixture(num_components=60, num_sweeps=6, merges=merges), []
        for seed in range(5):
            where = Setting(workload, num_rows, Fraction(1, 3000), None, 1, 2**32)
            outcome, _, _ = played(algorithm, where, SeededNoise(seed), game=game)
            found.append(np.abs(workload.on(outcome.distribution) - exact))
        return float(np.mean(found)), float(np.mean(np.max(found, axis=1)))

    (mean, largest), (mean_without, largest_without) = errors(merges=True), errors(merges=False)
    # Fifteen seeds: 1.42e-3 against 1.53e-3, 0.061 against 0.073.
    assert mean < 0.96 * mean_without
    assert largest < 0.95 * largest_without


def test_a_query_that_splits_no_part_has_a_bound_and_one_that_does_has_none() -> None:
    """Without noise in the values the bound is what the noise could have been; of the pair it comes from parts."""
    outcome, _, players = played(quick(merges=True, num_top_ups=2), setting(COARSE * 20), NoNoise())
    assert players.asks is not None
    asked = players.asks(outcome.moves)
    assert isinstance(asked, Workload)
    measured = asked.group_of(outcome.moves[-1].ids[:1])[0]
    group = asked.groups[measured]
    assert group.merged is not None
    assert len(group.columns) == 2
    column, sizes = group.columns[0], np.bincount(group.merged[0])
    together = group.merged[0] == int(np.argmax(sizes))
    alone = np.zeros_like(together)
    alone[np.flatnonzero(together)[0]] = True
    other = group.merged[1] == 0
    exact = float((together[GAME.rows[column]] & other[GAME.rows[group.columns[1]]]).mean())
    found = half_width(Query(group.columns, (together, other)), exact, asked, outcome.moves, None, GAME.num_rows)
    assert found is not None
    noise = float(np.asarray(outcome.moves[-1].stddev).max())
    assert 0 < found <= np.sqrt(2 * np.log(2 / 0.05)) * noise / GAME.num_rows * (1 + 1e-9)
    assert half_width(Query(group.columns, (alone, other)), 0.0, asked, outcome.moves, None, GAME.num_rows) is None


def test_no_pilot_says_how_long_to_fit_merged_columns() -> None:
    for option, num_sweeps in ((None, NUM_SWEEPS), (7, 7)):
        algorithm = Mixture(num_components=20, num_sweeps=option)
        player = algorithm.players(setting(COARSE), algorithm.plan(setting(COARSE))).data_player
        assert isinstance(player, MergedMixture)
        assert player.player.num_sweeps == num_sweeps


def test_counts_that_do_not_fit_are_refused_before_anything_is_read() -> None:
    domain = Domain(tuple("abcd"), (1000, 1000, 900, 5))
    sets = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    workload = Workload(domain, tuple(Group(s, tuple(domain.sizes[i] for i in s)) for s in sets))
    with pytest.raises(CapacityError, match="counts the cells of all marginals"):
        Mixture(merges=True).plan(Setting(workload, 3000, COARSE, None, 1, 2**33))
    needed = Mixture(merges=True).plan(Setting(workload, 3000, COARSE, None, 1, 2**36)).memory_bytes
    assert needed > 3 * 8 * 900 * 10**6


def test_refusals() -> None:
    with pytest.raises(SettingError, match="merges=true needs"):
        Mixture(merges=True, num_top_ups=0).plan(setting(COARSE))
    with pytest.raises(SettingError, match="merges=true needs"):
        Mixture(merges=True).plan(Setting(GAME.workload, GAME.num_rows, None, Fraction(1), 1, 2**32))


def test_a_release_of_merged_columns_is_written_read_and_obeys_rules(tmp_path: Path) -> None:
    names = GAME.workload.domain.columns
    columns = [
        f'\n[columns.{name}]\ntype = "integer"\nmin = 0\nmax = {size - 1}\n'
        for name, size in zip(names, SIZES, strict=True)
    ]
    schema = declared(*columns, '\n[rules]\nimpossible = ["a > 12 and d = 0"]\n')
    (tmp_path / "people.toml").write_text(schema)
    lines = [",".join(names), *(",".join(map(str, row)) for row in GAME.rows.T)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    table = eq.read(tmp_path / "people.csv", schema=tmp_path / "people.toml")
    options = {"num_components": 20, "num_sweeps": 2}
    made = eq.release(table, workload="3-way", epsilon=0.2, method="mixture", options=options, seed=1)
    assert made.statement["method"]["options"]["merges"] is True
    made.write(tmp_path / "out")
    again = eq.load(tmp_path / "out")
    assert again.asked.fingerprint == made.asked.fingerprint
    rows = again.codes()
    assert not ((rows[0] > 12) & (rows[3] == 0)).any()
    assert "merged" in (tmp_path / "out" / "asked.json").read_text()
