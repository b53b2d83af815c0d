"""The steward's analysts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from equipoise.service.models.fields import Days, Id, Line, Model, Time

__all__ = ["Analyst", "Invitation", "Invited", "Renewal"]


class Invitation(Model):
    """An analyst to invite."""

    name: Line = Field(examples=["Ada"], description="What the steward calls them; ids are random.")
    days: Days = Field(default=90.0, examples=[90.0], description="How long the token is good.")


class Renewal(Model):
    """A new token for an analyst who has one."""

    days: Days = Field(default=90.0, examples=[90.0], description="How long the new token is good.")


class Analyst(Model):
    """An analyst of a table, as the steward sees them. What they ask is not shown to anybody else."""

    id: Id
    name: str = Field(examples=["Ada"])
    state: Literal["active", "expired", "revoked"] = Field(examples=["active"], description="Of the token.")
    expires: Time
    asked: int = Field(examples=[17], description="Questions counted, in all sessions and collections of the table.")
    paid: int = Field(
        examples=[3], description="Of which were paid for one by one; a collection is paid for as a whole."
    )


class Invited(Model):
    """A new token. It is shown here and never again."""

    id: Id
    token: str = Field(examples=["eqp_0123456789abcdef_..."], description="Stored as a hash: it cannot be shown again.")
    expires: Time
