"""Statistics of whole tables that no single record moves far: medians, ranges, the number of distinct values.

Paper: hsu2013differential (report/references.bib), Section 5.4, arXiv v1.

Pseudo-code                                        Here
  D_0 uniform over tables of n' records             Tables, TableScores
  q(H): mean of q over sampled tables               OverTables.share
  noise Laplace(Delta/epsilon_0)                    answers in units of Delta: noise as for a count
  everything else as online                         analysts/online.py, analysts/pmw.py

Guarantee: that of the session's mode. An answer is held as floor(q/Delta + 1/2), a whole number that moves by 1 when q
  moves by Delta at most, since floor(a + 1) = floor(a) + 1: a count's place in every proof. q has values in [0, 1], so
  an update moves an exponent as far as a count's does.
Accuracy: that of the session's mode with n' log|X| in place of log|X|, and Delta/2 for rounding, where some
  distribution over tables of n' records has the answers of the private table: always for n' = n, and for means at
  n' = 1. Else a session may halt before it has learnt them; the half-widths that it gives hold still.
Differences from the paper:
  1. n' is any public number, not n: there are |X|^n' tables, so only toys can be answered, and more is refused.
  2. log k/eta^2 samples, not sqrt(log k)/eta^2 (E-004-13): they are those of online.
  3. Answers on tables are rounded to 1/STEPS, in the hypothesis only: it is tested as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Rational
from typing import TypeAlias

import numpy as np

from equipoise.analysts.asking import Asked
from equipoise.analysts.choice import plan_session
from equipoise.analysts.hypotheses import from_bytes
from equipoise.analysts.plan import Mode, SessionPlan
from equipoise.analysts.terms import Terms
from equipoise.core import Codes, FloatArray, IntArray, code_type
from equipoise.data.distributions import Histogram
from equipoise.data.schema import Schema
from equipoise.errors import CapacityError, QueryError, SettingError
from equipoise.privacy.draws import draw

__all__ = ["Catalogue", "Statistic", "Tables", "plan_statistics"]

MOST_VALUES = 2**20
"""Values of statistics on tables that are held at most."""

STEPS = 1024

Value: TypeAlias = Callable[[Codes], "Fraction | int"]


@dataclass(frozen=True)
class Statistic:
    """A number from 0 to 1 that a table has, whatever the order of its rows. The steward vouches for it.

    Attributes:
        name: What analysts ask for.
        value: From the codes of a table, one row a column of the schema, to an exact number. Public code, run on the
            private table: it must have a value for every table, and do nothing else.
        sensitivity: How far the value moves, at most, when one record of the private table is replaced. The privacy of
            the people in it rests on this number.

    Example:
        >>> ones = Statistic("ones", lambda codes: Fraction(int(codes[0].sum()), codes.shape[1]), Fraction(1, 8))
        >>> ones.value(np.array([[0, 1, 1, 0]]))
        Fraction(1, 2)
    """

    name: str
    value: Value
    sensitivity: Fraction


@dataclass(frozen=True)
class Catalogue:
    """The statistics that a session answers.

    Attributes:
        statistics: All of them; public.
        num_records: n': of the small tables whose answers stand for the private one's.
    """

    statistics: tuple[Statistic, ...]
    num_records: int

    def __post_init__(self) -> None:
        names = {statistic.name for statistic in self.statistics}
        if not names or len(names) < len(self.statistics) or self.num_records < 1:
            raise SettingError("a catalogue needs statistics with different names, and num_records of at least 1")
        if not all(0 < statistic.sensitivity <= 1 for statistic in self.statistics):
            raise SettingError("a statistic's sensitivity lies above 0 and is at most 1, as its values do")


class Tables:
    """Statistics of tables; the points are all tables of n' records.

    Raises:
        CapacityError: there are too many.
        SettingError: a statistic has a value on one of them that is not an exact number from 0 to 1.
    """

    def __init__(self, catalogue: Catalogue, schema: Schema) -> None:
        self._sizes = schema.domain.sizes
        found, most = schema.domain.num_cells**catalogue.num_records, MOST_VALUES // len(catalogue.statistics)
        if found > most:
            raise CapacityError(
                f"there are {schema.domain.num_cells:,} ** {catalogue.num_records} tables of {catalogue.num_records}"
                f" records, and {most:,} can be held for {len(catalogue.statistics)} statistics; declare fewer columns"
                " or bins, or a smaller num_records"
            )
        self.units = int(1 / max(statistic.sensitivity for statistic in catalogue.statistics))
        self.num_records, self.statistics = catalogue.num_records, catalogue.statistics
        self._cells = np.arange(schema.domain.num_cells)
        if schema.rules is not None:
            self._cells = np.flatnonzero(schema.rules.possible_cells())
        shape = (len(self._cells),) * self.num_records
        self._members = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape))
        self._places = {statistic.name: place for place, statistic in enumerate(self.statistics)}
        self._values = [self._tabulated(statistic) for statistic in self.statistics]

    @property
    def num_tables(self) -> int:
        """How many points there are."""
        return int(self._members.shape[1])

    def _tabulated(self, statistic: Statistic) -> IntArray:
        records = np.stack(np.unravel_index(self._cells, self._sizes)).astype(code_type(max(self._sizes)))
        values = np.empty(self.num_tables, dtype=np.int64)
        for place, members in enumerate(self._members.T):
            value = statistic.value(records[:, members])
            if not isinstance(value, Rational) or not 0 <= value <= 1:
                raise SettingError(f"the statistic {statistic.name!r} must be a Fraction or int from 0 to 1 everywhere")
            values[place] = math.floor(value * STEPS + Fraction(1, 2))
        return values

    def values(self, place: int) -> IntArray:
        """A statistic's value on each table, in 1/STEPS."""
        return self._values[place]

    def records(self, weights: FloatArray) -> Histogram:
        """The records of a table that is drawn with these weights."""
        shares = np.zeros(math.prod(self._sizes))
        for members in self._members:
            np.add.at(shares, self._cells[members], weights / self.num_records)
        return Histogram(shares.reshape(self._sizes))

    def parse(self, asked: Sequence[Asked], limit: int) -> list[tuple[int, str]]:
        """See `World.parse`: statistics are asked for by name."""
        if len(asked) > limit:
            raise QueryError(f"this asks for {len(asked)} statistics, and {limit} are allowed")
        for item in asked:
            if not isinstance(item, str) or item.strip() not in self._places:
                raise QueryError(f"this session answers statistics by name: {', '.join(self._places)}")
        return [(self._places[str(item).strip()], str(item).strip()) for item in asked]

    def to_text(self, query: int) -> str:
        """See `World.to_text`."""
        return f"statistic {query}"

    def from_text(self, text: str) -> int:
        """See `World.from_text`."""
        return int(text.split()[1])

    def describe(self, query: int) -> str:
        """See `World.describe`."""
        return self.statistics[query].name

    def scores(self) -> TableScores:
        """See `World.scores`."""
        return TableScores(self)

    def sampled(self, body: bytes) -> OverTables:
        """See `World.sampled`."""
        points, counts = from_bytes(body)
        weights = np.zeros(self.num_tables)
        weights[points] = counts / counts.sum()
        return OverTables(self, weights)

    def uniform(self) -> Histogram:
        """See `World.uniform`."""
        return self.records(np.full(self.num_tables, 1 / self.num_tables))


