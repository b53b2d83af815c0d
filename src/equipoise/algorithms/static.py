"""Static measurement: shares of rho for marginals, turned into noise, events and a query player.

Shares come from `queries.allocation` or `algorithms.measurement_plan`; all public. Marginals of fewer columns than
the workload's are asked after the workload's own groups, so the workload's ids stay what they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from equipoise.algorithms.algorithm import Forecast, Plan, Setting, price, require_fit, resolved
from equipoise.data_players.mixture import memory_bytes, usual_num_components
from equipoise.errors import QueryError
from equipoise.game.error_bars import SelectionEvidence
from equipoise.privacy import accountant
from equipoise.privacy.events import Event, Gaussian
from equipoise.queries.lattice import Columns, predicted_rmse, predicted_variances
from equipoise.queries.workload import Group, Workload
from equipoise.query_players.measure_static import MeasureStatic

__all__ = ["Static", "column_sets", "plan_static"]


def column_sets(workload: Workload, method: str) -> tuple[Columns, ...]:
    """The marginals of a workload that has nothing else.

    Raises:
        QueryError: the workload has ranges, prefixes or conjunctions, which this method does not model.
    """
    if any(group.masks is not None for group in workload.groups):
        raise QueryError(
            f"{method} takes workloads of whole marginals; use pep or mwem for ranges and conjunctions,"
            " dual_query for many of them"
        )
    return workload.column_sets


@dataclass(frozen=True)
class Static:
    """What will be measured, how well, and at what price.

    Attributes:
        asked: The workload, followed by the other marginals that are measured.
        stddevs: For each group of `asked`, its noise in counts; None: not measured.
    """

    asked: Workload
    stddevs: tuple[float | None, ...]

    def events(self, setting: Setting) -> tuple[tuple[Event, int], ...]:
        """What the whole run will be charged."""
        charged: Counter[Event] = Counter()
        for stddev, sensitivity in zip(self.stddevs, self._sensitivities, strict=True):
            if stddev is not None:
                charged[price(Gaussian(Fraction(sensitivity), Fraction(stddev) ** 2), setting.rows_per_unit)] += 1
        return tuple(charged.items())

    @property
    def _sensitivities(self) -> tuple[int, ...]:
        return tuple(max(1, group.norms().l2_squared) for group in self.asked.groups)

    def query_player(self) -> MeasureStatic:
        """The query player that spends exactly this."""
        return MeasureStatic(self.stddevs, self._sensitivities)

    def plan(self, algorithm: Any, setting: Setting, *, num_drafts: int = 0) -> Plan:
        """The plan of an algorithm that measures this in one round and fits a mixture of `num_components` to it.

        None of them means as many as is usual after so many drafts.

        Raises:
            CapacityError: the fit does not fit the memory.
        """
        sizes, sets = setting.grouped.domain.sizes, [group.columns for group in self.asked.groups]
        num_components = algorithm.num_components
        if num_components is None:
            num_components = usual_num_components(num_drafts)
        memory = memory_bytes(sizes, sets, num_components)
        require_fit(memory, setting, f"{algorithm.name} with {num_components} components")
        return Plan(
            method=algorithm.name,
            options=resolved(algorithm, num_components=num_components),
            num_rounds=1,
            events=self.events(setting),
            pure=False,
            memory_bytes=memory,
            forecast=self.forecast(setting),
            asked=self.asked,
        )

    @property
    def precisions(self) -> dict[Columns, float]:
        """1/variance of the noise of each measured marginal, in counts."""
        pairs = zip(self.asked.groups, self.stddevs, strict=True)
        return {group.columns: stddev**-2 for group, stddev in pairs if stddev is not None}

    def forecast(self, setting: Setting) -> Forecast:
        """The error of the best unbiased answers: known before any data is touched.

        The largest of |Q| Gaussian errors stays below the largest standard deviation times sqrt(2 log(2|Q|/0.05)) with
        probability 0.95.
        """
        sizes, sets = setting.grouped.domain.sizes, setting.grouped.column_sets
        rmse = predicted_rmse(sizes, sets, self.precisions)
        worst = math.sqrt(float(predicted_variances(sizes, sets, self.precisions).max()))
        reach = worst * math.sqrt(2 * math.log(2 * setting.grouped.num_queries / 0.05))
        if np.isfinite(reach):
            return Forecast(rmse / setting.num_rows, 0.0, reach / setting.num_rows)
        # Not all of the workload is measured: the model fills in what no unbiased answer can be given for.
        noise = max(stddev for stddev in self.stddevs if stddev is not None)
        return Forecast(noise / setting.num_rows, 0.0, None)

    def evidence(self) -> SelectionEvidence:
        """What the error bars need to know: nothing was selected."""
        return SelectionEvidence(epsilon=None, num_candidates=1, repeats=False, gaussian=True)


def plan_static(setting: Setting, shares: Mapping[Columns, float]) -> Static:
    """Noise levels for shares of rho that sum to one.

    Guarantees:
        Sum over measured marginals of l2^2/(2 stddev^2) <= rho per record, exactly; at least 0.99 of it is used
        (tested).
    """
    domain, own = setting.grouped.domain, setting.grouped.groups
    extra = [columns for columns in shares if columns not in set(setting.grouped.column_sets)]
    added = tuple(Group(columns, tuple(domain.sizes[c] for c in columns)) for columns in extra)
    asked = Workload(domain, own + added) if added else setting.grouped
    # Fractions from floats are exact; a hair less than the whole keeps their sum below it.
    whole = sum((Fraction(share) for share in shares.values()), Fraction(0))
    scale = setting.rho_per_record / whole
    stddevs: list[float | None] = []
    seen: set[Columns] = set()
    for group in asked.groups:
        share = 0.0 if group.columns in seen else shares.get(group.columns, 0.0)
        seen.add(group.columns)
        squared = max(1, group.norms().l2_squared)
        rho = Fraction(share) * scale
        stddevs.append(accountant.stddev_of(rho=rho, sensitivity_squared=squared) if share > 0 else None)
    return Static(asked, tuple(stddevs))
