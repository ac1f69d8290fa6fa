"""ELFClassifier: logged decisions in, a certified classifier or "no solution found" out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from elfair.bounds import get_bound
from elfair.certificate import CandidateRecord, Certificate
from elfair.certification import declared_estimation, issue_certificate
from elfair.columns import Array
from elfair.constraints import Claim, Plan, read_constraints
from elfair.data import LoggedData, behavior_probabilities, read_features
from elfair.errors import DataError, InputError, NoSolutionFoundError
from elfair.fairness_test import Outcome, learn_from, run_on_sealed
from elfair.language import Statement
from elfair.partition import partition
from elfair.requirements import Target
from elfair.search import Selection
from elfair.search.progress import SearchProgress
from elfair.search.tuning import tune
from elfair.statistics import Baselines

Floats = NDArray[np.float64]


class Decisions(NamedTuple):
    """Decisions and the probabilities with which they were taken, to be logged.

    Parameters
    ----------
    decision : ndarray of shape (n,)
        What was decided.
    propensity : ndarray of shape (n,)
        With what probability.
    """

    decision: Array
    propensity: Floats


class ELFClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A stochastic linear classifier whose delayed impact is bounded with stated confidence.

    ``fit`` splits the rows into a candidate half, in which it searches for the best model that is
    likely to pass, and a sealed half, on which that one model is tested. A model that fails is not
    let out: ``solution_found_`` is then False and ``explain()`` says why.

    Parameters
    ----------
    constraints : str, Statement or sequence of them
        What must hold, as text or as trees built in Python. Without any, the classifier fits
        plainly on all rows, and nothing is tested.
    delta : float or sequence of float, default 0.1
        The probability with which a constraint may be violated although a model is returned.
    objective : {"accuracy", "log_loss"}, default "accuracy"
        What the search makes good.
    estimator : {"paired", "is", "dr"}, default "paired"
        How the impact of a new model is estimated: the paired difference to the behaviour model,
        plain importance sampling (the paper), or doubly robust.
    bound : {"ttest", "hoeffding", "bernstein", "anderson", "betting"}, default "ttest"
        How it is bounded. All but "ttest" (asymptotic) are finite-sample and need a declared range.
    search : {"gradient", "cmaes"}, default "gradient"
        How candidates are looked for.
    power : float or None, default 0.95
        The wanted probability that each statement passes the test.
    inflation : float or None, default None
        The paper's margin instead of ``power`` (which must then be None).
    xi : float or None, default None
        A margin that makes the solution rate tend to 1; a hundredth of a row's standard deviation
        unless given.
    candidate_fraction : float, default 0.6
        The share of rows for the search.
    split : {"random", "stratified"}, default "random"
        How rows are divided; the paper stratifies, which the certificate marks as a violated
        assumption.
    impact_range : (low, high) or mapping of name to (low, high), optional
        The range that impacts cannot leave, declared by you.
    propensity_floor : float, optional
        The smallest behaviour probability that can occur, declared by you.
    center : {"auto", "range", "mean"}, default "auto"
        The constant of the paired form: the end of the declared range, or the mean of candidate
        rows (tighter, t bound only).
    outcome_model : scikit-learn regressor, optional
        What ``estimator="dr"`` fits on the candidate half; ridge regression unless given.
    positive : object, optional
        The class that PR, TPR and so on count; the largest unless given.
    candidate_tuning : mapping of str to sequence, optional
        Parameters to choose by cross-validation *inside the candidate half*: the right place, while
        a grid search around ``fit`` uses the held-out rows.
    random_state : int, RandomState or None, default 0
        Seed of the split and of the search. ``predict`` draws fresh entropy all the same.

    Attributes
    ----------
    solution_found_ : bool
        Whether a model was let out.
    certificate_ : Certificate
        The record of the test.
    classes_ : ndarray
        The decisions.
    tuned_ : dict
        What ``candidate_tuning`` chose.

    Examples
    --------
    >>> from elfair.experiments import FosterCare
    >>> population = FosterCare(alpha=0.9)
    >>> draw = population.sample(2000, seed=1)
    >>> clf = ELFClassifier(population.constraints, delta=0.1)
    >>> clf = clf.fit(draw.features, draw.label, sensitive_features={"T": draw.group},
    ...               decision=draw.decision, propensity=draw.propensity, impact=draw.impact)
    >>> clf.solution_found_
    True
    >>> clf.predict(draw.features[:3], random_state=0)
    array([...])
    """

    def __init__(
        self,
        constraints: str | Statement | Sequence[str | Statement] = (),
        *,
        delta: float | Sequence[float] = 0.1,
        objective: str = "accuracy",
        estimator: str = "paired",
        bound: str = "ttest",
        search: str = "gradient",
        power: float | None = 0.95,
        inflation: float | None = None,
        xi: float | None = None,
        candidate_fraction: float = 0.6,
        split: str = "random",
        impact_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
        propensity_floor: float | None = None,
        center: str = "auto",
        outcome_model: Any = None,
        positive: Any = None,
        candidate_tuning: Mapping[str, Sequence[Any]] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.constraints = constraints
        self.delta = delta
        self.objective = objective
        self.estimator = estimator
        self.bound = bound
        self.search = search
        self.power = power
        self.inflation = inflation
        self.xi = xi
        self.candidate_fraction = candidate_fraction
        self.split = split
        self.impact_range = impact_range
        self.propensity_floor = propensity_floor
        self.center = center
        self.outcome_model = outcome_model
        self.positive = positive
        self.candidate_tuning = candidate_tuning
        self.random_state = random_state

    @classmethod
    def paper(
        cls,
        constraints: str | Statement | Sequence[str | Statement] = (),
        *,
        delta: float | Sequence[float] = 0.1,
        **parameters: Any,
    ) -> Self:
        """The settings of the paper: plain importance sampling, tau, Student's t, lambda = 2,
        CMA-ES, a stratified split. Its slips are corrected as the documentation says.

        Examples
        --------
        >>> ELFClassifier.paper("E[impact] >= E_logged[impact]").search
        'cmaes'
        """
        paper = {
            "estimator": "is",
            "search": "cmaes",
            "power": None,
            "inflation": 2.0,
            "split": "stratified",
        }
        return cls(constraints, delta=delta, **{**paper, **parameters})

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        decision: Any = None,
        propensity: Any = None,
        behavior: Any = None,
        impact: Any = None,
        row_id: Any = None,
    ) -> Self:
        """Search for a model on the candidate half and test it on the sealed half.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels.
        sensitive_features, decision, propensity, behavior, impact, row_id
            See `LoggedData`; asked for only where a constraint needs them.

        Returns
        -------
        ELFClassifier
            Fitted, also when no solution was found: that is a result.
        """
        self._forget()
        try:
            return self._fit(
                X,
                y,
                sensitive_features=sensitive_features,
                decision=decision,
                propensity=propensity,
                behavior=behavior,
                impact=impact,
                row_id=row_id,
            )
        except BaseException:
            self._forget()  # a fit that failed midway leaves nothing that looks like a result
            raise

    def _fit(self, X: Any, y: Any, **logged: Any) -> Self:
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None.",
                hint="pass the labels.",
            )
        validate_data(self, X=X, skip_check_array=True)
        data = LoggedData(X, _labels(y), positive=self.positive, **logged)
        if data.classes.size < 2:
            raise DataError(
                f"y holds only one class: {data.classes[0]!r}; at least two are needed.",
                hint="a classifier has nothing to decide here.",
            )
        claims = read_constraints(self.constraints, self.delta)
        seed = self._seed()
        if claims:
            self._fit_claims(data, claims, seed)
        else:
            self._fit_plainly(data, seed)
        self.classes_ = data.classes
        self._behavior_model = data.behavior_model
        return self

    def _fit_claims(self, data: LoggedData, claims: tuple[Claim, ...], seed: int) -> None:
        if self.split not in ("random", "stratified"):
            raise InputError(
                f"split must be 'random' or 'stratified'. Got {self.split!r} instead.",
                hint="'random' is the default; 'stratified' is the paper's.",
            )
        candidate, sealed = partition(
            data,
            candidate_fraction=self.candidate_fraction,
            seed=seed,
            stratified=self.split == "stratified",
        )

        def make(parameters: Mapping[str, Any], rows: LoggedData) -> tuple[Selection, Plan]:
            # Checked against all rows, learnt from the given ones alone.
            chosen = {**self.get_params(deep=False), **parameters}
            return _selection(chosen, seed), _plan(chosen, claims, rows, data)

        tuned: dict[str, Any] = {}
        if self.candidate_tuning:
            tuned = tune(self.candidate_tuning, candidate, sealed.n, make, seed)
        selection, plan = make(tuned, candidate)
        with SearchProgress("looking for a model") as progress:
            policy, found, evaluations = selection.run(candidate, plan, sealed.n, progress)

        def free(rows: LoggedData) -> Floats:
            return policy.free(found.theta, policy.inputs(rows.features, rows.behavior))

        outcome = run_on_sealed(plan, sealed, free, learn_from(plan, candidate, free(candidate)))
        self.certificate_ = issue_certificate(
            plan,
            outcome,
            n_candidate=candidate.n,
            split="stratified" if self.split == "stratified" else "random",
            seed=seed,
            openings=sealed.openings,
            candidate=CandidateRecord(
                search=selection.method,
                objective=selection.objective,
                loss=found.loss,
                predicted_pass=float(np.exp(found.log_pass)),
                meets_target=found.meets_target,
                evaluations=evaluations,
            ),
        )
        self.tuned_ = tuned
        self.solution_found_ = outcome.passed
        self._policy, self._theta = policy, found.theta

    def _fit_plainly(self, data: LoggedData, seed: int) -> None:
        """Without constraints there is nothing to hold rows out for."""
        parameters = self.get_params(deep=False)
        selection, plan = _selection(parameters, seed), _plan(parameters, (), data, data)
        with SearchProgress("looking for a model") as progress:
            self._policy, found, evaluations = selection.run(data, plan, 0, progress)
        self._theta = found.theta
        self.tuned_ = {}
        self.solution_found_ = True
        self.certificate_ = issue_certificate(
            plan,
            Outcome((), data.take(np.arange(0))),
            n_candidate=data.n,
            split="none",
            seed=seed,
            openings=1,
            candidate=CandidateRecord(
                selection.method, selection.objective, found.loss, 1.0, True, evaluations
            ),
        )

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each decision under the certified policy.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        self._require_solution()
        features, _ = read_features(X)
        validate_data(self, X=X, skip_check_array=True, reset=False)
        behavior = None
        if self._behavior_model is not None:
            behavior = behavior_probabilities(self._behavior_model, X, self.classes_)
        free = self._policy.free(self._theta, self._policy.inputs(features, behavior))
        probabilities = np.vstack([1 - free.sum(axis=0), free]).T
        return np.asarray(np.clip(probabilities, 0.0, 1.0))

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

    def decide(self, X: Any, *, random_state: Any = None) -> Decisions:
        """Decisions as `predict` draws them, with their propensities, to be logged.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Features.
        random_state : int, RandomState or None, default None
            Give an integer only to reproduce a draw.

        Returns
        -------
        Decisions
        """
        probabilities = self.predict_proba(X)
        rng = np.random.default_rng() if random_state is None else check_random_state(random_state)
        drawn = rng.uniform(size=len(probabilities))[:, None]
        chosen = (drawn >= probabilities.cumsum(axis=1)[:, :-1]).sum(axis=1)
        taken = probabilities[np.arange(len(chosen)), chosen]
        return Decisions(self.classes_[chosen], taken)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The expected accuracy of the stochastic policy; nothing is sampled.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        probabilities = self.predict_proba(X)
        hit = np.asarray(y)[:, None] == self.classes_
        return float(np.average((probabilities * hit).sum(axis=1), weights=sample_weight))

    def explain(self) -> str:
        """The result for people: what failed, by how much, about how many rows it would take."""
        check_is_fitted(self)
        certificate: Certificate = self.certificate_
        return certificate.explain()

    def _require_solution(self) -> None:
        check_is_fitted(self)
        if not self.solution_found_:
            raise NoSolutionFoundError(
                "no solution found: no model passed the fairness test, so that there is none to "
                "predict with.",
                hint="explain() says which constraint failed and how many rows it may take.",
            )

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")] + [
            name for name in ("_policy", "_theta", "_behavior_model") if name in vars(self)
        ]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificate_") and hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # predict samples
        return tags


def _labels(y: Any) -> Array:
    """Labels as scikit-learn wants them seen: one column, of classes and not of measurements."""
    try:
        labels = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        labels = column_or_1d(labels, warn=True)
        check_classification_targets(labels)
    except ValueError as error:
        raise DataError(str(error), hint="y holds classes; measurements go to impact=.") from None
    return np.asarray(labels)


def _selection(parameters: Mapping[str, Any], seed: int) -> Selection:
    target = Target(parameters["power"], parameters["inflation"], parameters["xi"])
    return Selection(parameters["search"], parameters["objective"], target, seed)


def _plan(
    parameters: Mapping[str, Any],
    claims: tuple[Claim, ...],
    candidate: LoggedData,
    everyone: LoggedData,
) -> Plan:
    estimation = declared_estimation(
        everyone,
        parameters["estimator"],
        parameters["center"],
        parameters["impact_range"],
        parameters["propensity_floor"],
        parameters["outcome_model"],
    )
    bound = get_bound(parameters["bound"])
    return Plan.make(claims, bound, Baselines(estimation, candidate), everyone)
