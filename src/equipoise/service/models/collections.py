"""Collections of batches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from equipoise.service.models.fields import Epsilon, Id, Line, Model, Text, Time
from equipoise.service.models.questions import AnswerReply

__all__ = ["BatchReply", "BatchRequest", "CollectionReply", "CollectionRequest"]


class CollectionRequest(Model):
    """A call for batches, which are answered all at once when it is closed."""

    mode: Literal["per-query", "per-analyst", "apart", "noise"] = Field(
        default="per-query",
        examples=["per-query"],
        description="per-query hides any one query, per-analyst all of an analyst's; apart and noise hide everything.",
    )
    epsilon: Epsilon = Field(examples=[1.0], description="Data budget of all batches together.")
    analyst_epsilon: Epsilon = Field(examples=[1.0], description="What hides analysts from each other.")
    num_analysts: Annotated[int, Field(ge=1, le=10_000)] = Field(
        examples=[20], description="Places, for the analysts who were invited first; public."
    )
    queries_each: Annotated[int, Field(ge=1, le=10_000)] = Field(
        examples=[500], description="Queries of a batch, a marginal's cells counted; public."
    )
    columns: list[Line] | None = Field(
        default=None, min_length=1, max_length=1000, examples=[["sex", "age"]], description="Ask about these only."
    )


class CollectionReply(Model):
    """A collection, as everybody sees it: never who has handed in a batch."""

    id: Id
    table: str = Field(examples=["people"])
    mode: str = Field(examples=["per-query"])
    num_analysts: int = Field(examples=[20])
    queries_each: int = Field(examples=[500])
    columns: list[str] | None = Field(examples=[["sex", "age"]])
    state: Literal["open", "answering", "answered", "given up"] = Field(examples=["open"])
    created: Time
    job: str | None = Field(examples=[None], description="The job that answers it; for stewards.")


class BatchRequest(Model):
    """A batch: queries in the text form, or lists of columns for all cells of a marginal."""

    queries: Annotated[list[Text | list[Line]], Field(min_length=1, max_length=10_000)] = Field(
        examples=[["sex = Female", ["sex", "age"]]],
        description="Texts and lists of columns, answered in this order; a list counts with all its cells.",
    )


class BatchReply(Model):
    """Your batch, and its answers once the collection is answered."""

    collection: Id
    queries: list[str | list[str]] = Field(examples=[["sex = Female", ["sex", "age"]]])
    answers: list[AnswerReply] | None = Field(description="In the order of the queries; null until all are answered.")
