"""How the report writes numbers: shares as percentages, counts with thousands, small probabilities as powers of ten."""

from __future__ import annotations

import math
from datetime import datetime

__all__ = ["amount", "count", "day", "percent", "power", "significant"]

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(share: float, digits: int = 2) -> str:
    """A share of the records.

    Example:
        >>> percent(0.12345), percent(0.00012, 3), percent(-0.00001, 1)
        ('12.35 %', '0.012 %', '0.0 %')
    """
    text = f"{100 * share:.{digits}f}"
    return (text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")) + " %"


def count(value: float) -> str:
    """A number of records, rows or queries.

    Example:
        >>> count(20000), count(0.4), count(-7.2)
        ('20,000', '0.4', '−7.2')
    """
    text = f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"
    return text.replace("-", "−")


def amount(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun.

    Example:
        >>> amount(1, "query", "queries"), amount(1200, "row")
        ('1 query', '1,200 rows')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def day(stamp: str) -> str:
    """A time stamp as people write it.

    Example:
        >>> day("2025-03-01T10:05:00+00:00")
        '1 March 2025, 10:05 UTC'
    """
    moment = datetime.fromisoformat(stamp)
    zone = moment.tzname() or ""
    return f"{moment.day} {moment:%B %Y, %H:%M} {zone}".strip()


def significant(value: float, digits: int = 4) -> str:
    """A few significant digits, as a power of ten only when it is very small or large.

    Example:
        >>> significant(1.0), significant(0.0142703), significant(2.5e-9)
        ('1', '0.01427', '2.5 × 10⁻⁹')
    """
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        return power(value, digits)
    return f"{value:.{digits}g}"


def power(value: float, digits: int = 3) -> str:
    """A number as a multiple of a power of ten.

    Example:
        >>> power(1e-6), power(2.5e-9), power(0)
        ('10⁻⁶', '2.5 × 10⁻⁹', '0')
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "∞"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    raised = "10" + str(int(exponent)).translate(_RAISED)
    return raised if mantissa == "1" else f"{mantissa} × {raised}"
