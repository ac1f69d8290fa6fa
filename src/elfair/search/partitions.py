"""The best tree for linear losses and linear requirements, exactly.

Let x hold the probabilities of the leaves of a tree. Each *function* of a policy here is linear in
x for every tree: v_i(x) = c_i + sum of s_i over leaves and decisions. The best tree minimises

    max of the losses + PENALTY * sum over claims of max(0, the functions of the claim).

For one tree this is a small linear program. Its dual value at any weights w of the functions, and
so the smallest weighted sum over the leaves, each with its best decision, is a lower bound. For
given w that sum splits into the left and the right half of a tree, so the best of all trees is
found by looking at each pair of splits once. Three steps make the search exact:

1. Column generation finds the weights w at which the lower bound on all trees is highest.
2. For each first split, the bounds on its left and its right halves add up to a bound on each tree.
3. As long as some tree's bound is below the best value found, the tree with the lowest bound is
   solved. Its own weights then raise the bounds on its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np

from elfair.search.splits import Allowed, Splits
from elfair.types import Floats, Index

#: What a claim's function above 0 costs: a hundredth costs as much as the whole loss may vary.
PENALTY = 100.0
#: The most rounds of column generation.
ROUNDS = 100
#: Stands for "this half is not divided further".
UNDIVIDED = -1
#: The most weights that are remembered from one first split to the next.
REMEMBERED = 40


class Tree(NamedTuple):
    """A tree of depth at most 2, by the numbers of its splits; -1 where there is none.

    Parameters
    ----------
    first : int
        The split of all rows.
    left, right : int
        The split of the rows on its left, and on its right.
    """

    first: int = UNDIVIDED
    left: int = UNDIVIDED
    right: int = UNDIVIDED


UNDIVIDED_TREE = Tree()


class Function(NamedTuple):
    """A function of a policy: a constant, plus slopes times free probabilities.

    Parameters
    ----------
    slopes : ndarray of shape (classes - 1, n)
        Its derivative by the free probabilities of each row.
    constant : float
        Its value if everybody gets the first class.
    claim : int
        The claim that it belongs to; -1 for a loss.
    """

    slopes: Floats
    constant: float
    claim: int = -1

    def leaves(self, leaf: Index, count: int) -> Floats:
        """What each decision in each leaf adds to it, of shape (leaves, classes)."""
        sums = [np.bincount(leaf, row, count) for row in self.slopes]
        return np.stack([np.zeros(count), *sums], axis=1)


class Mixed(NamedTuple):
    """The solution of a linear program.

    Parameters
    ----------
    value : float
        Its value.
    shares : ndarray
        How much of each column.
    weights : ndarray
        How much each function counts at the solution: its dual.
    """

    value: float
    shares: Floats
    weights: Floats


class Best(NamedTuple):
    """The best tree.

    Parameters
    ----------
    tree : Tree
        Its splits.
    value : float
        The value of its linear program.
    bound : float
        No tree is better than this.
    solved : int
        How many trees were solved.
    """

    tree: Tree
    value: float
    bound: float
    solved: int


def margin(value: float, precision: float) -> float:
    """How much of a value is not worth looking for: so much of the loss; or, where requirements
    cannot be met, a hundred times this share of what it costs to break them.

    Examples
    --------
    >>> margin(0.3, 1e-4), margin(50.0, 1e-4)
    (0.0001, 0.5)
    """
    return precision * (1.0 if value <= 1 else PENALTY * value)


def mixed(values: Floats, constants: Floats, groups: Index, of: Index) -> Mixed:
    """The best mixture of columns.

    Parameters
    ----------
    values : ndarray of shape (functions, columns)
        What each column adds to each function.
    constants : ndarray of shape (functions,)
        The functions without any column.
    groups : ndarray of shape (columns,)
        Within each group, shares sum to 1.
    of : ndarray of shape (functions,)
        The claim that each function belongs to; -1 for a loss.

    Examples
    --------
    >>> values = np.array([[0.0, 1.0], [0.5, -0.5]])
    >>> mixed(values, np.zeros(2), np.array([0, 0]), np.array([-1, 0])).shares
    array([0.5, 0.5])
    """
    from scipy import optimize

    linprog: Any = optimize.linprog  # its types do not know what it solves here
    count, n_claims = values.shape[1], int(of.max(initial=-1)) + 1
    above = -(of[:, None] == np.arange(-1, n_claims)).astype(np.float64)
    cost = np.concatenate([np.zeros(count), [1.0], np.full(n_claims, PENALTY)])
    sums = (groups == np.arange(groups.max() + 1)[:, None]).astype(np.float64)
    solved = linprog(
        cost,
        A_ub=np.hstack([values, above]),
        b_ub=-constants,
        A_eq=np.hstack([sums, np.zeros((len(sums), n_claims + 1))]),
        b_eq=np.ones(len(sums)),
        bounds=[(0, None)] * count + [(None, None)] + [(0, None)] * n_claims,
        method="highs",
    )
    weights = np.maximum(0.0, -solved.ineqlin.marginals)
    return Mixed(float(solved.fun), np.asarray(solved.x[:count]), weights)


@dataclass
class Partitions:
    """All trees on a grid of splits, and some functions that are linear in their leaves.

    Parameters
    ----------
    splits : Splits
        The grid.
    allowed : Allowed
        Which splits may follow each other.
    """

    splits: Splits
    allowed: Allowed
    _functions: list[Function] = field(default_factory=list)
    _both: list[Floats] = field(default_factory=list)

    def add(self, function: Function) -> None:
        """Judge trees by one more function."""
        self._functions.append(function)
        self._both.append(np.stack([self.splits.together(row) for row in function.slopes]))
        for name in ("constants", "of", "both", "totals"):
            self.__dict__.pop(name, None)

    @cached_property
    def constants(self) -> Floats:
        """The constant of each function."""
        return np.array([each.constant for each in self._functions])

    @cached_property
    def of(self) -> Index:
        """The claim that each function belongs to."""
        return np.array([each.claim for each in self._functions])

    @cached_property
    def both(self) -> Floats:
        """Sums over rows on the left of two splits: (functions, classes - 1, splits, splits)."""
        return np.stack(self._both)

    @cached_property
    def totals(self) -> Floats:
        """Sums over all rows, of shape (functions, classes - 1)."""
        return np.array([each.slopes.sum(axis=1) for each in self._functions])

    # -- leaves ----------------------------------------------------------------------------------

    def leaves(self, tree: Tree) -> Floats:
        """What each decision in each leaf adds to each function: (functions, leaves, classes)."""
        halves = [self.totals]
        if tree.first != UNDIVIDED:
            left, right = self._halves(tree.first)
            halves = [
                *([left[..., -1]] if tree.left == UNDIVIDED else self._pair(left, tree.left)),
                *([right[..., -1]] if tree.right == UNDIVIDED else self._pair(right, tree.right)),
            ]
        free = np.stack(halves, axis=1)
        return np.concatenate([np.zeros((*free.shape[:2], 1)), free], axis=2)

    def _halves(self, first: int) -> tuple[Floats, Floats]:
        """Sums over the rows on the left of each split, and last over all, within each half of the
        rows: of shape (functions, classes - 1, splits + 1).
        """
        both = self.both
        on_left = both[:, :, first]
        whole = on_left[..., first]
        of_all = np.diagonal(both, axis1=2, axis2=3)
        left = np.concatenate([on_left, whole[..., None]], axis=2)
        rest = (self.totals - whole)[..., None]
        return left, np.concatenate([of_all - on_left, rest], axis=2)

    @staticmethod
    def _pair(half: Floats, split: int) -> list[Floats]:
        return [half[..., split], half[..., -1] - half[..., split]]

    def solved(self, tree: Tree, more: Sequence[Function] = ()) -> Mixed:
        """The best probabilities of a tree's leaves, of shape (leaves * classes,); by more
        functions, too, if some are given.
        """
        leaves, constants, of = self.leaves(tree), self.constants, self.of
        if more:
            leaf, count = self.leaf(tree), leaves.shape[1]
            leaves = np.concatenate([leaves, [each.leaves(leaf, count) for each in more]])
            constants = np.append(constants, [each.constant for each in more])
            of = np.append(of, [each.claim for each in more])
        groups = np.repeat(np.arange(leaves.shape[1]), leaves.shape[2])
        return mixed(leaves.reshape(len(leaves), -1), constants, groups, of)

    def leaf(self, tree: Tree) -> Index:
        """The number of each row's leaf."""
        left = self.splits.left
        if tree.first == UNDIVIDED:
            return np.zeros(self.splits.bins.shape[0], dtype=np.intp)
        above, number = ~left(tree.first), np.zeros(self.splits.bins.shape[0], dtype=np.intp)
        if tree.left != UNDIVIDED:
            number[~above] = ~left(tree.left)[~above]
        number[above] = 1 + (tree.left != UNDIVIDED)
        if tree.right != UNDIVIDED:
            number[above] += ~left(tree.right)[above]
        return number

    # -- bounds ----------------------------------------------------------------------------------

    def _options(self, first: int, weights: Floats) -> tuple[Floats, Floats]:
        """The smallest weighted sum of each half of the rows, for each split of it; the last one
        is for no split. Of shape (weights, splits + 1) each.
        """
        result = []
        for half, allowed in zip(
            self._halves(first), (self.allowed.left, self.allowed.right), strict=True
        ):
            sums = np.tensordot(weights, half, 1)
            whole = sums[..., -1:]
            low = np.minimum(0, sums.min(axis=1)) + np.minimum(0, (whole - sums).min(axis=1))
            low[:, -1] = np.minimum(0, whole[..., 0].min(axis=1))
            low[:, :-1][:, ~allowed[first]] = inf
            result.append(low)
        return result[0], result[1]

    def _priced(self, weights: Floats) -> tuple[Tree, float]:
        """The tree with the smallest weighted sum if each leaf takes its best decision."""
        sums = np.tensordot(weights, self.both, 1)
        total = np.tensordot(weights, self.totals, 1)
        of = np.diagonal(sums, axis1=1, axis2=2)
        halves = []
        for on_left, whole, allowed in (
            (sums, of, self.allowed.left),
            (of[:, None, :] - sums, total[:, None] - of, self.allowed.right),
        ):
            alone = np.minimum(0, whole.min(axis=0))
            low = np.minimum(0, on_left.min(axis=0))
            low += np.minimum(0, (whole[:, :, None] - on_left).min(axis=0))
            low[~allowed] = inf
            split = low.argmin(axis=1)
            best = low[np.arange(split.size), split]
            halves.append((np.minimum(alone, best), np.where(best < alone, split, UNDIVIDED)))
        (left, left_at), (right, right_at) = halves
        value = np.where(self.allowed.first, left + right, inf)
        first, undivided = int(value.argmin()), float(np.minimum(0, total.min()))
        constant = float(weights @ self.constants)
        if undivided <= value[first]:
            return Tree(), constant + undivided
        tree = Tree(first, int(left_at[first]), int(right_at[first]))
        return tree, constant + float(value[first])

    # -- the search ------------------------------------------------------------------------------

    def best(self, precision: float) -> Best:
        """The best tree.

        Parameters
        ----------
        precision : float
            No tree is better by more; see `margin`.
        """
        found = _Incumbent(self)
        bound, pool = self._generated(found, precision)
        every = np.array(pool)
        low = [
            (self._bound_on(int(first), every), int(first))
            for first in np.flatnonzero(self.allowed.first)
        ]
        for known, first in sorted(low):
            if known < found.value - margin(found.value, precision):
                self._search_below(first, found, pool, precision)
        reached = found.value - margin(found.value, precision)
        return Best(found.tree, found.value, max(bound, reached), found.solved)

    def _generated(self, found: _Incumbent, precision: float) -> tuple[float, list[Floats]]:
        """The highest bound on all trees, and the weights that give it; the trees met on the way
        are solved.
        """
        losses = self.of == -1
        weights = losses / losses.sum()
        columns, bound, pool = list[Floats](), -inf, list[Floats]()
        for _ in range(ROUNDS):
            tree, value = self._priced(weights)
            bound, pool = max(bound, value), [*pool, weights][-REMEMBERED // 2 :]
            found.look_at(tree)
            columns.append(self._column(tree, weights))
            master = mixed(
                np.array(columns).T, np.zeros(weights.size), np.zeros(len(columns), int), self.of
            )
            if bound >= master.value - margin(master.value, precision) / 10:
                break
            weights = master.weights
        return bound, pool

    def _column(self, tree: Tree, weights: Floats) -> Floats:
        """The functions of a tree whose leaves take their best decisions."""
        leaves = self.leaves(tree)
        decision = np.tensordot(weights, leaves, 1).argmin(axis=1)
        return np.asarray(
            self.constants + leaves[:, np.arange(decision.size), decision].sum(axis=1)
        )

    def _bound_on(self, first: int, pool: Floats) -> float:
        """A bound on all trees with this first split."""
        left, right = self._options(first, pool)
        return float((left.min(axis=1) + right.min(axis=1) + pool @ self.constants).max())

    def _search_below(
        self, first: int, found: _Incumbent, pool: list[Floats], precision: float
    ) -> None:
        """Solve the trees with this first split that may be better than the best one."""
        every = np.array(pool)
        left, right = self._options(first, every)
        bounds = np.full((left.shape[1], right.shape[1]), -inf)
        for a, b, weights in zip(left, right, every, strict=True):
            np.maximum(bounds, a[:, None] + b + weights @ self.constants, out=bounds)
        none = left.shape[1] - 1
        while bounds.min() < found.value - margin(found.value, precision):
            at = np.unravel_index(int(bounds.argmin()), bounds.shape)
            one, two = (UNDIVIDED if k == none else int(k) for k in at)
            solution = found.look_at(Tree(first, one, two))
            bounds[at] = solution.value
            weights = solution.weights[None]
            left, right = self._options(first, weights)
            halves = left[0][:, None] + right[0]
            np.maximum(bounds, halves + weights[0] @ self.constants, out=bounds)
            pool.append(solution.weights)
            if len(pool) > REMEMBERED:
                del pool[REMEMBERED // 2]  # the first ones bound all trees, the last this place


@dataclass
class _Incumbent:
    """The best tree that was solved."""

    of: Partitions
    tree: Tree = UNDIVIDED_TREE
    value: float = inf
    known: dict[Tree, Mixed] = field(default_factory=dict)

    @property
    def solved(self) -> int:
        return len(self.known)

    def look_at(self, tree: Tree) -> Mixed:
        if tree not in self.known:
            self.known[tree] = self.of.solved(tree)
        solution = self.known[tree]
        if solution.value < self.value:
            self.tree, self.value = tree, solution.value
        return solution
