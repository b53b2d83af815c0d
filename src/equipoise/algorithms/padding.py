"""More queries than were asked for: a small workload of rare combinations is played together with others like them.

A game over queries learns of the table what its queries ask. Where most combinations of values occur in no record, a
few thousand queries leave most of them unasked, and what a record has in columns that no draw speaks of is chance: it
gets combinations that nobody has, those of the asked queries among them. Each that is asked is one that a record may no
longer have by chance. Draws and selections cost the same however many queries there are (docs/mechanisms.md, P3, P6),
so asking for more is free: public queries, chosen by public randomness.

FEM gains nothing by it, and its largest error doubles (docs/s002.md), so only draws are given more to draw from.

The moves are about all of them. Answers, error bars and errors are those of the queries asked for, which come first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.algorithms.algorithm import Setting
from equipoise.errors import SettingError
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.families import MAX_CONJUNCTIONS, further_conjunctions

__all__ = ["default_extra", "padded"]

ENOUGH = 500_000
"""Queries up to which a workload is filled by default. KDD99, epsilon 1: 40,000 have a mean error of 6.7e-5 alone and
of 3.7e-5 with the rest; Adult*: 500 have 1.1e-3 and 1.7e-5, 5,000 have 1.5e-4 and 1.9e-5, though twice the largest."""

RARE = 64
"""Cells of the marginal of an asked query, in the median, from which most combinations are taken to be rare. Three bits
have 8, and it makes no difference there; queries of KDD99 have a thousand."""

BYTES = 400
"""Memory that a query takes in counting and playing, generously; where all would need more than a quarter of the limit,
none are added."""


def padded(setting: Setting, num_extra: int | None, *, is_published: bool = False) -> Setting:
    """The setting with up to that many further queries; None for as many as public facts advise.

    A game as published is played with none, unless a number is given.

    They are the same for the same workload, so a plan, the release and a second start after a kill have the same.

    Raises:
        SettingError: the number makes no sense, or the workload is not of conjunctions.
    """
    advised = 0 if is_published else default_extra(setting)
    number = advised if num_extra is None else num_extra
    workload = setting.workload
    if number == 0:
        return setting
    if not isinstance(workload, Conjunctions):
        raise SettingError("num_extra_queries is for conjunctions (random 3-way x 1000); marginals are whole already")
    if not 0 < number <= MAX_CONJUNCTIONS - workload.num_queries:
        raise SettingError(
            f"num_extra_queries must be 0 or more, and at most {MAX_CONJUNCTIONS:,} with those asked for"
        )
    more = further_conjunctions(np.random.default_rng(int(workload.fingerprint, 16)), workload, number)
    return setting if more is None else replace(setting, workload=workload.followed_by(more))


def default_extra(setting: Setting) -> int:
    """Further queries by default: what is missing to ENOUGH, where combinations are rare."""
    workload = setting.workload
    if not isinstance(workload, Conjunctions) or workload.num_queries >= ENOUGH:
        return 0
    if setting.memory_limit // 4 < BYTES * ENOUGH:
        return 0
    sizes = np.array(workload.domain.sizes, dtype=np.float64)
    cells = np.prod(sizes[workload.columns], axis=1)
    return ENOUGH - workload.num_queries if float(np.median(cells)) >= RARE else 0
