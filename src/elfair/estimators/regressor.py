"""ELFRegressor: logged decisions that are numbers in, a certified policy or "no solution" out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from elfair.bounds import AUTO, get_bound
from elfair.certificate.codes import AssumptionCode
from elfair.data import ContinuousData, LoggedData
from elfair.data.columns import as_floats, check_length, one_column
from elfair.data.continuous import normal_density
from elfair.data.ledger import Ledger
from elfair.errors import BoundError
from elfair.estimators.base import ELFEstimator, weighted_average
from elfair.language.conditions import Decision, SquaredError
from elfair.language.expressions import Expression
from elfair.policies.models import Decisions, Fitted, require_decided, seeded
from elfair.search.regression import REACH, Regression, task_of
from elfair.statistics.claims import Claim, Constraint
from elfair.statistics.decisions import thresholds_of
from elfair.types import Floats


class ELFRegressor(RegressorMixin, ELFEstimator):  # type: ignore[misc]
    """A stochastic linear regression whose delayed impact is bounded with stated confidence.

    It draws the decision about a person from a normal distribution around a linear mean, which
    stays within reach of the usual decision about such a person. The search chooses the spread too:
    a small spread costs little squared error, and a large one makes it easier to estimate the
    impact of new decisions from logged ones. See `ELFClassifier` for how ``fit`` searches and
    tests.

    Parameters
    ----------
    constraints : str, Statement or sequence of them
        What must hold, as for `ELFClassifier`; also ``E[decision | ...]``,
        ``P[decision >= t | ...]`` and ``mse[...]``. Without constraints the regressor is fitted to
        all rows, and nothing is tested.
    delta : float or sequence of float, default 0.1
        The probability, at most, that a model is returned and violates the constraint.
    objective : "mse", str or Expression, default "mse"
        What the search optimises: the mean squared error of the drawn decision, which it minimises,
        or an expression that it maximises, such as ``"E[impact]"`` or
        ``"E[profit] - 0.1 * E[decision]"``.
    estimator : {"auto", "dr", "paired", "is"}, default "auto"
        How to estimate the impact of a new model. "dr", which "auto" stands for, fits a ridge
        regression of the impact that is quadratic in the decision, and has no finite-sample bound.
        It keeps the level of a t bound if new decisions are far from logged ones; "paired" and "is"
        do so only with a declared range.
    bound : {"auto", "guarded", "ttest", "anderson", "growth", "betting", "hoeffding", "bernstein"}
        How to bound it. "auto", the default, is "betting", which holds for any number of rows, for
        events such as ``P[decision >= t | ...]`` and for impacts with a declared range and
        ``estimator="paired"``, and "guarded" otherwise, which is asymptotic. Finite-sample bounds
        on impacts need an ``impact_range`` and ``estimator="paired"``. Those that also need a
        propensity floor, which a density does not have, work only for ``P[decision >= t | ...]``.
        The method page lists what each bound needs.
    search : {"gradient", "cmaes"}, default "gradient"
        How to search for models.
    spread : (float, float), default (0.2, 0.9)
        The smallest and the largest standard deviation of a decision, as shares of the smallest
        ``behavior_spread``. Both are below 1, or importance weights would have no bound. Without a
        ``behavior_spread``, they are shares of how far labels (or decisions) are from a linear
        model.
    reach : float, default 1.5
        Where impacts are given: how far the mean of a new decision may be from the usual one about
        such a person, in units of the smallest ``behavior_spread``. Nothing is known about
        decisions that nobody was given. The usual decision is a linear function of the features,
        learnt from candidate rows.
    preprocessor, power, inflation, xi, candidates, candidate_fraction, split, folds, impact_range
        As for `ELFClassifier`.
    average, shift
        As for `ELFClassifier`.
    candidate_tuning, looks, accept_violated, random_state
        As for `ELFClassifier`.

    Attributes
    ----------
    solution_found_ : bool
        Whether a model was released.
    certificate_ : Certificate
        The record of the test. Its loss is the squared error as a share of the labels' variance;
        of an expression, the share of its range that is not reached.
    spread_ : float
        The standard deviation of a decision around its mean: the next round's ``behavior_spread``.
        After ``split="crossfit"``, that of the model that spreads furthest.
    tuned_ : dict
        What ``candidate_tuning`` chose.

    Examples
    --------
    >>> from elfair.populations import Dosage
    >>> population = Dosage()
    >>> draw = population.sample(2000, seed=1)
    >>> reg = ELFRegressor(population.constraints, delta=0.1)
    >>> reg = reg.fit(draw.features, draw.label, sensitive_features={"T": draw.group},
    ...               decision=draw.decision, impact=draw.impact,
    ...               behavior_mean=population.behavior.mean(draw.features),
    ...               behavior_spread=population.spread)
    >>> reg.solution_found_
    True
    >>> mean, spread = reg.predict_distribution(draw.features[:3])
    >>> decision, density = reg.decide(draw.features[:3])  # to be logged for the next round
    """

    digest_tag: ClassVar[str] = "regressor"
    _owner = "regressor"

    def __init__(
        self,
        constraints: Constraint | Sequence[Constraint] = (),
        *,
        delta: float | Sequence[float] = 0.1,
        objective: str | Expression = "mse",
        estimator: str = "auto",
        bound: str = "auto",
        search: str = "gradient",
        spread: tuple[float, float] = (0.2, 0.9),
        reach: float = REACH,
        preprocessor: Any = None,
        power: float | None = 0.95,
        inflation: float | None = None,
        xi: float | None = None,
        candidates: int = 20,
        candidate_fraction: float = 0.6,
        split: str = "random",
        folds: int = 5,
        impact_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
        average: str = "unit",
        shift: float = 1.0,
        candidate_tuning: Mapping[str, Sequence[Any]] | None = None,
        looks: int = 1,
        accept_violated: Sequence[AssumptionCode] = (),
        random_state: Any = 0,
    ) -> None:
        self._set(locals())

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        decision: Any = None,
        propensity: Any = None,
        behavior_mean: Any = None,
        behavior_spread: Any = None,
        impact: Any = None,
        missing_impact: str | None = None,
        early: Any = None,
        follow_up: Any = None,
        row_id: Any = None,
        unit: Any = None,
        sample_weight: Any = None,
        time: Any = None,
        ledger: Ledger | str | PathLike[str] | None = None,
    ) -> Self:
        """Search for a model on the candidate half and test it on the sealed half.

        Parameters
        ----------
        X : array or data frame of shape (n, d), or ContinuousData
            Features; or the whole table of logged decisions, without anything beside it.
        y : array of shape (n,), optional
            Labels: what the best decision would have been. Not needed if neither the objective nor
            a constraint mentions them.
        sensitive_features, impact, missing_impact, early, follow_up, row_id, unit, \
