"""scikit-learn's own tools with `PrivateLearner`: estimator checks, clones, pipelines, cross-validation."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import estimator_checks_generator

import equipoise as eq
from equipoise.learning.learner import PrivateLearner
from equipoise.privacy.ledger import Ledger

DECLARED = "the check's labels are not 0 and 1: which labels occur is private, so they are declared (classes), not read"
EXPECTED = {
    "check_estimators_dtypes": DECLARED,
    "check_classifier_data_not_an_array": DECLARED,
    "check_classifiers_classes": DECLARED,
    "check_fit2d_1feature": DECLARED,
}
"""Checks that do not apply, and why. All others pass, or are skipped by scikit-learn for what is not deterministic."""


with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Estimator PrivateLearner does not inherit")  # it does without scikit-learn
    # Epsilon 10: two fits to the same fifty records then nearly always agree; no check that passes rests on it.
    learner = PrivateLearner(epsilon=10.0, max_literals=1, binarize=0.0)
    CHECKS = {check.func.__name__: check for _, check in estimator_checks_generator(learner)}


@pytest.mark.parametrize("name", CHECKS)
def test_the_estimator_checks(name: str) -> None:
    if name in EXPECTED:
        with pytest.raises((AssertionError, ValueError)):
            CHECKS[name](learner)
    else:
        CHECKS[name](learner)


def test_every_expected_failure_is_a_check() -> None:
    assert EXPECTED.keys() < CHECKS.keys()
    assert len(CHECKS) > 40


def records(num_records: int = 4000) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Numbers; the label is that the first and the third are positive."""
    numbers = np.random.default_rng(0).normal(size=(num_records, 4))
    return numbers, ((numbers[:, 0] > 0) & (numbers[:, 2] > 0)).astype(int)


def test_a_clone_has_the_parameters_and_no_rule() -> None:
    numbers, labels = records()
    learner = PrivateLearner(epsilon=1.0, binarize=0.0).fit(numbers, labels)
    copied = clone(learner)
    assert copied.get_params() == learner.get_params()
    assert is_classifier(copied)
    with pytest.raises(NotFittedError) as caught:
        copied.predict(numbers)
    assert isinstance(caught.value, eq.EquipoiseError)


def test_a_pipeline_and_a_pickle_predict_like_the_learner() -> None:
    """At epsilon 1 the rule's margin of about 1,000 records makes another choice less likely than exp(-200)."""
    numbers, labels = records()
    bins = KBinsDiscretizer(n_bins=2, encode="ordinal", strategy="uniform")
    pipeline = make_pipeline(bins, PrivateLearner(epsilon=1.0))
    # Cut points that are fitted to private data are outside the guarantee: here they are fitted to public numbers.
    bins.fit(np.array([[-9.0] * 4, [9.0] * 4]))
    learner = pipeline[-1].fit(bins.transform(numbers), labels)
    assert learner.rule_ == "x0 and x2"
    assert pipeline.score(numbers, labels) == 1.0
    again = pickle.loads(pickle.dumps(learner))
    assert (again.predict(bins.transform(numbers)) == labels).all()


def test_cross_validation_pays_for_every_fold(tmp_path: Any) -> None:
    numbers, labels = records()
    ledger = tmp_path / "ledger.sqlite"
    learner = PrivateLearner(epsilon=1.0, binarize=0.0, ledger=ledger, table="people")
    assert cross_val_score(learner, numbers, labels, cv=4).tolist() == [1.0] * 4
    account = Ledger(ledger).existing("people")
    assert account is not None
    assert account.held().epsilon == 4
    search = GridSearchCV(learner, {"max_literals": [1, 2]}, cv=2).fit(numbers, labels)
    assert search.best_params_ == {"max_literals": 2}
    assert account.held().epsilon == 4 + 2 * 2 + 1
