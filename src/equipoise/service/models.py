"""What goes over the wire: requests checked strictly, replies documented with examples."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

__all__ = [
    "Analyst",
    "AnalystTable",
    "Answers",
    "BatchReply",
    "BatchRequest",
    "CollectionReply",
    "CollectionRequest",
    "ColumnReply",
    "Event",
    "Files",
    "Health",
    "Invitation",
    "Invited",
    "Job",
    "LogEntry",
    "Me",
    "OnlineRequest",
    "QuestionReply",
    "QuestionRequest",
    "Registration",
    "ReleaseRequest",
    "SignIn",
    "Spending",
    "TableReply",
    "TextReply",
    "TextRequest",
]

# No NUL anywhere: PostgreSQL cannot store it, and no name or query has a use for it.
Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=r"^[^\x00]+$")]
Epsilon = Annotated[float, Field(gt=0, le=100)]
Delta = Annotated[float, Field(gt=0, lt=1)]
Days = Annotated[float, Field(gt=0, le=3650)]


class Model(BaseModel):
    """Unknown fields are refused, so that a misspelt budget is not a default."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Health(Model):
    """Whether the server works."""

    status: Literal["ok"] = "ok"
    version: str = Field(examples=["0.1.0"])


class SignIn(Model):
    """A token, to open a browser's session."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        examples=["eqp_0123456789abcdef_..."]
    )


class Me(Model):
    """Who is signed in."""

    id: str = Field(examples=["0123456789abcdef"])
    name: str = Field(examples=["Ada"])
    role: Literal["steward", "analyst"]
    table: str | None = Field(examples=["people"])
    expires: datetime
    csrf: str | None = Field(description="What a browser's requests carry in X-Equipoise-CSRF.", examples=[None])


class Files(Model):
    """What could be registered: paths relative to the server's root folder, and listed sources."""

    tables: list[str] = Field(examples=[["people.csv"]])
    schemas: list[str] = Field(examples=[["people.toml"]])


class Registration(Model):
    """A table to register. Nothing is uploaded: the paths are of files that the server may read."""

    source: Line = Field(
        examples=["people.csv"],
        description="Path under the root folder, or `source:<name>` as the server's owner listed it.",
    )
    schema_file: Line = Field(examples=["people.toml"], description="The confirmed schema; its name is the table's.")
    epsilon: Epsilon = Field(examples=[4.0], description="Total data budget, over everything that is ever released.")
    delta: Delta = Field(examples=[1e-8])
    analyst_epsilon: Epsilon = Field(examples=[4.0], description="Total budget that hides analysts from each other.")
    analyst_delta: Delta = Field(examples=[1e-8])


class OnlineRequest(Model):
    """Open a table for questions one by one; reserves its whole cost now."""

    mode: Literal["online", "pmw", "noise"] = "online"
    epsilon: Epsilon = Field(examples=[1.0], description="Data budget of all questions together.")
    analyst_epsilon: Epsilon = Field(examples=[1.0], description="What hides analysts from each other.")
    num_analysts: Annotated[int, Field(ge=1, le=10_000)] = Field(examples=[20])
    queries_each: Annotated[int, Field(ge=1, le=10**7)] = Field(examples=[500])
    columns: list[Line] | None = Field(
        default=None, min_length=1, max_length=1000, examples=[["sex", "age"]], description="Ask about these only."
    )


class BudgetReply(Model):
    """A table's total, and what is spent or reserved of it."""

    total_epsilon: float = Field(examples=[4.0])
    delta: float = Field(examples=[1e-8])
    spent_epsilon: float = Field(examples=[1.02])
    left_epsilon: float = Field(examples=[2.71], description="What a further release could cost. Epsilons do not add.")
    share_spent: float = Field(examples=[0.08], description="Spent share of the total, in rho, which adds up.")
    spent_rho: str = Field(examples=["1/800"], description="Exactly.")


class OnlineReply(Model):
    """How a table answers questions one by one."""

    mode: str = Field(examples=["online"])
    asked_mode: str = Field(examples=["online"])
    reason: str = Field(examples=[""], description="Why the mode is not the one asked for.")
    num_analysts: int = Field(examples=[20])
    queries_each: int = Field(examples=[500])
    half_width: float = Field(examples=[0.02], description="Of a free answer: simultaneous, 95 %.")
    paid_half_width: float = Field(examples=[0.01], description="Of a paid answer: simultaneous, 95 %.")
    protects_analysts: bool


class TableReply(Model):
    """A registered table."""

    name: str = Field(examples=["people"])
    source: str = Field(examples=["people.csv"])
    schema_file: str = Field(examples=["people.toml"])
    frozen: bool
    created: datetime
    budget: BudgetReply
    analyst_epsilon: float = Field(examples=[4.0])
    analyst_delta: float = Field(examples=[1e-8])
    online: OnlineReply | None
    num_analysts: int = Field(examples=[2])


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


