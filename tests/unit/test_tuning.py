from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.schemas import declared, ordinal

from equipoise import pipeline, tuning
from equipoise.data.table import Table, read
from equipoise.errors import BudgetError, SettingError
from equipoise.privacy import accountant
from equipoise.privacy.events import Tuned
from equipoise.privacy.ledger import Account, Ledger
from equipoise.privacy.random_runs import LAWS, stop_of
from equipoise.request import Limits
from equipoise.tuning import Tuning, candidates_of, largest_budget

COLUMNS = (ordinal("a", 3), ordinal("b", 4))
SCHEMA = declared(*COLUMNS, name="toy", total=(1.0, 1e-7))

GRID = Tuning({"num_rounds": [1, 3], "moves": ["cell"]})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 3000)
    rows = {"a": a, "b": (a + rng.integers(0, 2, 3000)) % 4}
    (tmp_path / "toy.toml").write_text(SCHEMA)
    return read(pa.table({k: pa.array(v.astype(str)) for k, v in rows.items()}), schema=tmp_path / "toy.toml")


def request(table: Table, **more: Any) -> pipeline.Request:
    given = {"epsilon": 1.0, "delta": 1e-7, "workload": "2-way", "method": "mwem"}
    return pipeline.Request(table, **(given | more))


def account(folder: Path) -> Account:
    found = Ledger(folder / "toy.ledger.sqlite").existing("toy")
    assert found is not None
    return found


def sealed_rows(folder: Path) -> list[tuple[int, int, bytes]]:
    with closing(sqlite3.connect(folder / "toy.ledger.sqlite")) as connection:
        return connection.execute("SELECT part, number, body FROM sealed ORDER BY part, number").fetchall()


def trials(monkeypatch: pytest.MonkeyPatch, *candidates: int) -> None:
    monkeypatch.setattr(tuning, "_draw", lambda planned: list(candidates))


