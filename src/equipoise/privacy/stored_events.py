"""Events as the ledger keeps them: plain JSON values, fractions as text."""

from __future__ import annotations

import re
from dataclasses import Field, fields
from fractions import Fraction
from typing import Any, get_args

from equipoise.errors import LedgerError, SettingError
from equipoise.privacy.events import Event, Simple

__all__ = ["from_json", "to_json"]

_FRACTION = re.compile(r"-?\d{1,4000}(/\d{1,4000})?", re.ASCII)
_KINDS: dict[str, type[Any]] = {cls.kind: cls for cls in get_args(Event)}


def to_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON values; fractions as text.

    Example:
        >>> from equipoise.privacy.events import Exponential
        >>> to_json(Exponential(Fraction(1, 50)))
        {'kind': 'exponential', 'epsilon': '1/50', 'num_selected': 1}
    """
    body: dict[str, Any] = {"kind": event.kind}
    for field in fields(event):
        value = getattr(event, field.name)
        body[field.name] = (
            to_json(value) if field.name == "event" else str(value) if isinstance(value, Fraction) else value
        )
    return body


def from_json(body: dict[str, Any]) -> Event:
    """The inverse of `to_json`.

    Example:
        >>> from_json({'kind': 'exponential', 'epsilon': '1/50', 'num_selected': 1})
        Exponential(epsilon=Fraction(1, 50), num_selected=1)
    """
    try:
        cls = _KINDS[body["kind"]]
        event: Event = cls(**{field.name: _read(field, body[field.name]) for field in fields(cls)})
    except (KeyError, TypeError, ValueError, ZeroDivisionError, SettingError) as error:
        raise LedgerError(
            "the ledger holds an event this version cannot read; use the version that wrote it"
        ) from error
    return event


def _read(field: Field[Any], value: Any) -> Any:
    """A parameter from JSON; only what `to_json` writes is taken, so that nothing odd is ever priced."""
    match str(field.type):
        case "Simple":
            if not isinstance(event := from_json(value), Simple):
                raise TypeError("a group stands around an event of a mechanism")
            return event
        case "Fraction":
            if not _FRACTION.fullmatch(value):
                raise ValueError("not a fraction")
            return Fraction(value)
        case name:
            if type(value).__name__ != name:
                raise TypeError(f"{field.name} is not of type {name}")
            return value
