"""What ELFClassifier and ELFRegressor have in common."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from elfair.certificate import Certificate, Provenance
from elfair.data import LoggedData
from elfair.data.batches import Divided, LoggedBatches
from elfair.data.columns import (
    as_floats,
    check_length,
    check_order,
    distinct,
    duplicate,
    one_column,
)
from elfair.data.costs import read_cost
from elfair.data.features import Features, read_features
from elfair.data.ledger import Ledger, entered_in
from elfair.errors import DataError, FeatureTypeError, InputError, NoSolutionFoundError
from elfair.estimators.continuing import go_on
from elfair.estimators.fit import Request, fit_in_batches, fit_model
from elfair.estimators.outside import fitted_outside
from elfair.estimators.parameters import Owner, check_parameters
from elfair.estimators.people import as_fitted
from elfair.fairness_test.issue import warn_reader
from elfair.language.naming import Names
from elfair.persistence import save as save_file
from elfair.policies.coefficients import Coefficients, coefficients
from elfair.policies.models import Decisions, Fitted, seeded
from elfair.report import Report
from elfair.search import Task
from elfair.statistics.claims import Claim, read_constraints
from elfair.statistics.facts import SplitBatches
from elfair.types import Array, Floats

#: Parameters that a table takes as well, and how it reads them.
OF_TABLE: dict[str, Callable[[Any, LoggedData], Any]] = {
    "classes": lambda classes, data: distinct(one_column(classes, "classes")),
    "positive": lambda positive, data: positive,
    "cost": lambda cost, data: read_cost(cost, data.classes),
}


# scikit-learn is not typed, so mypy sees its classes as Any.
class ELFEstimator(BaseEstimator):  # type: ignore[misc]
    """The way from rows to a certified policy, whatever it decides about."""

    #: Whose parameters it has, in the table of parameters.
    _owner: ClassVar[Owner]
    #: The table of logged decisions that it learns from.
    _table: ClassVar[type[LoggedData]] = LoggedData

    def _set(self, arguments: dict[str, Any]) -> None:
        """Keep the arguments of ``__init__``, its ``locals()``, each under its own name."""
        self.__dict__.update({name: arguments[name] for name in arguments if name != "self"})

    @staticmethod
    @abstractmethod
    def _task(parameters: Mapping[str, Any], seed: int) -> Task:
        """What the search is for."""

    def _check_parameters(self) -> None:
        check_parameters(self._owner, self.get_params(deep=False))

    def request(self, data: LoggedData) -> Request:
        """What ``fit`` does with these rows; raise if it would refuse them.

        Parameters
        ----------
        data : LoggedData
            All rows, as ``fit`` reads them. (For a regressor, a ContinuousData.)
        """
        self._check_parameters()
        return self._request(data)

    def _request(self, data: LoggedData) -> Request:
        parameters, seed = self.get_params(deep=False), self._seed()
        task = self._task(parameters, seed)
        task.check(data)
        claims = read_constraints(self.constraints, self.delta, data, looks=self.looks)
        thresholds = self._thresholds(claims, task, data)
        request = Request(claims, parameters, seed, self._task, thresholds)
        request.check_crossfit()
        return request

    def _thresholds(
        self, claims: tuple[Claim, ...], task: Any, data: LoggedData
    ) -> tuple[float, ...]:
        """The thresholds for numeric decisions; raise if the bound does not fit the claims."""
        return ()

    def _keep(self, fitted: Fitted) -> None:
        """Keep what was learnt, by a fit or from a file."""
        self.fitted_, self.tuned_ = fitted, fitted.tuned
        if fitted.setting.encoding is not None:
            self.encoding_ = fitted.setting.encoding
        self.solution_found_ = fitted.certificate.passed
        self.certificate_ = fitted.certificate

    def digest_content(self) -> Any:
        """What its predictions depend on: all that it learnt, but not its parameters, which matter
        only through what it learnt, nor the certificate.
        """
        left_out = {*self.get_params(deep=False), "certificate_"}
        return {name: value for name, value in vars(self).items() if name not in left_out}

    def _fit(self, arguments: dict[str, Any]) -> Self:
        """Fit to what ``fit`` was given, as its ``locals()`` hold it."""
        self._forget()  # also what came with a model that was loaded
        try:
            self._check_parameters()
            given = {name: arguments[name] for name in arguments if name not in ("self", "ledger")}
            if isinstance(given["X"], LoggedBatches):
                split = self._read(**given)
                data = self._table_of(X=split.candidate, y=None)
            else:
                split, data = None, self._table_of(**given)
            request = replace(self._request(data), outside=fitted_outside(self))
            with entered_in(arguments["ledger"]):
                fitted = fit_in_batches(split, request) if split else fit_model(data, request)
            self._keep(fitted)
            warn_reader(self.certificate_, level=3)
        except BaseException:
            self._forget()  # a fit that failed midway leaves nothing that looks like a result
            raise
        return self

    def go_on(
        self,
        data: LoggedData,
        *,
        ledger: Ledger | str | os.PathLike[str],
        accept_violated: Sequence[str] = (),
    ) -> Self:
        """After "no solution found" with ``bound="growth"``: test the same models on fresh rows.

        Nothing is searched for. The models and their order stay as they are, and what earlier rows
        won for each statement is multiplied by what the fresh ones win.

        Parameters
        ----------
        data : LoggedData
            The table as it is now, with ``row_id`` or ``unit``: the earlier rows, and fresh ones.
        ledger : Ledger, str or path-like
            Where the earlier test was entered: it knows whom that was about.
        accept_violated : sequence of str, default ()
            Assumptions that may be violated, beside those that were accepted before.

        Returns
        -------
        self
            With the certificate of this stage, which names that of the one before.
        """
        check_is_fitted(self)
        self.check_table(data)
        parameters, accepted = self.get_params(deep=False), tuple(accept_violated)
        check_parameters(self._owner, {**parameters, "accept_violated": accepted})
        entered = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        with entered_in(entered):
            fitted = go_on(self.fitted_, data, parameters, entered, accepted)
        self._keep(fitted)
        warn_reader(self.certificate_, level=2)
        return self

    def _read(self, X: LoggedBatches, y: Any, **logged: Any) -> SplitBatches:
        """Rows that are read in batches, divided."""
        _require_alone(X, {"y": y, **logged})
        if self._table is not LoggedData:
            raise InputError(
                f"{type(self).__name__} needs all rows in memory.",
                hint=f"pass a {self._table.__name__}.",
            )
        return SplitBatches.read(Divided(X, self.candidate_fraction, self._seed()))

    def _table_of(self, X: Any, y: Any, **logged: Any) -> LoggedData:
        """The table of logged decisions: as it was given, or made of columns."""
        if not isinstance(X, LoggedData):
            check_order(X=X, y=y)
            self._check_columns(X, reset=True)
            labels = None if y is None else self._labels(y)
            known = {name: getattr(self, name) for name in OF_TABLE if hasattr(self, name)}
            return self._table(X, labels, **known, **logged)
        _require_alone(X, {"y": y, **logged})
        self.check_table(X)
        self.n_features_in_ = len(X.feature_names)
        if X.has_names:
            self.feature_names_in_ = np.array(X.feature_names, dtype=object)
        return X

    def check_table(self, data: Any) -> None:
        """Raise unless this is a table that ``fit`` would make of its columns.

        Parameters
        ----------
        data : LoggedData
            The table; for a regressor, a ContinuousData.
        """
        if type(data) is not self._table:
            raise InputError(
                f"data must be a {self._table.__name__}, for an {type(self).__name__}. Got "
                f"{type(data).__name__} instead.",
                hint=f"{self._table.__name__}(X, y, decision=..., propensity=..., impact=...) "
                "makes one.",
            )
        for name, read in OF_TABLE.items():
            wanted = getattr(self, name, None)
            if wanted is not None and not np.array_equal(read(wanted, data), getattr(data, name)):
                raise InputError(
                    f"the estimator has {name}={wanted}, the data {getattr(data, name)}.",
                    hint=f"pass {name}= to {self._table.__name__} as well.",
                )
        if data.label is not None:
            self._labels(data.label)

    def _labels(self, y: Any) -> Array:
        """Labels as scikit-learn expects them: one column, of the right kind."""
        if isinstance(y, np.ma.MaskedArray):  # of which scikit-learn would see what is masked
            y = np.where(np.ma.getmaskarray(y), np.array(None), y.data) if y.mask.any() else y.data
        try:
            labels = np.asarray(column_or_1d(y, warn=True))
            # Of what is missing or mixed the table knows more to say.
            if is_classifier(self) and labels.dtype.kind in "biuf" and np.isfinite(labels).all():
                check_classification_targets(labels)
        except (TypeError, ValueError) as error:
            hint = "y is one column: of classes for a classifier, of numbers for a regressor."
            raise DataError(str(error), hint=hint) from None
        return labels

    def explain(self, *, details: bool = False) -> str:
        """The result for people: the verdict, what failed, and what to do about it.

        Parameters
        ----------
        details : bool, default False
            Add every statement, all assumptions and warnings, and the promise in full.
        """
        check_is_fitted(self)
        certificate: Certificate = self.certificate_
        return certificate.explain(details=details)

    def state(
        self,
        *,
        chosen_by: Mapping[str, str] | str | None = None,
        why: Mapping[str, str] | str | None = None,
        provenance: Provenance | None = None,
        names: Names | Mapping[str, Any] | None = None,
    ) -> Self:
        """Put into the certificate what only people can say.

        Parameters
        ----------
        chosen_by, why, provenance, names
            See `elfair.certificate.Certificate.stating`.
        """
        check_is_fitted(self)
        certificate = self.certificate_.stating(
            chosen_by=chosen_by, why=why, provenance=provenance, names=names
        )
        self.fitted_ = replace(self.fitted_, certificate=certificate)
        self.certificate_ = certificate
        return self

    @property
    def coef_(self) -> Floats:
        """The coefficients of a linear model, on the scale of the features: those called
        ``coef_names_``.

        Of a classifier, a row for each decision but the first: by how much the logarithm of its
        odds against the first one rises with a feature. If the behaviour model is known, it is
        mixed in, and these are the coefficients of the rest. Of a regressor without a reach, by
        how much the mean decision rises. Other models have none.
        """
        return self._linear.weights

    @property
    def intercept_(self) -> Floats:
        """What goes with ``coef_``: the value where all features are 0."""
        return self._linear.intercepts

    @property
    def coef_names_(self) -> list[str]:
        """The features of ``coef_``; a category has one for each level."""
        return self._linear.names

    @property
    def _linear(self) -> Coefficients:
        if not (hasattr(self, "fitted_") and self.certificate_.passed):
            raise AttributeError("only a model that was released has coefficients.")
        found = coefficients(self.fitted_.models, list(self.fitted_.setting.features))
        if found is None:
            raise AttributeError(
                "this model has no coefficients: it is not linear, or several models decide."
            )
        return found

    def _html_repr(self) -> str:
        """What a notebook shows: scikit-learn's diagram and, after a fit, the result."""
        diagram: str = super()._html_repr()
        if not hasattr(self, "certificate_"):
            return diagram
        return diagram + Report(self.certificate_)._repr_html_()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file that `elfair.load` reads, without pickle.

        This works after "no solution found" too: checking that result needs the tested models.

        Parameters
        ----------
        path : str or path-like
            The file, whose name ends with ``.elfair``; one that is there already is replaced.
        """
        save_file(self, path)

    def report(self) -> Report:
        """The result as a report: ``report().write_html("report.html")``."""
        check_is_fitted(self)
        return Report(self.certificate_)

    @abstractmethod
    def decide(self, X: Any, *, random_state: Any = None) -> Decisions:
        """Decisions as `predict` draws them, with their propensities or densities, to be logged."""

    def predict(self, X: Any, *, random_state: Any = None) -> Array:
        """Decisions drawn from the certified policy, with fresh entropy each time.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Features.
        random_state : int, RandomState or None, default None
            Give an integer only to reproduce a draw.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.decide(X, random_state=random_state).decision

    def _features(self, X: Any) -> Features:
        """The features of people to decide about, like those that it was fitted to."""
        self.require_solution()
        if isinstance(X, Features):
            return X
        X = as_fitted(self, X)
        features = read_features(X)
        self._check_columns(X, reset=False)
        return features

    def _check_columns(self, X: Any, *, reset: bool) -> None:
        """Remember the number and names of the features, or compare others with them."""
        if isinstance(X, Mapping) and not issparse(X):  # scikit-learn would look for row 0 in it
            raise FeatureTypeError(
                f"X must be an array or a data frame. Got {type(X).__name__} instead.",
                hint="make a data frame of it, to keep the names of its columns.",
            )
        try:
            validate_data(self, X=X, skip_check_array=True, reset=reset)
        except DuplicateError:
            raise duplicate("X") from None

    def require_solution(self) -> None:
        """Raise if there is no certified model to decide with."""
        check_is_fitted(self)
        if not self.solution_found_:
            against = "; ".join(each.name for each in self.certificate_.objections)
            why = (
                f"an assumption is violated ({against})" if against else "no model passed the test"
            )
            raise NoSolutionFoundError(
                f"no solution found: {why}, so there is nothing to predict with.",
                hint="explain() says what was wrong and what to do about it.",
            )

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(seeded(self.random_state).randint(2**31))

    def _forget(self) -> None:
        for name in [
            name for name in vars(self) if name.endswith("_") or name == "_behavior_model"
        ]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificate_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # predict samples
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _require_alone(table: Any, beside: Mapping[str, Any]) -> None:
    """Raise if columns come beside a whole table."""
    if more := [name for name, value in beside.items() if value is not None]:
        raise InputError(
            f"a {type(table).__name__} holds all columns. Got {', '.join(more)} beside it.",
            hint="pass the table alone, or all columns.",
        )


def weighted_average(values: Floats, sample_weight: Any) -> float:
    """The average over rows that may count differently.

    Examples
    --------
    >>> weighted_average(np.array([0.0, 1.0]), [1, 3])
    0.75
    """
    if sample_weight is None:
        return float(values.mean())
    weight = as_floats(one_column(sample_weight, "sample_weight"), "sample_weight")
    check_length(weight, len(values), "sample_weight")
    if not ((weight >= 0).all() and 0 < weight.sum() < np.inf):
        raise DataError(
            "sample_weight must be finite, at least 0, and not 0 everywhere. Got a sum of "
            f"{weight.sum():g} and a smallest weight of {weight.min():g}.",
            hint="leave it out to count each row once.",
        )
    return float(np.average(values, weights=weight))
