"""From a table to a release: the only walk from input to output, shared by library, command line and service.

    read -> schema -> workload -> plan -> count (the only scan of the private rows) -> ledger -> game -> release

Everything before `count` uses public facts only, and everything that is refused is refused there, before a row is
read or a budget touched. Everything after the game is post-processing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from equipoise import folder
from equipoise.algorithms import Players
from equipoise.algorithms.algorithm import Forecast, price, require_public
from equipoise.budget import find_account
from equipoise.core import Measured, Progress, silent
from equipoise.data_players.finite import Finite
from equipoise.data_players.ruled import obeying
from equipoise.engines.records import count_and_keep
from equipoise.engines.scan import count
from equipoise.errors import CertificateError, OutputError, SettingError
from equipoise.game.error_bars import FAILURE, error_bars
from equipoise.game.loop import Outcome, play
from equipoise.privacy.gate import Gate
from equipoise.privacy.ledger import Account
from equipoise.privacy.private import Private
from equipoise.privacy.run import Run
from equipoise.queries.build import text_of
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.queries import Queries
from equipoise.query_players.public_error import PublicError, event_of, measure_public_error
from equipoise.releases import Release
from equipoise.request import (
    DEFAULT_MEMORY,
    Prepared,
    Request,
    ledger_beside,
    ledger_location,
    limits,
    open_account,
    prepare,
)
from equipoise.statement import statement

__all__ = [
    "DEFAULT_MEMORY",
    "Game",
    "Prepared",
    "Request",
    "Steps",
    "begin",
    "conclude",
    "goes_on",
    "ledger_beside",
    "ledger_location",
    "no_progress",
    "open_account",
    "play_game",
    "prepare",
    "public_error",
    "release",
    "require_same",
    "run",
]

Steps = Callable[[str], Any]
"""Opens a progress display for a named step: a context manager that gives a `Progress`."""


@contextmanager
def no_progress(name: str) -> Iterator[Progress]:
    """The `Steps` that shows nothing."""
    yield silent


def run(request: Request, output: str | Path, *, overwrite: bool = False, steps: Steps = no_progress) -> Release:
    """Release a table into a folder: resumable after a kill, exactly once in the ledger."""
    prepared = prepare(request)
    with folder.hold(output, overwrite=overwrite) as target:
        made = _release(prepared, open_account(request, target), folder.run_of(target), steps)
        with steps("Writing") as progress:
            made.write(target, num_rows=request.num_rows, progress=progress)
    return made


def goes_on(request: Request, output: Path) -> bool:
    """Whether a second start would go on with what began in the folder: a marked run that was refused never began."""
    if not folder.is_unfinished(output):
        return False
    schema = request.table.schema
    account = find_account(request.ledger or ledger_location(schema) or ledger_beside(output), schema.name)
    return account is not None and account.run(folder.run_of(output)) is not None


def release(request: Request, *, steps: Steps = no_progress) -> Release:
    """Release a table in memory. The ledger is the schema's; without one, spending is forgotten with the process."""
    return _release(prepare(request), open_account(request), secrets.token_hex(16), steps)


def public_error(request: Request, *, steps: Steps = no_progress) -> PublicError:
    """How well the best weights on the request's public rows would answer its workload, privately.

    One Gaussian measurement for the whole epsilon asked for; the method and its options do not matter.
    """
    if request.pure:
        raise SettingError("the best-mixture-error is measured with Gaussian noise, so not with a pure budget")
    prepared = prepare(replace(request, method="pmw_pub", options={}))
    setting = prepared.setting
    public, whole = require_public(setting, "public_error"), limits(request).rho
    assert whole is not None
    rho = whole / setting.rows_per_unit**2  # by zCDP, whatever the other method's plan would have been worth
    plan = replace(
        prepared.plan,
        method="public_error",
        options={},
        num_rounds=1,
        by_mu=False,
        events=((price(event_of(rho), setting.rows_per_unit), 1),),
        forecast=Forecast(0.0, 0.0),
    )
    account, run_id = open_account(request), secrets.token_hex(16)
    book, (truth,) = begin(replace(prepared, plan=plan), account, run_id, [plan.asked], steps)
    try:
        found = measure_public_error(Gate(book), truth, setting.grouped, setting.num_rows, public.codes, rho=rho)
    except BaseException:
        book.close()
        raise
    book.finish()
    return found


def _release(prepared: Prepared, account: Account, run_id: str, steps: Steps) -> Release:
    book, (truth,) = begin(prepared, account, run_id, [prepared.plan.asked], steps)
    with steps("Playing") as progress:
        try:
            game = play_game(prepared, Gate(book), truth, seed=int(book.plan["seed"]), progress=progress)
        except CertificateError:
            book.finish()  # what it spent stays spent; what it did not, is free again
            raise
    book.finish()
    return conclude(prepared, game, book)