def counting(monkeypatch: pytest.MonkeyPatch, fail_at: int | None = None) -> Callable[[], int]:
    """Count the games that are played; the one numbered `fail_at` dies instead."""
    calls, real = [0], tuning.play_game

    def play(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == fail_at:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(tuning, "play_game", play)
    return lambda: calls[0]


@pytest.mark.parametrize("law", LAWS)
def test_the_largest_budget_spends_what_is_given_and_no_more(law: Any) -> None:
    rho = accountant.rho_of(epsilon=1.0, delta=1e-9)
    for mean in (2.0, 10.0, 1000.0):
        stop = stop_of(law, mean)
        budget = largest_budget(Limits(1000, 1e-9, rho, None), epsilon=1.0, law=law, stop=stop)
        price = accountant.cost(Tuned(budget, False, law, stop))
        assert 0 <= rho - accountant.rho_at(price, epsilon=1.0, delta=1e-9) < rho * Fraction(1, 10**9)
        assert accountant.epsilon_at(price, delta=1e-9) <= 1.0
    pure = largest_budget(Limits(1000, 1e-9, None, Fraction(1)), epsilon=1.0, law=law, stop=stop_of(law, 5.0))
    assert pure == Fraction(1, {"logarithmic": 2, "geometric": 3}[law])


def test_a_tuned_release_is_one_event_and_reveals_no_trial(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials(monkeypatch, 0, 1, 1, 0)
    made = tuning.run(request(table), GRID, tmp_path / "out")
    told = made.statement["tuning"]
    rounds = told["chosen"]["num_rounds"]
    assert made.statement["method"]["options"]["num_rounds"] == int(rounds)
    assert len(made.moves) == int(rounds)
    assert set(told) == {"grid", "chosen", "law", "mean_runs", "criterion", "score"}
    book = account(tmp_path)
    (run,) = book.runs()
    found = book.run(run["run"])
    assert found is not None
    assert [type(event) for event in found.events()] == [Tuned]
    assert [entry["what"] for entry in found.entries()] == ["reserve", "event", "chosen", "done"]
    assert set(found.entries()[2]) == {"what", "run", "candidate", "score", "answers"}  # the last: hashes of its moves
    assert {entry["run"] for entry in found.entries()} == {run["run"]}
    assert found.spent() == found.reserved
    assert sealed_rows(tmp_path) == []
    book.verify()
    with pytest.raises(BudgetError, match="does not cover"):
        tuning.tune(request(table), GRID)


def test_the_best_score_wins(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    trials(monkeypatch, 1, 0, 1, 0)
    scores = iter([70, 30, 20, 30])
    monkeypatch.setattr(tuning, "measure_score", lambda *_, **__: next(scores))
    played: list[Any] = []
    real = tuning.play_game
    monkeypatch.setattr(tuning, "play_game", lambda *a, **k: played.append(real(*a, **k)) or played[-1])
    made = tuning.tune(request(table), GRID)
    assert made.statement["tuning"]["chosen"]["num_rounds"] == "3"
    assert made.distribution is played[2].outcome.distribution


def test_a_second_start_goes_on_with_the_same_dice_and_pays_nothing(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials(monkeypatch, 0, 1, 0, 1)
    with monkeypatch.context() as first:
        counting(first, fail_at=3)
        with pytest.raises(KeyboardInterrupt):
            tuning.run(request(table), GRID, tmp_path / "out")
    before = sealed_rows(tmp_path)
    (run,) = account(tmp_path).runs()
    assert run["status"] == "open"
    assert run["spent"] == run["reserved"]
    trials(monkeypatch, 1, 1, 1, 1, 1, 1)  # other dice, which must not be looked at
    with monkeypatch.context() as second:
        played = counting(second)
        second.setattr(tuning.Trials, "choose", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            tuning.run(request(table), GRID, tmp_path / "out")
        assert played() == 2  # the third and fourth trial, not the first two again
    after = sealed_rows(tmp_path)
    assert set(before) < set(after)
    assert {part for part, _, _ in after} == {-1, *range(8)}
    made = tuning.run(request(table), GRID, tmp_path / "out")
    assert account(tmp_path).runs()[0]["spent"] == run["spent"]
    assert len(account(tmp_path).runs()) == 1
    assert len(made.moves) == int(made.statement["tuning"]["chosen"]["num_rounds"])
    assert sealed_rows(tmp_path) == []


def test_a_start_after_the_choice_replays_it(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as first:
        first.setattr(tuning.Run, "finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            tuning.run(request(table), GRID, tmp_path / "out")
    (run,) = account(tmp_path).runs()
    found = account(tmp_path).run(run["run"])
    assert found is not None
    moves = found.moves()
    played = counting(monkeypatch)
    made = tuning.run(request(table), GRID, tmp_path / "out")
    assert played() == 1
    assert [move.ids.tolist() for move in made.moves] == [move.ids.tolist() for move in moves]
    assert account(tmp_path).runs()[0]["spent"] == run["spent"]


def test_closing_an_unfinished_tuning_forgets_it_and_gives_nothing_back(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials(monkeypatch, 0, 1)
    counting(monkeypatch, fail_at=2)
    with pytest.raises(KeyboardInterrupt):
        tuning.run(request(table), GRID, tmp_path / "out")
    held = account(tmp_path).held()
    found = account(tmp_path).run(account(tmp_path).runs()[0]["run"])
    assert found is not None
    found.close()
    assert sealed_rows(tmp_path) == []
    assert account(tmp_path).held() == held
    account(tmp_path).verify()


def test_a_trial_cannot_spend_more_than_its_budget(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The inner gate is a filter: a candidate whose plan asks for twice its share is refused."""
    real = tuning._plan

    def greedy(*arguments: Any) -> Any:
        planned = real(*arguments)
        return tuning.replace(planned, game=planned.game / 2)

    monkeypatch.setattr(tuning, "_plan", greedy)
    with pytest.raises(BudgetError, match="more than it reserved"):
        tuning.tune(request(table), GRID)


def test_pure_tuning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials(monkeypatch, 0, 1)
    (tmp_path / "toy.toml").write_text(declared(*COLUMNS, name="toy"))
    rows = pa.table({"a": ["0", "1", "2"] * 100, "b": ["3", "0", "1"] * 100})
    made = tuning.tune(request(read(rows, schema=tmp_path / "toy.toml"), pure=True), GRID)
    assert made.statement["guarantee"]["pure_epsilon"] == "1"
    assert made.statement["guarantee"]["delta"] == 0.0


def test_several_rows_a_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget of a trial is a unit's: each of its events is charged for the group, and the whole is not again."""
    trials(monkeypatch, 0, 1)
    unit = '[table]\nunit = "who"\nrows_per_unit = 2'
    (tmp_path / "toy.toml").write_text(SCHEMA.replace("[table]", unit))
    who = [str(number // 2) for number in range(600)]
    rows = pa.table({"who": who, "a": ["0", "1", "2"] * 200, "b": ["3", "0", "1"] * 200})
    made = tuning.tune(request(read(rows, schema=tmp_path / "toy.toml")), GRID)
    (event,) = made.statement["events"]
    assert event["event"]["kind"] == "tuned"
    assert made.statement["guarantee"]["rows_per_unit"] == 2


def test_the_largest_error_can_decide(table: Table) -> None:
    made = tuning.tune(request(table), tuning.replace(GRID, criterion="max", law="geometric", num_trials=1.5))
    assert 0 < made.statement["tuning"]["score"] < 1
    assert "papernot2022hyper" in made.citations


@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        ({"num_rounds": [3]}, {}, "nothing to choose"),
        ({"num_rounds": [1, 3]}, {"num_rounds": 5}, "both as an option and in the grid"),
        ({"rounds": [1, 3]}, {}, "no option 'rounds'"),
    ],
)
def test_refused_before_anything_is_touched(
    table: Table, tmp_path: Path, grid: Any, options: Any, message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        tuning.run(request(table, options=options), Tuning(grid), tmp_path / "out")
    assert not (tmp_path / "toy.ledger.sqlite").exists()


def test_every_combination_is_a_candidate() -> None:
    assert len(candidates_of({"a": [1, 2], "b": [3, 4, 5]})) == 6
