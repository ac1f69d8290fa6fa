"""What must be given to look ahead of a fit without touching what it will test."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from elfair.classifier import ELFClassifier
from elfair.continuous import ContinuousData
from elfair.data import LoggedData
from elfair.errors import InputError
from elfair.regressor import ELFRegressor


def require_foreseeable(estimator: Any, data: Any) -> None:
    """Refuse what ``fit`` would do something else with, or what could not be repeated.

    Parameters
    ----------
    estimator : ELFClassifier or ELFRegressor
        What ``fit`` would be called on.
    data : LoggedData
        The rows; for a regressor, a ContinuousData.
    """
    if not isinstance(estimator, ELFClassifier | ELFRegressor):
        raise InputError(
            f"estimator must be an ELFClassifier or an ELFRegressor. Got "
            f"{type(estimator).__name__} instead.",
            hint="of a Pipeline, pass the last step, with data as it arrives there.",
        )
    wanted = ContinuousData if isinstance(estimator, ELFRegressor) else LoggedData
    numbers = isinstance(data, ContinuousData)
    if not isinstance(data, LoggedData) or numbers != (wanted is ContinuousData):
        raise InputError(
            f"data must be a {wanted.__name__}, for an {type(estimator).__name__}. Got "
            f"{type(data).__name__} instead.",
            hint=f"{wanted.__name__}(X, y, decision=..., propensity=..., impact=...) makes one.",
        )
    if isinstance(estimator.random_state, bool) or not isinstance(estimator.random_state, Integral):
        raise InputError(
            "random_state must be a whole number: the candidate half, which alone may be looked "
            f"at, depends on it. Got {estimator.random_state!r} instead.",
            hint="decide on a seed before the first look at the data.",
        )
    positive = getattr(estimator, "positive", None)
    if positive is not None and positive != data.positive:
        raise InputError(
            f"the estimator has positive={positive!r}, the data {data.positive!r}.",
            hint="pass positive= to LoggedData as well.",
        )
