"""Signing in, and whether the server is well."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from equipoise.service.models.fields import Id, Model, Time

__all__ = ["Health", "Me", "SignIn"]


class Health(Model):
    """Whether the server works."""

    status: Literal["ok"] = Field(default="ok", examples=["ok"])
    version: str = Field(examples=["0.1.0"])


class SignIn(Model):
    """A token, to open a browser's session."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        examples=["eqp_0123456789abcdef_..."], description="As it was shown when it was made."
    )


class Me(Model):
    """Who is signed in."""

    id: Id
    name: str = Field(examples=["Ada"])
    role: Literal["steward", "analyst"] = Field(examples=["analyst"])
    table: str | None = Field(examples=["people"], description="An analyst's table.")
    expires: Time
    csrf: str | None = Field(description="What a browser's requests carry in X-Equipoise-CSRF.", examples=[None])
