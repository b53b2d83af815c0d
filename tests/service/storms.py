"""A storm: many analysts ask a server at once while it, and once its database, is killed; then everything is counted.

With a key an answer is the same for ever, and told, counted and paid for once. Without one, an answer may be lost on
its way; what is counted is then at least what was told.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.cli.conftest import HEADER
from tests.service.conftest import make_table
from tests.service.processes import Process

import equipoise as eq
from equipoise.privacy.analyst_book import SessionBook
from equipoise.privacy.analyst_opening import analysts_name
from equipoise.privacy.ledger import Account, Ledger
from equipoise.service.client import Answer, ServiceError

TOTAL = {"epsilon": 100.0, "delta": 1e-6, "analyst_epsilon": 100.0, "analyst_delta": 1e-6}
TERMS: dict[str, dict[str, Any]] = {
    "noise": {"epsilon": 10.0, "analyst_epsilon": 1.0, "num_analysts": 50, "queries_each": 200},
    "pmw": {"epsilon": 60.0, "analyst_epsilon": 1.0, "num_analysts": 50, "queries_each": 10**7},
    "online": {"epsilon": 90.0, "analyst_epsilon": 90.0, "num_analysts": 50, "queries_each": 10**7},
}
"""A table of each mode that it can be opened in; for the last two noise on every answer would be hopeless."""

COLUMNS = ["sex", "age"]
PATIENCE = 1800.0
"""Seconds for which a question is repeated while the server is away: on a busy machine a start may take minutes."""

ASKED: list[str | list[str]] = [["sex"], ["sex"], "sex = Female and age in 20..39", "sex = Male", "age in 20..79"]
"""A list stands for the marginal of a column."""


def make_skewed(root: Path, name: str, num_rows: int = 20_000) -> None:
    """A table on which a uniform hypothesis is far off, so that there is much to pay for."""
    make_table(root, name, 1)
    rng = np.random.default_rng(3)
    sexes = np.where(rng.random(num_rows) < 0.97, "Female", "Male")
    ages = np.where(rng.random(num_rows) < 0.9, 30, rng.integers(0, 100, num_rows))
    lines = [f"{sex},{age},1.0,North" for sex, age in zip(sexes, ages, strict=True)]
    (root / f"{name}.csv").write_text("\n".join([HEADER, *lines]) + "\n")


@dataclass
class Asker:
    """An analyst who asks, repeats old questions now and then, and remembers every answer."""

    number: int
    mode: str
    token: str
    keyed: bool = True
    seen: dict[str, tuple[str | list[str], list[Answer]]] = field(default_factory=dict)
    repeats: int = 0
    exhausted: bool = False
    failure: BaseException | None = None

    def work(self, address: str, pause: float, ended: Callable[[], bool]) -> None:
        rng = random.Random(self.number)
        try:
            with eq.Client(address, token=self.token, patience=PATIENCE) as client:
                while not ended():
                    time.sleep(rng.uniform(0, 2 * pause))
                    if self.keyed and self.seen and rng.random() < 0.3:
                        self.repeat(client, rng.choice(sorted(self.seen)))
                        self.repeats += 1
                    elif not self.exhausted:
                        self._ask(client, rng.choice(ASKED))
        except BaseException as error:
            self.failure = error

    def _ask(self, client: eq.Client, asked: str | list[str]) -> None:
        key = f"{self.number}-{len(self.seen)}"
        try:
            if self.keyed:
                self.seen[key] = asked, answered(client, asked, key)
            else:
                body = {"query": asked} if isinstance(asked, str) else {"marginal": asked}
                found = client._connection.call("POST", "questions", body=body)
                self.seen[key] = asked, [Answer(**answer) for answer in found["answers"]]
        except eq.BudgetError:
            self.exhausted = True
        except (ServiceError, eq.LedgerError):
            if self.keyed:
                raise
            time.sleep(0.1)  # the server or its database is away, and the answer, if there was one, is lost

    def repeat(self, client: eq.Client, key: str) -> None:
        asked, answers = self.seen[key]
        assert answered(client, asked, key) == answers

    @property
    def answers(self) -> list[Answer]:
        return [answer for _, answers in self.seen.values() for answer in answers]

    @property
    def num_paid(self) -> int:
        return sum(answer.source == "paid" for answer in self.answers)


def answered(client: eq.Client, asked: str | list[str], key: str) -> list[Answer]:
    return [client.ask(asked, key=key)] if isinstance(asked, str) else client.marginal(asked, key=key)


def storm(
    folder: Path,
    database: str | None,
    *,
    modes: Sequence[str],
    analysts_each: int,
    seconds: float,
    pause: float,
    least: int,
    blows: Sequence[Callable[[Process], None]],
    changes: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Let it rage for some seconds and at least so many questions to each table; then check everything.

    Between two questions an analyst pauses for a random time, so long in the mean.
    One in five of the analysts whose answers are free most of the time sends no keys.
    """
    for mode in modes:
        make_skewed(folder / "root", mode)
    process = Process(folder / "root", folder / "state", database).start()
    try:
        askers = []
        with eq.Client(process.address, token=process.token, patience=PATIENCE) as steward:
            for mode in modes:
                steward.register(f"{mode}.csv", schema=f"{mode}.toml", **TOTAL)
                terms = TERMS[mode] | (changes or {} if mode == "noise" else {})
                made = steward.open_for_questions(mode, mode=mode, columns=COLUMNS, **terms)
                assert made["online"]["mode"] == mode, made["online"]["reason"]
                for number in range(analysts_each):
                    token = steward.invite(mode, f"analyst {number}")
                    askers.append(Asker(number, mode, token, keyed=mode == "noise" or number % 5 != 1))
        rage(process, askers, seconds, pause, least, blows)
        failures = [asker.failure for asker in askers if asker.failure is not None]
        assert not failures, failures
        return {mode: check(process, mode, [asker for asker in askers if asker.mode == mode]) for mode in modes}
    finally:
        process.stop()


