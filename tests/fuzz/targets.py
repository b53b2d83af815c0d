"""What is fuzzed: every reader of bytes that someone else may have written. Each may raise our own errors only.

A target takes bytes. `SEEDS` has valid inputs for each, from which fuzzers start.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse
from tests.fuzz import http_bodies

from equipoise import release
from equipoise.core import Move
from equipoise.data.baskets import open_baskets
from equipoise.data.items import Items
from equipoise.data.schema import Schema, load
from equipoise.data.table import read
from equipoise.errors import EquipoiseError, OutputError
from equipoise.privacy import run
from equipoise.privacy.ledger import Ledger
from equipoise.privacy.stored_events import from_json
from equipoise.privacy.stored_moves import move_from_bytes, move_to_bytes
from equipoise.queries import stored
from equipoise.queries.build import build
from equipoise.queries.text import parse
from equipoise.releases import load as load_release
from equipoise.verification.folder import verify

__all__ = ["RELEASE", "SEEDS", "TARGETS", "attempt"]

TOML = """[table]
name = "people"
[privacy]
epsilon = 2.0
delta = 1e-6
[columns.sex]
type = "categorical"
values = ["Female", "Male"]
[columns.age]
type = "integer"
min = 0
max = 99
bins = 5
[columns.`other`]
type = "real"
min = 0
max = 10
bins = 4
nullable = true
[rules]
impossible = ["age < 20 and sex = Male"]
""".replace("`", '"')

_FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


def _file(name: str, content: bytes) -> Path:
    path = _FOLDER / name
    path.write_bytes(content)
    return path


SCHEMA = load(_file("people.toml", TOML.encode()))
ITEMS = Items(40, first=1)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def schema_file(data: bytes) -> None:
    """A schema in TOML."""
    load(_file("schema.toml", data))


def schema_json(data: bytes) -> None:
    """A schema as release folders keep it."""
    Schema.from_json(_text(data))


def query_text(data: bytes) -> None:
    """One query, as people type it."""
    parse(_text(data), SCHEMA)


def workload_text(data: bytes) -> None:
    """A workload's description. Files are not followed."""
    text = _text(data)
    if len(text) < 200 and not any(sign in text for sign in "/\\."):
        build(text, SCHEMA)


def csv_table(data: bytes) -> None:
    """A private table as comma-separated text."""
    for _ in read(_file("table.csv", data), schema=SCHEMA).batches():
        pass


def libsvm_table(data: bytes) -> None:
    """A private table of items."""
    for _ in open_baskets(_file("table.libsvm", data), ITEMS).batches(("items",), 100):
        pass


def matrix_table(data: bytes) -> None:
    """The same as a saved sparse matrix."""
    for _ in open_baskets(_file("table.npz", data), ITEMS).batches(("items",), 100):
        pass


def _matrix() -> bytes:
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.eye_array(5, 40, format="csr"), compressed=False)
    return stream.getvalue()


def move_log(data: bytes) -> None:
    """A move as the ledger stores it."""
    move_from_bytes(data)


def ledger_event(data: bytes) -> None:
    """An event and a cost as the ledger stores them."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        run.cost_from_text(_text(data))
        return
    from_json(body)


def stored_workload(data: bytes) -> None:
    """A workload as release folders keep it."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return
    try:
        stored.from_json(body)
    except (ValueError, KeyError, TypeError) as error:  # `releases.load` tells these as a damaged folder
        raise OutputError("damaged") from error


def statement(data: bytes) -> None:
    """A statement, by the verifier and by the reader of releases."""
    _file("statement.json", data)
    verify(_FOLDER)
    load_release(_FOLDER)


def ledger_file(data: bytes) -> None:
    """A ledger with bytes of its pages overwritten: place (2 bytes), then what is written there."""
    page = bytearray(_LEDGER)
    place = int.from_bytes(data[:2], "big") * 7 % len(page)
    page[place : place + len(data[2:])] = data[2:]
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.sqlite.anchor"):
        (_FOLDER / name).unlink(missing_ok=True)
    account = Ledger(_file("ledger.sqlite", bytes(page))).existing("people")
    if account is not None:
        account.verify()
        account.held()
        for row in account.runs():
            found = account.run(row["run"])
            if found is not None:
                found.moves()


