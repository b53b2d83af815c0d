"""Tune a method's options on the private table, at a price that is paid: try a random number, release the best.

A trial draws a candidate, releases the table with it and scores the result privately; a random number of trials is
made, and the one with the best score is the release (papernot2022hyper; the price and its proof: privacy/random_runs).
Trying everything and keeping the best without paying for it is the usual way, and is not private.

Secret: the number of trials, their candidates, and every draw but the chosen trial's. So there is one entry in the
ledger, progress shows no trials, and all trials share one seed (a seed of its own would tell the chosen one's number).
The time that it takes is outside the guarantee, as everywhere. Exactly once: see privacy/sealed.py.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from equipoise import folder
from equipoise.core import silent
from equipoise.errors import SettingError
from equipoise.pipeline import Game, Prepared, Request, Steps, begin, conclude, no_progress, play_game
from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.events import Tuned
from equipoise.privacy.gate import Gate
from equipoise.privacy.private import Private
from equipoise.privacy.random_runs import RunLaw, draw_num_runs, exponent, mean_runs, stop_of
from equipoise.privacy.run import Run
from equipoise.privacy.sealed import Chosen, Trials
from equipoise.query_players.score import Criterion, measure_score, share_of
from equipoise.releases import Release
from equipoise.request import Limits, limits, open_account, prepare

__all__ = ["Tuning", "candidates_of", "largest_budget", "run", "tune"]

SCORE_SHARE = Fraction(1, 10)
"""Of a trial's budget. The score is one number: a tenth makes its noise small beside the errors that it compares."""


@dataclass(frozen=True)
class Tuning:
    """What to choose between, and how.

    Attributes:
        grid: For each option the values to try; every combination is a candidate.
        num_trials: Mean of the random number of trials; None for the number of candidates.
        law: Of that number: "logarithmic" is cheaper, "geometric" rarely stops after one or two.
        criterion: What is scored: the mean error of the workload's answers, or the largest.
    """

    grid: Mapping[str, Sequence[Any]]
    num_trials: float | None = None
    law: RunLaw = "logarithmic"
    criterion: Criterion = "mean"


