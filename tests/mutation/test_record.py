"""Tests that noticed changes nearby go first, and those that did not go back."""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutation.record import Record

OWN, OTHER = "tests/unit/privacy/test_a.py::test_a", "tests/audits/test_b.py::test_b"


@dataclass(frozen=True)
class Change:
    file: str = "privacy/gate.py"
    function: str = "Gate.debit"


def test_the_quickest_goes_first_where_nothing_is_known() -> None:
    record = Record()
    assert record.seconds(Change(), OWN, 0.1) < record.seconds(Change(), OWN, 0.2)
    assert record.seconds(Change(), OWN, 0.1) < record.seconds(Change(), OTHER, 0.1)


def test_what_noticed_changes_of_the_function_goes_before_what_is_quick() -> None:
    record, quick, slow = Record(), OWN, OTHER
    for _ in range(3):
        record.note(Change(), [quick, slow], slow)
    assert record.seconds(Change(), slow, 1.0) < record.seconds(Change(), quick, 0.1)
    nearby, elsewhere = Change(function="Gate.close"), Change(file="privacy/store.py")
    assert record.seconds(nearby, slow, 1.0) > record.seconds(Change(), slow, 1.0)
    assert record.seconds(elsewhere, slow, 1.0) == Record().seconds(elsewhere, slow, 1.0)


def test_only_what_ran_is_counted() -> None:
    record = Record()
    record.note(Change(), [OWN, OTHER], OWN)
    assert record.seconds(Change(), OTHER, 1.0) == Record().seconds(Change(), OTHER, 1.0)
    record.note(Change(), [OWN, OTHER], None)
    assert record.seconds(Change(), OTHER, 1.0) > Record().seconds(Change(), OTHER, 1.0)
