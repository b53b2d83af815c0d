"""What a ledger says of a table, in the words of the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.budget import Budget
from equipoise.privacy.accountant import Cost
from equipoise.privacy.ledger import Account
from equipoise.service.journal import when
from equipoise.service.models.analysts import Analyst
from equipoise.service.models.tables import BudgetReply, Event, OnlineReply, Point, Run
from equipoise.service.people import Person
from equipoise.service.problems import Absent
from equipoise.statement import listed_events

__all__ = ["analyst", "budget_reply", "events", "history", "online_reply", "runs"]


def budget_reply(budget: Budget) -> BudgetReply:
    """Total, spent and left."""
    body = budget.to_json()
    rho, limit = body["spent"]["rho"], (body["total"] or {}).get("rho")
    return BudgetReply(
        total_epsilon=budget.epsilon or 0.0,
        delta=budget.delta or 0.0,
        spent_epsilon=budget.spent or 0.0,
        left_epsilon=budget.left or 0.0,
        share_spent=min(1.0, rho / limit) if limit else 0.0,
        spent_rho=body["spent"]["rho_exact"],
    )


def runs(account: Account) -> list[Run]:
    """Every run of an account, oldest first."""
    return [
        Run(
            run=row["run"],
            what=_what(row["plan"]),
            state=row["status"],
            created=row["created"],
            spent_rho=str(row["spent"].rho),
            reserved_rho=str(row["reserved"].rho),
        )
        for row in account.runs()
    ]


def events(account: Account, run: str) -> list[Event]:
    """What a run was charged for, each kind of event with its number and price.

    Raises:
        Absent: the account has no such run.
    """
    found = account.run(run)
    if found is None:
        raise Absent("there is no such entry")
    listed = listed_events(found.events(), lambda cost: cost.rho)
    return [Event(words=one["words"], times=one["times"], rho=one["rho"]) for one in listed]


def _what(plan: dict[str, Any]) -> str:
    """A run as the console calls it; the ledger keeps the library's words."""
    inner = plan.get("plan", {})
    found = str(inner.get("method") or inner.get("mode") or plan.get("method") or plan.get("mode") or "release")
    return found.replace("analysts, a round (", "batches (").replace("analysts (", "questions one by one (")


def history(account: Account, budget: Budget) -> list[Point]:
    """The spending after each run began, reservations of unfinished ones included."""
    held, points = Cost(), []
    for row in account.runs():
        held = held + (row["reserved"] if row["status"] == "open" else row["spent"])
        after = Budget(budget.location, True, budget.epsilon, budget.delta, held)
        points.append(Point(at=row["created"], epsilon=after.spent or 0.0))
    return points


def analyst(person: Person, used: Mapping[str, tuple[int, int]]) -> Analyst:
    """An analyst and what they have used."""
    asked, paid = used.get(person.id, (0, 0))
    return Analyst(
        id=person.id,
        name=person.name,
        state="revoked" if person.revoked else "active" if person.active else "expired",
        expires=when(person.expires),
        asked=asked,
        paid=paid,
    )


def online_reply(online: dict[str, Any] | None) -> OnlineReply | None:
    """How a table answers questions, as it was planned from public facts when it was opened."""
    if online is None or online["plan"] is None:
        return None
    return OnlineReply(
        mode=online["plan"]["mode"],
        asked_mode=online["mode"],
        reason=online["plan"]["reason"],
        num_analysts=online["num_analysts"],
        queries_each=online["queries_each"],
        half_width=online["plan"]["half_width"],
        paid_half_width=online["plan"]["paid_half_width"],
        protects_analysts=online["plan"]["protects_analysts"],
    )
