"""Releases made in workers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from equipoise.service.models.fields import Epsilon, Id, Line, Model, Text, Time

__all__ = ["Job", "ReleaseRequest"]


class ReleaseRequest(Model):
    """A release to make in a worker."""

    epsilon: Epsilon = Field(examples=[1.0], description="What it costs of the table's data budget.")
    workload: Text = Field(default="3-way", examples=["2-way"], description="What must come out right.")
    method: Line = Field(default="auto", examples=["auto"], description="As `equipoise methods` lists them.")
    columns: list[Line] | None = Field(
        default=None, max_length=1000, examples=[["sex", "age"]], description="These only; null: all."
    )
    rows: Annotated[int, Field(ge=1, le=10**7)] | None = Field(
        default=None, examples=[1_000], description="Synthetic rows to write; null: as many as there are records."
    )
    shared: bool = Field(default=False, examples=[True], description="Whether the table's analysts may download it.")


class Job(Model):
    """Work in a worker process, a release or the answers to a collection; or the statement of questions that ended."""

    id: Id
    table: str = Field(examples=["people"])
    kind: Literal["release", "collection", "questions"] = Field(examples=["release"])
    state: Literal["waiting", "working", "cancelling", "done", "failed", "cancelled"] = Field(examples=["working"])
    step: str = Field(examples=["Playing"])
    progress: float = Field(examples=[0.4], description="Share of the step that is done; a public quantity.")
    message: str = Field(examples=[""], description="Why it failed, or why something else was done than asked for.")
    shared: bool = Field(examples=[False], description="Whether the table's analysts may download it.")
    created: Time
    ended: Time | None = Field(examples=[None])
    request: dict[str, Any] = Field(examples=[{"epsilon": 1.0, "workload": "2-way"}], description="What was asked for.")
    files: list[str] = Field(examples=[["synthetic.csv", "statement.json"]], description="What can be downloaded.")
