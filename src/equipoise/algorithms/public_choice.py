"""Several public tables for a method that starts from one: a private choice between them, then the method.

The choice is one selection by the best-mixture-error: how well the best weights on a table's rows could answer the
workload, or a random part of a large one (liu2021leveraging, section 4.3, arXiv v2). Replacing a private record moves
that by one record at most, so a small part of the budget tells tables apart that differ by a few dozen records.

The choice is the first move of the game: it is in the ledger with the others, and is replayed with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from equipoise.algorithms.algorithm import Algorithm, Plan, Players, Setting, price, require_public
from equipoise.core import IntArray
from equipoise.data_players.chosen import Chosen
from equipoise.errors import SettingError
from equipoise.privacy import accountant
from equipoise.privacy.events import Exponential, PermuteAndFlip
from equipoise.queries.workload import Workload
from equipoise.query_players.choose_public import ChoosePublic

__all__ = ["PublicChoice", "takes_several"]

CHOICE_SHARE = Fraction(1, 20)
"""Part of the budget for the choice. At epsilon 1 and 44,000 rows, of two tables whose errors differ by 0.0025 of the
rows it takes the worse one once in 60 times; tables that differ by less serve about equally well."""


MAX_COMPARED = 10_000
"""Queries that the tables are compared on, to bound the linear program; whole marginals, drawn at random."""


def takes_several(algorithm: object) -> bool:
    """Whether an algorithm uses all public tables that it is given: it says so by a class attribute."""
    return bool(getattr(algorithm, "takes_several", False))


@dataclass(frozen=True)
class PublicChoice:
    """A method that starts from one public table, with several to choose from.

    Attributes:
        method: The method.
    """

    name: ClassVar[str] = "public_choice"
    title: ClassVar[str] = "a private choice between public tables, then a method that starts from one"
    citations: ClassVar[tuple[str, ...]] = ("liu2021leveraging", "liu2021iterative")
    guarantee: ClassVar[str] = "that of the method; the choice is paid for from the same budget"
    when: ClassVar[str] = "several public tables (--public a --public b) for a method that starts from one"
    uses_public: ClassVar[bool] = True
    takes_several: ClassVar[bool] = True

    method: Algorithm

    def plan(self, setting: Setting) -> Plan:
        """See `Algorithm.plan`: a selection, then the method's plan for what is left of the budget."""
        plans = [self.method.plan(each) for each in self._settings(setting)]
        names = ", ".join(public.name for public in setting.publics)
        return replace(
            plans[0],
            options=plans[0].options | {"public_choice": f"one of {names}, chosen privately by best-mixture-error"},
            num_rounds=plans[0].num_rounds + 1,
            events=((price(self._event(setting), setting.rows_per_unit), 1), *plans[0].events),
            memory_bytes=max(plan.memory_bytes for plan in plans),
        )

    def players(self, setting: Setting, plan: Plan) -> Players:
        """See `Algorithm.players`."""
        rest = replace(plan, num_rounds=plan.num_rounds - 1)
        made = [self.method.players(each, rest) for each in self._settings(setting)]
        event = self._event(setting)
        workload, ids = _compared(setting.grouped)
        query_player = ChoosePublic(
            player=made[0].query_player,
            workload=workload,
            ids=ids,
            num_rows=setting.num_rows,
            supports=tuple(public.codes for public in setting.publics),
            epsilon=event.epsilon,
            is_pure=setting.epsilon is not None,
        )
        data_player = Chosen(tuple(each.data_player for each in made), setting.grouped.domain.sizes)
        return replace(made[0], query_player=query_player, data_player=data_player, num_choices=1)

    def _settings(self, setting: Setting) -> list[Setting]:
        """For each table, what the method is left with."""
        left = 1 - CHOICE_SHARE
        rho = None if setting.rho is None else left * setting.rho
        epsilon = None if setting.epsilon is None else left * setting.epsilon
        each = [
            replace(setting, rho=rho, epsilon=epsilon, public=public, other_publics=()) for public in setting.publics
        ]
        for one in each:
            try:
                require_public(one, "the choice between public tables")
            except SettingError as error:
                raise SettingError(f"{error} mixture_pub needs no choice: it uses all tables.") from None
        return each

    def _event(self, setting: Setting) -> Exponential | PermuteAndFlip:
        if setting.epsilon is not None:
            return PermuteAndFlip(CHOICE_SHARE * setting.epsilon_per_record)
        return Exponential(accountant.root_below(8 * CHOICE_SHARE * setting.rho_per_record), 1)


def _compared(workload: Workload) -> tuple[Workload, IntArray]:
    """The groups that the tables are compared on, and their queries' ids: all, or a random choice of them (public)."""
    kept: list[int] = []
    total = 0
    for number in np.random.default_rng(0).permutation(len(workload.groups)):
        num_queries = workload.groups[number].num_queries
        if not kept or total + num_queries <= MAX_COMPARED:
            kept.append(int(number))
            total += num_queries
    kept.sort()
    ids = np.concatenate([np.arange(workload.starts[number], workload.starts[number + 1]) for number in kept])
    return Workload(workload.domain, tuple(workload.groups[number] for number in kept)), ids
