"""`PrivateLearner`: private learning for arrays, in scikit-learn's manner, without needing scikit-learn."""

from __future__ import annotations

import inspect
import secrets
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.errors import EquipoiseError, SettingError
from equipoise.learning.arrays import InputError, ParameterError, labels_from, names_of, to_bits
from equipoise.learning.plan import Learning, guarantee, plan_learning
from equipoise.privacy.gate import Gate
from equipoise.privacy.ledger import Account, Ledger
from equipoise.privacy.private_points import PrivatePoints
from equipoise.privacy.prsma import MAX_CALLS
from equipoise.privacy.store import IN_MEMORY

__all__ = ["NotFittedError", "PrivateLearner"]


class NotFittedError(EquipoiseError, ValueError, AttributeError):
    """A learner was asked before it was fitted; where scikit-learn is in use, its own error of that name too."""

    exit_code = 2


def _not_fitted() -> type[NotFittedError]:
    if "sklearn" not in sys.modules:
        return NotFittedError
    from sklearn.exceptions import NotFittedError as Theirs

    return type("NotFittedError", (NotFittedError, Theirs), {})


class PrivateLearner:
    """A classifier that is a readable rule, learnt with differential privacy.

    The constructor keeps its arguments and does nothing else, `get_params` and `set_params` give and take them, and
    what `fit` finds ends in an underscore. Every call of `fit` is paid for, also those that cross-validation makes.

    Args:
        epsilon: Privacy budget of each `fit`; one record replaced by another, the number of records public.
        delta: For the mechanisms gaussian_rspm and prsma, which are not pure; None for 1/n².
        query_class: conjunctions, disjunctions, parities, halfspaces or decision_lists.
        max_literals: Most literals of a conjunction or disjunction; None for 2.
        mechanism: "exponential", which tries every rule; "rspm" or "gaussian_rspm" for classes too large for that,
            whose guarantee is conditional on a solver's certificate; "prsma" (`learning.plan` says which when).
        max_calls: Solver calls beyond which prsma is refused.
        binarize: A public threshold: a bit is 1 where X is above it. None: X must hold bits.
        classes: The two labels, the one predicted where the rule does not hold first. Declared, not read from y: which
            labels occur is private.
        ledger: Path or URL of the ledger to debit; None for none: then only `guarantee_` remembers what was spent.
        table: The name of the table in that ledger. If it is not there yet it is made, without a total.

    Attributes:
        rule_: The rule in words.
        parameters_: The rule as its class writes it.
        classes_: The two labels.
        n_features_in_: Bits of a record.
        feature_names_in_: Their names, when X had text names.
        guarantee_: What is guaranteed, and the events charged; what is conditional is marked so.
        certificate_: What the solver certified, in words; None where nothing rests on one.

    Example:
        >>> bits = np.random.default_rng(0).integers(0, 2, (2000, 4))
        >>> learner = PrivateLearner(epsilon=1.0).fit(bits, bits[:, 1] & bits[:, 3])
        >>> learner.rule_, learner.predict([[1, 1, 0, 1], [1, 1, 0, 0]]).tolist()
        ('x1 and x3', [1, 0])
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float | None = None,
        query_class: str = "conjunctions",
        max_literals: int | None = None,
        mechanism: str = "exponential",
        max_calls: int = MAX_CALLS,
        binarize: float | None = None,
        classes: tuple[Any, Any] = (0, 1),
        ledger: str | Path | None = None,
        table: str = "table",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.query_class = query_class
        self.max_literals = max_literals
        self.mechanism = mechanism
        self.max_calls = max_calls
        self.binarize = binarize
        self.classes = classes
        self.ledger = ledger
        self.table = table

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> PrivateLearner:
        """Change some of the constructor's arguments.

        Raises:
            SettingError: there is no such argument.
        """
        for name, value in params.items():
            if name not in self._names():
                raise ParameterError(f"there is no parameter {name!r}; the parameters are {', '.join(self._names())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"PrivateLearner({', '.join(f'{name}={value!r}' for name, value in self.get_params().items())})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn wants to know of an estimator; asked by its own tools only, so it is there then."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False, poor_score=True),
            input_tags=InputTags(),
            non_deterministic=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "rule_")

    def fit(self, X: Any, y: ArrayLike) -> PrivateLearner:
        """Learn the rule, and pay for it.

        Args:
            X: Bits, one row a record (or numbers, see `binarize`): an array, or a data frame whose column names the
                rule will use.
            y: A label each, one of `classes`.

        Raises:
            SettingError: an argument is out of range. Nothing was spent.
            DataError: X is not of bits, or y not of the two labels. Nothing was spent.
            CapacityError: PRSMA would call its solver too often. Nothing was spent.
            BudgetError: the ledger refuses. Nothing was spent.
            CertificateError: no certificate. What it cost stays spent; nothing was released.
        """
        bits = to_bits(X, self.binarize)
        labels = labels_from(y, self.classes, len(bits))
        plan = self._plan(bits.shape)
        names = names_of(X)
        book = self._account().start(
            run=secrets.token_hex(16),
            plan={"plan": {"method": f"learn ({self.mechanism})", "num_rounds": 1}, "epsilon": float(self.epsilon)},
            reserve=plan.reserve,
            unit_seed=0,
        )
        try:
            chosen = plan.learner.choose(Gate(book), PrivatePoints.labelled(bits, labels))
        finally:
            book.finish()
        shown = names or [f"x{number}" for number in range(bits.shape[1])]
        self.rule_ = plan.learner.query_class.describe(chosen.parameters, shown)
        self.parameters_, self.certificate_ = chosen.parameters, chosen.certificate
        self.guarantee_ = guarantee(plan, book.events())
        self.classes_, self.n_features_in_ = np.asarray(self.classes), bits.shape[1]
        self._class = plan.learner.query_class
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each record: the second of `classes_` where the rule holds.

        Raises:
            NotFittedError: there is no rule yet.
            DataError: X is not of as many bits as the rule was learnt from.
        """
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()("this PrivateLearner is not fitted yet; call fit first")
        bits = to_bits(X, self.binarize)
        if bits.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {bits.shape[1]} features, but PrivateLearner is expecting {self.n_features_in_} features as"
                " input: as many as the rule was learnt from"
            )
        names, known = names_of(X), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and names != known.tolist():
            raise InputError("X has other feature names, or another order of them, than the rule was learnt from")
        holds = self._class.answers(self.parameters_, self._class.points(bits))[0]
        return np.asarray(self.classes_[holds.astype(np.int64)])

    def score(self, X: Any, y: ArrayLike) -> float:
        """The share of right predictions. NOT PRIVATE for the records of X and y: for the steward only."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def _plan(self, shape: tuple[int, ...]) -> Learning:
        try:
            return plan_learning(
                self.query_class,
                shape[1],
                epsilon=self.epsilon,
                delta=self.delta,
                max_literals=self.max_literals,
                num_records=shape[0],
                mechanism=self.mechanism,
                max_calls=self.max_calls,
            )
        except SettingError as error:
            raise ParameterError(str(error)) from None

    def _account(self) -> Account:
        ledger = Ledger(IN_MEMORY if self.ledger is None else self.ledger)
        account = ledger.existing(self.table) or ledger.account(self.table, epsilon=None, delta=None)
        if account.declared[2] > 1:
            raise SettingError(
                "the ledger protects units of several rows, which a learner of arrays does not know; use `equipoise"
                " learn` with the table's schema"
            )
        return account
