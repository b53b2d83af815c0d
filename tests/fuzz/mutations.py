"""Random changes of valid inputs, without instrumentation: many cases in little time.

`python -m tests.fuzz.mutations SEED RUNS [TARGET ...]`; a target takes at most `MOST_SECONDS` of the processor's time.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback

from tests.fuzz.targets import SEEDS, TARGETS, attempt

MOST_SECONDS = 60
PIECES = (b"null", b"[]", b"{}", b"-1", b"1e999", b'""', b"true", b"\xff", b"\x00", b"9" * 20, b"1/0", b"\n")
SIGNS = b'0123456789{}[]",:=/-.eE \nnulltrue'


def mutated(rng: random.Random, seed: bytes) -> bytes:
    """A valid input with one to eight changes."""
    data = bytearray(seed)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        place = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0 if data:
                data[place % len(data)] = rng.randrange(256)
            case 1:
                data[place:place] = bytes(rng.choice(SIGNS) for _ in range(rng.randrange(1, 6)))
            case 2:
                del data[place : place + rng.randrange(1, 12)]
            case 3:
                begin = rng.randrange(len(data) + 1)
                data[place:place] = data[begin : begin + rng.randrange(1, 40)]
            case 4:
                data = data[:place]
            case _:
                data[place:place] = rng.choice(PIECES)
    return bytes(data[:4096])


def fuzz(name: str, seed: int, runs: int) -> dict[str, object]:
    """Try a target so often, or as long as it may take; tells of each crash once."""
    rng, begun, crashes, done, taken = random.Random(f"{seed} {name}"), time.process_time(), {}, 0, 0
    while done < runs and time.process_time() - begun < MOST_SECONDS:
        data = mutated(rng, rng.choice(SEEDS[name]))
        done += 1
        try:
            taken += attempt(name, data)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            crashes.setdefault(f"{type(error).__name__} {where.name}:{where.lineno}", repr(data))
    return {"target": name, "runs": done, "taken": taken, "crashes": crashes}


def main() -> None:
    """Fuzz the targets named, or all."""
    seed, runs, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(TARGETS)
    found = []
    for name in names:
        found.append(fuzz(name, seed, runs))
        sys.stdout.write(json.dumps(found[-1]) + "\n")
        sys.stdout.flush()
    sys.exit(any(row["crashes"] for row in found))


if __name__ == "__main__":
    main()
