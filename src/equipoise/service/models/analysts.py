"""The steward's analysts."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from equipoise.service.models.fields import Days, Line, Model

__all__ = ["Analyst", "Invitation", "Invited"]


class Invitation(Model):
    """An analyst to invite."""

    name: Line = Field(examples=["Ada"])
    days: Days = Field(default=90.0, description="How long the token is good.")


class Analyst(Model):
    """An analyst of a table, as the steward sees them. What they ask is not shown to anybody else."""

    id: str = Field(examples=["0123456789abcdef"])
    name: str = Field(examples=["Ada"])
    state: Literal["active", "expired", "revoked"]
    expires: datetime
    asked: int = Field(examples=[17], description="Questions counted against the allowance.")
    paid: int = Field(examples=[3], description="Of which cost data budget.")


class Invited(Model):
    """A new token. It is shown here and never again."""

    id: str = Field(examples=["0123456789abcdef"])
    token: str = Field(examples=["eqp_0123456789abcdef_..."])
    expires: datetime