def anchor_file(data: bytes) -> None:
    """What the anchor beside a ledger says."""
    for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (_FOLDER / name).unlink(missing_ok=True)
    _file("ledger.sqlite.anchor", data)
    account = Ledger(_file("ledger.sqlite", _LEDGER)).existing("people")
    if account is not None:
        account.verify()
        account.held()


def parquet_table(data: bytes) -> None:
    """A private table in Parquet with bytes overwritten: place (2 bytes), then what is written there."""
    body = bytearray(_PARQUET)
    place = int.from_bytes(data[:2], "big") % len(body)
    body[place : place + len(data[2:])] = data[2:]
    for _ in read(_file("table.parquet", bytes(body)), schema=SCHEMA).batches():
        pass


def release_file(data: bytes) -> None:
    """A release folder with bytes of one file overwritten: which file (1 byte), place (2 bytes), what is written there.

    What can be read is used: damage that is told too late is no better.
    """
    name = RELEASE_FILES[data[0] % len(RELEASE_FILES)] if data else "model.npz"
    body = bytearray(RELEASE[name])
    place = int.from_bytes(data[1:3], "big") % (len(body) + 1)
    body[place : place + len(data[3:])] = data[3:]
    (_RELEASED / name).write_bytes(body)
    try:
        found = load_release(_RELEASED)
        found.sample(3, seed=0)
        found.answer("sex = Female and age in 20..39")
    finally:
        (_RELEASED / name).write_bytes(RELEASE[name])


def http_body(data: bytes) -> None:
    """A request's body, after a byte that chooses the operation."""
    http_bodies.post(data)


def _small_ledger() -> bytes:
    from fractions import Fraction

    from equipoise.privacy.accountant import Cost
    from equipoise.privacy.events import Exponential
    from equipoise.privacy.gate import Gate

    path = _FOLDER / "seed.sqlite"
    account = Ledger(path).account("people", epsilon=1.0, delta=1e-6)
    opened = account.start(run="a" * 8, plan={"seed": 1}, reserve=Cost(Fraction(1, 100), None), unit_seed=3)

    def draw(turn: object) -> Move:
        turn.debit(Exponential(Fraction(1, 50)))  # type: ignore[attr-defined]
        return _MOVE

    Gate(opened).play(draw)
    opened.finish()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.read_bytes()


def _small_release() -> dict[str, bytes]:
    rows = b"sex,age,other\n" + b"Female,3,4.5\nMale,44,\nFemale,70,9\n" * 30
    table = read(_file("released.csv", rows), schema=SCHEMA)
    options = {"num_rounds": 2, "moves": "cell"}
    made = release(table, epsilon=1.0, workload="2-way", method="mwem", options=options, ledger=_FOLDER / "l.sqlite")
    made.write(_RELEASED)
    return {name: (_RELEASED / name).read_bytes() for name in RELEASE_FILES}


def _parquet() -> bytes:
    columns = {"sex": ["Female", "Male"] * 20, "age": list(range(40)), "other": [4.5, None] * 20}
    pq.write_table(pa.table(columns), _FOLDER / "seed.parquet")
    return (_FOLDER / "seed.parquet").read_bytes()


RELEASE_FILES = ("statement.json", "schema.json", "workload.json", "asked.json", "model.npz", "moves.parquet")
_RELEASED = _FOLDER / "release"
_MOVE = Move(np.array([4, 7]), np.array([1, -1]), np.array([17, 3]), 2.5)
_LEDGER = _small_ledger()
_ANCHOR = (_FOLDER / "seed.sqlite.anchor").read_bytes()
RELEASE = _small_release()
_PARQUET = _parquet()


