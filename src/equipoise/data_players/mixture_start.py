"""Where the fit of a mixture starts: near independent columns, but for values that nearly imply one another.

Sweeps learn a dependence by making components of it grow, and one that only few components show grows slowly: where
two values of a twentieth of the rows always come together, a start from independent columns has one component in 400
for them, and a fit that must stop early (the rest is noise) stops before they have become twenty. So cells of pairs
that are likely far above independence get their components at once, as many as are to be expected given what was
measured. How likely that is beforehand, is what all pairs together tell (empirical Bayes); and pairs that were measured
again because a selection found them are asked by themselves. Post-processing of the measurements.

With shares a and b of the two values and p of both together, a part d of the components that has nothing else, the
others being independent, gives p = d + (a - d)(b - d)/(1 - d); hence d = (p - ab)/(1 + p - a - b). One cell after the
other: the next one is measured against what is left of the pair's columns then. Where nearly all of the married are
husbands, what is left of the married is so little that wives, who are few, stand out only against that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from equipoise.core import FloatArray, IntArray
from equipoise.data_players.mixture_block import Columns, Measured
from equipoise.data_players.mixture_pooled import Pooled, pooled_pairs

__all__ = ["NUM_DRAWS", "Together", "starting_tables", "values_together"]

NUM_DRAWS = 5
"""Values that a component's column starts with. With fewer the start is further from the product of one-way marginals;
with more, components are more alike, and sweeps slower: eight had a mean error up to a hundredth larger."""

PARTS = np.linspace(0.0, 1.0, 21)
"""How far a cell may lie above independence, as parts of the way to where one value implies the other."""

TOGETHER = 8
"""From there on two values come together. Weaker dependences are spread over many cells and learnt by sweeps; each of
the weaker parts is a quarter as likely as the one before: most cells are as independent columns make them."""

SELDOM, AT_LEAST, AT_MOST = 0.01, 0.001, 0.3
"""Cells of values that come together, as a share of those that could show it: what is thought before any cell is seen,
and what is never gone beyond."""

IMPLIED = 0.5
"""How often, of values that come together, one implies the other altogether, as husbands are men. Were every part as
likely as any other, that would all but never be so, and what is implied would be believed only nearly. From 0.3 to 0.7
does about as well; with 0.9 what only looks like it is taken for it too often."""

NUM_THOUGHT = 10
"""Cells that what is thought counts for: a few cells alone do not tell how seldom it is."""

ROOM = 1.5
"""Standard deviations that a cell must be able to lie above independence, given its two values' own shares: with less
room it could not show that they come together."""

LIKELY = 0.2
"""Probability from which a cell is believed, as far as it is likely. With 0.5 the largest error is up to half as much
again where a selection has missed such a pair."""

AGAIN = 0.8
"""Standard deviation of a pair that counts as measured again, relative to the median of all pairs: it was selected, so
its values come together more often than others'."""

NUM_STEPS = 30
"""Steps of expectation and maximisation."""

PRECISE = 0.0015
"""Standard deviation below which a pair is left to the sweeps: so little noise lets them go on until they have learnt
it, and from components that have one value each they learn the rest more slowly."""


class Together(NamedTuple):
    """Two values that come together.

    Attributes:
        columns: Their columns, increasing.
        values: The values.
        share: The part of the components to start with both and nothing else.
    """

    columns: tuple[int, int]
    values: tuple[int, int]
    share: float


def values_together(measured: Mapping[Columns, Measured], one_ways: Sequence[FloatArray]) -> list[Together]:
    """The cells of pairs that are likely to be far above independence, the furthest first.

    Args:
        measured: Noisy marginals; those not measured whole are left out.
        one_ways: The distribution of each column, as far as it is known.
    """
    pairs = {c: pair for c, pair in pooled_pairs(measured, one_ways).items() if pair.stddev >= PRECISE}
    usual = float(np.median([pair.stddev for pair in pairs.values()])) if pairs else 0.0
    found = []
    for again in (True, False):
        alike = {c: pair for c, pair in pairs.items() if (pair.stddev < AGAIN * usual) == again}
        seldom = _how_seldom(alike, one_ways)
        for columns, pair in alike.items():
            found += _of_pair(columns, pair, one_ways, seldom)
    return [cell for _, cell in sorted(found, key=lambda each: -each[0])]


def _log_prior(seldom: float) -> FloatArray:
    """Of each of the parts that a cell may lie above independence."""
    weaker = 0.25 ** np.arange(TOGETHER)
    prior = np.full(len(PARTS), seldom * (1.0 - IMPLIED) / (len(PARTS) - TOGETHER))
    prior[:TOGETHER] = (1.0 - seldom) * weaker / weaker.sum()
    prior[-1] += seldom * IMPLIED
    return np.asarray(np.log(prior))


def _log_likelihoods(above: FloatArray, room: FloatArray, stddev: float) -> FloatArray:
    """Of each part (last axis) for cells seen so far above independence, of the room that they have."""
    return np.asarray(-0.5 * ((above[..., None] - PARTS * room[..., None]) / stddev) ** 2)


