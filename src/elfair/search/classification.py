"""The task of a classifier: a goal, and the family of policies in which to look for a model.

Policies are linear unless the user passes a scorer. A scorer knows the rows it was fitted to better
than any others, and a policy searched on such scores would trust them too much. So the search sees
*out-of-fold* scores: each candidate row is scored by a clone that was fitted to the other folds.
The scorer that is tested and released is fitted to all candidate rows; it never sees held-out rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.data.as_they_are import AsTheyAre
from elfair.data.by_table import ByTable
from elfair.data.digests import is_module
from elfair.data.preparation import seeded
from elfair.data.units import numbered
from elfair.errors import DataError, InputError
from elfair.policies import ClassPolicy, SoftmaxPolicy
from elfair.policies.scored import ScoredPolicy, log_odds
from elfair.policies.softmax import EXPLORATION
from elfair.policies.torch_module import TorchPolicy
from elfair.policies.tree import NO_SPLIT, TreePolicy
from elfair.search.goals import Goal, Loss, require_label
from elfair.search.gradient import fit_log_loss, fit_propensities
from elfair.search.narrow import MANY, is_many
from elfair.search.problem import Plain, Steps, silent
from elfair.search.promising import promising
from elfair.search.scorers import check_agreement, is_fitted, name_of, seen_by
from elfair.search.selection import DEFAULT, SEARCHES
from elfair.search.steps import fit_by_steps
from elfair.statistics.plan import CompiledClaim
from elfair.types import Floats, Index

#: Folds of the candidate rows for out-of-fold scores.
FOLDS = 5
#: The log-odds of a decision that is taken always, but for what is explored.
CERTAIN = 15.0
#: Factors of the log-odds of a fit to labels.
SHARPER = (1.0, 2.0, 4.0, 8.0, 16.0)
#: The most questions that a tree asks about a person, and the fewest rows of each logged decision
#: in a leaf, unless others are asked for.
DEEPEST = 2
LEAF_ROWS = 10
#: By how much simple models raise the log-odds of a decision, or the share of it.
RAISED = (0.5, 1.0, 2.0)
MOVED = (0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Family(Plain):
    """The policies that a classifier chooses among: softmax policies, linear in the features.

    Parameters
    ----------
    scorer : object, optional
        What the user passed; see the families below.
    seed : int
        Seed of the search.
    """

    scorer: Any = None
    seed: int = 0

    #: The class of its policies, and their attribute that holds the scorer, if they have one.
    makes: ClassVar[type] = SoftmaxPolicy
    keeps: ClassVar[str] = ""
    #: What a scorer must be to stand for it, in words.
    words: ClassVar[str] = ""

    @staticmethod
    def takes(scorer: Any) -> bool:
        """Whether a scorer stands for this family."""
        return scorer is None

    def policy(self, data: LoggedData) -> ClassPolicy:
        """A linear policy, mixed with the behaviour model if that is known."""
        return SoftmaxPolicy.standardised(
            data.features, data.classes.size, mixed=data.behavior_model is not None
        )

    def fit(
        self, policy: Any, inputs: Any, classes: Index | Floats, progress: Steps = silent
    ) -> Floats:
        """The model that predicts the given classes, or probabilities of classes, best, by logistic
        regression.
        """
        return fit_log_loss(policy, inputs, classes, progress)


@dataclass(frozen=True)
class ScoredFamily(Family):
    """Policies that are linear in the features and in a scorer's log-odds.

    Parameters
    ----------
    scorer : scikit-learn classifier
        A fitted one is used as it is; otherwise clones of it are fitted.
    seed : int
        Seed of the folds, and of clones that have a ``random_state``.
    """

    makes, keeps = ScoredPolicy, "scorer"
    words = "a scikit-learn classifier with predict_proba"

    @staticmethod
    def takes(scorer: Any) -> bool:
        """Whether it predicts probabilities, and is fitted or can be."""
        known = hasattr(scorer, "fit") or hasattr(scorer, "classes_")
        return known and hasattr(scorer, "predict_proba") and not is_module(scorer)

    @cached_property
    def fitted(self) -> bool:
        """Whether the scorer was fitted before it was passed."""
        return is_fitted(self.scorer)

    def assumptions(self) -> tuple[Assumption, ...]:
        """A scorer that was passed fitted must not have seen the held-out rows."""
        evidence = f"{name_of(self.scorer)} came fitted, and was used as it is"
        return (Assumption.of("scorer_not_fitted", "assumed", evidence),) if self.fitted else ()

    def rows(self, data: LoggedData) -> LoggedData:
        """Candidate rows with the scores that the search sees."""
        if not self.fitted:
            return data.changed(scores=self._out_of_fold(data))
        sees = seen_by(self.scorer, data)
        check_agreement(self.scorer, data, sees)
        return data.changed(scores=log_odds(self.scorer, shown(data, sees), data.classes))

    def policy(self, data: LoggedData) -> ScoredPolicy:
        """A policy with the scorer, which is fitted to all these rows unless it was fitted."""
        assert data.scores is not None
        sees = seen_by(self.scorer, data)
        scorer = self.scorer if self.fitted else self._fit(data, sees)
        mixed = data.behavior_model is not None
        return ScoredPolicy.over(
            scorer, data.features, data.scores, data.classes, mixed=mixed, sees=sees
        )

    def _out_of_fold(self, data: LoggedData) -> Floats:
        if data.label_index is None:
            raise DataError(
                f"scorer={name_of(self.scorer)} is not fitted, and there is no y to fit it to.",
                hint="pass y, or a scorer that is already fitted (to other rows).",
            )
        # In turn within each class (a unit counts by its first row): every fold gets its share of a
        # rare one.
        place, first = numbered(data)
        order = np.random.default_rng(self.seed).permutation(first.size)
        order = order[np.argsort(data.label_index[first][order], kind="stable")]
        fold = np.empty(first.size, dtype=np.intp)
        fold[order] = np.arange(first.size) % FOLDS
        fold = fold[place]
        scores, sees = np.empty((data.n, data.classes.size - 1)), seen_by(self.scorer, data)
        for k in range(min(FOLDS, data.n)):
            others, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            scorer = self._fit(data.take(others), sees)
            scores[own] = log_odds(scorer, shown(data.take(own), sees), data.classes)
        return scores

    def _fit(self, data: LoggedData, sees: AsTheyAre | None = None) -> Any:
        """A fitted clone; a constant if all rows have one class, which most classifiers refuse."""
        from sklearn.base import clone
        from sklearn.dummy import DummyClassifier

        if data.revealed:  # to those whose label is seen
            data = data.take(np.flatnonzero(data.revealed.seen))
        assert data.label is not None
        assert data.label_index is not None
        labels, X = data.classes[data.label_index], shown(data, sees)
        if np.ptp(data.label_index) == 0:
            return DummyClassifier().fit(X, labels)
        try:
            return seeded(clone(self.scorer), self.seed).fit(X, labels)
        except Exception as error:
            raise InputError(
                f"scorer={name_of(self.scorer)} could not be fitted to {data.n:,} candidate rows "
                f"with {X.shape[1]} features: {error}",
                hint="try scorer.fit(X, y) on its own, with X as "
                + ("an array of numbers." if isinstance(X, np.ndarray) else "a pandas frame."),
            ) from error


@dataclass(frozen=True)
class ModuleFamily(Family):
    """The policies that a torch module can be trained to.

    Parameters
    ----------
    scorer : torch.nn.Module
        Maps standardised features to one logit for each class; it is not changed.
    """

    makes, keeps = TorchPolicy, "module"
    words = "a torch.nn.Module"

    @staticmethod
    def takes(scorer: Any) -> bool:
        """Whether it is a module."""
        return is_module(scorer)

    def method(self, asked: str) -> str:
        """The search that trains a module; raise if this one is too large for it."""
        name = SEARCHES[asked].trains or asked
        most, size = SEARCHES[name].most, sum(value.numel() for value in self.scorer.parameters())
        if size > most:
            raise InputError(
                f"search='{asked}' is for at most {most} parameters. Got a module with {size}.",
                hint="use search='gradient', which trains modules by gradient steps.",
            )
        return name

    def assumptions(self) -> tuple[Assumption, ...]:
        """The weights from which training starts must not come from the held-out rows."""
        evidence = f"training of {name_of(self.scorer)} started from the weights it had"
        return (Assumption.of("scorer_not_fitted", "assumed", evidence),)

    def policy(self, data: LoggedData) -> TorchPolicy:
        """A copy of the module, mixed with the behaviour model if that is known."""
        mixed = data.behavior_model is not None
        return TorchPolicy.over(self.scorer, data.features, data.classes.size, mixed=mixed)

    def fit(
        self, policy: Any, inputs: Any, classes: Index | Floats, progress: Steps = silent
    ) -> Floats:
        """The same by gradient steps."""
        return fit_by_steps(policy, (inputs, classes), (inputs, classes), progress)


@dataclass(frozen=True)
class TreeFamily(Family):
    """Shallow trees, each leaf with its own probabilities.

    Parameters
    ----------
    scorer : None
        A tree has none.
    seed : int
        Seed of the search.
    depth : {1, 2}
        The most questions that are asked about a person.
    leaf_rows : int
        The fewest candidate rows of each logged decision in a leaf.
    """

    depth: int = DEEPEST
    leaf_rows: int = LEAF_ROWS

    makes: ClassVar[type] = TreePolicy

    @staticmethod
    def takes(scorer: Any) -> bool:
        """None does: a tree is asked for by its name."""
        return False

    def method(self, asked: str) -> str:
        """The search that grows trees."""
        if asked != DEFAULT:
            raise InputError(
                f"policy='tree' needs search='{DEFAULT}'. Got search='{asked}'.",
                hint="the splits of a tree are searched exactly, and its leaves by gradients.",
            )
        return asked

    def policy(self, data: LoggedData) -> TreePolicy:
        """A tree whose splits are yet to be found."""
        mixed = data.behavior_model is not None
        nowhere = {"columns": np.array([NO_SPLIT]), "thresholds": np.zeros(1)}
        return TreePolicy.grown(data.features, data.classes.size, mixed=mixed, **nowhere)


#: Every family of policies over classes.
FAMILIES: tuple[type[Family], ...] = (Family, ScoredFamily, ModuleFamily, TreeFamily)
#: What users call the families that a scorer does not stand for; the first is the default.
POLICIES = ("softmax", "tree")


def family_of(scorer: Any, seed: int, policy: str = POLICIES[0], **tree: int) -> Family:
    """The family of policies that a name and a scorer stand for; without any, linear policies.

    Parameters
    ----------
    scorer : object, optional
        What the user passed.
    seed : int
        Seed of the search.
    policy : str
        One of `POLICIES`.
    **tree
        The depth and the rows in a leaf, of a tree.

    Examples
    --------
    >>> type(family_of(None, seed=0)).__name__, type(family_of(None, 0, "tree")).__name__
    ('Family', 'TreeFamily')
    """
    if policy == "tree":
        if scorer is not None:
            raise InputError(
                f"policy='tree' takes no scorer. Got scorer={name_of(scorer)}.",
                hint="a tree asks about features alone; leave out scorer= or policy='tree'.",
            )
        return TreeFamily(None, seed, **tree)
    (family,) = [each for each in FAMILIES if each.takes(scorer)]
    return family(scorer, seed)


def family_behind(policy: Any, seed: int, *, fitted: bool) -> Family:
    """The family in which a search found a policy.

    Parameters
    ----------
    policy : ClassPolicy
        The policy.
    seed : int
        Seed of the search.
    fitted : bool
        Whether its scorer was fitted before the search.
    """
    from sklearn.base import clone

    (family,) = [each for each in FAMILIES if each.makes is type(policy)]
    scorer = getattr(policy, family.keeps, None)
    return family(scorer if fitted or is_module(scorer) or scorer is None else clone(scorer), seed)


@dataclass(frozen=True)
class Classification:
    """The task of choosing among classes.

    Parameters
    ----------
    goal : Goal
        What to optimise.
    family : Family, optional
        The policies to choose among; linear by default.
    exploration : float, default 2e-4
        The share of decisions that each policy takes blindly.
    """

    goal: Goal
    family: Family = field(default_factory=Family)
    exploration: float = EXPLORATION

    @property
    def objective(self) -> str:
        """What to optimise, as the user wrote it."""
        return self.goal.objective

    def method(self, asked: str) -> str:
        """The family's."""
        return self.family.method(asked)

    def assumptions(self) -> tuple[Assumption, ...]:
        """The family's."""
        return self.family.assumptions()

    def rows(self, data: LoggedData) -> LoggedData:
        """The rows as the family sees them."""
        return self.family.rows(data)

    def check(self, data: LoggedData) -> None:
        """Raise if labels are needed and missing, or if there is nothing to choose from."""
        if self.goal.needs_label:
            require_label(self.objective, data.label)
        if data.classes.size == 0:
            raise DataError(
                "there are no decisions to choose from: neither y nor decision was given.",
                hint="pass decision=, the decision that was taken.",
            )
        if data.classes.size == 1:
            source = "y" if data.label is not None else "decision"
            raise DataError(
                f"{source} holds only one class: {data.classes[0]!r}; at least two are needed.",
                hint="a classifier has nothing to decide here.",
            )
        self.goal.check_decisions(data)

    def policy(self, data: LoggedData) -> ClassPolicy:
        """The family's policy, with the exploration that the user asked for."""
        policy: Any = self.family.policy(data)
        return cast(ClassPolicy, replace(policy, exploration=self.exploration))

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """The goal's."""
        return self.goal.loss(data, model)

    def at(self, data: LoggedData, free: Floats | None) -> Classification:
        """The task with the goal as it is at a policy."""
        goal = self.goal.at(data, free)
        return self if goal is self.goal else replace(self, goal=goal)

    def best(
        self, policy: ClassPolicy, inputs: Any, data: LoggedData, progress: Steps = silent
    ) -> Floats:
        """The model that takes the preferred decisions as far as it can.

        Rows about which the goal has no preference are left out of the fit.
        """
        rows, classes = self.goal.preferred(data)
        if not rows.size:
            return np.zeros(policy.n_parameters)
        if rows.size < data.n:
            inputs = policy.logged(data.take(rows))
        return self.family.fit(policy, inputs, classes, progress)

    def starts(
        self, policy: ClassPolicy, inputs: Any, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """The best model; the midpoint to one that imitates the behaviour model; and that one."""
        if data.decision_index is None:
            return [best]
        familiar = self.familiar(policy, inputs, data)
        return [best, (best + familiar) / 2, familiar]

    def familiar(
        self, policy: Any, inputs: Any, data: LoggedData, progress: Steps = silent
    ) -> Floats:
        """The model that imitates the behaviour model: its probabilities, if they are known, and
        otherwise its decisions, which are noisier. If decisions are many, these are too noisy, and
        their propensities serve instead.
        """
        if data not in self._imitations:
            taken, propensity = data.decision_index, data.propensity
            assert taken is not None
            if data.behavior is None and propensity is not None and is_many(policy):
                found = fit_propensities(policy, inputs, taken, propensity, progress)
            else:
                known = taken if data.behavior is None else data.behavior.T
                found = self.family.fit(policy, inputs, known, progress)
            self._imitations[data] = found
        return self._imitations[data]

    @cached_property
    def _imitations(self) -> ByTable[Floats]:
        """A cache: starts and simple models share the imitation."""
        return ByTable()

    def simple(
        self, policy: Any, inputs: Any, data: LoggedData, compiled: Sequence[CompiledClaim]
    ) -> Sequence[Floats]:
        """Each constant decision, and the old policy with each decision taken more often: in so
        many more cases if it is known for new people, and else with raised log-odds. If decisions
        are many, these are only the most promising ones.
        """
        decisions = promising(compiled, policy.n_classes, MANY)
        constants = constant_models(policy, decisions)
        if policy.mixed:
            moved = [np.append(theta[:-1], share) for theta in constants for share in MOVED]
        else:
            familiar = self.familiar(policy, inputs, data)
            moved = [policy.raised(familiar, a, by) for a in decisions for by in RAISED]
        return [*constants, *moved]

    def fits(self, policy: ClassPolicy, best: Floats) -> Sequence[Floats]:
        """Each decision for everyone, and the best model with its log-odds multiplied, until its
        decisions are hardly drawn.
        """
        if self.objective != "accuracy":
            return ()
        constants = constant_models(policy, range(policy.n_classes))
        low, high = policy.box
        most = float(high[0] / max(np.abs(best).max(), 1.0))
        factors = [*(factor for factor in SHARPER if factor < most), most]
        return [*constants, *(np.clip(factor * best, low, high) for factor in factors)]

    def judging_loss(self, data: LoggedData, model: Floats) -> Loss:
        """The goal's."""
        return self.goal.judging_loss(data, model)

    def likely(
        self, policy: ClassPolicy, inputs: Any, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """The best model: constraints change few decisions."""
        return [best]


def shown(data: LoggedData, sees: AsTheyAre | None) -> Any:
    """What a scorer sees of some rows: their columns as they are, or prepared numbers."""
    if sees is None:
        return data.features
    assert data.raw is not None
    return sees.of(data.raw)


def constant_models(policy: Any, decisions: Iterable[int]) -> list[Floats]:
    """For each of some decisions, the model that takes it about everyone."""
    return [policy.raised(policy.indifferent, a, CERTAIN) for a in decisions]
