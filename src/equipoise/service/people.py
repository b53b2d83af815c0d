"""Who may do what: stewards and analysts, their tokens, and the browsers they are signed in with."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from equipoise.service import database as db
from equipoise.service import tokens
from equipoise.service.problems import Absent

__all__ = ["People", "Person", "SignedIn"]

DAY = 86_400.0

REMEMBER = 5.0
"""Seconds for which a token that was found good is not looked up again; this server's own changes count at once."""

MOST_REMEMBERED = 10_000


@dataclass(frozen=True)
class Person:
    """A steward, or an analyst of one table."""

    id: str
    name: str
    role: Literal["steward", "analyst"]
    table: str | None
    expires: float
    revoked: bool
    created: float

    @property
    def active(self) -> bool:
        """Whether the token still opens anything."""
        return not self.revoked and self.expires > db.clock()


@dataclass(frozen=True)
class SignedIn:
    """A browser's session: who it is, and what a form must carry to come from our own page."""

    person: Person
    csrf: str


class People:
    """Everybody the server knows. Safe to use from several threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._remembered: dict[str, tuple[float, str, Person]] = {}
        self._num_changes = 0
        self._lock = threading.Lock()

    def add(
        self, connection: sa.Connection, name: str, *, role: str, table: str | None, days: float
    ) -> tuple[Person, tokens.Token]:
        """A new person and the token, which is nowhere else from here on."""
        token = tokens.new()
        values: dict[str, Any] = {
            "id": token.id,
            "name": name,
            "role": role,
            "table": table,
            "expires": db.clock() + days * DAY,
            "revoked": False,
            "created": db.clock(),
        }
        connection.execute(sa.insert(db.people).values(**values, digest=tokens.digest(token.secret)))
        return Person(**values), token

    def renew(self, connection: sa.Connection, person: str, *, days: float) -> tokens.Token:
        """A new token for a person; the old one, and every browser signed in with it, is out."""
        token = tokens.new()._replace(id=person)
        connection.execute(
            sa.update(db.people)
            .where(db.people.c.id == person)
            .values(digest=tokens.digest(token.secret), expires=db.clock() + days * DAY, revoked=False)
        )
        self._sign_out_everywhere(connection, person)
        return token

    def revoke(self, connection: sa.Connection, person: str) -> None:
        """Make a person's token, and every browser signed in with it, useless."""
        connection.execute(sa.update(db.people).where(db.people.c.id == person).values(revoked=True))
        self._sign_out_everywhere(connection, person)

    def _sign_out_everywhere(self, connection: sa.Connection, person: str) -> None:
        connection.execute(sa.delete(db.sessions).where(db.sessions.c.person == person))
        self.forget(person)

    def forget(self, person: str) -> None:
        """Look a person up again at the next request. Call it again once the change is committed."""
        with self._lock:
            self._num_changes += 1
            self._remembered.pop(person, None)

    def get(self, person: str, *, table: str) -> Person:
        """An analyst of a table.

        Raises:
            Absent: there is none of that id.
        """
        for found in self.of_table(table):
            if found.id == person:
                return found
        raise Absent("there is no such analyst of this table")

    def of_table(self, table: str) -> list[Person]:
        """The analysts of a table, first invited first."""
        with db.read(self._engine) as connection:
            chosen = (
                sa.select(db.people).where(db.people.c.table == table).order_by(db.people.c.created, db.people.c.id)
            )
            return [_person(row) for row in connection.execute(chosen)]

    def names(self) -> dict[str, str]:
        """The name of everybody, by id."""
        with db.read(self._engine) as connection:
            return {row.id: row.name for row in connection.execute(sa.select(db.people.c.id, db.people.c.name))}

    def has_steward(self) -> bool:
        """Whether anybody could sign in as a steward."""
        with db.read(self._engine) as connection:
            good = sa.and_(db.people.c.role == "steward", ~db.people.c.revoked, db.people.c.expires > db.clock())
            chosen = sa.select(sa.func.count()).where(good)
            return bool(connection.execute(chosen).scalar_one())

    def known(self, text: str) -> Person | None:
        """The person a token was lately found good for, without looking it up."""
        token = tokens.parse(text)
        found = None if token is None else self._remembered.get(token.id)
        if token is None or found is None or found[0] < time.monotonic():
            return None
        return found[2] if tokens.matches(token.secret, found[1]) and found[2].active else None

    def of_token(self, text: str) -> Person | None:
        """The person whose token this is, if it is good: known, not expired, not revoked."""
        token = tokens.parse(text)
        if token is None:
            return None
        num_changes = self._num_changes
        with db.read(self._engine) as connection:
            row = connection.execute(sa.select(db.people).where(db.people.c.id == token.id)).one_or_none()
        good = tokens.matches(token.secret, tokens.NOBODY if row is None else row.digest)
        if row is None or not good:
            return None
        person = _person(row)
        if not person.active:
            return None
        with self._lock:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            if num_changes == self._num_changes:  # else what was read may have been revoked since
                self._remembered[person.id] = (time.monotonic() + REMEMBER, row.digest, person)
        return person

    def sign_in(self, person: Person, *, hours: float) -> tuple[str, SignedIn]:
        """A session for a browser: the cookie's value, which is nowhere else, and the session."""
        cookie, csrf = secrets.token_hex(32), secrets.token_hex(32)
        expires = min(person.expires, db.clock() + hours * 3600)
        with db.write(self._engine) as connection:
            connection.execute(sa.delete(db.sessions).where(db.sessions.c.expires < db.clock()))
            connection.execute(
                sa.insert(db.sessions).values(
                    digest=tokens.digest(cookie), person=person.id, csrf=csrf, expires=expires
                )
            )
        return cookie, SignedIn(person, csrf)

    def of_cookie(self, cookie: str) -> SignedIn | None:
        """The session that a cookie belongs to, if it has not expired and its person may still come in."""
        joined = sa.select(db.people, db.sessions.c.csrf, db.sessions.c.expires.label("until")).join(
            db.sessions, db.sessions.c.person == db.people.c.id
        )
        with db.read(self._engine) as connection:
            # Found by the digest of 256 random bits: how long the index takes says nothing of any other cookie.
            row = connection.execute(joined.where(db.sessions.c.digest == tokens.digest(cookie))).one_or_none()
        if row is None or row.until < db.clock():
            return None
        person = _person(row)
        return SignedIn(person, row.csrf) if person.active else None

    def sign_out(self, cookie: str) -> None:
        """End a browser's session."""
        with db.write(self._engine) as connection:
            connection.execute(sa.delete(db.sessions).where(db.sessions.c.digest == tokens.digest(cookie)))


def _person(row: Any) -> Person:
    return Person(row.id, row.name, row.role, row.table, row.expires, bool(row.revoked), row.created)
