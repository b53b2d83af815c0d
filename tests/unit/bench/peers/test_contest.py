"""The comparison with other packages, on a tiny table with small programs in the packages' place: real processes."""

import itertools
import json
import math
import re
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.bench.peers import environments
from equipoise.bench.peers.contest import Contest, read_results
from equipoise.bench.peers.environments import NotInstalled, python_of
from equipoise.bench.peers.job import Entrant, load
from equipoise.bench.peers.peer import OURS, Peer, peers
from equipoise.bench.peers.process import Limits, run
from equipoise.errors import DataError
from equipoise.privacy.conversion import rho_of

HEAD = f"""#!{sys.executable} -I
import sys
from pathlib import Path
folder = Path(sys.argv[1])
"""

WORKS = """
import numpy as np
np.save(folder / "rows.npy", np.load(folder / "codes.npy")[::-1])
"""

WIDE = Limits(cpu_seconds=300, wall_seconds=500, memory_bytes=4 * 2**30)


@pytest.fixture
def data(tmp_path):
    """A table of three columns, one hundred records, and all its pairs."""
    folder = tmp_path / "data"
    (folder / "workloads").mkdir(parents=True)
    sizes = {"a": 2, "b": 3, "c": 4, "unused": 9}
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, size, 100).astype(np.uint8) for name, size in sizes.items()}
    pq.write_table(pa.table(columns), folder / "toy.parquet")
    (folder / "toy.domain.json").write_text(json.dumps(sizes))
    pairs = [list(pair) for pair in itertools.combinations("abc", 2)]
    (folder / "workloads" / "pairs.json").write_text(json.dumps({"table": "toy", "marginals": pairs}))
    return folder


@pytest.fixture
def program(tmp_path):
    def make(name, text):
        path = tmp_path / name
        path.write_text(HEAD + text)
        path.chmod(0o755)
        return Peer(name=name, charge="none", program=path)

    return make


def contest(*entrants, limits=WIDE, cache=None, runs=1):
    return Contest(["pairs"], [1.0], entrants, limits, cache, runs)


def test_a_peer_that_works_is_judged_by_its_rows(data, program, tmp_path):
    [found] = contest(program("works", WORKS)).run(data=data, out=tmp_path / "out")
    assert {key: found[key] for key in ("table", "epsilon", "peer", "run")} == {
        "table": "pairs",
        "epsilon": 1.0,
        "peer": "works",
        "run": 0,
    }
    # The same records in another order answer everything as the table does.
    assert [found[error] for error in ("max", "mean", "rmse", "tv")] == [0, 0, 0, 0]
    assert found["wall"] > 0
    assert found["cpu"] > 0
    assert found["GiB"] > 0.001
    assert pq.read_table(tmp_path / "out" / "peers.parquet").num_rows == 1


def test_whatever_goes_wrong_is_a_row_and_the_others_are_run(data, program, tmp_path):
    bad = [
        program("crashes", "sys.stderr.write('first\\nit broke\\n'); sys.exit(3)"),
        program("is killed", "import os; os.kill(os.getpid(), 9)"),
        program("says nothing", "sys.exit(1)"),
        program("leaves nothing", ""),
        program("few rows", "import numpy as np; np.save(folder / 'rows.npy', np.zeros((99, 3)))"),
        program("out of the domain", "import numpy as np; np.save(folder / 'rows.npy', np.full((100, 3), 3))"),
        program("not numbers", "import numpy as np; np.save(folder / 'rows.npy', np.full((100, 3), np.nan))"),
        program("few answers", "import numpy as np; np.save(folder / 'answers.npy', np.zeros(3))"),
    ]
    heard = []
    found = contest(*bad, program("works", WORKS)).run(data=data, out=tmp_path / "out", told=heard.append)
    failed = {each["peer"]: each.get("failed") for each in found}
    assert failed.pop("works") is None
    assert failed == {
        "crashes": "ended with code 3: it broke",
        "is killed": "ended by signal 9: it said nothing",
        "says nothing": "ended with code 1: it said nothing",
        "leaves nothing": "it ended well and left neither rows nor answers",
        "few rows": "it left rows of shape (99, 3), not (100, 3)",
        "out of the domain": "its rows have values outside the domain",
        "not numbers": "its rows have values outside the domain",
        "few answers": "it left 3 answers, not 26 finite ones",
    }
    assert len(heard) == len(found) == 9
    assert "it broke" in heard[0]


