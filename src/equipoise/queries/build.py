"""From a short public description to a `Workload`."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from equipoise.data.domain import Domain
from equipoise.data.table import MOST_DENSE, NO_CODES
from equipoise.errors import QueryError
from equipoise.queries import families
from equipoise.queries.conjunctions import Conjunctions
from equipoise.queries.query import Query
from equipoise.queries.text import parse
from equipoise.queries.workload import Group, Workload

if TYPE_CHECKING:
    from equipoise.data.schema import Schema

__all__ = ["Spec", "build", "columns_of", "text_of"]

Spec: TypeAlias = "str | os.PathLike[str] | Workload | Conjunctions | Sequence[str | Sequence[str] | Query]"

FORMS = (
    "3-way",
    "2-way,3-way",
    "random 64 3-way seed 0",
    "random 3-way x 1000 seed 0",
    "prefixes",
    "ranges",
    'a JSON file {"marginals": [["age", "sex"], ...]}',
)


def build(spec: Spec, schema: Schema | Domain) -> Workload | Conjunctions:
    """The workload that a spec describes, over the columns of a schema.

    Args:
        spec: One of, or several with commas between them: `3-way` (all marginals of three columns); `random 64 3-way
            seed 0` (that many of them, the same for the same seed); `random 3-way x 1000 seed 0` (that many cells of
            such marginals: on columns of two values, conjunctions of three literals); `prefixes` and `ranges` (of each
            ordinal column). Or the path of a JSON file `{"marginals": [["age", "sex"], ...], "weights": [...]}`. Or a
            list of column tuples (marginals), query texts and `Query` objects. Or a `Workload` or `Conjunctions`,
            which is checked to be over this schema and returned.
        schema: The public schema; a bare `Domain` serves where neither texts nor ordinal columns are needed.

    Returns:
        Marginals have their columns in the domain's order, and one that is given twice is kept once with the weights
        added. Queries on the same columns form one group, so the ids of listed queries may not be in the order
        listed: see `Workload.query`.

    Raises:
        QueryError: The spec does not parse or does not fit the schema.
        CapacityError: A marginal has too many cells, or there are too many.

    Example:
        >>> domain = Domain(("sex", "age", "region"), (2, 10, 4))
        >>> build("2-way", domain).column_sets
        ((0, 1), (0, 2), (1, 2))
        >>> build([("age", "sex"), ("sex", "age")], domain).groups[0].weight
        2
    """
    domain = schema if isinstance(schema, Domain) else schema.domain
    if isinstance(spec, Workload | Conjunctions):
        if spec.domain != domain:
            raise QueryError("the workload was built over other columns or sizes than the schema's; build it again")
        return spec
    if not isinstance(schema, Domain) and schema.items is not None and schema.items.number > MOST_DENSE:
        if not isinstance(spec, str) or (conjunctions := _conjunctions(" ".join(spec.split()), domain)) is None:
            raise QueryError(NO_CODES)
        return conjunctions
    if _is_file(spec):
        groups: Iterable[Group] = _from_file(Path(spec), domain)  # type: ignore[arg-type]
    elif isinstance(spec, str):
        parts = _parts(spec)
        if len(parts) == 1 and (conjunctions := _conjunctions(parts[0], domain)) is not None:
            return conjunctions
        groups = itertools.chain.from_iterable(_from_text(part, schema, domain) for part in parts)
    elif isinstance(spec, Sequence):
        groups = _from_list(spec, schema, domain)
    else:
        raise QueryError(_unknown(str(type(spec).__name__)))
    return Workload(domain, _merged(groups))


def text_of(spec: object) -> str:
    """A spec as the statement records it: a text or a path, with the seed of what is random spelled out.

    Example:
        >>> text_of("2-way, random 3-way x 1000")
        '2-way, random 3-way x 1000 seed 0'
    """
    if not isinstance(spec, str) or _is_file(spec):
        return str(spec) if isinstance(spec, str | os.PathLike) else "custom"
    parts = [" ".join(part.split()) for part in spec.split(",")]
    return ", ".join(f"{p} seed 0" if p.startswith("random ") and " seed " not in p else p for p in parts)


def columns_of(spec: Spec) -> list[str] | None:
    """The columns that a spec asks to be used: the "columns" of a JSON file; None when it does not say."""
    if not _is_file(spec):
        return None
    columns = _load(Path(spec)).get("columns")  # type: ignore[arg-type]
    if columns is None:
        return None
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise QueryError('the workload file\'s "columns" must be a list of column names')
    return columns


def _is_file(spec: Spec) -> bool:
    return isinstance(spec, os.PathLike) or (isinstance(spec, str) and spec.strip().lower().endswith(".json"))


def _parts(spec: str) -> list[str]:
    parts = [" ".join(part.split()) for part in spec.split(",")]
    if not all(parts):
        raise QueryError(_unknown(spec))
    return parts


def _unknown(spec: str) -> str:
    return f"the workload {spec!r} is not understood; it can be: {'; '.join(FORMS)}; or several with commas between"


def _load(path: Path) -> dict[str, Any]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise QueryError(f"there is no workload file {path}") from error
    except (OSError, ValueError) as error:
        raise QueryError(f"the workload file {path} cannot be read as JSON") from error
    if not isinstance(stored, dict):
        raise QueryError(f'the workload file {path} must hold an object {{"marginals": [[column, ...], ...]}}')
    return stored


def _from_file(path: Path, domain: Domain) -> Iterator[Group]:
    stored = _load(path)
    marginals = stored.get("marginals")
    if not isinstance(marginals, list) or not all(_is_names(names) for names in marginals) or not marginals:
        raise QueryError(f'the workload file {path} needs "marginals": a list of lists of column names')
    weights = stored.get("weights", [1] * len(marginals))
    if (
        not isinstance(weights, list)
        or len(weights) != len(marginals)
        or not all(_is_weight(weight) for weight in weights)
    ):
        raise QueryError(f'the workload file {path}: "weights" must be positive integers, one for each marginal')
    for names, weight in zip(marginals, weights, strict=True):
        yield families.marginal(domain, _positions(domain, names), weight)


def _is_names(names: object) -> bool:
    return isinstance(names, list | tuple) and len(names) > 0 and all(isinstance(name, str) for name in names)


def _is_weight(weight: object) -> bool:
    return isinstance(weight, int) and not isinstance(weight, bool) and weight >= 1


def _positions(domain: Domain, names: Sequence[str]) -> tuple[int, ...]:
    positions = domain.index(names)
    if len(set(positions)) != len(positions):
        raise QueryError(f"a marginal names a column twice: {', '.join(names)}")
    return tuple(sorted(positions))


def _from_list(
    items: Sequence[str | Sequence[str] | Query], schema: Schema | Domain, domain: Domain
) -> Iterator[Group]:
    queries = []
    for item in items:
        if isinstance(item, Query):
            queries.append(item)
        elif isinstance(item, str):
            if isinstance(schema, Domain):
                raise QueryError("a query text needs a schema, which knows the columns' values; a domain does not")
            queries.append(parse(item, schema))
        elif _is_names(item):
            yield families.marginal(domain, _positions(domain, item))
        else:
            raise QueryError("a workload's list holds query texts, or tuples of column names")
    yield from _grouped(queries, domain)


def _grouped(queries: Iterable[Query], domain: Domain) -> Iterator[Group]:
    by_columns: dict[tuple[int, ...], list[Query]] = {}
    for query in queries:
        if query.columns[-1] >= len(domain.sizes):
            raise QueryError("a query is over columns that the schema does not have")
        by_columns.setdefault(query.columns, []).append(query)
    for columns, members in by_columns.items():
        masks = tuple(np.stack([query.masks[i] for query in members]) for i in range(len(columns)))
        families.marginal(domain, columns)  # Refuses, by name, a marginal too large to count.
        yield Group(columns, tuple(domain.sizes[c] for c in columns), masks)


def _from_text(text: str, schema: Schema | Domain, domain: Domain) -> Iterator[Group]:
    if match := re.fullmatch(r"(\d+)-way", text):
        yield from families.all_marginals(domain, int(match[1]))
    elif match := re.fullmatch(r"random (\d+) (\d+)-way(?: seed (\d+))?", text):
        rng = np.random.default_rng(int(match[3] or 0))
        yield from families.random_marginals(rng, domain, int(match[2]), int(match[1]))
    elif (conjunctions := _conjunctions(text, domain)) is not None:
        yield from conjunctions.grouped().groups
    elif text in ("prefixes", "ranges"):
        yield from families.intervals(text, schema)
    else:
        raise QueryError(_unknown(text))


def _conjunctions(text: str, domain: Domain) -> Conjunctions | None:
    match = re.fullmatch(r"random (\d+)-way(?: conjunctions)? x (\d+)(?: seed (\d+))?", text)
    if match is None:
        return None
    return families.random_conjunctions(np.random.default_rng(int(match[3] or 0)), domain, int(match[1]), int(match[2]))


def _merged(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Whole marginals given more than once become one, with the weights added."""
    weights: dict[tuple[int, ...], int] = {}
    kept: dict[object, Group] = {}
    for group in groups:
        if group.masks is not None:
            kept[object()] = group
            continue
        weights[group.columns] = weights.get(group.columns, 0) + group.weight
        kept[group.columns] = Group(group.columns, group.shape, weight=weights[group.columns])
    return tuple(kept.values())
