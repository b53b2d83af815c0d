"""The steward's tables: registering, opening, budgets, spending, the audit log."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from equipoise.service.models.analysts import Analyst
from equipoise.service.models.fields import Delta, Epsilon, Id, Line, Model, Time

__all__ = [
    "BudgetReply",
    "Event",
    "Files",
    "LogEntry",
    "OnlineReply",
    "OnlineRequest",
    "Point",
    "Registration",
    "Run",
    "Spending",
    "TableReply",
]


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
    delta: Delta = Field(examples=[1e-8], description="Of the data budget.")
    analyst_epsilon: Epsilon = Field(examples=[4.0], description="Total budget that hides analysts from each other.")
    analyst_delta: Delta = Field(examples=[1e-8], description="Of the analyst budget.")


class OnlineRequest(Model):
    """Open a table for questions one by one; reserves its whole cost now."""

    mode: Literal["online", "pmw", "noise"] = Field(
        default="online",
        examples=["online"],
        description="online hides analysts from each other, pmw does not; noise answers each with noise of its own.",
    )
    epsilon: Epsilon = Field(examples=[1.0], description="Data budget of all questions together.")
    analyst_epsilon: Epsilon = Field(examples=[1.0], description="What hides analysts from each other.")
    num_analysts: Annotated[int, Field(ge=1, le=10_000)] = Field(examples=[20], description="At most; public.")
    queries_each: Annotated[int, Field(ge=1, le=10**7)] = Field(
        examples=[500], description="Questions of each analyst, at most; public. A marginal's every cell counts."
    )
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
    asked_mode: str = Field(examples=["online"], description="What the steward asked for.")
    reason: str = Field(examples=[""], description="Why the mode is not the one asked for.")
    num_analysts: int = Field(examples=[20])
    queries_each: int = Field(examples=[500])
    half_width: float = Field(examples=[0.02], description="Of a free answer: simultaneous, 95 %.")
    paid_half_width: float = Field(examples=[0.01], description="Of a paid answer: simultaneous, 95 %.")
    protects_analysts: bool = Field(examples=[True], description="Whether analysts are hidden from each other.")


class TableReply(Model):
    """A registered table."""

    name: str = Field(examples=["people"])
    source: str = Field(examples=["people.csv"])
    schema_file: str = Field(examples=["people.toml"])
    frozen: bool = Field(examples=[False], description="Nothing more is asked or released.")
    created: Time
    budget: BudgetReply
    analyst_epsilon: float = Field(examples=[4.0])
    analyst_delta: float = Field(examples=[1e-8])
    online: OnlineReply | None = Field(description="How it answers questions; null: it does not.")
    num_analysts: int = Field(examples=[2])


class Run(Model):
    """An entry of the ledger: a release, a session of questions, or a collection."""

    run: Id
    what: str = Field(examples=["mixture"])
    state: Literal["open", "done", "closed"] = Field(examples=["done"], description="closed: given up.")
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
    analyst_budget: BudgetReply | None = Field(description="Null before anything was spent of it.")
    runs: list[Run]
    analysts: list[Analyst]
    history: list[Point]


class LogEntry(Model):
    """A line of the audit log."""

    id: int = Field(examples=[17])
    at: Time
    actor: str = Field(examples=["0123456789abcdef"], description="Id of who did it, or `server`.")
    name: str | None = Field(examples=["Grace"], description="The actor's name.")
    action: str = Field(examples=["invite"])
    table: str | None = Field(examples=["people"])
    detail: str = Field(examples=["fedcba9876543210"], description="Id or file that it is about.")
    about: str | None = Field(examples=["Ada"], description="The name of the person that it is about.")
