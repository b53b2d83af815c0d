"""`Account.verify` sees a change of what a session keeps and of seeds; ledgers of earlier versions stay readable."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.unit.privacy.test_backup import crash_after_the_promise
from tests.unit.privacy.test_ledger import RHO, open_account

from equipoise.errors import LedgerError
from equipoise.privacy import analyst_tables as tables
from equipoise.privacy import store
from equipoise.privacy.accountant import Cost
from equipoise.privacy.analyst_book import SessionBook, State
from equipoise.privacy.analyst_opening import analysts_name, open_book, second_id
from equipoise.privacy.anchor import anchor_of
from equipoise.privacy.chain import canonical, digest_after
from equipoise.privacy.events import Exponential
from equipoise.privacy.ledger import Account, Ledger

answers, sessions, hypotheses, runs = tables.answers, tables.sessions, tables.hypotheses, store.runs
EVENT = Exponential(Fraction(1, 10))
MORE = {"run": "s", "analyst": "bob", "key": "k", "asked": "x", "body": "[1]"}


def filled(location: str) -> tuple[Account, SessionBook]:
    """A session with two kept answers and a hypothesis, and another without."""
    account = open_account(location)
    analysts = Ledger(location).account(analysts_name("people"), epsilon=3.0, delta=1e-9, rows_per_unit=1)
    reserve = (Cost(RHO / 8, None), Cost(RHO / 8, None))
    books = [
        open_book(
            account,
            analysts,
            run=run,
            plans=({"mode": "online"}, {"analysts": 2}),
            reserve=reserve,
            due=([EVENT], [EVENT]),
            first=State(0, 0, 0, 5, False),
            unit_seed=7,
        )
        for run in ("s", "t")
    ]
    with books[0].page() as page:
        page.keep("ada", "k", "x", "[0.5]")
        page.keep("ada", "l", "y", "[0.25]")
        page.move(page.state._replace(version=1), b"\x00\xff")
    return account, books[0]


DAMAGES: dict[str, tuple[Any, str]] = {
    "answer changed": (
        sa.update(answers).where(answers.c.key == "k").values(body="[0.6]"),
        "session s has lost, changed or added an answer",
    ),
    "query changed": (sa.update(answers).where(answers.c.key == "l").values(asked="z"), "an answer"),
    "answer of another": (sa.update(answers).where(answers.c.key == "l").values(analyst="bob"), "an answer"),
    "under another key": (sa.update(answers).where(answers.c.key == "l").values(key="m"), "an answer"),
    "moved to another session": (sa.update(answers).where(answers.c.key == "l").values(run="t"), "an answer"),
    "answer removed": (sa.delete(answers).where(answers.c.key == "l"), "an answer"),
    "answer added": (sa.insert(answers).values(**MORE), "an answer"),
    "added to a session without": (sa.insert(answers).values(**{**MORE, "run": "t"}), "session t .*an answer"),
    "hypothesis changed": (sa.update(hypotheses).values(body=b"\x00\xfe"), "a hypothesis"),
    "hypothesis of another version": (sa.update(hypotheses).values(version=2), "a hypothesis"),
    "hypothesis removed": (sa.delete(hypotheses), "a hypothesis"),
    "key of the noise": (sa.update(sessions).where(sessions.c.run == "t").values(secret="00"), "the key of its noise"),
    "seed": (sa.update(runs).where(runs.c.id == "t").values(unit_seed="8"), "release t has another seed"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told(ledger_location: str, damage: str) -> None:
    account, _ = filled(ledger_location)
    account.verify()
    statement, told = DAMAGES[damage]
    with store.connect(ledger_location).begin() as connection:
        connection.execute(statement)
    with pytest.raises(LedgerError, match=told):
        account.verify()


def test_a_seed_of_the_analysts_run_is_looked_at_too(ledger_location: str) -> None:
    filled(ledger_location)
    with store.connect(ledger_location).begin() as connection:
        connection.execute(sa.update(runs).where(runs.c.id == second_id("t")).values(unit_seed="8"))
    with pytest.raises(LedgerError, match="another seed"):
        Ledger(ledger_location).verify()


def test_the_chain_tells_neither_seed_nor_secret_nor_answer(ledger_location: str) -> None:
    _, book = filled(ledger_location)
    told = json.dumps(book.run.entries())
    with store.read(book.run.engine) as connection:
        secret = connection.execute(sa.select(sessions.c.secret).where(sessions.c.run == "s")).scalar_one()
    assert secret not in told
    for each in ("0.5", "0.25", "00ff", '"7"'):
        assert each not in told


def test_the_entries_of_a_session_are_these(ledger_location: str) -> None:
    """Word by word, as those of a release: other programs, and later versions, rely on them."""
    _, book = filled(ledger_location)
    with store.read(book.run.engine) as connection:
        secret = connection.execute(sa.select(sessions.c.secret).where(sessions.c.run == "s")).scalar_one()

    def digest(*parts: str) -> str:
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    assert [body for body in book.run.entries() if body["what"] not in ("reserve", "event")] == [
        {"what": "session", "run": "s", "secret": digest("s", secret)},
        {"what": "kept", "run": "s", "answer": digest("ada", "k", "x", "[0.5]")},
        {"what": "kept", "run": "s", "answer": digest("ada", "l", "y", "[0.25]")},
        {"what": "hypothesis", "run": "s", "version": 1, "answer": digest("1", "00ff")},
    ]


def test_the_anchor_is_never_sure_of_what_a_crash_undid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer is kept, and then something charged, on one page that is never committed."""
    account, book = filled(str(tmp_path / "people.sqlite"))
    before = account.verify()
    with crash_after_the_promise(monkeypatch), book.page() as page:
        page.keep("ada", "m", "x", "[1]")
        page.debit(EVENT)
    assert account.verify() == before
    with book.page() as page:
        page.keep("ada", "m", "x", "[1]")
        page.debit(EVENT)
    assert account.verify() == before + 2