class OverTables:
    """A distribution over tables: a `Hypothesis`."""

    def __init__(self, tables: Tables, weights: FloatArray) -> None:
        self._tables, self.weights = tables, weights

    def share(self, query: int) -> float:
        """The mean of a statistic."""
        return min(1.0, float(self.weights @ self._tables.values(query)) / STEPS)

    def distribution(self) -> Histogram:
        """See `Hypothesis.distribution`."""
        return self._tables.records(self.weights)


class TableScores:
    """For every table, the sum of its answers to the updates, in 1/STEPS: whole numbers. See `world.Scored`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._sums = np.zeros(tables.num_tables, dtype=np.int64)
        self.num_updates = 0

    def add(self, updates: Sequence[tuple[int, int]]) -> None:
        """See `world.Scored.add`."""
        for query, sign in updates:
            self._sums += sign * self._tables.values(query)
        self.num_updates += len(updates)

    def weights(self, rate: Fraction) -> OverTables:
        """See `world.Scored.weights`."""
        exponents = -self._sums * (float(rate) / STEPS)
        weights = np.exp(exponents - exponents.max())
        return OverTables(self._tables, weights / weights.sum())

    def draw(self, rate: Fraction, num_draws: int) -> IntArray:
        """See `world.Scored.draw`; the quotient is rounded up, so never a larger rate than the one paid for."""
        return draw(-self._sums, math.nextafter(float(STEPS / rate), math.inf), num_draws)


def plan_statistics(terms: Terms, mode: Mode, tables: Tables) -> SessionPlan:
    """The plan of a session that answers statistics: that for so many cells as there are tables, in units."""
    plan = plan_session(replace(terms, num_rows=tables.units, num_cells=tables.num_tables), mode)
    named = [statistic.name for statistic in tables.statistics]
    known = {"units": tables.units, "num_records": tables.num_records, "statistics": named}
    rounding = 0.5 / tables.units
    return replace(
        plan,
        half_width=min(1.0, plan.half_width + rounding),
        paid_half_width=min(1.0, plan.paid_half_width + rounding),
        parameters={**plan.parameters, **known},
    )
