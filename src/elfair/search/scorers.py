"""What users pass as scorers: whether they are fitted, what they see, and whether they fit the
data.
"""

from __future__ import annotations

from typing import Any

from elfair.data import LoggedData
from elfair.data.as_they_are import AsTheyAre
from elfair.data.columns import one_column, positions
from elfair.data.features import kind_of
from elfair.data.preparation import DefaultPreparation
from elfair.errors import InputError, listed


def is_fitted(scorer: Any) -> bool:
    """Whether a scorer is fitted, according to scikit-learn.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> is_fitted(DummyClassifier()), is_fitted(DummyClassifier().fit([[0], [1]], [0, 1]))
    (False, True)
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(scorer, "fit"):
        return True
    try:
        check_is_fitted(scorer)
    except NotFittedError:
        return False
    return hasattr(scorer, "classes_")


def handles_missing(scorer: Any) -> bool:
    """Whether a scorer takes numbers that are missing, as it says itself.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> handles_missing(DecisionTreeClassifier()), handles_missing(LogisticRegression())
    (True, False)
    """
    from sklearn.utils import get_tags

    return hasattr(scorer, "__sklearn_tags__") and bool(get_tags(scorer).input_tags.allow_nan)


def handles_categories(scorer: Any) -> bool:
    """Whether a scorer takes levels as categories of a pandas frame: by its tags, or because it has
    a parameter that says which columns are categories.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> handles_categories(HistGradientBoostingClassifier())
    True
    >>> handles_categories(HistGradientBoostingClassifier(categorical_features=None))
    False
    >>> handles_categories(DecisionTreeClassifier())
    False
    """
    from sklearn.utils import get_tags

    said = getattr(scorer, "categorical_features", None) is not None
    return said or bool(get_tags(scorer).input_tags.categorical)


def seen_by(scorer: Any, data: LoggedData) -> AsTheyAre | None:
    """The columns that a scorer sees as they are; None if it sees prepared numbers.

    Parameters
    ----------
    scorer : classifier
        Fitted elsewhere, or to be fitted to candidate rows.
    data : LoggedData
        The candidate rows.
    """
    if not isinstance(data.preparation, DefaultPreparation):
        return None  # they are plain numbers, or the user prepares them
    columns = {name: data.feature(name) for name in data.feature_names}
    plain = all(kind_of(column) != "levels" for column in columns.values())
    if not is_fitted(scorer):
        if not handles_missing(scorer):
            return None
        return AsTheyAre.learn(columns, categories=not plain and handles_categories(scorer))
    names = getattr(scorer, "feature_names_in_", None)
    if names is not None:
        own = list(names) == data.feature_names
        own &= handles_missing(scorer) or data.feature_names != data.prepared_names
    else:
        own = getattr(scorer, "n_features_in_", None) == len(columns)
        own &= plain and handles_missing(scorer)
    return AsTheyAre.unlearnt(columns, categories=names is not None) if own else None


def check_agreement(scorer: Any, data: LoggedData, seen_as: AsTheyAre | None = None) -> None:
    """Raise unless a fitted scorer knows the same classes and the same features."""
    known = one_column(scorer.classes_, "classes_ of the scorer")
    if (positions(known, data.classes) < 0).any() or known.size != data.classes.size:
        raise InputError(
            f"scorer={name_of(scorer)} was fitted to other classes: {listed(known)}. Classes of "
            f"the data: {listed(data.classes)}.",
            hint="fit it to the same classes, or pass it unfitted.",
        )
    seen = data.prepared_names if seen_as is None else seen_as.names
    names = [str(name) for name in getattr(scorer, "feature_names_in_", seen)]
    if names != seen:
        raise InputError(
            f"scorer={name_of(scorer)} was fitted to other columns: {listed(names)}. Columns of X: "
            f"{listed(seen)}.",
            hint="pass X as a data frame with the same columns in the same order.",
        )
    width = getattr(scorer, "n_features_in_", len(names))
    if width != len(seen):
        raise InputError(
            f"scorer={name_of(scorer)} was fitted to {width} features. X has {len(seen)}.",
            hint="fit it to the same features, or pass it unfitted.",
        )


def name_of(scorer: Any) -> str:
    """What messages call a scorer.

    Examples
    --------
    >>> name_of(1.5)
    'float'
    """
    return type(scorer).__name__
