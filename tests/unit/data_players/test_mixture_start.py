"""The start of the fit: values that come together get components of their own."""

import numpy as np
import pytest

from equipoise.data_players import mixture_start
from equipoise.data_players.mixture_block import Measured
from equipoise.data_players.mixture_start import Together, starting_tables, values_together

STDDEV = 0.01


def measured(tables, stddev=STDDEV):
    return {columns: Measured(table, np.full(table.shape, stddev**-2)) for columns, table in tables.items()}


def coupled(a=0.1, b=0.12, both=0.09):
    """A pair of columns whose first values come together."""
    rest = 1 - a - b + both
    return np.array([[both, (a - both) / 2, (a - both) / 2], [b - both, rest / 2, rest / 2]])


def one_ways_of(table):
    return [table.sum(axis=1), table.sum(axis=0)]


def test_values_that_come_together_are_found_and_their_share_is_the_formulas():
    table = coupled()
    found, *_ = values_together(measured({(0, 1): table}, 0.003), one_ways_of(table))  # the furthest above
    a, b, both = 0.1, 0.12, 0.09
    assert (found.columns, found.values) == ((0, 1), (0, 0))
    assert found.share == pytest.approx((both - a * b) / (1 + both - a - b), rel=0.02)
    # d and independent columns beside it give back what was measured.
    assert found.share + (a - found.share) * (b - found.share) / (1 - found.share) == pytest.approx(both, rel=0.02)


def test_more_noise_is_believed_less():
    """What is seen just where one value implies the other may be less than that, and by more where noise is coarser."""
    table = coupled(both=0.1)
    shares = [
        next(iter(values_together(measured({(0, 1): table}, stddev), one_ways_of(table)))).share
        for stddev in (0.002, 0.01, 0.02)
    ]
    assert 0.1 >= shares[0] > 1.01 * shares[1] > 1.01**2 * shares[2]


def test_a_value_that_is_implied_altogether_is_not_believed_only_nearly(monkeypatch):
    """Were every part of the way as likely, one seen all of the way would be taken for nine tenths of it."""
    table = coupled(both=0.1)  # all of the first value's rows
    noisy = measured({(0, 1): table}, 0.02)
    so = next(iter(values_together(noisy, one_ways_of(table)))).share
    monkeypatch.setattr(mixture_start, "IMPLIED", 0.0)
    otherwise = next(iter(values_together(noisy, one_ways_of(table)))).share
    assert otherwise < 0.9 * 0.1 < 0.94 * 0.1 < so <= 0.1


def test_what_all_pairs_tell_says_how_much_a_cell_must_show():
    """A cell that would be doubted among others that show nothing is believed beside others of its kind."""
    few, stddev = coupled(a=0.08, b=0.09, both=0.04), 0.012
    independent = np.multiply.outer(*one_ways_of(few))
    one_ways = one_ways_of(few) * 10

    def found(other):
        tables = {(0, 1): few} | {(2 * k, 2 * k + 1): other for k in range(1, 10)}
        return {cell.columns for cell in values_together(measured(tables, stddev), one_ways)}

    assert (0, 1) not in found(independent)
    assert (0, 1) in found(coupled(a=0.08, b=0.09, both=0.08))


def test_pairs_measured_again_are_asked_by_themselves():
    """A selection found it: what it shows is not weighed against pairs that nobody had reason to measure again."""
    few = coupled(a=0.08, b=0.09, both=0.045)
    others = {(2 * k, 2 * k + 1): np.multiply.outer(*one_ways_of(few)) for k in range(1, 10)}
    one_ways = one_ways_of(few) * 10
    as_others = values_together(measured({(0, 1): few}, 0.012) | measured(others, 0.012), one_ways)
    again = values_together(measured({(0, 1): few}, 0.012) | measured(others, 0.02), one_ways)
    assert as_others == []
    assert [cell.columns for cell in again] == [(0, 1)]


def test_a_cell_is_measured_against_what_those_before_it_leave():
    """Nearly all who have the second value are in one cell; another, small, then stands out, and would not at first."""
    table = np.array(
        [[0.40, 0.0, 0.0], [0.05, 0.0, 0.0], [0.0, 0.35, 0.20]]
    )  # husbands, wives, others; the married first
    found = values_together(measured({(0, 1): table}), one_ways_of(table))
    assert {(0, 0), (1, 0)} <= {cell.values for cell in found}
    a, b = one_ways_of(table)
    assert table[1, 0] - a[1] * b[0] < 2.8 * STDDEV  # not much, against independence
    assert sum(cell.share for cell in found) < 1


@pytest.mark.parametrize(
    ("both", "stddev"),
    [(0.012, 0.002), (0.03, 0.002), (0.09, 0.05), (0.09, 0.001)],
    ids=["independent", "weak", "drowned in noise", "left to the sweeps"],
)
def test_nothing_is_found_where_there_is_none_or_none_is_likely(both, stddev):
    table = coupled(both=both)
    assert values_together(measured({(0, 1): table}, stddev), one_ways_of(table)) == []


def test_a_pair_is_pooled_from_all_marginals_that_have_it():
    """Two triples of a third column with two values: each tells of the pair with twice its cells' variance."""
    table = coupled()
    triple = np.multiply.outer(table, [0.5, 0.5])
    one_ways = [*one_ways_of(table), np.array([0.5, 0.5]), np.array([0.5, 0.5])]
    stddev = 0.026  # of the pair 0.037 by one triple, 0.026 by two: what is seen, 0.078, is two or three times that
    alone = measured({(0, 1, 2): triple}, stddev)
    assert values_together(alone, one_ways) == []
    found = values_together(alone | measured({(0, 1, 3): triple}, stddev), one_ways)
    assert [cell.values for cell in found] == [(0, 0)]


def test_marginals_measured_in_part_are_left_out():
    table = coupled()
    precisions = np.full(table.shape, 2e5)
    precisions[1, 1] = 0.0
    assert values_together({(0, 1): Measured(table, precisions)}, one_ways_of(table)) == []


def test_components_have_what_comes_together_and_the_one_way_marginals_stay():
    one_ways = [np.array([0.2, 0.8]), np.array([0.3, 0.0, 0.7]), np.array([0.25, 0.75])]
    together = [Together((0, 1), (0, 0), 0.2), Together((1, 2), (0, 0), 0.15)]
    tables = starting_tables(np.random.default_rng(0), one_ways, 200, together)
    for one_way, table in zip(one_ways, tables, strict=True):
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        np.testing.assert_allclose(table.mean(axis=0), one_way, atol=0.011)
    first = (tables[0][:, 0] == 1) & (tables[1][:, 0] == 1)
    assert first.sum() == 40
    # The second cell's components are among the first's, which have one of its values already.
    assert ((tables[2][:, 0] == 1) & first).sum() == 30


def test_no_value_gets_more_components_than_its_share():
    one_ways = [np.array([0.1, 0.9]), np.array([0.1, 0.9])]
    tables = starting_tables(np.random.default_rng(0), one_ways, 100, [Together((0, 1), (0, 0), 0.5)])
    assert (tables[0][:, 0] == 1).sum() == 10
    np.testing.assert_allclose(tables[0].mean(axis=0), one_ways[0], atol=0.011)
