"""How many free answers a second the query service gives over kept-alive connections, and whether its memory grows.

    python -m equipoise.bench.service --out bench-out

A made-up table is opened for questions with a hypothesis (mode pmw), and one process asks the same few queries over
some connections of 127.0.0.1. The same is done with keys, where every answer is written to disk before it is told.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from equipoise.service.client import Client

__all__ = ["main"]

GOAL = 500
"""Free answers a second to reach."""

SCHEMA = """
[table]
name = "load"

[columns.sex]
type = "categorical"
values = ["Female", "Male"]

[columns.age]
type = "integer"
min = 0
max = 99
bins = 10

[columns.region]
type = "categorical"
values = ["North", "South", "East", "West"]
"""

QUERIES = tuple(f"age in {low}..{low + 29} and sex = {sex}" for low in (0, 10, 20, 30) for sex in ("Female", "Male"))


def main() -> None:
    """Measure, print and write `service.json`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--keyed", type=int, default=500)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.queries, options.keyed, options.connections)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "service.json").write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))  # noqa: T201


def measure(folder: Path, queries: int, keyed: int, connections: int) -> dict[str, Any]:
    """Start a server, ask it, stop it."""
    make_table(folder / "tables")
    command = ["serve", "--root", folder / "tables", "--state", folder / "state", "--port", 0, "--rate", 1e6, "--json"]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "equipoise.cli", *map(str, command)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | threads,
    ) as server:
        try:
            return _measure(server, queries, keyed, connections)
        finally:
            server.terminate()


def make_table(folder: Path) -> None:
    """A made-up table of 20,000 rows."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    (folder / "load.toml").write_text(SCHEMA)
    columns = (
        rng.choice(["Female", "Male"], 20_000),
        rng.integers(0, 100, 20_000),
        rng.choice(["North", "South"], 20_000),
    )
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    (folder / "load.csv").write_text("sex,age,region\n" + "\n".join(lines) + "\n")


def _measure(server: subprocess.Popen[str], queries: int, keyed: int, connections: int) -> dict[str, Any]:
    told = _told(server)
    address = told["address"]
    with Client(address, token=told["steward_token"]) as steward:
        steward.register(
            "load.csv", schema="load.toml", epsilon=9.0, delta=1e-8, analyst_epsilon=1.0, analyst_delta=1e-8
        )
        opened = steward.open_for_questions(
            "load", mode="pmw", epsilon=4.0, analyst_epsilon=1.0, num_analysts=2, queries_each=10**6
        )
        assert opened["online"]["mode"] == "pmw", opened["online"]["reason"]
        token = steward.invite("load", "load")
    port, process = int(address.rsplit(":", 1)[1]), psutil.Process(server.pid)
    asyncio.run(ask(port, token, 2_000, connections, keys=False))  # what is compiled or cached on first use
    memory: list[int] = []
    free = _timed(process, port, token, queries, connections, keys=False, memory=memory)
    return {
        "goal": GOAL,
        "free": free,
        "reached": free["rate"] >= GOAL,
        "memory_bytes": memory,
        "memory_growth_of_second_half": memory[-1] / memory[len(memory) // 2] - 1,
        "keyed": _timed(process, port, token, keyed, connections, keys=True),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
    }


def _told(server: subprocess.Popen[str]) -> dict[str, Any]:
    lines: list[str] = []
    for line in server.stdout or ():
        lines.append(line)
        if line.startswith("}"):
            return dict(json.loads("".join(lines)))
    sys.exit("the service did not start")


def _timed(
    process: psutil.Process,
    port: int,
    token: str,
    queries: int,
    connections: int,
    *,
    keys: bool,
    memory: list[int] | None = None,
) -> dict[str, Any]:
    def look(number: int) -> None:
        if memory is not None and number % max(1, queries // 10) == 0:
            memory.append(process.memory_info().rss)

    cpu, wall = sum(process.cpu_times()[:2]), time.perf_counter()
    seconds, sources = asyncio.run(ask(port, token, queries, connections, keys=keys, look=look))
    wall, cpu = time.perf_counter() - wall, sum(process.cpu_times()[:2]) - cpu
    milliseconds = 1e3 * np.array(seconds)
    return {
        "answers": len(seconds),
        "sources": sources,
        "connections": connections,
        "rate": round(len(seconds) / wall, 1),
        "server_cpu_seconds": round(cpu, 2),
        "rate_of_server_cpu": round(len(seconds) / cpu, 1),
        "milliseconds": {f"p{p:g}": round(float(np.percentile(milliseconds, p)), 2) for p in (50, 90, 99, 99.9)},
    }


async def ask(
    port: int,
    token: str,
    queries: int,
    connections: int,
    *,
    keys: bool,
    look: Callable[[int], None] = lambda number: None,
) -> tuple[list[float], dict[str, int]]:
    """Ask over some connections at once; the seconds each answer took, and where answers came from."""
    seconds: list[float] = []
    sources: dict[str, int] = {}
    numbers = iter(range(queries))

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            look(number)
            body = json.dumps({"query": QUERIES[number % len(QUERIES)]}).encode()
            key = f"Idempotency-Key: {number}\r\n" if keys else ""
            head = f"POST /v1/questions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n{key}"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            started = time.perf_counter()
            writer.write(head.encode() + body)
            reply = await _reply(reader)
            seconds.append(time.perf_counter() - started)
            source = reply["answers"][0]["source"]
            sources[source] = sources.get(source, 0) + 1
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(connection() for _ in range(connections)))
    return seconds, sources


async def _reply(reader: asyncio.StreamReader) -> Any:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.split("content-length: ")[1].split("\r\n")[0])
    body = json.loads(await reader.readexactly(length))
    if " 200 " not in head.split("\r\n")[0]:
        raise RuntimeError(f"the service answered {head.splitlines()[0]}: {body}")
    return body


if __name__ == "__main__":
    main()
