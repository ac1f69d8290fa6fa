"""People as a table has them, for a model that was made from a study.

What the study says of a table is part of the model, but the room that reads tables by it is above
this one. It says here how: see `read_with`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals.stable.v1 as nw

#: From a model and the table of some people to the features that it was fitted with.
Reader = Callable[[Any, Any], Any]

_readers: list[Reader] = []


def read_with(reader: Reader) -> None:
    """Read the tables of people with this function from now on.

    Parameters
    ----------
    reader : callable
        From a model whose ``encoding_`` a study wrote, and a table, to the features of the model.
    """
    _readers[:] = [reader]


def as_fitted(model: Any, X: Any) -> Any:
    """People as the model knows them; a table is read as the study of the model read its own.

    An array has no names to read by: it holds the features themselves.

    Parameters
    ----------
    model : ELFClassifier or ELFRegressor
        Fitted.
    X : array or data frame
        The people.

    Examples
    --------
    >>> from elfair import ELFClassifier
    >>> clf = ELFClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> as_fitted(clf, [[2.5]])
    [[2.5]]
    """
    # Whoever fits to an encoding of their own, which no study wrote, passes its features.
    from_study = "features" in getattr(model, "encoding_", {})
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not (from_study and _readers and isinstance(frame, nw.DataFrame)):
        return X
    return _readers[0](model, X)
