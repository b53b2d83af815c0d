"""Making tables and workloads of a public source's files, which are checked first.

Codes are made by looking at the rows (sorted values, equal bins between the extremes), which is fine for public tables
and for no others. Bins are ours: sizes are those of the papers where they say, edges need not be.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from equipoise.bench.sources import Made, Remote, Source
from equipoise.core import IntArray
from equipoise.errors import DataError

__all__ = ["prepare"]

MISSING = frozenset({"", "?", "NA", "N", "n/a", "nan"})
"""What the sources write for a value that is not there."""

Labels = list[str | float]
"""What a column's codes stand for; `bench.public.mapped` finds a column's codes in another table by them."""


def prepare(source: Source, files: Sequence[Path], folder: Path, *, changed: bool = False) -> list[str]:
    """Make the source's tables and workloads in a folder, from its downloaded files; returns the tables' names.

    Beside each table `NAME.source.json` says of which files it was made: addresses, checksums, licence.

    Args:
        source: What to make.
        files: Its files, in their order.
        folder: Where tables and workloads go.
        changed: Take a file that is not the known one, too: sources publish corrected files.

    Raises:
        DataError: A file is missing, is not the one that is known, or is not of the expected form.
    """
    if len(files) != len(source.files):
        wanted = ", ".join(remote.address for remote in source.files)
        raise DataError(f"{source.name} is made of {len(source.files)} files, in this order: {wanted}")
    checked = [_checked(path, remote, changed=changed) for path, remote in zip(files, source.files, strict=True)]
    rows = list(itertools.chain.from_iterable(_rows(path, source) for path in files))
    if not rows:
        raise DataError(f"{files[0]} has no rows; is it the right file?")
    names, columns = list(rows[0]), {name: [row[name] for row in rows] for name in rows[0]}
    codes: dict[str, IntArray] = {}
    labels: dict[str, Labels] = {}
    for name in names:
        codes[name], labels[name] = _coded(columns[name], source.bins.get(name), name in source.skewed)
    order = np.random.default_rng(0).permutation(len(rows))
    for made in source.made:
        _write(made, codes, labels, order, folder)
        of = {"source": source.name, "licence": source.licence, "files": checked}
        (folder / f"{made.name}.source.json").write_text(json.dumps(of, indent=1) + "\n")
    return [made.name for made in source.made]


def _checked(path: Path, remote: Remote, *, changed: bool) -> dict[str, object]:
    """What was loaded: address, checksum, and whether it is the known one; None where none is known."""
    if not path.is_file():
        raise DataError(f"{path} is not there; download {remote.address}")
    found = hashlib.sha256(_bytes(path)).hexdigest()
    known = None if remote.sha256 is None else found.startswith(remote.sha256)
    if known is False and not changed:
        raise DataError(
            f"{path} is not the file that {remote.address} had: its checksum differs. Download it again, or take it as"
            " it is with --changed"
        )
    return {"address": remote.address, "sha256": found, "is_known": known}


def _bytes(path: Path) -> bytes:
    """A file's bytes; of an archive those of the one file in it."""
    if path.suffix != ".zip":
        return path.read_bytes()
    try:
        with zipfile.ZipFile(path) as archive:
            (name,) = archive.namelist()
            return archive.read(name)
    except (zipfile.BadZipFile, ValueError):
        raise DataError(f"{path} is not an archive of one file; download it again") from None


def _rows(path: Path, source: Source) -> Iterable[dict[str, str]]:
    """The file's rows as texts; comments, empty lines and the full stops that end Adult's test labels are left out."""
    data = _bytes(path)
    text = io.StringIO((gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8"), newline="")
    for _ in range(source.skip):
        text.readline()
    reader = csv.reader(_table_lines(text, source), skipinitialspace=True)
    header = source.header or tuple(next(reader, ()))
    if lacking := source.keep - set(header):
        raise DataError(f"{path} has no column {min(lacking)}; is it the right file?")
    for cells in reader:
        if len(cells) != len(header):
            raise DataError(f"{path} has a line of {len(cells)} cells where {len(header)} are expected")
        row = dict(zip(header, (cell.strip().rstrip(".") for cell in cells), strict=True))
        yield {name: value for name, value in row.items() if _is_kept(name, source)}


def _table_lines(text: Iterable[str], source: Source) -> Iterator[str]:
    for line in text:
        if source.until is not None and line.lstrip('" ').startswith(source.until):
            return
        if line.strip() and not line.startswith("|"):
            yield line


def _is_kept(name: str, source: Source) -> bool:
    return bool(name) and name not in source.drop and (not source.keep or name in source.keep)


def _coded(values: Sequence[str], num_bins: int | None, skewed: bool) -> tuple[IntArray, Labels]:
    """Codes and what they stand for: values, or the ends of bins, one more than bins; missing has the last code."""
    present = [value not in MISSING for value in values]
    lacking: Labels = [] if all(present) else ["missing"]
    if num_bins is None:
        known = sorted({value for value, there in zip(values, present, strict=True) if there})
        position = {value: code for code, value in enumerate(known)}
        return np.array([position.get(value, len(known)) for value in values], dtype=np.int64), [*known, *lacking]
    try:
        numbers = np.array(
            [float(value.rstrip("%")) if there else np.nan for value, there in zip(values, present, strict=True)]
        )
    except ValueError:
        raise DataError("a column that should be numeric is not; is it the right file?") from None
    scaled = np.sign(numbers) * np.log1p(np.abs(numbers)) if skewed else numbers
    low, high = float(np.nanmin(scaled)), float(np.nanmax(scaled))
    edges = np.linspace(low, high, num_bins + 1)
    found = np.clip(np.searchsorted(edges, scaled, side="right") - 1, 0, num_bins - 1)
    found[np.isnan(scaled)] = num_bins
    ends = np.sign(edges) * np.expm1(np.abs(edges)) if skewed else edges
    return found.astype(np.int64), [*ends.tolist(), *lacking]


def _size(labels: Labels) -> int:
    """How many codes there are: bins are named by their ends."""
    return len(labels) - any(isinstance(label, float) for label in labels)


def _write(
    made: Made, codes: Mapping[str, IntArray], labels: Mapping[str, Labels], order: IntArray, folder: Path
) -> None:
    columns = made.columns or tuple(codes)
    first, last = (round(share * len(order)) for share in made.share)
    (folder / "workloads").mkdir(parents=True, exist_ok=True)
    kept = order[first:last]
    table = pa.table({name: codes[name][kept].astype(np.uint16) for name in columns})
    pq.write_table(table, folder / f"{made.name}.parquet")
    (folder / f"{made.name}.domain.json").write_text(json.dumps({name: _size(labels[name]) for name in columns}))
    (folder / f"{made.name}.labels.json").write_text(json.dumps({name: labels[name] for name in columns}))
    marginals = list(itertools.combinations(columns, made.order))
    if made.num_marginals is not None and made.num_marginals < len(marginals):
        chosen = np.sort(np.random.default_rng(0).choice(len(marginals), made.num_marginals, replace=False))
        marginals = [marginals[k] for k in chosen]
    workload = {"table": made.name, "columns": list(columns), "marginals": [list(each) for each in marginals]}
    (folder / "workloads" / f"{made.name}.json").write_text(json.dumps(workload))
