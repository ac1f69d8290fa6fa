"""ELFClassifier: logged decisions in, a certified classifier or "no solution found" out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from elfair.certificate.codes import AssumptionCode
from elfair.certificate.rules import sentences
from elfair.data.behavior import behavior_probabilities
from elfair.data.columns import check_length, one_column, positions
from elfair.data.ledger import Ledger
from elfair.estimators.base import ELFEstimator, weighted_average
from elfair.language.expressions import Expression
from elfair.policies.models import Decisions, Fitted, draw
from elfair.policies.softmax import EXPLORATION
from elfair.search.classification import Classification, family_of
from elfair.search.goals import goal_of
from elfair.statistics.claims import Constraint
from elfair.types import Floats


class ELFClassifier(ClassifierMixin, ELFEstimator):  # type: ignore[misc]
    """A stochastic classifier whose delayed impact is bounded with stated confidence.

    ``fit`` splits the rows into candidate rows and sealed rows. On candidate rows it searches for a
    ladder of models, ordered from most to least cautious. On sealed rows it tests them in turn
    until one fails, and releases the last one that passed. If even the first one fails, or an
    assumption is violated, ``solution_found_`` is False and ``explain()`` says why.

    Parameters
    ----------
    constraints : str, Statement, Recipe or sequence of them
        What must hold, as text, as trees built in Python, or by name, such as
        ``elfair.parity("race", tolerance=0.1)``. Without constraints the classifier is fitted to
        all rows, and nothing is tested.
    delta : float or sequence of float, default 0.1
        The probability, at most, that a model is returned and violates the constraint.
    objective : {"accuracy", "log_loss"}, str or Expression, default "accuracy"
        What the search optimises: how well the model predicts the label, or any expression about
        the new model that it maximises, such as ``"E[profit] - 2 * PR"`` or
        ``"min(E[impact | T == 0], E[impact | T == 1])"`` (the worse-off group). The objective is
        not tested; make what must hold a constraint.
    estimator : {"auto", "paired", "is", "dr"}, default "auto"
        How to estimate the impact of a new model: by the paired difference to the behaviour model,
        by plain importance sampling (the paper), or in the doubly robust form. "auto" takes "dr" if
        no decision was rare and candidate rows predict that its bounds are tighter, and else
        "paired".
    bound : {"auto", "guarded", "ttest", "hoeffding", "bernstein", "anderson", "growth", \
"betting"}
        How to bound it. "auto", the default, is "betting", which holds for any number of rows,
        wherever the ends of rows are known: for rates, and for impacts with a declared range.
        Elsewhere it is "guarded", a t bound with guards against what rows happen not to show, which
        is asymptotic. The method page lists what each bound needs.
    search : {"gradient", "cmaes"}, default "gradient"
        How to search for models.
    power : float or None, default 0.95
        The probability that each statement should pass the test with.
    inflation : float or None, default None
        The paper's margin instead of ``power`` (which must then be None).
    xi : float or None, default None
        A margin that makes the solution rate tend to 1. The default is a hundredth of a row's
        standard deviation.
    preprocessor : scikit-learn transformer, optional
        What makes numbers of the features, such as a ColumnTransformer or a Pipeline. It is cloned,
        fitted to candidate rows only, and part of the model: ``predict``, the model file and
        ``verify`` repeat it. It gets a pandas frame (an array, if features are numbers without
        names). Without one, plain numbers stay as they are, and everything else is prepared as the
        preparation page says.
    scorer : scikit-learn classifier or torch.nn.Module, optional
        A classifier whose scores the model sees beside the features; without one, the model is
        linear in the features. An unfitted scorer is cloned and fitted to candidate rows only. A
        fitted scorer is used as it is and must not have seen the held-out rows. (scikit-learn's
        ``clone`` forgets a fit; its ``FrozenEstimator`` keeps it.) A scorer that handles missing
        values or categories gets them as they are. A torch module is itself the model: elfair
        trains a copy, from features standardised by candidate rows to one logit for each class, in
        evaluation mode.
    policy : {"softmax", "tree"}, default "softmax"
        What the model is: a softmax of the features (and of a scorer), or a tree with at most
        ``depth`` questions about a person, each leaf with its own probabilities. ``rule_`` says a
        tree in sentences. Its splits are searched exactly under the constraints.
    depth : int, default 2
        The most questions that a tree asks about a person: 1 or 2.
    leaf_rows : int, default 10
        The fewest candidate rows of each logged decision in a leaf of a tree; of all rows, if no
        decision is logged.
    candidates : int, default 20
        The most models on the ladder. The first is likely to pass (``power``). The order is fixed
        before the test, so ``delta`` needs no correction. The paper tests 1 model, and so do
        ``search="cmaes"``, ``inflation``, torch modules, and each fold of ``split="crossfit"``.
    exploration : float, default 2e-4
        The share of decisions taken at random: no decision is less likely than this share divided
        by the number of classes. 0.1 leaves a log that the next round can learn from, at the price
        of a tenth of what the model gains over random decisions. Where a behaviour model is given,
        it is a share of what is mixed into that model.
    candidate_fraction : float, default 0.6
        The share of rows for the search.
    split : {"random", "time", "stratified", "crossfit"}, default "random"
        How to divide the rows. "time" searches on the earliest rows and tests on the most recent
        ones: the promise is then about people like these. "crossfit" finds one model for each of
        ``folds`` folds on all the other folds, tests every row with the model that never saw it,
        and releases their mixture. It needs fewer rows to find a model, but has no ladder, and its
        bounds are asymptotic only.
        The paper stratifies, which violates an assumption: see ``accept_violated``.
    folds : int, default 5
        The number of folds of ``split="crossfit"``.
    impact_range : (low, high) or mapping of name to (low, high), optional
        The range that no impact can leave. You declare it: then the promise about impacts needs no
        assumption about their tails. ``"cost"`` stands for the costs in ``person_cost``.
    propensity_floor : float, optional
        The smallest probability with which the behaviour model took any decision. You declare it.
    average : {"unit", "row"}, default "unit"
        What statements are about if several rows belong to one unit (see `LoggedData`): the average
        unit, such as a person, or the average row. Of rows, bounds are asymptotic.
    Lambda : float, default 1.0
        The odds ratio up to which logged probabilities may be off, because something unmeasured
        swayed the decision and its impact, or because they are wrong. Search and test then use the
        worst case. Every certificate says, for each statement about impact, up to which odds ratio
        it would still pass.
    shift : float, default 1.0
        The likelihood ratio up to which the people to come may differ from those in the data:
        among the people of each condition, any kind of person may become up to so many times as
        frequent, or as rare. Search and test then use the worst case. Every certificate says, for
        each statement, up to which ratio it would still pass.
    outcome_model : scikit-learn regressor, optional
        What ``estimator="dr"`` fits to candidate rows. The default is ridge regression.
    classes : sequence, optional
        All possible decisions. You need it where ``y`` and ``decision`` together do not contain all
        of them.
    positive : object, optional
        The class that PR, TPR and so on count. If classes are 0 and 1, or -1 and 1, it is 1 unless
        given, and of true and false it is true. Of any others you must name it, but only if a
        constraint or the objective uses it.
    cost : array of shape (classes, classes), mapping or data frame, optional
        What ``E[cost]`` averages: a row for each label and a column for each decision, in the order
        of the sorted classes; or ``{label: {decision: cost}}``. Costs that differ from person to
        person are a column: ``person_cost`` of ``fit``.
    candidate_tuning : mapping of str to sequence, optional
        Parameters to choose by cross-validation *inside the candidate rows*. A grid search around
        ``fit`` would use the held-out rows.
    looks : int, default 1
        How many looks at these rows there will be: tests that differ in anything. You declare it
        before the first. Each look has its share of ``delta``; one beyond the declared number
        releases no model. The same test again is the same look.
    accept_violated : sequence of str, default ()
        The codes of assumptions that may be violated, such as ``("tau_known",)``: you want the
        model all the same. The certificate says so. Without it, a violated assumption means "no
        solution found".
    random_state : int, RandomState or None, default 0
        The seed of split and search. ``predict`` draws fresh entropy in any case.

    Attributes
    ----------
    solution_found_ : bool
        Whether a model was released.
    certificate_ : Certificate
        The record of the test.
    classes_ : ndarray
        The decisions.
    tuned_ : dict
        What ``candidate_tuning`` chose.
    rule_ : str
        What a released tree decides, in sentences.

    Examples
    --------
    >>> from elfair.populations import FosterCare
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

    digest_tag: ClassVar[str] = "classifier"
    _owner = "classifier"

    def __init__(
        self,
        constraints: Constraint | Sequence[Constraint] = (),
        *,
        delta: float | Sequence[float] = 0.1,
        objective: str | Expression = "accuracy",
        estimator: str = "auto",
        bound: str = "auto",
        search: str = "gradient",
        power: float | None = 0.95,
        inflation: float | None = None,
        xi: float | None = None,
        preprocessor: Any = None,
        scorer: Any = None,
        policy: str = "softmax",
        depth: int = 2,
        leaf_rows: int = 10,
        candidates: int = 20,
        exploration: float = EXPLORATION,
        candidate_fraction: float = 0.6,
        split: str = "random",
        folds: int = 5,
        impact_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
        propensity_floor: float | None = None,
        average: str = "unit",
        Lambda: float = 1.0,
        shift: float = 1.0,
        outcome_model: Any = None,
        classes: Sequence[Any] | None = None,
        positive: Any = None,
        cost: Any = None,
        candidate_tuning: Mapping[str, Sequence[Any]] | None = None,
        looks: int = 1,
        accept_violated: Sequence[AssumptionCode] = (),
        random_state: Any = 0,
    ) -> None:
        self._set(locals())

    @classmethod
    def paper(
        cls,
        constraints: Constraint | Sequence[Constraint] = (),
        *,
        delta: float | Sequence[float] = 0.1,
        **parameters: Any,
    ) -> Self:
        """The settings of the paper: plain importance sampling, tau, Student's t, lambda = 2,
        CMA-ES, a stratified split. Its slips are corrected as the documentation says.

        These settings violate two assumptions, "tau is known" and "halves independent". They
        accept that, and every certificate of theirs says so.

        Examples
        --------
        >>> ELFClassifier.paper("E[impact] >= E_logged[impact]").search
        'cmaes'
        """
        paper = {
            "estimator": "is",
            "bound": "ttest",
            "search": "cmaes",
            "power": None,
            "inflation": 2.0,
            "candidates": 1,
            "split": "stratified",
            "accept_violated": ("tau_known", "halves_independent"),
        }
        return cls(constraints, delta=delta, **{**paper, **parameters})

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        label_seen_for: Any = None,
        sensitive_features: Any = None,
        decision: Any = None,
        propensity: Any = None,
        behavior: Any = None,
        trim: float | None = None,
        impact: Any = None,
        missing_impact: str | None = None,
        early: Any = None,
        follow_up: Any = None,
        row_id: Any = None,
        unit: Any = None,
        sample_weight: Any = None,
        time: Any = None,
        person_cost: Any = None,
        ledger: Ledger | str | PathLike[str] | None = None,
    ) -> Self:
        """Search for a model on the candidate half and test it on the sealed half.

        Parameters
        ----------
        X : array or data frame of shape (n, d), LoggedData or LoggedBatches
            Features; or the whole table of logged decisions, without anything beside it; or rows
            that are read in batches.
        y : array of shape (n,), optional
            Labels. Not needed if neither the objective nor a constraint mentions them; the
            classes are then those of ``decision``.
        label_seen_for, sensitive_features, decision, propensity, behavior, trim, impact, \
missing_impact, early, follow_up, row_id, unit, sample_weight, time, person_cost
            See `LoggedData`; needed only if a constraint uses them. A behaviour model is
            shown ``X`` as it arrives here: inside a Pipeline, as the steps before have changed it.
        ledger : Ledger, str or path-like, optional
            Where this look at the rows is counted, with those of other processes: a ledger, or its
            file. Without it, looks are counted in this process and its workers.

        Returns
        -------
        ELFClassifier
            Fitted, also if no solution was found, which is a valid result.
        """
        return self._fit(locals())

    @staticmethod
    def _task(parameters: Mapping[str, Any], seed: int) -> Classification:
        tree = {name: parameters[name] for name in ("depth", "leaf_rows")}
        family = family_of(parameters["scorer"], seed, parameters["policy"], **tree)
        goal = goal_of(parameters["objective"])
        return Classification(goal, family, float(parameters["exploration"]))

    def _keep(self, fitted: Fitted) -> None:
        super()._keep(fitted)
        self._behavior_model, self.classes_ = fitted.setting.behavior, fitted.setting.classes

    @property
    def rule_(self) -> str:
        """What a released tree decides, in sentences, one a line; only with ``policy="tree"``."""
        self.require_solution()
        if not self.certificate_.rules:
            raise AttributeError("only policy='tree' has a rule that fits in sentences.")
        return "\n".join(sentences(self.certificate_.rules, self.certificate_.classes))

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
        people = self._features(X)
        behavior = None
        if self._behavior_model is not None:
            behavior = behavior_probabilities(self._behavior_model, X, self.classes_)
        return self.fitted_.probabilities(people, behavior)

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
        return draw(self.predict_proba(X), self.classes_, random_state)

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
        label = one_column(y, "y")
        check_length(label, len(probabilities), "y")
        index = positions(label, self.classes_)
        hit = np.where(index < 0, 0.0, probabilities[np.arange(len(index)), index])
        return weighted_average(hit, sample_weight)
