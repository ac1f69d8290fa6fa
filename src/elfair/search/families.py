"""Searching with a scorer: a classifier that tells the policy what it thinks of each person.

A scorer knows the rows it was fitted to better than it will ever know others, and a policy that is
searched on such scores believes them. So the search sees *out-of-fold* scores: each candidate row
is scored by a clone that was fitted to the other folds. The scorer that is tested and let out is
fitted to all candidate rows. Held-out rows it never sees.

Searching for a torch module.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.data.columns import one_column, positions
from elfair.errors import DataError, InputError, listed
from elfair.policies.scored import ScoredPolicy, log_odds
from elfair.policies.torch_module import TorchPolicy
from elfair.search.selection import Method, Selection
from elfair.search.steps import Steps, fit_by_steps
from elfair.search.targets import Target
from elfair.search.task import LinearFamily
from elfair.types import Floats, Index

#: Folds of the candidate half for out-of-fold scores.
FOLDS = 5


@dataclass(frozen=True)
class ScoredFamily(LinearFamily):
    """Policies that are linear in the features and in a scorer's log-odds.

    Parameters
    ----------
    scorer : scikit-learn classifier
        One that is fitted is used as it is; of another one, clones are fitted.
    seed : int
        Seed of the folds, and of clones that ask for one.
    """

    scorer: Any
    seed: int

    @cached_property
    def fitted(self) -> bool:
        """Whether the scorer came fitted."""
        return is_fitted(self.scorer)

    def assumptions(self) -> tuple[Assumption, ...]:
        """A scorer that came fitted must not have seen the held-out rows."""
        evidence = f"{_name(self.scorer)} came fitted, and was used as it is"
        return (scorer_assumption(evidence),) if self.fitted else ()

    def rows(self, data: LoggedData) -> LoggedData:
        """Candidate rows with the scores that the search is to see."""
        rows = copy.copy(data)
        if self.fitted:
            _check_agreement(self.scorer, data)
            rows.scores = log_odds(self.scorer, data.features, data.classes)
        else:
            rows.scores = self._out_of_fold(data)
        return rows

    def policy(self, data: LoggedData) -> ScoredPolicy:
        """A policy over the scorer; one that was not fitted is fitted to all these rows."""
        assert data.scores is not None
        scorer = self.scorer if self.fitted else self._fit(data)
        mixed = data.behavior_model is not None
        return ScoredPolicy.over(scorer, data.features, data.scores, data.classes, mixed=mixed)

    def _out_of_fold(self, data: LoggedData) -> Floats:
        if data.label_index is None:
            raise DataError(
                f"scorer={_name(self.scorer)} is not fitted, and y was not given to fit it to.",
                hint="pass y, or a scorer that is fitted already (to other rows).",
            )
        # In turn within each class, so that every fold has its share of a rare one.
        order = np.random.default_rng(self.seed).permutation(data.n)
        order = order[np.argsort(data.label_index[order], kind="stable")]
        fold = np.empty(data.n, dtype=np.intp)
        fold[order] = np.arange(data.n) % FOLDS
        scores = np.empty((data.n, data.classes.size - 1))
        for k in range(min(FOLDS, data.n)):
            others, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            scorer = self._fit(data.take(others))
            scores[own] = log_odds(scorer, data.features[own], data.classes)
        return scores

    def _fit(self, data: LoggedData) -> Any:
        """A fitted clone; rows of a single class (most classifiers refuse them) fit a constant."""
        from sklearn.base import clone
        from sklearn.dummy import DummyClassifier

        assert data.label is not None
        assert data.label_index is not None
        if np.ptp(data.label_index) == 0:
            return DummyClassifier().fit(data.features, data.label)
        try:
            return _seeded(clone(self.scorer), self.seed).fit(data.features, data.label)
        except Exception as error:
            raise InputError(
                f"scorer={_name(self.scorer)} could not be fitted to {data.n} candidate rows with "
                f"{data.features.shape[1]} features: {error}",
                hint="try scorer.fit(X, y) on its own, with X as an array of numbers.",
            ) from error


def is_fitted(scorer: Any) -> bool:
    """Whether a scorer has been fitted, as scikit-learn tells it.

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


