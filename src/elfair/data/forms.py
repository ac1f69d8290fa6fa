"""Forms of a behaviour model that cross-validated likelihood chooses among."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from elfair.types import Floats

#: With more columns than this, interactions would be too many.
MOST_CROSSED = 15
#: A column with fewer different values has no curve.
CURVED = 8


@dataclass(frozen=True)
class Form:
    """A kind of classifier.

    Parameters
    ----------
    name : str
        For people.
    make : callable
        From inputs (standardised features, indicators of groups) and the number of classes to an
        unfitted classifier; None if the form does not suit them.

    Examples
    --------
    >>> FORMS[0].name
    'logistic regression'
    """

    name: str
    make: Callable[[Floats, int], Any]

    @classmethod
    def given(cls, classifier: Any) -> Form:
        """The one that somebody asked for."""
        return cls(" ".join(repr(classifier).split()), lambda inputs, count: classifier)


def _logistic(penalty: float, *steps: Any) -> Any:
    """Logistic regression on standardised columns, with so many pseudo-observations each."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # Newton's method is exact: what leaving rows out changes must not be rounding.
    model = LogisticRegression(C=1 / penalty, solver="newton-cholesky", max_iter=200)
    return make_pipeline(*steps, StandardScaler(), model)


def _linear(inputs: Floats, count: int) -> Any:
    return _logistic(1.0)


def _crossed(inputs: Floats, count: int) -> Any:
    from sklearn.preprocessing import PolynomialFeatures

    if not 0 < inputs.shape[1] <= MOST_CROSSED:
        return None
    return _logistic(3.0, PolynomialFeatures(2, include_bias=False))


def _smooth(inputs: Floats, count: int) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import SplineTransformer

    curved = [j for j in range(inputs.shape[1]) if np.unique(inputs[:, j]).size >= CURVED]
    if not curved:
        return None
    splines = SplineTransformer(5, degree=3, knots="quantile", extrapolation="linear")
    columns = ColumnTransformer([("smooth", splines, curved)], remainder="passthrough")
    return _logistic(3.0, columns)


def _boosted(inputs: Floats, count: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    if not inputs.shape[1]:
        return None
    return HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=100, max_leaf_nodes=8, l2_regularization=1.0,
        early_stopping=False,
    )  # fmt: skip


#: From the simplest on.
FORMS: tuple[Form, ...] = (
    Form("logistic regression", _linear),
    Form("logistic regression with squares and interactions", _crossed),
    Form("logistic regression on splines", _smooth),
    Form("gradient boosting", _boosted),
)
