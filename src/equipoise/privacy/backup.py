"""Copies of a SQLite ledger, and putting one back without letting anyone spend twice.

A copy knows nothing of what was spent after it was made. The anchor (privacy/anchor.py) knows how much the accounts
held at the end. Putting a copy back therefore

1. closes every release that the copy has as unfinished, and writes off its whole reservation: its later answers may
   have been seen already, and must not be drawn again;
2. charges each account the difference between what the anchor says it held and what the copy says, as a release named
   "lost"; an account that the copy does not know is made anew, with that charge;
3. writes both into the chain, for ever.

Without an anchor nothing is known, and `assume_all_spent` charges each account all that its total has left.
PostgreSQL has its own tools for copies (pg_dump, point-in-time recovery); its anchor refuses a database that is older
than it (`EQUIPOISE_ANCHOR`).
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import sqlalchemy as sa

from equipoise.errors import LedgerError
from equipoise.privacy import store
from equipoise.privacy.accountant import rho_of
from equipoise.privacy.anchor import Anchor, Head, anchor_of
from equipoise.privacy.chain import anchored, append, canonical, head_of, held_by, write
from equipoise.privacy.cost import Cost, cost_from_text, cost_to_text
from equipoise.privacy.inspection import inspect
from equipoise.privacy.run import now

__all__ = ["backup", "missing", "restore"]

LOST = {"plan": {"method": "lost (a copy was put back)", "num_rounds": 0}, "epsilon": 0.0, "delta": 0.0}


def _path(location: str | Path) -> Path:
    url = store.url_of(location)
    if not url.startswith("sqlite:///"):
        raise LedgerError("copies are made of SQLite ledgers; for PostgreSQL use pg_dump, and its own recovery")
    return Path(url.removeprefix("sqlite:///"))


def backup(location: str | Path, target: str | Path) -> int:
    """Copy a ledger that may be in use, as one consistent state; returns the copy's size in bytes.

    The copy is as secret as the ledger: it has the seeds that choose a unit's rows.

    Raises:
        LedgerError: there is no such ledger, or something stands at the target.
    """
    source, copy = _path(location), Path(target)
    if not source.is_file():
        raise LedgerError(f"there is no ledger at {source}")
    if copy.exists():
        raise LedgerError(f"{copy} exists; a copy never replaces a file")
    try:
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(copy)) as there:
            here.backup(there)
    except (OSError, sqlite3.Error) as error:
        copy.unlink(missing_ok=True)
        raise LedgerError(f"the ledger could not be copied: {error}") from error
    return copy.stat().st_size


def restore(copy: str | Path, location: str | Path, *, assume_all_spent: bool = False) -> dict[str, Cost]:
    """Put a copy back in place of a lost or damaged ledger; returns what each account was charged for the gap.

    Guarantees:
        Precondition: the anchor is true, or `assume_all_spent`. Statement: afterwards every account holds at least what
        it held when the ledger was lost. Proof: `missing`, after every open run was written off in full.

    Raises:
        LedgerError: the ledger in place is whole, the copy is not, or without an anchor nobody knows what was spent.
    """
    source, place = Path(copy), _path(location)
    if not source.is_file():
        raise LedgerError(f"there is no copy at {source}")
    if place.exists() and _is_whole(place):
        raise LedgerError(f"the ledger {place} is whole and not older than its anchor: there is nothing to put back")
    anchor = anchor_of(f"sqlite:///{place}")
    if not assume_all_spent and (anchor is None or not anchor.path.is_file()):
        raise LedgerError(
            "the ledger's anchor is missing, so nobody knows what was spent since the copy was made. With"
            " --assume-all-spent the copy is put back with nothing left of any total"
        )
    staged = place.with_name(f"{place.name}.{secrets.token_hex(4)}")
    shutil.copyfile(source, staged)
    try:
        os.chmod(staged, 0o600)
        heads = {} if anchor is None else anchor.all_heads()
        charged = _charge(staged, {name: coming for name, (_, coming) in heads.items()}, assume_all_spent)
        for ending in ("", "-wal", "-shm"):
            if (old := Path(f"{place}{ending}")).exists():
                old.rename(f"{staged}.damaged{ending}")
        os.replace(staged, place)
        _anchor_again(place, anchor)
    finally:
        for ending in ("", "-wal", "-shm"):
            Path(f"{staged}{ending}").unlink(missing_ok=True)
        if (own := anchor_of(f"sqlite:///{staged}")) is not None:
            for name in (own.path.name, f"{own.path.name}.lock"):
                own.path.with_name(name).unlink(missing_ok=True)
    return charged


def _is_whole(place: Path) -> bool:
    try:
        engine = store.connect(place)
        known = anchored(engine)
        with store.read(engine) as connection:
            for key in connection.execute(sa.select(store.accounts.c.id)).scalars().all():
                inspect(connection, key, known)
            names = set(connection.execute(sa.select(store.accounts.c.name)).scalars().all())
    except LedgerError:
        return False
    return set(known) <= names


def _charge(staged: Path, heads: dict[str, Head], assume_all_spent: bool) -> dict[str, Cost]:
    engine = store.connect(staged)
    charged: dict[str, Cost] = {}
    with write(engine) as connection:
        rows = connection.execute(sa.select(store.accounts)).all()
        keys = {row.name: row.id for row in rows}
        for key in keys.values():
            inspect(connection, key, anchored(engine))
            _write_off(connection, key)
        for name in sorted(set(keys) | set(heads)):
            head = heads.get(name)
            if name not in keys:
                assert head is not None
                keys[name] = _open(connection, name, head)
            lost = Cost() if head is None else missing(cost_from_text(head.held), held_by(connection, keys[name]))
            if assume_all_spent:
                lost = lost + _rest(connection, keys[name])
            if lost != Cost():
                _lose(connection, keys[name], lost)
                charged[name] = lost
    engine.dispose()
    with closing(sqlite3.connect(staged)) as plain:
        plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return charged


def missing(then: Cost, now_held: Cost) -> Cost:
    """What must be added to one cost to make it at least the other, in every currency.

    Guarantees:
        Precondition: none. Statement: `now_held` + the result is at least `then` in rho, pure epsilon, delta, shift,
        factor and both conditional parts. Proof: each is a difference cut off at 0 (of factors, a ratio at 1); where
        `then` has no pure epsilon, the sum has none.

    Example:
        >>> missing(Cost(Fraction(3)), Cost(Fraction(1), None)).rho
        Fraction(2, 1)
    """

    def above(one: Fraction, two: Fraction) -> Fraction:
        return max(Fraction(0), one - two)

    pure: Fraction | None = Fraction(0)
    if now_held.epsilon is not None:  # else the sum has none, whatever is added
        pure = None if then.epsilon is None else above(then.epsilon, now_held.epsilon)
    return Cost(
        above(then.rho, now_held.rho),
        pure,
        above(then.delta, now_held.delta),
        above(then.shift, now_held.shift),
        max(Fraction(1), then.factor / now_held.factor),
        above(then.conditional_rho, now_held.conditional_rho),
        above(then.conditional_epsilon, now_held.conditional_epsilon),
    )


def _write_off(connection: sa.Connection, account: int) -> None:
    table = store.runs
    rows = connection.execute(sa.select(table).where(table.c.account == account, table.c.status == "open")).all()
    for row in rows:
        connection.execute(sa.delete(store.sealed).where(store.sealed.c.run == row.id))
        changed = {"status": "closed", "spent": row.reserved}
        connection.execute(sa.update(table).where(table.c.id == row.id).values(**changed))
        append(connection, account, row.id, {"what": "closed", "run": row.id, "written_off": row.reserved})


def _open(connection: sa.Connection, name: str, head: Head) -> int:
    declared = {"epsilon": head.epsilon, "delta": head.delta, "rows_per_unit": head.rows_per_unit}
    made = connection.execute(sa.insert(store.accounts).values(name=name, created=now(), **declared))
    assert made.inserted_primary_key is not None
    key = int(made.inserted_primary_key[0])
    append(connection, key, None, {"what": "account", "name": name, **declared})
    return key


def _rest(connection: sa.Connection, account: int) -> Cost:
    """All that a total is worth: enough to leave nothing."""
    row = connection.execute(sa.select(store.accounts).where(store.accounts.c.id == account)).one()
    if row.epsilon is None:
        return Cost()
    epsilon, delta = float(row.epsilon), float(row.delta)
    return Cost(rho_of(epsilon=epsilon, delta=delta), None) if delta else Cost(Fraction(0), Fraction(epsilon))


def _lose(connection: sa.Connection, account: int, lost: Cost) -> None:
    run, text = f"lost-{secrets.token_hex(8)}", cost_to_text(lost)
    values = {"id": run, "account": account, "plan": canonical(LOST), "status": "closed", "created": now()}
    connection.execute(sa.insert(store.runs).values(reserved=text, spent=text, unit_seed="0", **values))
    append(connection, account, run, {"what": "lost", "run": run, "cost": text})


def _anchor_again(place: Path, anchor: Anchor | None) -> None:
    """The restored ledger is the true one from here on."""
    if anchor is None:
        return
    engine = store.connect(place)
    with store.read(engine) as connection:
        for key in connection.execute(sa.select(store.accounts.c.id)).scalars().all():
            name, head = head_of(connection, key)
            anchor.promise(name, head, head)
