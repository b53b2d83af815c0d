"""The analyst's questions and answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from equipoise.service.models.fields import Id, Line, Model, Text, Time
from equipoise.service.models.tables import OnlineReply

__all__ = [
    "AnalystTable",
    "AnswerReply",
    "Answers",
    "ColumnReply",
    "QuestionReply",
    "QuestionRequest",
    "TextReply",
    "TextRequest",
]


class ColumnReply(Model):
    """A column that may be asked about, with every value it can have."""

    name: str = Field(examples=["sex"])
    kind: str = Field(examples=["categorical"])
    ordered: bool = Field(examples=[False], description="Whether ranges of its values can be asked for.")
    labels: list[str] = Field(examples=[["Female", "Male"]], description="Every value, as the text form writes it.")


class AnalystTable(Model):
    """What an analyst may know of the table without asking: its public schema, and their own allowance."""

    name: str = Field(examples=["people"])
    num_rows: int = Field(examples=[20_000], description="The number of records, which is public.")
    columns: list[ColumnReply]
    frozen: bool = Field(examples=[False], description="Nothing may be asked for now.")
    online: OnlineReply | None = Field(description="How questions are answered; null: the table is not open for them.")
    left: int | None = Field(examples=[483], description="Questions that you may still ask.")


class TextRequest(Model):
    """A query to be read, not asked."""

    query: Text = Field(examples=["age >= 30 and age < 40 and sex = Female"], description="The text form.")


class TextReply(Model):
    """A query in its normal form."""

    text: str = Field(examples=["sex = Female and age in 30..39"])


class QuestionRequest(Model):
    """One question: a query in the text form, or a marginal, whose every cell counts as a question."""

    query: Text | None = Field(
        default=None, examples=["sex = Female and age in 30..39"], description="A query in the text form; or:"
    )
    marginal: list[Line] | None = Field(
        default=None,
        min_length=1,
        max_length=10,
        examples=[None, ["sex", "age"]],
        description="Columns, for every combination of their values.",
    )

    @model_validator(mode="after")
    def _one(self) -> QuestionRequest:
        if (self.query is None) == (self.marginal is None):
            raise ValueError("give either a query or a marginal")
        return self


class AnswerReply(Model):
    """An answer."""

    text: str = Field(examples=["sex = Female and age in 30..39"])
    share: float = Field(examples=[0.0931], description="Estimated share of the records.")
    count: float = Field(examples=[1862.0], description="The same times the number of records.")
    half_width: float | None = Field(
        examples=[0.02], description="The truth is within this of the share, for all answers at once with 95 %."
    )
    source: Literal["hypothesis", "paid", "unverified"] = Field(
        examples=["hypothesis"], description="hypothesis: free. paid: cost data budget. unverified: free, not promised."
    )


class Answers(Model):
    """The reply to a question."""

    id: Id
    answers: list[AnswerReply] = Field(description="One; of a marginal, every cell in order.")
    left: int = Field(examples=[483], description="Questions that you may still ask.")


class QuestionReply(Model):
    """A question of yours and its answer."""

    id: Id
    asked: Time
    query: str | None = Field(examples=["sex = Female and age in 30..39"])
    marginal: list[str] | None = Field(examples=[None])
    answers: list[AnswerReply]