class Run(Model):
    """An entry of the ledger: a release, a session of questions, or a collection."""

    run: str
    what: str = Field(examples=["mixture"])
    state: Literal["open", "done", "closed"]
    created: str = Field(examples=["2026-11-16T03:31:05+00:00"])
    spent_rho: str = Field(examples=["1/800"])
    reserved_rho: str = Field(examples=["1/800"])


class Event(Model):
    """What a run was charged for: one kind of noise, how often."""

    words: str = Field(examples=["Gaussian noise of standard deviation 100 on counts"])
    times: int = Field(examples=[20])
    rho: float = Field(examples=[0.001])


class Point(Model):
    """The spending after a run began."""

    at: str = Field(examples=["2026-11-16T03:31:05+00:00"])
    epsilon: float = Field(examples=[1.02])


class Spending(Model):
    """What was spent on a table: in total, by run, by analyst."""

    budget: BudgetReply
    analyst_budget: BudgetReply | None
    runs: list[Run]
    analysts: list[Analyst]
    history: list[Point]


class LogEntry(Model):
    """A line of the audit log."""

    id: int
    at: datetime
    actor: str = Field(examples=["0123456789abcdef"])
    action: str = Field(examples=["register"])
    table: str | None
    detail: str


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


class ColumnReply(Model):
    """A column that may be asked about, with every value it can have."""

    name: str = Field(examples=["sex"])
    kind: str = Field(examples=["categorical"])
    ordered: bool
    labels: list[str] = Field(examples=[["Female", "Male"]])


class AnalystTable(Model):
    """What an analyst may know of the table without asking: its public schema, and their own allowance."""

    name: str = Field(examples=["people"])
    num_rows: int = Field(examples=[20_000])
    columns: list[ColumnReply]
    frozen: bool
    online: OnlineReply | None
    left: int | None = Field(examples=[483], description="Questions that you may still ask.")


class TextRequest(Model):
    """A query to be read, not asked."""

    query: Text = Field(examples=["age >= 30 and age < 40 and sex = Female"])


class TextReply(Model):
    """A query in its normal form."""

    text: str = Field(examples=["sex = Female and age in 30..39"])


class QuestionRequest(Model):
    """One question: a query in the text form, or a marginal, whose every cell counts as a question."""

    query: Text | None = Field(default=None, examples=["sex = Female and age in 30..39"])
    marginal: list[Line] | None = Field(default=None, min_length=1, max_length=10, examples=[None])

    @model_validator(mode="after")
    def _one(self) -> QuestionRequest:
        if (self.query is None) == (self.marginal is None):
            raise ValueError("give either a query or a marginal")
        return self


class AnswerReply(Model):
    """An answer."""

    text: str = Field(examples=["sex = Female and age in 30..39"])
    share: float = Field(examples=[0.0931])
    count: float = Field(examples=[1862.0])
    half_width: float | None = Field(
        examples=[0.02], description="The truth is within this of the share, for all answers at once with 95 %."
    )
    source: Literal["hypothesis", "paid", "unverified"] = Field(
        examples=["hypothesis"], description="hypothesis: free. paid: cost data budget. unverified: free, not promised."
    )


class Answers(Model):
    """The reply to a question."""

    id: str = Field(examples=["0123456789abcdef"])
    answers: list[AnswerReply]
    left: int = Field(examples=[483], description="Questions that you may still ask.")


class QuestionReply(Model):
    """A question of yours and its answer."""

    id: str
    asked: datetime
    query: str | None
    marginal: list[str] | None
    answers: list[AnswerReply]


class CollectionRequest(Model):
    """A call for batches, which are answered all at once when it is closed."""

    mode: Literal["per-query", "per-analyst", "apart", "noise"] = "per-query"
    epsilon: Epsilon = Field(examples=[1.0])
    analyst_epsilon: Epsilon = Field(examples=[1.0])
    num_analysts: Annotated[int, Field(ge=1, le=10_000)] = Field(examples=[20])
    queries_each: Annotated[int, Field(ge=1, le=10_000)] = Field(examples=[500])
    columns: list[Line] | None = Field(
        default=None, min_length=1, max_length=1000, examples=[["sex", "age"]], description="Ask about these only."
    )


class CollectionReply(Model):
    """A collection, as everybody sees it: never who has handed in a batch."""

    id: str = Field(examples=["0123456789abcdef"])
    table: str = Field(examples=["people"])
    mode: str = Field(examples=["per-query"])
    num_analysts: int = Field(examples=[20])
    queries_each: int = Field(examples=[500])
    columns: list[str] | None = Field(examples=[["sex", "age"]])
    state: Literal["open", "answering", "answered", "given up"]
    created: datetime
    job: str | None = Field(examples=[None], description="The job that answers it; for stewards.")


class BatchRequest(Model):
    """A batch: queries in the text form, or lists of columns for all cells of a marginal."""

    queries: Annotated[list[Text | list[Line]], Field(min_length=1, max_length=10_000)] = Field(
        examples=[["sex = Female", ["sex", "age"]]]
    )


class BatchReply(Model):
    """Your batch, and its answers once the collection is answered."""

    collection: str
    queries: list[str | list[str]]
    answers: list[AnswerReply] | None