def _normalised(logs: FloatArray) -> FloatArray:
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _how_seldom(pairs: Mapping[tuple[int, int], Pooled], one_ways: Sequence[FloatArray]) -> float:
    """The share of cells that are of values that come together, by maximum likelihood over all that could show it."""
    seen = [np.zeros((0, len(PARTS)))]
    for (i, j), (shares, stddev) in pairs.items():
        expected = np.multiply.outer(one_ways[i], one_ways[j])
        room = np.minimum.outer(one_ways[i], one_ways[j]) - expected
        shows = room > ROOM * stddev
        seen.append(_log_likelihoods((shares - expected)[shows], room[shows], stddev))
    likelihoods = np.concatenate(seen)
    seldom = SELDOM
    for _ in range(NUM_STEPS):
        together = _normalised(likelihoods + _log_prior(seldom))[:, TOGETHER:].sum()
        found = float(together + NUM_THOUGHT * SELDOM) / (len(likelihoods) + NUM_THOUGHT)
        seldom = min(max(found, AT_LEAST), AT_MOST)
    return seldom


def _of_pair(
    columns: tuple[int, int], pair: Pooled, one_ways: Sequence[FloatArray], seldom: float
) -> list[tuple[float, Together]]:
    """The cells of one pair, each with how far it is expected to be above what those before it leave."""
    shares, stddev = pair
    a, b = (one_ways[c].copy() for c in columns)
    left, found, taken = 1.0, [], np.zeros(shares.shape)
    for _ in range(shares.size):
        expected = np.multiply.outer(a, b) / left
        room = np.minimum.outer(a, b) - expected
        parts = _normalised(_log_likelihoods(shares - taken - expected, room, stddev) + _log_prior(seldom))
        likely = (parts[..., TOGETHER:].sum(axis=-1) > LIKELY) & (room > ROOM * stddev) & (taken == 0.0)
        if not likely.any():
            break
        above = (parts[..., TOGETHER:] @ PARTS[TOGETHER:]) * room
        v, w = np.unravel_index(int(np.where(likely, above, -np.inf).argmax()), shares.shape)
        both = expected[v, w] + above[v, w]
        part = float((both * left - a[v] * b[w]) / (left + both - a[v] - b[w]))
        found.append((float(above[v, w]), Together(columns, (int(v), int(w)), part)))
        taken[v, w] = part
        a[v], b[w], left = a[v] - part, b[w] - part, left - part
    return found


def starting_tables(
    rng: np.random.Generator,
    one_ways: Sequence[FloatArray],
    num_components: int,
    together: Sequence[Together] = (),
) -> list[FloatArray]:
    """Components near the product of one-way marginals, whose mean is (almost) that product; some have `together`.

    Each column of each other component is the mean of a few values drawn from what the one-way marginal has left, so
    that it starts sparse. The values are drawn systematically: one that has a share s of the components is drawn by
    floor or ceil of s times their number.
    """
    fixed = _fixed(rng, one_ways, num_components, together)
    tables = []
    for one_way, values in zip(one_ways, fixed, strict=True):
        table = np.zeros((num_components, len(one_way)))
        known = np.flatnonzero(values >= 0)
        table[known, values[known]] = 1.0
        free = np.flatnonzero(values < 0)
        left = np.maximum(num_components * one_way - np.bincount(values[known], minlength=len(one_way)), 0.0)
        cumulative = np.cumsum(left if left.sum() > 0.0 else one_way)
        for _ in range(NUM_DRAWS if len(free) else 0):
            points = (np.arange(len(free)) + rng.random()) * (cumulative[-1] / len(free))
            drawn = np.minimum(np.searchsorted(cumulative, points, side="right"), len(one_way) - 1)
            table[free, rng.permutation(drawn)] += 1.0 / NUM_DRAWS
        tables.append(table)
    return tables


def _fixed(
    rng: np.random.Generator, one_ways: Sequence[FloatArray], num_components: int, together: Sequence[Together]
) -> IntArray:
    """For each column, the value that a component has from `together`, or -1.

    A component that has one of two values already is given the other before a free one is given both: three values
    that come together share their components. No value gets more of them than its one-way marginal says.
    """
    fixed = np.full((len(one_ways), num_components), -1, dtype=np.int64)
    left = [np.floor(num_components * one_way).astype(np.int64) for one_way in one_ways]
    for (i, j), (v, w), share in together:
        wanted = round(share * num_components) - int(((fixed[i] == v) & (fixed[j] == w)).sum())
        for has_i, has_j in ((True, False), (False, True), (False, False)):
            ours = (fixed[i] == (v if has_i else -1)) & (fixed[j] == (w if has_j else -1))
            most = min(wanted, wanted if has_i else left[i][v], wanted if has_j else left[j][w])
            chosen = rng.permutation(np.flatnonzero(ours))[: max(0, most)]
            left[i][v] -= 0 if has_i else len(chosen)
            left[j][w] -= 0 if has_j else len(chosen)
            fixed[i, chosen], fixed[j, chosen] = v, w
            wanted -= len(chosen)
    return fixed