def scorer_assumption(evidence: str) -> Assumption:
    """What a model that was made elsewhere leaves to its maker to answer for."""
    return Assumption.of("scorer_not_fitted", "assumed", evidence)


def _check_agreement(scorer: Any, data: LoggedData) -> None:
    """A scorer that came fitted must know the same classes and the same features."""
    known = one_column(scorer.classes_, "classes_ of the scorer")
    if (positions(known, data.classes) < 0).any() or known.size != data.classes.size:
        raise InputError(
            f"scorer={_name(scorer)} was fitted to other classes: {listed(known)}. Classes of the "
            f"data: {listed(data.classes)}.",
            hint="fit it to the same classes, or pass it unfitted.",
        )
    names = [str(name) for name in getattr(scorer, "feature_names_in_", data.feature_names)]
    if names != data.feature_names:
        raise InputError(
            f"scorer={_name(scorer)} was fitted to other columns: {listed(names)}. Columns of X: "
            f"{listed(data.feature_names)}.",
            hint="pass X as a data frame with the same columns in the same order.",
        )
    width = getattr(scorer, "n_features_in_", len(names))
    if width != len(data.feature_names):
        raise InputError(
            f"scorer={_name(scorer)} was fitted to {width} features. X has "
            f"{len(data.feature_names)}.",
            hint="fit it to the same features, or pass it unfitted.",
        )


def _seeded(scorer: Any, seed: int) -> Any:
    """Give a seed to whatever asks for one, so that a fit is a function of data and seed."""
    parameters: Mapping[str, Any] = scorer.get_params(deep=True)
    unset = [
        name
        for name, value in parameters.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return scorer.set_params(**dict.fromkeys(unset, seed % 2**32)) if unset else scorer


def _name(scorer: Any) -> str:
    return type(scorer).__name__


#: CMA-ES keeps a matrix of so many lines and columns, and needs about as many generations.
MOST_EVOLVED = 200


def is_module(scorer: object) -> bool:
    """Whether it is a torch.nn.Module; whoever has one has imported torch.

    Examples
    --------
    >>> is_module("a module")
    False
    """
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(scorer, torch.nn.Module)


@dataclass(frozen=True)
class ModuleFamily:
    """The policies that a torch module can be trained to.

    Parameters
    ----------
    module : torch.nn.Module
        From standardised features to one logit for each class; it is not changed.
    """

    module: Any

    def assumptions(self) -> tuple[Assumption, ...]:
        """Training begins at the weights that the module came with."""
        evidence = f"{type(self.module).__name__} was trained on from the weights it came with"
        return (scorer_assumption(evidence),)

    def rows(self, data: LoggedData) -> LoggedData:
        """As they are."""
        return data

    def policy(self, data: LoggedData) -> TorchPolicy:
        """A copy of the module, mixed with the behaviour model where that is known."""
        mixed = data.behavior_model is not None
        return TorchPolicy.over(self.module, data.features, data.classes.size, mixed=mixed)

    def fit(self, policy: TorchPolicy, inputs: Any, classes: Index) -> Floats:
        """Gradient steps."""
        return fit_by_steps(policy, (inputs, classes), (inputs, classes))


def search_for_module(method: Method, task: Any, target: Target, seed: int) -> Selection:
    """Gradient steps, or CMA-ES for a very small module.

    Parameters
    ----------
    method : {"gradient", "cmaes"}
        The search that was asked for; gradient steps are recorded as "steps".
    task : Classification
        One whose family is that of a module.
    target, seed
        See `Selection`.
    """
    if method == "gradient":
        return Steps("steps", task, target, seed)
    size = sum(value.numel() for value in task.family.module.parameters())
    if method == "cmaes" and size > MOST_EVOLVED:
        raise InputError(
            f"search='cmaes' is for at most {MOST_EVOLVED} parameters. Got a module with {size}.",
            hint="use search='gradient', which trains modules by gradient steps.",
        )
    return Selection(method, task, target, seed)
