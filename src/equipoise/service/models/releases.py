"""Releases made in workers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from equipoise.service.models.fields import Epsilon, Line, Model, Text

__all__ = ["Job", "ReleaseRequest"]


class ReleaseRequest(Model):
    """A release to make in a worker."""

    epsilon: Epsilon = Field(examples=[1.0])
    workload: Text = Field(default="3-way", examples=["2-way"])
    method: Line = Field(default="auto", examples=["auto"])
    columns: list[Line] | None = Field(default=None, max_length=1000, examples=[["sex", "age"]])
    rows: Annotated[int, Field(ge=1, le=10**7)] | None = None
    shared: bool = Field(default=False, description="Whether the table's analysts may download it.")


class Job(Model):
    """Work in a worker process: a release, or the answers to a collection."""

    id: str = Field(examples=["0123456789abcdef"])
    table: str = Field(examples=["people"])
    kind: Literal["release", "collection"]
    state: Literal["waiting", "working", "cancelling", "done", "failed", "cancelled"]
    step: str = Field(examples=["Playing"])
    progress: float = Field(examples=[0.4], description="Share of the step that is done; a public quantity.")
    message: str = Field(examples=[""])
    shared: bool
    created: datetime
    ended: datetime | None
    request: dict[str, Any] = Field(examples=[{"epsilon": 1.0, "workload": "2-way"}])
    files: list[str] = Field(examples=[["synthetic.csv", "statement.json"]])
