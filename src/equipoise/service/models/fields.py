"""What every model shares: strictness, and fields with limits."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = ["Days", "Delta", "Epsilon", "Id", "Line", "Model", "Text", "Time"]

# No NUL anywhere: PostgreSQL cannot store it, and no name or query has a use for it.
Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=r"^[^\x00]+$")]
Epsilon = Annotated[float, Field(gt=0, le=100)]
Delta = Annotated[float, Field(gt=0, lt=1)]
Days = Annotated[float, Field(gt=0, le=3650)]
Id = Annotated[str, Field(examples=["0123456789abcdef"])]
Time = Annotated[datetime, Field(examples=["2026-11-16T03:31:05Z"])]


class Model(BaseModel):
    """Unknown fields are refused, so that a misspelt budget is not a default."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
