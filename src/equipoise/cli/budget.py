"""What a ledger says of a table's budget, for people and for scripts. Looking never makes a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.privacy import accountant
from equipoise.privacy.accountant import Cost
from equipoise.privacy.ledger import Account, Ledger, fits
from equipoise.privacy.store import url_of

if TYPE_CHECKING:
    from equipoise.data.schema import Schema

__all__ = ["Budget", "find_account", "look", "shown_location"]


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

    @property
    def left(self) -> float | None:
        """Epsilon that the rest is worth, at the total's delta; None without a total."""
        if self.epsilon is None or self.delta is None:
            return None
        if self.delta == 0:
            return max(0.0, self.epsilon - float(self.held.epsilon)) if self.held.epsilon is not None else 0.0
        return accountant.epsilon_of(rho=self._left_rho, delta=self.delta)

    @property
    def _left_rho(self) -> Fraction:
        assert self.epsilon is not None
        assert self.delta is not None
        return max(Fraction(0), accountant.rho_of(epsilon=self.epsilon, delta=self.delta) - self.held.rho)

    def to_json(self) -> dict[str, Any]:
        """For scripts; rho exactly, as text, and as a number."""
        body: dict[str, Any] = {"ledger": self.location, "exists": self.exists, "total": None, "left": None}
        body["spent"] = {"rho": float(self.held.rho), "rho_exact": str(self.held.rho)}
        if self.held.epsilon is not None:
            body["spent"]["pure_epsilon"] = float(self.held.epsilon)
        if self.epsilon is None or self.delta is None:
            return body
        body["total"] = {"epsilon": self.epsilon, "delta": self.delta}
        body["left"] = {"epsilon": self.left}
        if self.delta > 0:
            body["total"]["rho"] = float(accountant.rho_of(epsilon=self.epsilon, delta=self.delta))
            body["left"]["rho"] = float(self._left_rho)
            body["spent"]["epsilon"] = accountant.epsilon_of(rho=self.held.rho, delta=self.delta)
        return body

    def words(self) -> list[tuple[str, str]]:
        """Total, spent and left, a line each."""
        if self.epsilon is None or self.delta is None:
            return [("total", "none declared: set epsilon and delta under [privacy] in the schema"), ("spent", self._spent())]
        lines = [("total", f"epsilon {self.epsilon:g} at delta {self.delta:g}"), ("spent", self._spent())]
        rest = "" if self.delta == 0 else f" (rho {float(self._left_rho):.6g})"
        return [*lines, ("left", f"epsilon {self.left:.4g}{rest}")]

    def _spent(self) -> str:
        if self.held.rho == 0:
            return "nothing yet"
        if self.delta:
            worth = accountant.epsilon_of(rho=self.held.rho, delta=self.delta)
            return f"epsilon {worth:.4g} (rho {float(self.held.rho):.6g}), unfinished releases included"
        return f"rho {float(self.held.rho):.6g}, unfinished releases included"


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
    epsilon, delta, _ = account.declared
    return Budget(shown_location(location), True, epsilon, delta, account.held())
