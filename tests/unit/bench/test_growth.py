"""Cost growth: what is measured, what is fitted, and one measurement made for real."""

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from equipoise.bench import growth_cases
from equipoise.bench.exponents import fit
from equipoise.bench.growth import Findings, made_up, measure
from equipoise.bench.growth_cases import AXES, BASE, CASES, METHODS, SMALL, Case, across, line
from equipoise.bench.memory import give_back, peak_bytes, reset_peak, resident_bytes


def test_every_algorithm_is_measured_along_every_axis_that_it_has():
    for algorithm in METHODS:
        quick, more = (set(Case(algorithm.name, part).sizes) for part in (True, False))
        assert not quick & more
        for axis in AXES:
            sizes = line(algorithm.name, axis)
            if axis == "rounds" and not hasattr(algorithm(), "num_rounds"):
                assert sizes == []
                continue
            assert BASE in sizes
            assert len(quick & set(sizes)) >= 3
            assert set(sizes) <= quick | more
            places = [across(size, axis) for size in sizes]
            assert places == sorted(set(places))
            assert all(replace(size, **{axis: getattr(BASE, axis)}) == BASE for size in sizes)
    assert len({case.label for case in CASES}) == len(CASES) == 2 * len(METHODS)


def test_there_are_as_many_marginals_as_are_asked_for():
    for size in (*(size for case in CASES for size in case.sizes), SMALL):
        assert size.marginals <= math.comb(size.attributes, 3)


def test_an_exponent_is_found_and_says_how_far_off_it_is():
    exact = fit([(size, 5 * size**1.5) for size in (10, 30, 200)])
    assert exact.value == pytest.approx(1.5)
    assert exact.off == pytest.approx(1)
    assert (exact.low, exact.high, exact.num_points) == (10, 200, 3)
    bent = fit([(1, 1), (2, 1), (4, 4)])
    assert bent.value == pytest.approx(1)
    assert bent.off == pytest.approx(2 ** (2 / 3), rel=1e-6)
    assert fit([(1, 1), (1, 2)]) is None
    assert fit([(1, 1), (2, 0)]) is None


def test_findings_have_exponents_tables_and_plots():
    runs = []
    for case in (Case("mixture"), Case("mixture", quick=False), Case("pep")):
        run = {"label": case.label}
        for size in case.sizes:
            if size in (line("mixture", "rows") if case.method == "mixture" else line("pep", "rounds")):
                cpu = size.rows * 1e-5 if case.method == "mixture" else size.rounds**2
                run |= {f"wall, {size}": 2 * cpu, f"cpu, {size}": cpu, f"MiB, {size}": 7.0}
        runs.append(run)
    found = Findings([*runs, {"label": "mwem", "failed": "it broke"}])
    assert set(found.exponents("cpu")) == {"mixture", "pep"}
    assert found.exponents("cpu")["mixture"]["rows"].value == pytest.approx(1)
    assert found.exponents("cpu")["pep"]["rounds"].value == pytest.approx(2)
    assert found.exponents("MiB")["pep"]["rounds"].value == pytest.approx(0)
    assert "rows 10,000 to 1,000,000" in found.markdown
    assert "it broke" in found.markdown
    (mixture, _) = [row for row in found.markdown.splitlines() if row.startswith("| mixture |")]
    (pep, _) = [row for row in found.markdown.splitlines() if row.startswith("| pep |")]
    assert mixture.endswith("| - |"), "it has no rounds"
    assert "| - |" not in pep, "it has all axes, measured or not"
    assert "-: no rounds to set, because everything is measured in one move (mixture)." in found.markdown
    assert not found.met
    assert Findings(runs).met
    page = found.html
    assert "processor seconds against rows" in page
    assert page.count("<polyline") == 4  # two lines, each with seconds and memory
    assert "against attributes" not in page


def test_peak_memory_is_seen_and_begins_anew():
    if not reset_peak_works():
        pytest.skip("this system cannot reset a process's peak")
    text = (
        "from equipoise.bench.memory import *; import json\n"
        "block = bytearray(200 * 2**20); del block\n"
        "before = resident_bytes(); first = peak_bytes() - before; reset_peak(); second = peak_bytes() - before\n"
        "print(json.dumps([first, second]))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    first, second = json.loads(done.stdout)
    assert first > 150 * 2**20
    assert second < 50 * 2**20


def reset_peak_works():
    block = np.ones(2**24)
    del block
    give_back()
    reset_peak()
    return peak_bytes() - resident_bytes() < 2**26


def test_a_measurement_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(growth_cases, "BASE", SMALL)
    monkeypatch.setattr(growth_cases, "AXES", {"rows": ((400,), ())})
    found = measure(Case("mwem"), 0, tmp_path, tmp_path)
    larger = replace(SMALL, rows=400)
    assert str(larger) == "rows=400 attributes=4 values=2 marginals=4 rounds=2"
    costs = [f"{cost}, {size}" for size in (SMALL, larger) for cost in ("wall", "cpu", "MiB")]
    assert set(found) == {"label", *costs}
    assert all(found[f"cpu, {size}"] > 0 for size in (SMALL, larger))
    assert all(found[cost] >= 0 for cost in costs)
    assert not list(tmp_path.iterdir())


def test_made_up_rows_hang_together():
    table = made_up(replace(BASE, rows=3_000), 0)
    first, second = (table[name].to_numpy() for name in ("c0", "c1"))
    # A value is the one before it with probability 1/2 + 1/2 * 1/3 = 2/3; 3,000 draws are off by 0.1 with p < 1e-30.
    assert abs(np.mean(first == second) - 2 / 3) < 0.1
    assert set(first) == {0, 1, 2}