def test_one_that_computes_for_ever_is_stopped_with_all_that_it_started(data, program, tmp_path):
    child = f"import subprocess; subprocess.Popen([{sys.executable!r}, '-c', 'while True: pass'])\nwhile True: pass"
    limits = Limits(cpu_seconds=1, wall_seconds=500, memory_bytes=4 * 2**30)
    [found] = contest(program("busy", child), limits=limits).run(data=data, out=tmp_path / "out")
    assert found["failed"] == "stopped after 1 processor seconds"
    assert found["cpu"] > 1


def test_a_process_has_a_limit_of_its_own_in_case_nobody_watches(tmp_path):
    told = tmp_path / "limit"
    text = f"import resource, pathlib; limit = resource.getrlimit(resource.RLIMIT_CPU)[0]; pathlib.Path({str(told)!r})"
    limits = Limits(cpu_seconds=100, wall_seconds=500, memory_bytes=4 * 2**30)
    command = [sys.executable, "-c", f"{text}.write_text(str(limit))"]
    assert run(command, environment={}, folder=tmp_path, limits=limits).failed is None
    assert 100 < int(told.read_text()) < 200


def test_one_that_waits_for_ever_is_stopped_by_the_clock(data, program, tmp_path):
    limits = Limits(cpu_seconds=500, wall_seconds=1, memory_bytes=4 * 2**30)
    waits = program("waits", "import time; time.sleep(10_000)")
    [found] = contest(waits, limits=limits).run(data=data, out=tmp_path / "out")
    assert found["failed"] == "stopped after 1 seconds by the clock"


def test_one_that_takes_too_much_memory_is_stopped(data, program, tmp_path):
    limits = Limits(cpu_seconds=500, wall_seconds=500, memory_bytes=2**28)
    greedy = program("greedy", "import time; kept = b'x' * 2**29; time.sleep(10_000)")
    [found] = contest(greedy, limits=limits).run(data=data, out=tmp_path / "out")
    assert found["failed"] == "stopped at 0.25 GiB"
    assert found["GiB"] > 0.25


