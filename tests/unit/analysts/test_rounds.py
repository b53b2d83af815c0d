"""Rounds: every query is answered, within its half-width, once, and paid for as planned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysts import QUERIES, table, true_share

from equipoise.analysts import Round, answer_round
from equipoise.errors import BudgetError, QueryError, SettingError
from equipoise.privacy.ledger import Ledger

BATCHES = {"ada": list(QUERIES), "bob": [("a", "b", "c")], "carol": ["a = true"]}
SETTINGS: dict[str, Any] = {"epsilon": 2.0, "analyst_epsilon": 5.0, "num_analysts": 20, "queries_each": 10}


def made(mode: Any, ledger: Path | None = None, run: str | None = None, **changes: Any) -> Round:
    return answer_round(table(), BATCHES, mode=mode, ledger=ledger, run=run, **SETTINGS | changes)


@pytest.mark.parametrize(
    ("asked", "done", "changes"),
    [
        ("noise", "noise", {}),
        ("apart", "apart", {}),
        ("per-query", "noise", {}),
        ("per-query", "per-query", {"queries_each": 500, "only_if_better": False}),
        ("per-analyst", "apart", {}),
        ("per-analyst", "per-analyst", {"num_analysts": 1000}),
    ],
)
def test_every_query_is_answered_within_its_half_width(asked: str, done: str, changes: dict[str, Any]) -> None:
    """Half-widths hold together with probability 0.95; those here are for 14 of 200 queries or more, noise of the
    least of which is beyond its bound with probability 2e-4 a round: so each is given twice its half-width."""
    found = made(asked, **changes)
    assert found.mode == done
    assert (found.reason == "") == (asked == done)
    assert [len(found.answers[name]) for name in BATCHES] == [5, 8, 1]
    for answers in found.answers.values():
        for answer in answers:
            if answer.half_width is not None:
                assert abs(answer.share - true_share(table(), answer.text)) <= 2 * answer.half_width
            assert (answer.spent > 0) == (answer.source == "paid")
    assert (found.synopsis is not None) == (done in ("per-query", "per-analyst"))


def test_a_round_is_paid_once_and_found_again(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    changes = {"queries_each": 500, "only_if_better": False}
    first = made("per-query", ledger, "spring", **changes)
    again = made("per-query", ledger, "spring", **changes)
    assert again.answers == first.answers
    assert first.synopsis is not None
    assert again.synopsis is not None
    assert np.array_equal(first.synopsis.marginal((0, 1)), again.synopsis.marginal((0, 1)))
    people, analysts = Ledger(ledger).existing("people"), Ledger(ledger).existing("people (analysts)")
    assert people is not None
    assert analysts is not None
    assert [row["status"] for row in people.runs()] == ["done"]
    people.verify()
    analysts.verify()
    assert analysts.held().epsilon == pytest.approx(5.0, rel=1e-6)
    with pytest.raises(SettingError, match="other queries"):
        answer_round(
            table(), {"ada": ["a = true"]}, mode="per-query", ledger=ledger, run="spring", **SETTINGS | changes
        )


def test_refusals() -> None:
    with pytest.raises(QueryError, match="a query of ada"):
        answer_round(table(), {"ada": ["z = 1"]}, mode="noise", **SETTINGS)
    with pytest.raises(BudgetError, match="at most 10"):
        answer_round(table(), {"ada": ["a = true"] * 11}, mode="noise", **SETTINGS)
    with pytest.raises(BudgetError, match="public bound"):
        made("noise", num_analysts=2)
    with pytest.raises(SettingError, match="mode"):
        made("online")
    with pytest.raises(SettingError, match="at least one"):
        answer_round(table(), {}, mode="noise", **SETTINGS)