def rage(
    process: Process,
    askers: list[Asker],
    seconds: float,
    pause: float,
    least: int,
    blows: Sequence[Callable[[Process], None]],
) -> None:
    end, latest = time.monotonic() + seconds, time.monotonic() + seconds + 600
    ended = threading.Event()
    threads = [threading.Thread(target=asker.work, args=(process.address, pause, ended.is_set)) for asker in askers]
    for thread in threads:
        thread.start()
    try:
        for blow in blows:
            time.sleep(seconds / (len(blows) + 1))
            blow(process)
        while time.monotonic() < end or (time.monotonic() < latest and not enough(askers, least)):
            time.sleep(0.1)
    finally:
        ended.set()
        for thread in threads:
            thread.join(300)


def enough(askers: list[Asker], least: int) -> bool:
    counts: dict[str, int] = {}
    for asker in askers:
        counts[asker.mode] = counts.get(asker.mode, 0) + len(asker.seen)
    return all(count >= least for count in counts.values()) or all(asker.exhausted for asker in askers)


def check(process: Process, mode: str, askers: list[Asker]) -> dict[str, Any]:
    """The ledger against what analysts saw, before and after every question is asked once more."""
    location = process.database or str(process.state.resolve() / "service.sqlite")
    keyed = [asker for asker in askers if asker.keyed]
    found = count(process, location, mode, askers)
    for asker in keyed:
        with eq.Client(process.address, token=asker.token, patience=PATIENCE) as client:
            for key in asker.seen:
                asker.repeat(client, key)
            told = sorted(repr([Answer(**answer) for answer in one["answers"]]) for one in client.questions(1000))
            if len(asker.seen) <= 1000:
                seen = ([replace(answer, left=None) for answer in answers] for _, answers in asker.seen.values())
                assert told == sorted(map(repr, seen))
    assert count(process, location, mode, askers) == found
    return {
        "answers": sum(len(asker.answers) for asker in askers),
        "repeats": sum(asker.repeats for asker in askers),
        "exhausted": sum(asker.exhausted for asker in askers),
        "set aside or lost": found["counted"] - sum(len(asker.answers) for asker in askers),
        **found,
    }


def count(process: Process, location: str, mode: str, askers: list[Asker]) -> dict[str, Any]:
    """What steward and ledger say, checked against what each analyst saw and against each other."""
    with eq.Client(process.address, token=process.token, patience=PATIENCE) as steward:
        used = {found["name"]: found for found in steward.analysts(mode)}
    for asker in askers:
        mine = used[f"analyst {asker.number}"]
        assert mine["paid"] <= mine["asked"] <= TERMS[mode]["queries_each"]
        if asker.keyed:
            assert (mine["asked"], mine["paid"]) == (len(asker.answers), asker.num_paid)
        else:
            assert mine["asked"] >= len(asker.answers)
            assert mine["paid"] >= asker.num_paid
    paid = sum(found["paid"] for found in used.values())
    account, analysts = (Ledger(location).existing(name) for name in (mode, analysts_name(mode)))
    assert account is not None
    assert analysts is not None
    return {
        "counted": sum(found["asked"] for found in used.values()),
        "paid": paid,
        "epochs": check_book(account, analysts, mode, paid),
    }


def check_book(account: Account, analysts: Account, mode: str, paid: int) -> int:
    """That both accounts hold one session, charged as planned; how often its hypothesis has changed."""
    account.verify()
    analysts.verify()
    (row,), (second,) = account.runs(), analysts.runs()
    run, other = account.run(row["run"]), analysts.run(second["run"])
    assert run is not None
    assert other is not None
    assert other.spent().impure == other.reserved
    book = SessionBook(run, other)
    state, updates = book.state(), [update for _, update in book.updates(0)]
    stored = [version for version in range(1, state.version + 2) if book.hypothesis(version) is not None]
    book.release()
    assert state.num_paid == paid
    assert not state.halted
    if mode == "noise":
        assert len(run.events()) == paid
        assert run.spent().rho == run.reserved.rho * paid / row["plan"]["plan"]["num_rounds"]
        return 0
    assert paid == len(updates) <= row["plan"]["plan"]["num_rounds"]
    assert (len(run.events()), run.spent()) == (1, run.reserved)
    if mode == "pmw":
        assert (state.version, stored) == (paid, [])
    else:
        assert stored == list(range(1, state.version + 1))
        assert state.waiting == sum(update.version == state.version for update in updates)
    return state.version