def test_a_free_answer_is_kept_without_the_anchor_and_a_paid_one_with_it(tmp_path: Path) -> None:
    account, book = filled(str(tmp_path / "people.sqlite"))
    anchor = tmp_path / "people.sqlite.anchor"
    told = anchor.read_bytes()
    with book.page() as page:
        page.keep("ada", "m", "x", "[1]")
    assert anchor.read_bytes() == told
    account.verify()
    with book.page() as page:
        page.debit(EVENT)
        page.keep("ada", "n", "x", "[1]")
    assert anchor.read_bytes() != told
    with store.connect(tmp_path / "people.sqlite").begin() as connection:
        last = connection.execute(sa.select(sa.func.max(store.entries.c.id))).scalar_one()
        connection.execute(sa.delete(store.entries).where(store.entries.c.id == last))
        connection.execute(sa.delete(answers).where(answers.c.key == "n"))
    with pytest.raises(LedgerError, match="older than its anchor"):
        account.verify()


def as_earlier(location: str) -> None:
    """Rewrite a ledger as versions wrote it that knew nothing of these entries."""
    engine, entries = store.connect(location), store.entries
    with engine.begin() as connection:
        last: dict[int, str] = {}
        for row in connection.execute(sa.select(entries).order_by(entries.c.id)).all():
            body = json.loads(row.body)
            if body["what"] in ("session", "kept", "hypothesis"):
                connection.execute(sa.delete(entries).where(entries.c.id == row.id))
                continue
            body.pop("unit_seed", None)
            last[row.account] = digest_after(last.get(row.account, ""), canonical(body))
            changed = {"body": canonical(body), "digest": last[row.account]}
            connection.execute(sa.update(entries).where(entries.c.id == row.id).values(**changed))
    anchor = anchor_of(store.location_of(engine))
    if anchor is not None:
        anchor.path.unlink()


def test_a_session_of_an_earlier_version_goes_on_and_what_is_kept_from_then_on_is_covered(ledger_location: str) -> None:
    account, book = filled(ledger_location)
    as_earlier(ledger_location)
    before = account.verify()
    with book.page() as page:
        assert page.kept("ada", "k") == ("x", "[0.5]")
        page.keep("ada", "new", "x", "[0.75]")
    assert account.verify() == before + 1
    with store.connect(ledger_location).begin() as connection:
        connection.execute(sa.update(answers).where(answers.c.key == "new").values(body="[0.5]"))
    with pytest.raises(LedgerError, match="an answer"):
        account.verify()