def begin(
    prepared: Prepared, account: Account, run_id: str, asked: Sequence[Queries], steps: Steps
) -> tuple[Run, tuple[Private, ...]]:
    """Count what is asked, and open the run in the ledger, or find it there.

    In this order, so that a table that cannot be read costs nothing.
    """
    request, plan = prepared.request, prepared.plan
    book = account.run(run_id)
    if book is None:
        account.check(plan.reserve)
    else:
        _require_same(book, prepared)
    # The seed that chooses a unit's rows is secret and kept with the run, so a second start keeps the same rows.
    unit_seed = secrets.randbits(63) if book is None else book.unit_seed
    with steps("Counting") as progress:
        if isinstance(progress, Measured):
            progress.measure(request.table.num_bytes)
        table = request.table.bounded(unit_seed, memory=request.memory_limit)
        settings = {"threads": request.threads, "memory": request.memory_limit}
        truths = tuple(
            count(table, workload, **settings, progress=progress)
            if plan.records is None
            else count_and_keep(table, workload, plan.records, threads=request.threads, progress=progress)
            for workload in asked
        )
        table.close()
    if book is None:
        book = account.start(run=run_id, plan=_recorded(prepared), reserve=plan.reserve, unit_seed=unit_seed)
    return book, truths


class Game(NamedTuple):
    """A game that was played, and by whom.

    Attributes:
        outcome: How it ended; its moves are about queries.
        players: The players.
        public: Which public table was chosen in the first move, when one was.
    """

    outcome: Outcome
    players: Players
    public: int | None = None


def play_game(prepared: Prepared, gate: Gate, truth: Private, *, seed: int, progress: Progress) -> Game:
    """Play the plan; moves that the gate has already are replayed."""
    plan, rules = prepared.plan, prepared.request.table.schema.rules
    players = prepared.algorithm.players(prepared.setting, plan)
    outcome = play(
        gate=gate,
        truth=truth,
        workload=plan.asked,
        query_player=players.query_player,
        data_player=Finite(obeying(players.data_player, rules)),
        num_rounds=plan.num_rounds,
        seed=seed,
        progress=progress,
    )
    if players.num_choices == 0:
        return Game(outcome, players)
    choice, *rest = outcome.moves
    return Game(replace(outcome, moves=tuple(rest)), players, int(choice.ids[0]))


def conclude(prepared: Prepared, game: Game, book: Run, tuning: dict[str, Any] | None = None) -> Release:
    """The release that a game ends in: the model with its error bars and its guarantee.

    The bars hold for each of a tuned release's games with the failure probability over the mean number of them, so
    (Wald's equation) for whichever was chosen with the usual one.
    """
    request, setting, plan = prepared.request, prepared.setting, prepared.plan
    outcome, evidence, asks = game.outcome, game.players.evidence, game.players.asks
    asked = plan.asked if asks is None else asks(outcome.moves)
    bars = None
    if evidence is not None:
        failure = FAILURE / (1.0 if tuning is None else float(tuning["mean_runs"]))
        bars = error_bars(outcome, asked, setting.num_rows, evidence, failure=failure)
        bars = bars[: prepared.workload.num_queries]
    words = statement(
        schema=request.table.schema,
        algorithm=prepared.algorithm,
        setting=setting,
        plan=plan,
        epsilon=request.epsilon,
        delta=prepared.delta,
        charged=book.events(),
        accepted_inferred=request.table.schema.unconfirmed,
        run=book.key,
        workload_text=text_of(request.workload),
        tuning=tuning,
        chosen_public=game.public,
        notes=outcome.notes,
    )
    return Release(
        request.table.schema,
        prepared.workload,
        setting.num_rows,
        outcome.distribution,
        outcome.moves,
        bars,
        words,
        int(book.plan["seed"]),
        asked,
    )


def _recorded(prepared: Prepared) -> dict[str, Any]:
    request, schema = prepared.request, prepared.request.table.schema
    asked = prepared.plan.asked
    # What the moves are about, where a method added queries of its own at random: a second start must have the same.
    added = (
        {}
        if asked is prepared.workload or not isinstance(asked, Conjunctions)
        else {"extra_queries": asked.fingerprint}
    )
    return {
        "plan": prepared.plan.to_json(),
        "epsilon": request.epsilon,
        "delta": prepared.delta,
        "schema": schema.fingerprint,
        "workload": prepared.workload.fingerprint,
        "num_rows": prepared.setting.num_rows,
        "accepted_inferred": list(schema.unconfirmed),
        "public": " ".join(public.fingerprint for public in prepared.setting.publics) or None,
        "seed": secrets.randbits(63) if request.seed is None else request.seed,
    } | added


def _require_same(book: Run, prepared: Prepared) -> None:
    asked = _recorded(prepared)
    if prepared.request.seed is None:
        asked["seed"] = book.plan.get("seed")
    require_same(book.plan, asked)


def require_same(begun: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """A marked folder may only be taken up by the release that began it.

    Raises:
        OutputError: what is recorded of the run that it belongs to differs from what is asked.
    """
    differing: Sequence[str] = [key for key in asked if asked[key] != begun.get(key)]
    if differing:
        raise OutputError(
            f"the folder holds an unfinished release with another {', '.join(differing)}. Repeat the command that"
            " began it to finish it at no further cost, or choose another folder with -o."
        )
