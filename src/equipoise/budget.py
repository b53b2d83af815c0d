"""What a ledger says of a table's budget, for people and for scripts. Looking never makes a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.ledger import Account, Ledger
from equipoise.privacy.store import url_of
from equipoise.privacy.totals import fits

if TYPE_CHECKING:
    from equipoise.data.schema import Schema

__all__ = ["Budget", "find_account", "look", "look_at", "shown_location"]


@dataclass(frozen=True)
class Budget:
    """A table's total, and what is spent or reserved of it.

    Attributes:
        location: Where the ledger is, or would be; passwords hidden.
        exists: Whether the ledger knows the table yet.
        epsilon: The declared total, or None: no limit.
        delta: Its delta.
        held: What all releases have spent, unfinished ones' reservations included.
    """

    location: str
    exists: bool
    epsilon: float | None
    delta: float | None
    held: Cost

    def covers(self, asked: Cost) -> bool:
        """Whether a further cost fits."""
        if self.epsilon is None or self.delta is None:
            return True
        return fits(self.held + asked, epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def _limit(self) -> Fraction | None:
        """The total in rho; None without a total, and for a pure one."""
        return accountant.rho_of(epsilon=self.epsilon, delta=self.delta) if self.epsilon and self.delta else None

    @property
    def left_rho(self) -> Fraction | None:
        """What is left of the total in rho; None without a total, and for a pure one."""
        return None if self._limit is None else max(Fraction(0), self._limit - self._spent_rho)

    @property
    def _spent_rho(self) -> Fraction:
        """What is spent in rho; for tuned releases, what they take from this total."""
        if not self.epsilon or not self.delta:
            return self.held.rho
        return accountant.rho_at(self.held, epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def left(self) -> float | None:
        """Epsilon that the rest is worth, at the total's delta; None without a total."""
        if self.epsilon is None or self.delta is None:
            return None
        if self.left_rho is None:
            return 0.0 if self.held.epsilon is None else max(0.0, self.epsilon - float(self.held.epsilon))
        return accountant.epsilon_of(rho=self.left_rho, delta=self.delta)

    @cached_property
    def spent(self) -> float | None:
        """Epsilon that the spending is worth, at the total's delta; None without a total, and for a pure one."""
        return accountant.epsilon_at(self.held, delta=self.delta) if self.delta else None

    def to_json(self) -> dict[str, Any]:
        """For scripts; what is spent in rho also exactly, as text."""
        spent = {"epsilon": self.spent, "rho": float(self._spent_rho), "rho_exact": str(self._spent_rho)}
        if self.held.epsilon is not None:
            spent["pure_epsilon"] = float(self.held.epsilon)
        body = {"ledger": self.location, "exists": self.exists, "spent": spent, "total": None, "left": None}
        if self.epsilon is not None:
            body["total"] = {"epsilon": self.epsilon, "delta": self.delta, "rho": _number(self._limit)}
            body["left"] = {"epsilon": self.left, "rho": _number(self.left_rho)}
        return body

    def words(self, declare: str = "set epsilon and delta under [privacy] in the schema") -> list[tuple[str, str]]:
        """Total, spent and left, a line each; where no total is declared, what would declare it."""
        rho = f"rho {float(self._spent_rho):.6g}"
        spent = rho if self.spent is None else f"epsilon {self.spent:.4g} ({rho})"
        spent = f"{spent}, unfinished releases included" if self.held.rho else "nothing yet"
        if self.epsilon is None:
            return [("total", f"none declared: {declare}"), ("spent", spent)]
        rest = "" if self.left_rho is None else f" (rho {float(self.left_rho):.6g}; rho adds up, epsilon does not)"
        return [
            ("total", f"epsilon {self.epsilon:g} at delta {self.delta or 0:g}"),
            ("spent", spent),
            ("left", f"epsilon {self.left or 0:.4g}{rest}"),
        ]


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def shown_location(location: str | Path) -> str:
    """A ledger's address without its password."""
    import sqlalchemy as sa

    text = str(location)
    return sa.engine.make_url(url_of(text)).render_as_string(hide_password=True) if "://" in text else text


def find_account(location: str | Path, name: str) -> Account | None:
    """The account of a table, when there are a ledger and an account; makes neither."""
    text = str(location)
    path = text.removeprefix("sqlite:///")
    if "://" not in path and not Path(path).is_file():
        return None
    return Ledger(location).existing(name)


def look(location: str | Path, schema: Schema) -> Budget:
    """The budget of a table, as its ledger has it, or as its schema declares it when there is no ledger yet."""
    account = find_account(location, schema.name)
    if account is None:
        return Budget(shown_location(location), False, schema.epsilon, schema.delta, Cost())
    return look_at(location, account)


def look_at(location: str | Path, account: Account) -> Budget:
    """The budget of an account."""
    epsilon, delta, _ = account.declared
    return Budget(shown_location(location), True, epsilon, delta, account.held())
