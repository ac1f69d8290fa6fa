"""Shallow trees: a few groups of people, and in each the probability of every decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from elfair.data.columns import Columns
from elfair.policies.models import standardisation
from elfair.policies.softmax import PolicyInputs, SoftmaxPolicy
from elfair.types import Floats, Index

#: The column of a place at which nobody is divided any further.
NO_SPLIT = -1


class Turn(NamedTuple):
    """One condition on the way to a leaf.

    Parameters
    ----------
    column : int
        The column of features.
    threshold : float
        What it is compared with.
    above : bool
        Whether the leaf holds the people from the threshold on, or those below it.
    """

    column: int
    threshold: float
    above: bool


@dataclass(frozen=True)
class TreePolicy(SoftmaxPolicy):
    """A tree whose leaves are softmax policies without features: the logits of a leaf are theta.

    For given splits it is a softmax policy on indicators of leaves. So all that is true of a
    softmax policy is true of it: it explores, it can be mixed with the behaviour model, and the
    models between two thetas are trees with the same leaves.

    Parameters
    ----------
    n_classes, center, scale, mixed, exploration
        See `SoftmaxPolicy`. Features are not standardised; their center and scale are only known.
    columns : ndarray of shape (places,)
        The column that divides people at each place, or -1. The two places below place k are
        2k + 1, for people below its threshold, and 2k + 2.
    thresholds : ndarray of shape (places,)
        The threshold at each place; 0 where nobody is divided.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> tree = TreePolicy.grown(X, 2, columns=np.array([0]), thresholds=np.array([2.0]))
    >>> tree.free(np.array([-1.0, 1.0]), tree.inputs(X)).round(2)
    array([[0.27, 0.73, 0.73]])
    >>> tree.ways
    ((Turn(column=0, threshold=2.0, above=False),), (Turn(column=0, threshold=2.0, above=True),))
    """

    digest_tag: ClassVar[str] = "tree"

    columns: Index = field(kw_only=True)
    thresholds: Floats = field(kw_only=True)

    @classmethod
    def grown(
        cls, X: Floats, n_classes: int, *, columns: Index, thresholds: Floats, mixed: bool = False
    ) -> TreePolicy:
        """A tree with some splits, which knows the center and scale of some (candidate) rows."""
        known = n_classes, *standardisation(X), mixed
        return cls(*known, columns=columns, thresholds=thresholds)

    @cached_property
    def ways(self) -> tuple[tuple[Turn, ...], ...]:
        """For each leaf, the conditions that lead to it."""
        return tuple(way for _, way in self._leaves(0, ()))

    def _leaves(self, place: int, way: tuple[Turn, ...]) -> list[tuple[int, tuple[Turn, ...]]]:
        """The place of each leaf below a place, and the way to it."""
        if place >= self.columns.size or self.columns[place] == NO_SPLIT:
            return [(place, way)]
        split = int(self.columns[place]), float(self.thresholds[place])
        left = self._leaves(2 * place + 1, (*way, Turn(*split, above=False)))
        return left + self._leaves(2 * place + 2, (*way, Turn(*split, above=True)))

    def leaf(self, X: Floats) -> Index:
        """The number of each person's leaf."""
        place = np.zeros(len(X), dtype=np.intp)
        rows = np.arange(len(X))
        while True:
            column = np.append(self.columns, NO_SPLIT)[np.minimum(place, self.columns.size)]
            inner = np.flatnonzero(column != NO_SPLIT)
            if not inner.size:
                break
            above = X[rows[inner], column[inner]] >= self.thresholds[place[inner]]
            place[inner] = 2 * place[inner] + 1 + above
        ends = np.array([end for end, _ in self._leaves(0, ())])
        order = np.argsort(ends)
        return np.asarray(order[np.searchsorted(ends[order], place)])

    @property
    def _width(self) -> int:
        return len(self.ways)

    def raised(self, theta: Floats, decision: int, by: float) -> Floats:
        """The parameters of a tree that has the odds of one class raised in all leaves."""
        raised = theta.copy()
        by_class = raised[: self._n_weights].reshape(-1, self._width)
        if decision == 0:
            by_class -= by
        else:
            by_class[decision - 1] += by
        return np.clip(raised, *self.box)

    def inputs(
        self, X: Floats, behavior: Floats | None = None, columns: Columns | None = None
    ) -> PolicyInputs:
        """People as indicators of their leaves."""
        design = (np.arange(self._width)[:, None] == self.leaf(X)).astype(np.float64)
        if not self.mixed:
            return PolicyInputs(design, None)
        assert behavior is not None
        return PolicyInputs(design, np.ascontiguousarray(behavior.T))

    def of_leaves(self, theta: Floats) -> Floats:
        """The probability of every decision in each leaf, of shape (leaves, n_classes), where the
        behaviour model has no part.
        """
        free = super().free(theta, PolicyInputs(np.eye(self._width), None))
        return np.asarray(np.vstack([1 - free.sum(axis=0), free]).T)

    def theta_of(self, of_leaves: Floats, least: float) -> Floats:
        """The parameters of a tree with these probabilities, or ``least`` where they are smaller.

        Examples
        --------
        >>> tree = TreePolicy.grown(np.zeros((2, 1)), 2, columns=np.array([-1]),
        ...                         thresholds=np.zeros(1))
        >>> tree.of_leaves(tree.theta_of(np.array([[0.25, 0.75]]), 1e-3)).round(2)
        array([[0.25, 0.75]])
        """
        logs = np.log(np.maximum(of_leaves, least))
        theta = (logs[:, 1:] - logs[:, :1]).T.ravel()
        return np.append(theta, 1.0) if self.mixed else theta