def _workload() -> bytes:
    return json.dumps(build("2-way", SCHEMA).to_json()).encode()


def _statement() -> bytes:
    event = {"kind": "exponential", "epsilon": "1/50", "num_selected": 1}
    claim = {"epsilon": 1.0, "delta": 1e-6, "rho": 0.1, "rho_exact": "1/10", "definition": "d", "adjacency": "a"}
    body = {
        "product": "equipoise",
        "format": 1,
        "created": "x",
        "table": "t",
        "num_rows": 3,
        "guarantee": claim | {"unit": "u", "rows_per_unit": 1, "curve": {"1e-06": 1.0}},
        "events": [{"event": event, "words": "w", "times": 2, "rho": 0.1, "epsilon": 0.04}],
        "outside_the_guarantee": [],
        "accepted_inferred": [],
        "schema_fingerprint": "f",
        "citations": [],
        "ledger_run": "r",
        "versions": {},
        "files": {"report.html": {"sha256": "0" * 64, "bytes": 1}},
    }
    return json.dumps(body).encode()


def _zip_free_move() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, ids=_MOVE.ids, signs=_MOVE.signs, stddev=np.asarray(2.5))
    return buffer.getvalue()


TARGETS: dict[str, Callable[[bytes], None]] = {
    function.__name__: function
    for function in (
        query_text,
        workload_text,
        schema_file,
        schema_json,
        csv_table,
        libsvm_table,
        matrix_table,
        move_log,
        ledger_event,
        stored_workload,
        statement,
        ledger_file,
        anchor_file,
        parquet_table,
        release_file,
        http_body,
    )
}

SEEDS: dict[str, tuple[bytes, ...]] = {
    "query_text": (
        b"sex = Female and age in 20..39",
        b"age >= 60",
        b"`other` is missing and sex != Male",
        b"sex in {Male}",
    ),
    "workload_text": (
        b"2-way",
        b"random 3-way x 10 seed 0",
        b"random 2 2-way seed 1",
        b"prefixes, ranges",
        b"1-way, 2-way",
    ),
    "schema_file": (TOML.encode(),),
    "schema_json": (SCHEMA.to_json().encode(),),
    "csv_table": (b"sex,age,other\nFemale,3,4.5\nMale,44,\n", b'sex,age,other\n"Male",1e1,nan\n'),
    "libsvm_table": (b"1 3:1 7:1\n0 1:1\n", b"3 4 40\n"),
    "matrix_table": (_matrix(),),
    "move_log": (move_to_bytes(_MOVE), _zip_free_move()),
    "ledger_event": (
        b'{"kind": "exponential", "epsilon": "1/50", "num_selected": 1}',
        b'{"kind": "group", "size": 2, "event": {"kind": "gaussian", "sensitivity_squared": "1", "variance": "4"}}',
        b'{"kind": "tuned", "budget": "1/9", "pure": false, "law": "geometric", "stop": "1/3"}',
        b"1/3 - 0",
        b"1/3 1/2 0 1 2 1/9 0",
    ),
    "stored_workload": (_workload(),),
    "statement": (_statement(),),
    "http_body": http_bodies.SEEDS,
    "release_file": (b"\x00\x00\x10\xff\xff", b"\x04\x00\x40abcd", b"\x05\x01\x00\x00\x00", b"\x02\x00\x05[]", b"\x01"),
    "anchor_file": (_ANCHOR, _ANCHOR.replace(b"people", b"others")),
    "parquet_table": (b"\x00\x04\xff\xff", b"\x00\x90abcdefgh", b"\x02\x00\x00", b"\x00\x00PAR1"),
    "ledger_file": (b"\x00\x10\xff\xff", b"\x09\x10abcdefgh", b"\x30\x00\x00"),
}


def attempt(name: str, data: bytes) -> bool:
    """Run a target; True if it took the input, False if it refused it with one of our errors."""
    try:
        TARGETS[name](data)
    except EquipoiseError:
        return False
    return True
