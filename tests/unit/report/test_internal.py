"""The internal report: its errors are right, and nobody can mistake it for the public one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.report.pages import words
from tests.unit.report.releases import made_up, people

from equipoise.errors import SettingError
from equipoise.report import Subject, build, build_internal
from equipoise.report.internal import errors_of

LABEL = "INTERNAL: computed from the private data, not for release"


@pytest.fixture(scope="module")
def subject() -> Subject:
    return made_up(people(), "1-way,2-way")


def test_is_labelled_and_the_public_one_is_not(subject: Subject) -> None:
    page = build_internal(subject, subject.workload.on(subject.distribution))
    assert LABEL in words(page)
    assert page.count(LABEL) == 2  # the banner, and the head of every printed page
    assert "INTERNAL" not in build(subject)


def test_errors_are_the_usual_ones() -> None:
    subject = made_up(people(), [("sex",), ("member",)])
    difference = np.array([0.1, -0.1, 0.0, 0.02, -0.04])
    errors = errors_of(subject, difference)
    assert errors.largest == 0.1
    assert errors.mean == pytest.approx(0.26 / 5)
    assert errors.rmse == pytest.approx(np.sqrt(0.022 / 5))
    assert errors.variation == pytest.approx((0.2 / 2 + 0.06 / 2) / 2)


def test_shows_the_largest_error_its_marginal_and_the_coverage(subject: Subject) -> None:
    answers = subject.workload.on(subject.distribution)
    truth = answers.copy()
    worst = int(subject.workload.starts[3]) + 1  # a query of education, whose bar is far below the error
    truth[worst] += 0.3141
    text = words(build_internal(subject, truth))
    assert "31.410 %" in text
    number = subject.workload.num_queries
    assert f"{number - 1:,} of {number:,}" in text
    first = text.index("worst marginals")
    assert text.index("education", first) < text.index("region", first)


def test_a_perfect_release_has_no_error(subject: Subject) -> None:
    number = subject.workload.num_queries
    text = words(build_internal(subject, subject.workload.on(subject.distribution)))
    assert f"{number:,} of {number:,} (100.00 %)" in text


def test_true_shares_of_a_column_come_from_any_marginal_that_holds_it() -> None:
    subject = made_up(people(), [("sex", "education")])
    shares = np.zeros(12)
    shares[0], shares[6] = 0.75, 0.25
    page = build_internal(subject, shares)
    assert "2 values with a true share" in page
    assert "6 columns are not drawn" in words(page)


def test_masked_workloads_have_no_whole_marginal() -> None:
    subject = made_up(people(), "prefixes")
    text = words(build_internal(subject, np.zeros(subject.workload.num_queries)))
    assert "No whole marginal is in the workload" in text


def test_without_error_bars() -> None:
    subject = made_up(people(), "1-way", error_bars=False)
    assert "The release has no error bars." in words(build_internal(subject, np.zeros(subject.workload.num_queries)))


def test_refuses_answers_of_another_workload(subject: Subject) -> None:
    with pytest.raises(SettingError, match="one true answer for each query"):
        build_internal(subject, np.zeros(3))