sample_weight, time
            See `LoggedData`; needed only if a constraint uses them.
        decision : array of shape (n,), optional
            The decision that was taken.
        propensity : array of shape (n,), optional
            The *density* of the behaviour model at that decision.
        behavior_mean : float or array of shape (n,), optional
            Instead of it: the mean of the behaviour model's decision about each person, if that was
            drawn from a normal distribution.
        behavior_spread : float or array of shape (n,), optional
            The standard deviation of the behaviour model's decision about each person.
        ledger : Ledger, str or path-like, optional
            Where this look at the rows is counted, with those of other processes: a ledger, or its
            file. Without it, looks are counted in this process and its workers.

        Returns
        -------
        ELFRegressor
            Fitted, also if no solution was found, which is a valid result.
        """
        return self._fit(locals())

    _table = ContinuousData

    @staticmethod
    def _task(parameters: Mapping[str, Any], seed: int) -> Regression:
        return task_of(*(parameters[name] for name in ("objective", "spread", "reach")))

    def _thresholds(
        self, claims: tuple[Claim, ...], task: Any, data: LoggedData
    ) -> tuple[float, ...]:
        self._check_bound(claims, data)
        means = [mean for claim in claims for mean in claim.means]
        return thresholds_of([*means, *task.means])

    def _keep(self, fitted: Fitted) -> None:
        super()._keep(fitted)
        self.spread_ = max(model.policy.spread(model.theta) for model in fitted.models)

    def _check_bound(self, claims: tuple[Claim, ...], data: LoggedData) -> None:
        """Refuse a bound that needs an end which no declaration can give."""
        if self.bound == AUTO or (bound := get_bound(self.bound)).kind == "asymptotic":
            return
        for claim in claims:
            text, means = claim.conjunct.text, claim.means
            if claim.impact_conditions(data) and "low" in bound.needs:
                raise BoundError(
                    f"bound='{bound.name}' needs the largest importance weight, which is not known "
                    f"if decisions are numbers: '{text}' is weighted by densities.",
                    hint="use bound='betting' with estimator='paired' and a declared impact_range, "
                    "or bound='guarded'.",
                )
            if any(isinstance(mean.of, Decision | SquaredError) for mean in means):
                raise BoundError(
                    f"bound='{bound.name}' needs a known range; '{text}' speaks of the decision or "
                    "of its error, which have none.",
                    hint="use bound='guarded', or ask for P[decision >= t | ...].",
                )

    def predict_distribution(self, X: Any) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of the certified policy's decision.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Features.

        Returns
        -------
        mean, spread : ndarrays of shape (n,)
            The decision is drawn from the normal distribution that they describe (after
            ``split="crossfit"``, from a mixture of normal distributions that has this mean and
            standard deviation).
        """
        means, spreads = self._components(X)
        shares = np.array(self.fitted_.shares)
        mean = shares @ means
        square = shares @ ((means - mean) ** 2 + spreads[:, None] ** 2)
        return mean, np.sqrt(square)

    def decide(self, X: Any, *, random_state: Any = None) -> Decisions:
        """Decisions as `predict` draws them, with their densities, to be logged.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Features.
        random_state : int, RandomState or None, default None
            Give an integer only to reproduce a draw.

        Returns
        -------
        Decisions
            Its ``propensity`` is a density; the ``behavior_spread`` that goes with it is
            ``spread_``, and the ``behavior_mean`` is the first of `predict_distribution` (but not
            after ``split="crossfit"``: a mixture is not normal).
        """
        means, spreads = self._components(X)
        shares = np.array(self.fitted_.shares)
        rng = seeded(random_state)
        n = means.shape[1]
        picked = np.asarray(rng.choice(shares.size, size=n, p=shares))
        decision = means[picked, np.arange(n)] + spreads[picked] * rng.standard_normal(n)
        return Decisions(decision, shares @ normal_density(decision, means, spreads[:, None]))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The expected R^2 of the stochastic policy; nothing is sampled.

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
            1 less the expected squared error as a share of the labels' variance; 0 if labels do not
            vary.
        """
        mean, spread = self.predict_distribution(X)
        label = as_floats(one_column(y, "y"), "y")
        check_length(label, len(mean), "y")
        away = label - weighted_average(label, sample_weight)
        total = weighted_average(away**2, sample_weight)
        error = weighted_average((label - mean) ** 2 + spread**2, sample_weight)
        return 1 - error / total if total > 0 else 0.0

    def _components(self, X: Any) -> tuple[Floats, Floats]:
        """Of each model that may be picked, the means, of shape (models, n), and the spread."""
        people = self._features(X)
        with np.errstate(all="ignore"):  # of a file that somebody made up
            moments = [
                model.policy.moments(model.theta, model.numbers(people))
                for model in self.fitted_.models
            ]
        means = np.array([mean for mean, _ in moments])
        require_decided(means.T)
        return means, np.array([spread for _, spread in moments])
