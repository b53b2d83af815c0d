"""What the comparison says: ratios to ours, exceptions, and a page that needs nothing else."""

import re

import pytest

from equipoise.bench.peers.findings import Findings
from equipoise.bench.peers.page import build
from equipoise.bench.peers.peer import OURS, Peer

PEERS = [Peer(name=name, charge=f"charge of {name}") for name in (OURS, "first", "second", "broken")]


def result(peer, largest, mean, *, table="t", epsilon=1.0, run=0):
    errors = {"max": largest, "mean": mean, "rmse": 2 * mean, "tv": 3 * mean}
    return {"table": table, "epsilon": epsilon, "peer": peer, "run": run, "wall": 2.0, "cpu": 4.0, "GiB": 1.0} | errors


def failed(peer, why, *, table="t", epsilon=1.0):
    return {"table": table, "epsilon": epsilon, "peer": peer, "run": 0, "wall": 1.0, "cpu": 1.0, "failed": why}


def test_rows_are_means_over_good_runs_with_ratios_to_ours():
    found = Findings(
        PEERS,
        [
            result(OURS, 0.1, 0.01),
            result(OURS, 0.3, 0.03, run=1),
            result("first", 0.5, 0.01),
            failed("first", "it broke"),
            failed("broken", "no"),
        ],
    )
    ours, first, broken = found.rows("t", 1.0)
    assert (ours.num_runs, ours.failed) == (2, "")
    assert ours.measured["max"] == pytest.approx(0.2)
    assert set(ours.ratios.values()) == {1.0}
    assert (first.num_runs, first.failed) == (1, "it broke")
    assert first.ratios["max"] == pytest.approx(2.5)
    assert first.ratios["mean"] == pytest.approx(0.5)
    assert (broken.num_runs, broken.measured, broken.ratios, broken.failed) == (0, {}, {}, "no")


def test_only_the_places_that_ours_should_have_are_exceptions():
    best = [result(OURS, 0.1, 0.02), result("first", 0.2, 0.01), result("second", 0.3, 0.03), failed("broken", "no")]
    good = Findings(PEERS, best)
    assert good.shortfalls == []  # lowest in max, second-lowest in mean
    assert good.verdict == (
        "Ours has the lowest max error in 1 of 1 comparisons and the lowest or second-lowest mean error in 1 of 1"
        " comparisons."
    )
    worse = Findings(PEERS, [*best, result(OURS, 0.4, 0.03, table="u"), result("first", 0.2, 0.02, table="u")])
    [exception] = worse.shortfalls
    assert (exception.table, exception.error, exception.place) == ("u", "max", 2)
    assert exception.better == (("first", pytest.approx(2.0)),)
    assert "first (ours is 2.00 times as large)" in exception.words
    assert "lowest max error in 1 of 2 comparisons" in worse.verdict
    assert "second-lowest mean error in 2 of 2 comparisons" in worse.verdict
    worst = Findings(PEERS, [*best[1:], result(OURS, 0.1, 0.04)])
    [exception] = worst.shortfalls
    assert (exception.error, exception.place) == ("mean", 3)
    assert [name for name, _ in exception.better] == ["first", "second"]


def test_first_places_that_are_close_are_told():
    narrow = [result(OURS, 0.1, 0.02), result("first", 0.109, 0.03), result("second", 0.105, 0.03)]
    found = Findings(PEERS, narrow)
    assert found.shortfalls == []
    assert found.close == ["t, epsilon 1: the next in max error, second, has 1.05 times ours"]
    assert f"- {found.close[0]}" in found.markdown
    assert found.close[0] in build(found)
    assert Findings(PEERS, [narrow[0], result("first", 0.12, 0.03)]).close == []
    lost = Findings(PEERS, [*narrow, result("broken", 0.09, 0.03)])
    assert lost.close == [], "no first place to speak of"
    assert "do not settle" not in build(lost) + lost.markdown


def test_several_runs_have_standard_errors():
    runs = [result(OURS, value, value / 10, run=k) for k, value in enumerate((0.1, 0.2, 0.6))] + [result("first", 1, 1)]
    ours, first = Findings(PEERS, runs).rows("t", 1.0)
    assert ours.spreads["max"] == pytest.approx(0.0233333**0.5, rel=1e-3)
    assert first.spreads == {}
    row = next(line for line in Findings(PEERS, runs).markdown.splitlines() if line.startswith(f"| {OURS} |"))
    assert row.startswith(f"| {OURS} | 3 | 0.3 ± 0.2 | 0.03 ± 0.02 |")


def test_last_words_stand_below_the_table():
    runs = [result(OURS, 0.1, 0.02), result("first", 0.2, 0.01), failed("first", "once"), failed("broken", "no `x`")]
    told = Findings(PEERS, runs).markdown.splitlines()
    assert [line for line in told if line.startswith("| broken")] == ["| broken | failed |" + " |" * 9]
    assert told[-2:] == ["- first: a run failed: `once`", "- broken failed: `no 'x'`"]
    assert not any("failed" in line for line in Findings(PEERS, runs[:2]).markdown.splitlines())


def test_where_ours_failed_nothing_is_claimed():
    found = Findings(PEERS, [failed(OURS, "no"), result("first", 0.1, 0.1)])
    assert found.shortfalls == []
    assert "lowest max error in 0 of 0 comparisons" in found.verdict
    assert found.rows("t", 1.0)[1].ratios == {}


def test_page_and_text_show_everybody_and_fetch_nothing():
    results = [
        result(OURS, 0.1, 0.01),
        result(OURS, 0.2, 0.02, epsilon=0.1),
        result("first", 0.05, 0.02),
        failed("broken", "ended with code 3: <script>"),
    ]
    found = Findings(PEERS, results)
    page, text = build(found), found.markdown
    assert "ended with code 3: &lt;script&gt;" in page
    assert page.count("<polyline") == 4  # largest and mean errors of two
    assert "charge of first" in page
    assert "after first (ours is 2.00 times as large)" in re.sub(r"\s+", " ", page)
    assert not re.search(r"(src|href)=.https?:", page)
    assert "| first | 1 | 0.05 | 0.02 | 0.04 | 0.06 | 0.50 | 2.00 | 2 | 4 | 1.00 |" in text
    assert "- broken failed: `ended with code 3: <script>`" in text
    assert text.index("epsilon 1\n") < text.index("epsilon 0.1\n")


def test_no_error_at_all_has_no_ratio_and_no_place_on_a_logarithmic_axis():
    found = Findings(PEERS, [result(OURS, 0.0, 0.0), result("first", 0.1, 0.1)])
    assert set(found.rows("t", 1.0)[1].ratios) == {"cpu", "GiB"}
    assert found.shortfalls == []
    assert build(found).count("<polyline") == 2
