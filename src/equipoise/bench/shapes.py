"""Tables of shapes that the defaults were not made for, so that anybody can compare packages without any data.

    python -m equipoise.bench.shapes tables/
    equipoise bench peers --data tables/ --table bits --table chain --table amounts --table few

Made up, each from a seed of its own: what they show is how errors compare, not how people are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.core import IntArray

__all__ = ["SHAPES", "Shape", "write"]


@dataclass(frozen=True)
class Shape:
    """A made-up table.

    Attributes:
        name: Of the table and of its workload.
        what: What is particular about it.
        sizes: Values of each column.
        order: Columns of a marginal; the workload has all of them.
        rows: Makes the table's columns.
    """

    name: str
    what: str
    sizes: tuple[int, ...]
    order: int
    rows: Callable[[np.random.Generator, tuple[int, ...]], list[IntArray]]


def _bits(rng: np.random.Generator, sizes: tuple[int, ...], num_rows: int = 20_000) -> list[IntArray]:
    """Four kinds of people, each with its own probabilities; half of the columns copy the other half at times."""
    kinds = rng.integers(0, 4, num_rows)
    columns = [np.asarray(rng.random(num_rows) < rng.beta(0.5, 0.8, 4)[kinds], dtype=np.int64) for _ in sizes]
    half = len(sizes) // 2
    for number in range(half, len(sizes)):
        columns[number] = np.where(rng.random(num_rows) < 0.35, columns[number - half], columns[number])
    return columns


def _chain(rng: np.random.Generator, sizes: tuple[int, ...], num_rows: int = 10_000) -> list[IntArray]:
    """Each column is the one before it four times in five, and a small number otherwise."""
    columns = [rng.integers(0, sizes[0], num_rows)]
    for size in sizes[1:]:
        anew = np.minimum(rng.geometric(0.4, num_rows) - 1, size - 1)
        columns.append(np.where(rng.random(num_rows) < 0.8, columns[-1], anew))
    return columns


def _amounts(rng: np.random.Generator, sizes: tuple[int, ...], num_rows: int = 50_000) -> list[IntArray]:
    """Columns that share one cause half of the time: spread evenly, and, every second one, falling like 1/value."""
    cause = rng.random(num_rows)
    columns = []
    for number, size in enumerate(sizes):
        level = np.where(rng.random(num_rows) < 0.5, cause, rng.random(num_rows))
        value = size**level - 1.0 if number % 2 else level * size
        columns.append(np.minimum(value.astype(np.int64), size - 1))
    return columns


def _few(rng: np.random.Generator, sizes: tuple[int, ...], num_rows: int = 2_000) -> list[IntArray]:
    """Six kinds of people, each with its own distribution of every column."""
    kinds = rng.integers(0, 6, num_rows)
    columns = []
    for size in sizes:
        sums = np.cumsum(rng.dirichlet(np.full(size, 0.3), 6), axis=1)
        columns.append(np.minimum((rng.random(num_rows)[:, None] > sums[kinds]).sum(axis=1), size - 1))
    return columns


SHAPES = (
    Shape("bits", "16 columns of two values, 20,000 rows", (2,) * 16, 3, _bits),
    Shape("chain", "10 columns of eight values, each much like the one before, 10,000 rows", (8,) * 10, 2, _chain),
    Shape("amounts", "6 columns of up to 300 values, 50,000 rows", (300, 120, 60, 200, 20, 10), 2, _amounts),
    Shape("few", "10 columns, 2,000 rows", (2, 2, 3, 5, 5, 8, 10, 12, 16, 40), 3, _few),
)


def write(folder: Path) -> None:
    """All shapes, as `equipoise bench peers --data` reads them."""
    (folder / "workloads").mkdir(parents=True, exist_ok=True)
    for seed, shape in enumerate(SHAPES):
        names = [f"c{number}" for number in range(len(shape.sizes))]
        columns = shape.rows(np.random.default_rng(seed), shape.sizes)
        table = pa.table({name: column.astype(np.uint16) for name, column in zip(names, columns, strict=True)})
        pq.write_table(table, folder / f"{shape.name}.parquet")
        (folder / f"{shape.name}.domain.json").write_text(json.dumps(dict(zip(names, shape.sizes, strict=True))))
        marginals = [list(chosen) for chosen in combinations(names, shape.order)]
        workload = json.dumps({"table": shape.name, "marginals": marginals})
        (folder / "workloads" / f"{shape.name}.json").write_text(workload)


def main(arguments: list[str] | None = None) -> int:
    """Write the tables, and say what they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the tables go")
    folder = parser.parse_args(arguments).folder
    write(folder)
    sys.stdout.writelines(f"{folder / shape.name}.parquet: {shape.what}\n" for shape in SHAPES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