def candidates_of(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of the grid's values.

    Example:
        >>> candidates_of({"num_rounds": [20, 50], "moves": ["cell"]})
        [{'num_rounds': 20, 'moves': 'cell'}, {'num_rounds': 50, 'moves': 'cell'}]
    """
    found = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    if len(found) < 2:
        raise SettingError("there is nothing to choose: give the grid at least two candidates")
    return found


def largest_budget(given: Limits, *, epsilon: float, law: RunLaw, stop: Fraction) -> Fraction:
    """What one trial may spend so that tuning spends what is given: rho, or pure epsilon; rounded down.

    Guarantees:
        Not pure: `accountant.rho_at` of the event, at the release's own (epsilon, delta), is at most its rho, so the
        tuned release is (epsilon, delta)-DP. Pure: (1 + h) budgets are at most epsilon.
    """
    if given.rho is None:
        assert given.epsilon is not None
        return given.epsilon / (1 + exponent(law))
    low, high = Fraction(0), given.rho
    for _ in range(40):
        middle = accountant.exact(float((low + high) / 2))
        price = accountant.cost(Tuned(middle, False, law, stop))
        low, high = (
            (middle, high)
            if accountant.rho_at(price, epsilon=epsilon, delta=given.delta) <= given.rho
            else (low, middle)
        )
    if low == 0:
        raise SettingError("the budget is too small to tune with so many trials; use a larger epsilon or fewer trials")
    return low


@dataclass(frozen=True)
class _Planned:
    """A tuned release, planned.

    Attributes:
        prepared: What the ledger records and is charged: one event.
        candidates: Each one's own plan, for its share of a trial's budget.
        event: The charge.
        game: What a trial's game may spend on one unit.
        score: What its score may spend.
    """

    tuning: Tuning
    prepared: Prepared
    candidates: tuple[Prepared, ...]
    event: Tuned
    game: Fraction
    score: Fraction

    def cost(self, budget: Fraction) -> Cost:
        """What a part of a trial reserves."""
        return Cost(Fraction(0), budget) if self.event.pure else Cost(budget, None)


def _plan(request: Request, tuning: Tuning) -> _Planned:
    options = candidates_of(tuning.grid)
    given = limits(request)
    stop = stop_of(tuning.law, float(len(options)) if tuning.num_trials is None else tuning.num_trials)
    budget = largest_budget(given, epsilon=request.epsilon, law=tuning.law, stop=stop)
    game = budget * (1 - SCORE_SHARE)
    within = replace(given, epsilon=game) if request.pure else replace(given, rho=game)
    both = set(tuning.grid) & set(request.options)
    if both:
        raise SettingError(f"{', '.join(sorted(both))}: given both as an option and in the grid; drop one of them")
    candidates = tuple(prepare(replace(request, options={**request.options, **one}), within) for one in options)
    if any(one.plan.records is not None for one in candidates):
        raise SettingError("what a solver chooses cannot be tuned: a trial without a certificate would have to be told")
    event = Tuned(budget, request.pure, tuning.law, stop)
    described = {"grid": {name: [str(value) for value in values] for name, values in tuning.grid.items()}}
    plan = replace(
        candidates[0].plan,
        options=described | {"criterion": tuning.criterion},
        num_rounds=max(one.plan.num_rounds for one in candidates),
        events=((event, 1),),
    )
    return _Planned(tuning, replace(candidates[0], plan=plan), candidates, event, game, budget - game)


def run(
    request: Request, tuning: Tuning, output: str | Path, *, overwrite: bool = False, steps: Steps = no_progress
) -> Release:
    """Tune and release into a folder: after a kill, the same command goes on with the same dice, paying nothing."""
    planned = _plan(request, tuning)
    with folder.hold(output, overwrite=overwrite) as target:
        made = _tuned(planned, request, target, folder.run_of(target), steps)
        with steps("Writing") as progress:
            made.write(target, num_rows=request.num_rows, progress=progress)
    return made


def tune(request: Request, tuning: Tuning, *, steps: Steps = no_progress) -> Release:
    """Tune and release in memory."""
    return _tuned(_plan(request, tuning), request, None, secrets.token_hex(16), steps)


def _tuned(planned: _Planned, request: Request, target: Path | None, run_id: str, steps: Steps) -> Release:
    # Candidates may ask for different marginals, and the score asks for the workload's own: each is counted once.
    asked = {one.plan.asked.fingerprint: one.plan.asked for one in planned.candidates}
    workload = planned.prepared.workload
    asked[workload.fingerprint] = workload
    book, counted = begin(planned.prepared, open_account(request, target), run_id, list(asked.values()), steps)
    truths = dict(zip(asked, counted, strict=True))
    with steps("Tuning"):
        chosen, game = _choose(planned, book, truths)
    book.finish()
    return conclude(planned.candidates[chosen.candidate], game, book, _words(planned, chosen))


def _choose(planned: _Planned, book: Run, truths: Mapping[str, Private]) -> tuple[Chosen, Game]:
    """Make the trials that are not made yet and choose the best; its game is in the book from then on."""
    trials, seed = Trials(book), int(book.plan["seed"])
    chosen, game = trials.chosen, None
    if chosen is None:
        tried = trials.begin(planned.event, lambda: _draw(planned))
        best: tuple[int, int] | None = None
        for trial, candidate in enumerate(tried):
            found, score = _try(planned, trials, trial, planned.candidates[candidate], truths, seed)
            if best is None or score < best[0]:
                best, game = (score, trial), found
        assert best is not None
        chosen = Chosen(tried[best[1]], best[0])
        trials.choose(best[1], chosen)
    if game is None:
        prepared = planned.candidates[chosen.candidate]
        game = play_game(prepared, Gate(book), truths[prepared.plan.asked.fingerprint], seed=seed, progress=silent)
    return chosen, game


def _draw(planned: _Planned) -> list[int]:
    """The candidate of each trial; how many there are is drawn first. Secret, so from the operating system."""
    number = draw_num_runs(planned.event.law, planned.event.stop)
    return [secrets.randbelow(len(planned.candidates)) for _ in range(number)]


def _try(
    planned: _Planned, trials: Trials, trial: int, prepared: Prepared, truths: Mapping[str, Private], seed: int
) -> tuple[Game | None, int]:
    """One trial's game and score; a trial that was finished before a kill is not played again, only its score read."""
    setting, plan, workload = prepared.setting, prepared.plan, prepared.workload
    scoring = Gate(trials.score(trial, planned.cost(planned.score)))
    game = None
    if not scoring.moves:
        gate = Gate(trials.game(trial, planned.cost(planned.game)))
        game = play_game(prepared, gate, truths[plan.asked.fingerprint], seed=seed, progress=silent)
    score = measure_score(
        scoring,
        truths[workload.fingerprint],
        None if game is None else game.outcome.distribution,
        workload=workload,
        num_rows=setting.num_rows,
        criterion=planned.tuning.criterion,
        rho=None if planned.event.pure else planned.score / setting.rows_per_unit**2,
        epsilon=planned.score / setting.rows_per_unit if planned.event.pure else None,
    )
    return game, score


def _words(planned: _Planned, chosen: Chosen) -> dict[str, Any]:
    """What the statement says of the tuning: nothing of the trials that were not chosen."""
    event, prepared = planned.event, planned.candidates[chosen.candidate]
    criterion, num_rows = planned.tuning.criterion, prepared.setting.num_rows
    return {
        "grid": planned.prepared.plan.options["grid"],
        "chosen": {name: str(prepared.request.options[name]) for name in planned.tuning.grid},
        "law": event.law,
        "mean_runs": float(mean_runs(event.law, event.stop)),
        "criterion": criterion,
        "score": share_of(chosen.score, workload=prepared.workload, num_rows=num_rows, criterion=criterion),
    }
