from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import LedgerError, SettingError
from equipoise.privacy.events import (
    Coins,
    ConditionalRelease,
    Draws,
    Event,
    Exponential,
    Gaussian,
    Group,
    Laplace,
    PermuteAndFlip,
)
from equipoise.privacy.stored_events import from_json, to_json

positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6)
simple: st.SearchStrategy[Event] = st.one_of(
    st.builds(Gaussian, positive, positive),
    st.builds(Laplace, positive, positive),
    st.builds(Exponential, positive, st.integers(1, 100)),
    st.builds(PermuteAndFlip, positive),
    st.builds(Draws, positive, st.integers(1, 10**6)),
    st.builds(Coins, positive, positive, positive, st.integers(1, 10**6)),
    st.builds(ConditionalRelease, positive, st.integers(1, 10**6), positive),
)


@given(st.one_of(simple, st.builds(Group, simple, st.integers(1, 50))))
def test_json_round_trip_is_exact(event: Event) -> None:
    assert from_json(json.loads(json.dumps(to_json(event)))) == event


@pytest.mark.parametrize(
    "body", [{}, {"kind": "telepathy"}, {"kind": "gaussian"}, {"kind": "exponential", "epsilon": "1/0"}]
)
def test_unreadable_events_say_so(body: dict[str, str]) -> None:
    with pytest.raises(LedgerError, match="cannot read"):
        from_json(body)


def test_parameters_must_be_positive() -> None:
    with pytest.raises(SettingError, match="epsilon"):
        Exponential(Fraction(0))
    with pytest.raises(SettingError, match="variance"):
        Gaussian(Fraction(1), Fraction(-1))