def test_what_a_process_started_ends_with_it(tmp_path):
    told = tmp_path / "pid"
    text = (
        "import subprocess, sys, pathlib\n"
        f"child = subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(10_000)'])\n"
        f"pathlib.Path({str(told)!r}).write_text(str(child.pid))\n"
    )
    outcome = run([sys.executable, "-c", text], environment={}, folder=tmp_path, limits=WIDE)
    assert outcome.failed is None
    deadline = time.monotonic() + 60
    while _is_running(int(told.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _is_running(pid):
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


def test_what_is_there_is_not_run_again_unless_it_failed_and_is_asked_for(data, program, tmp_path):
    out, calls = tmp_path / "out", tmp_path / "calls"

    def counted(letter):
        return f"with open({str(calls)!r}, 'a') as calls:\n    calls.write({letter!r})\n"

    both = program("works", counted("x") + WORKS), program("crashes", counted("y") + "sys.exit(1)")
    for again, expected in ((False, "xy"), (False, "xy"), (True, "xyy")):
        assert len(contest(*both).run(data=data, out=out, again=again)) == 2
        assert calls.read_text() == expected
    (out / "cells" / "pairs-1-works-0.json").unlink()
    (out / "cells" / "pairs-1-works-0.partial").write_text("{")  # what an interruption may leave
    assert len(contest(*both, runs=2).run(data=data, out=out)) == 4
    assert calls.read_text() == "xyyxxy"


def test_an_environment_that_cannot_be_made_is_a_row(data, program, tmp_path, monkeypatch):
    broken = program("python", "sys.stderr.write('ERROR: no such package\\nbye\\n'); sys.exit(1)")
    monkeypatch.setattr(environments.sys, "executable", str(broken.program))
    absent = Peer(name="absent", environment="mbi", adapter="mbi_mixture", charge="none")
    cache = tmp_path / "cache"
    [found] = contest(absent, cache=cache).run(data=data, out=tmp_path / "out")
    assert found["failed"] == "its environment could not be made: ERROR: no such package"
    with pytest.raises(NotInstalled):  # a folder that was begun does not count
        python_of("mbi", cache)


def test_a_missing_table_is_refused(data, program, tmp_path):
    with pytest.raises(DataError, match="--data"):
        Contest(["other"], [1.0], [program("works", WORKS)], WIDE, tmp_path).run(data=data, out=tmp_path / "out")


def test_ours_and_the_baseline_go_through_the_same_door(data, tmp_path):
    chosen = [peer for peer in peers() if peer.environment is None]
    assert [peer.adapter for peer in chosen] == ["equipoise", "noise"]
    generous = Contest(["pairs"], [1000.0], chosen, WIDE, tmp_path / "cache")
    found = generous.run(data=data, out=tmp_path / "out")
    assert not [each["failed"] for each in found if "failed" in each]
    # With such a budget the baseline's noise has a standard deviation below 0.0007 of the records.
    baseline = next(each for each in found if each["peer"] != OURS)
    assert 0 < baseline["max"] < 0.01
    assert next(each for each in found if each["peer"] == OURS)["max"] < 0.1
    assert read_results(tmp_path / "out") == found


def test_half_of_rho_is_what_the_halved_epsilon_stands_for(data):
    problem = load("pairs", data)
    job = problem.job(Entrant(peers()[0], 1.0))
    assert job["columns"] == ["a", "b", "c"]
    assert problem.num_rows == 100
    assert problem.truth.sum() == pytest.approx(3)
    assert job["rho"] == pytest.approx(float(rho_of(epsilon=1.0, delta=1e-4)))
    assert job["halved_rho"] == job["rho"] / 2
    assert float(rho_of(epsilon=job["halved_epsilon"], delta=1e-4)) == pytest.approx(job["rho"] / 2, rel=1e-6)


def test_the_baseline_adds_the_noise_that_replacing_a_record_needs():
    from equipoise.bench.peers.adapters.noise import synthesise

    rows = np.array(list(itertools.product(range(2), repeat=2)) * 250)
    marginals = 2_000
    rho = marginals / (0.02 * len(rows)) ** 2
    job = {"columns": ["a", "b"], "sizes": {"a": 2, "b": 2}, "marginals": [["a", "b"]] * marginals, "rho": rho}
    kind, answers = synthesise(rows, job)
    assert kind == "answers"
    assert len(answers) == 4 * marginals
    # 8,000 draws: the sample's deviation is off by 0.8 % (one standard deviation), so by 6 % with probability 4e-14;
    # noise for a sensitivity of 1 instead of sqrt(2) would be 29 % too small.
    assert np.std(answers - 0.25) == pytest.approx(0.02, rel=0.06)
    assert math.isclose(answers.mean(), 0.25, abs_tol=0.002)  # nine standard deviations


def test_every_peer_has_an_adapter_and_pins_and_no_index_is_named():
    from importlib.resources import files

    folder = files("equipoise.bench.peers")
    for peer in peers():
        text = folder.joinpath("adapters", f"{peer.adapter}.py").read_text()
        assert "def synthesise(" in text
        if peer.environment is not None:
            pins = environments.requirements(peer.environment).splitlines()
            assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    assert len({peer.slug for peer in peers()}) == len(peers())
