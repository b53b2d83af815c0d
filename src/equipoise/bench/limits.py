"""How far the columns' own distributions go: what is left of the error when nothing else is known, or measured.

    python -m equipoise.bench.limits --data ../shared/data --epsilon 0.1

Non-private by nature: it uses the true one-way marginals of public tables. Two rows a table. *Independent*: the product
of the true one-way marginals: what dependence alone makes of the error. *One-ways only*: the same after the whole
budget is spent on measuring them, each cell's estimate as in `mixture_one_ways`, and the way of sharing the budget, a
power of the column's size and one of its number of marginals, chosen best for the mean error in hindsight. Where the
latter misses a figure, the figure is out of reach of knowing columns: only dependence that is worth more than what
measuring it takes from them is beyond that.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from equipoise.bench.runs import table_of
from equipoise.core import FloatArray
from equipoise.data.distributions import MixtureOfProducts
from equipoise.data_players.mixture_block import Columns, Measured
from equipoise.data_players.mixture_prior import prepared
from equipoise.engines.scan import count
from equipoise.evaluation import errors_of
from equipoise.privacy.gaussian_privacy import worth
from equipoise.privacy.private import reveal
from equipoise.queries.build import build
from equipoise.queries.workload import Group, Workload

__all__ = ["Known", "limits", "main"]

POWERS = tuple(itertools.product((0.0, 0.3, 0.5, 0.7), (0.0, 0.7)))
"""Of a column's number of values and of its number of marginals: ways of sharing the budget between columns."""

NUM_RUNS = 6


class Known:
    """What is compared with: a table's true answers, and its true one-way marginals."""

    def __init__(self, data: Path, name: str) -> None:
        path = data / "workloads" / f"{name}.json"
        table = table_of(data, json.loads(path.read_text())["table"], path)
        workload = build(path, table.schema)
        assert isinstance(workload, Workload)
        self.workload, self.num_rows = workload, table.num_rows
        sizes = workload.domain.sizes
        own = Workload(workload.domain, tuple(Group((column,), (size,)) for column, size in enumerate(sizes)))
        self.truth = reveal(count(table, workload)) / self.num_rows
        self.one_ways = np.split(reveal(count(table, own)) / self.num_rows, own.starts[1:-1])

    def errors(self, one_ways: Sequence[FloatArray]) -> tuple[float, float]:
        """Largest and mean error of independent columns with these distributions."""
        product = MixtureOfProducts(tuple(np.asarray(shares)[None, :] for shares in one_ways), np.ones(1))
        found = errors_of(self.workload, self.workload.on(product) - self.truth)
        return found.max, found.mean

    def measured(self, rng: np.random.Generator, resolution: float, powers: tuple[float, float]) -> list[FloatArray]:
        """Estimates of the one-way marginals after spending rho = resolution / n² on them."""
        sizes = self.workload.domain.sizes
        groups = self.workload.groups
        used = np.array([sum(column in group.columns for group in groups) for column in range(len(sizes))])
        shares = (used > 0) * (np.array(sizes) > 1) * np.array(sizes) ** powers[0] * used ** powers[1]
        precisions = resolution * shares / shares.sum()
        noisy: dict[Columns, Measured] = {}
        for column in np.flatnonzero(precisions):
            own, precision = self.one_ways[column], precisions[column]
            noisy[(int(column),)] = Measured(
                own + rng.normal(0.0, precision**-0.5, own.shape), np.full(own.shape, precision)
            )
        return prepared(noisy, sizes).one_ways


def limits(known: Known, epsilon: float) -> dict[str, tuple[float, float]]:
    """Largest and mean error, by row of the table."""
    resolution = known.num_rows**2 * float(worth(epsilon=epsilon, delta=known.num_rows**-2.0))
    tried = []
    for powers in POWERS:
        runs = [known.errors(known.measured(np.random.default_rng(k), resolution, powers)) for k in range(NUM_RUNS)]
        largest, mean = np.mean(runs, axis=0)
        tried.append((float(largest), float(mean)))
    return {"independent": known.errors(known.one_ways), "one-ways only": min(tried, key=lambda errors: errors[1])}


def main(arguments: list[str] | None = None) -> int:
    """Print a table of limits, beside nothing: the figures to reach are in `figures`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the yardstick tables")
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--only", nargs="+", default=["loans_wide", "acs_national", "loans"], help="workload files")
    chosen = parser.parse_args(arguments)
    if not chosen.data.is_dir():
        sys.stdout.write(f"limits: the yardstick tables are not at {chosen.data}; skipped\n")
        return 0
    sys.stdout.write(f"| epsilon {chosen.epsilon:g} | known | max | mean |\n|---|---|---|---|\n")
    for name in chosen.only:
        for row, (largest, mean) in limits(Known(chosen.data, name), chosen.epsilon).items():
            sys.stdout.write(f"| {name} | {row} | {largest:.4f} | {mean:.2e} |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
