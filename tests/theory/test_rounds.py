"""The default numbers of rounds: formulas of public quantities, checked where their value is known."""

import itertools
from fractions import Fraction

import pytest

from equipoise.algorithms import rounds
from equipoise.algorithms.algorithm import Setting
from equipoise.data.domain import Domain
from equipoise.queries.workload import Group, Workload

SIZES = (2, 2, 5, 7, 15, 16, 10)


def triples(num_columns: int = 7) -> Workload:
    domain = Domain(tuple("abcdefg"[:num_columns]), SIZES[:num_columns])
    sets = itertools.combinations(range(num_columns), 3)
    return Workload(domain, tuple(Group(s, tuple(SIZES[c] for c in s)) for s in sets))


def setting(*, num_rows=43_944, rho=None, epsilon=None, num_columns=7, rows_per_unit=1) -> Setting:
    return Setting(
        workload=triples(num_columns),
        num_rows=num_rows,
        rho=None if rho is None else Fraction(str(rho)),
        epsilon=None if epsilon is None else Fraction(epsilon),
        rows_per_unit=rows_per_unit,
        memory_limit=2**30,
    )


def test_cells_on_adult_reduced():
    # n = 43944 and rho(epsilon, 1/n^2) = 0.0144352, 0.00016973; |Q| = 14955: 2 (n sqrt(rho) / 9.6128)^(2/3).
    assert rounds.mwem_rounds(setting(rho=0.0144352)) == 135
    assert rounds.pep_rounds(setting(rho=0.0144352)) == 135
    assert rounds.mwem_rounds(setting(rho=0.00016973)) == 31


def test_whole_marginals_are_all_measured_when_the_budget_allows():
    assert rounds.pep_rounds(setting(rho=0.0144352), whole_marginals=True) == 35
    assert rounds.pep_rounds(setting(rho=0.00016973), whole_marginals=True) == 35
    # n sqrt(rho) = 300: one round for 15 of it.
    assert rounds.pep_rounds(setting(num_rows=3000, rho=0.01), whole_marginals=True) == 20
    assert rounds.pep_rounds(setting(num_rows=100, rho=0.01), whole_marginals=True) == 14
    assert rounds.pep_rounds(setting(num_rows=100, rho=0.01, num_columns=3), whole_marginals=True) == 1


@pytest.mark.parametrize("choose", [rounds.mwem_rounds, rounds.pep_rounds])
@pytest.mark.parametrize("whole_marginals", [False, True])
def test_more_budget_never_means_fewer_rounds(choose, whole_marginals):
    chosen = [choose(setting(rho=rho), whole_marginals=whole_marginals) for rho in (1e-9, 1e-6, 1e-4, 1e-2, 1.0, 100.0)]
    assert chosen == sorted(chosen)
    assert chosen[0] >= 1
    assert chosen[-1] <= triples().num_queries


def test_units_of_several_rows_count_as_a_smaller_budget():
    assert rounds.mwem_rounds(setting(rho=0.09, rows_per_unit=3)) == rounds.mwem_rounds(setting(rho=0.01))


def test_pure_budgets():
    # 2 sqrt(43944 / 2 / 9.6128) = 95.6
    assert rounds.mwem_rounds(setting(epsilon=1)) == 96
    assert rounds.mwem_rounds(setting(epsilon=Fraction(1, 10))) == 31
    # (4394.4 / sqrt(8) / 15)^(2/3) = 22.05
    assert rounds.mwem_rounds(setting(epsilon=Fraction(1, 10)), whole_marginals=True) == 23
