"""The splits of a tree, searched exactly under the constraints.

Whatever its splits, a tree is judged by functions of the probabilities that it gives each row: the
loss, and for each claim the excess of its predicted bound. In these probabilities the loss is
linear (or convex), and so is an average; and what a t bound adds to it is a standard deviation, so
the excess is convex. A convex function is the highest of its tangents. So the search and the
tangents take turns: the best tree for all tangents so far is found exactly
(`elfair.search.partitions`), and new tangents are laid at its probabilities, until they say nothing
new. Other bounds are not quite convex; for them the tangents are a good guess, and no more. Of the
best tree, splits that hardly gain anything are left out.

The splits are those for the target of the selection. The probabilities of the leaves are then
found like the parameters of any policy, for each target of the ladder.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elfair.policies.softmax import SoftmaxPolicy
from elfair.policies.tree import NO_SPLIT, TreePolicy
from elfair.search.goals import PredictLabel
from elfair.search.partitions import PENALTY, UNDIVIDED, Function, Partitions, Tree, margin
from elfair.search.prediction import Prediction
from elfair.search.problem import Problem
from elfair.search.splits import Allowed, Splits
from elfair.types import Floats

if TYPE_CHECKING:
    from elfair.search.selection import View

#: No tree is better by more than this: a share of the objective's range.
PRECISION = 1e-4
#: Splits that gain less together are left out: a shorter rule is worth it.
SMALL_GAIN = 1e-3
#: The most turns of search and tangents, and the most tangents for one tree.
TURNS = 6
TANGENTS = 12
#: A leaf starts from probabilities of at least this: where they are smaller, gradients vanish.
LEAST = 0.02
#: A tangent that counts less does not matter.
TINY = 1e-9


class Judged(NamedTuple):
    """A tree with its probabilities, as candidate rows judge it.

    Parameters
    ----------
    tree : Tree
        Its splits.
    shares : ndarray of shape (leaves, classes)
        The probability of every decision in each leaf.
    value : float
        Its loss, and what it costs to break its requirements.
    """

    tree: Tree
    shares: Floats
    value: float


def grown(view: View) -> tuple[TreePolicy, Floats]:
    """The tree that is best on candidate rows, and the parameters to start from.

    Parameters
    ----------
    view : View
        Candidate rows, the plan, and a tree whose splits are yet to be found.
    """
    task: Any = view.selection.task  # a classifier's: only these have trees
    family = task.family
    splits = Splits.of(view.data.features)
    allowed = Allowed.of(splits, view.data, family.leaf_rows, family.depth)
    alone = Partitions(splits, allowed)
    problem, familiar = _problem(_by_errors(view, task), alone, family.depth)
    best = _Search(Partitions(splits, allowed), problem, view).run(familiar)
    policy = _policy(view.policy, splits, best.tree)
    return policy, policy.theta_of(best.shares, LEAST)


def _by_errors(view: View, task: Any) -> View:
    """The same, with the error rate instead of log loss, which has no useful tangents: it is
    infinite at a decision that is never taken.
    """
    if task.goal.objective != "log_loss":
        return view
    task = replace(task, goal=PredictLabel("accuracy"))
    return replace(view, selection=replace(view.selection, task=task))


def _problem(view: View, partitions: Partitions, depth: int) -> tuple[Problem, Floats]:
    """How rows judge trees, and the free numbers of a policy like them: the best tree without
    constraints. What rows say is trusted as far as it stands out under this tree and under the best
    linear policy: an outcome model may be blind to what only a tree sees.
    """
    policy = view.policy
    linear = SoftmaxPolicy(
        policy.n_classes, policy.center, policy.scale, policy.mixed, policy.exploration
    )
    free = linear.free(replace(view, policy=linear).best, linear.logged(view.data))
    loss = view.selection.task.loss(view.data)
    partitions.add(Function(loss.gradient(free), 0.0))
    best = _policy(policy, partitions.splits, partitions.best(PRECISION).tree)
    alone = replace(view, policy=best)
    familiar = best.free(alone.best, alone.inputs)
    # A bound allows for what as many parameters can learn as a whole tree has.
    inner = 2**depth - 1
    whole = replace(policy, columns=np.zeros(inner, dtype=np.intp), thresholds=np.zeros(inner))
    return replace(view, policy=whole).problem_like([familiar, free]), familiar


def _policy(policy: TreePolicy, splits: Splits, tree: Tree) -> TreePolicy:
    """A tree with the splits that were found."""
    numbers = np.array(tree if max(tree[1:]) != UNDIVIDED else tree[:1])
    found = numbers != UNDIVIDED
    columns = np.where(found, splits.columns[numbers], NO_SPLIT)
    thresholds = np.where(found, splits.thresholds[numbers], 0.0)
    return replace(policy, columns=columns, thresholds=thresholds)


def _excess(seen: Prediction) -> float:
    """How far a claim misses its target. Where rows do not vary, as under a tree that is always
    right, they say nothing about their spread; the leaves' own search will avoid that.
    """
    return seen.excess if isfinite(seen.levels.upper) else seen.levels.mean


class _Search:
    """Search and tangents in turn."""

    def __init__(self, partitions: Partitions, problem: Problem, view: View) -> None:
        self.partitions, self.problem, self.view = partitions, problem, view
        self._spreads: list[float] = []
        self._slope: Floats | None = None

    def run(self, familiar: Floats) -> Judged:
        """The best tree, with tangents first at a policy like the best ones."""
        self._spreads = [r.predict(familiar).spread or 1.0 for r in self.problem.requirements]
        for tangent in self._tangents(familiar):
            self.partitions.add(tangent)
        best: Judged | None = None
        for _ in range(TURNS):
            found = self.partitions.best(PRECISION)
            seen = self._settled(found.tree)
            if best is None or seen.value < best.value:
                best = seen
            self.view.progress()
            if best.value <= found.bound + 2 * margin(best.value, PRECISION):
                break
        assert best is not None
        return self._pruned(best)

    def _pruned(self, best: Judged) -> Judged:
        """The tree without splits that hardly gain anything; the fewer splits, the better."""
        first, left, right = best.tree
        smaller = [Tree(), Tree(first), Tree(first, left), Tree(first, right=right)]
        worth = best.value + SMALL_GAIN * max(1.0, best.value)
        for tree in dict.fromkeys(smaller):
            if tree != best.tree and (seen := self._settled(tree)).value <= worth:
                return seen
        return best

    def _settled(self, tree: Tree) -> Judged:
        """The best probabilities of a tree, found by tangents of its own; those that matter in the
        end are kept for other trees.
        """
        best, own = None, list[Function]()
        for _ in range(TANGENTS):
            solution = self.partitions.solved(tree, own)
            shares = solution.shares.reshape(-1, self.view.policy.n_classes)
            free = self._free(tree, shares)
            value = self._value(free)
            if best is None or value < best.value:
                best = Judged(tree, shares, value)
            if best.value <= solution.value + margin(best.value, PRECISION):
                break
            own += self._tangents(free)
        assert best is not None
        weights = solution.weights[solution.weights.size - len(own) :]
        for tangent, weight in zip(own, weights, strict=False):  # the last ones have none yet
            if weight > TINY:
                self.partitions.add(tangent)
        return best

    def _free(self, tree: Tree, shares: Floats) -> Floats:
        """The free numbers of a tree on the rows."""
        blind = self.view.policy.exploration
        exploring = (1 - blind) * shares[:, 1:] + blind / shares.shape[1]
        return np.asarray(exploring[self.partitions.leaf(tree)].T)

    def _value(self, free: Floats) -> float:
        """The loss of a policy, and what it costs to break its requirements."""
        excesses = [_excess(r.predict(free)) for r in self.problem.requirements]
        broken = sum(max(0.0, e / s) for e, s in zip(excesses, self._spreads, strict=True))
        return float(self.problem.loss.value(free)) + PENALTY * broken

    def _tangents(self, free: Floats) -> list[Function]:
        """The tangents at a policy."""
        loss, n, every = self.problem.loss, free.shape[-1], []
        gradient = loss.gradient(free)
        if self._slope is None or not np.array_equal(gradient, self._slope):  # it is not linear
            self._slope = gradient
            every.append(self._tangent(float(loss.value(free)), gradient, free))
        for claim, requirement in enumerate(self.problem.requirements):
            seen, spread = requirement.predict(free), self._spreads[claim]
            if isfinite(seen.levels.upper):
                slopes = seen.pull_back(seen.factors, n) / spread
                every.append(self._tangent(seen.excess / spread, slopes, free, claim))
        return every

    def _tangent(self, value: float, slopes: Floats, free: Floats, claim: int = -1) -> Function:
        """A tangent, in the probabilities that leaves have before they explore."""
        blind, count = self.view.policy.exploration, len(slopes) + 1
        constant = value - float(np.vdot(slopes, free)) + blind / count * float(slopes.sum())
        return Function((1 - blind) * slopes, constant, claim)
