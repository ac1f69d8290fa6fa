"""A search that stops growing: on as many of many candidate rows as its answer still gains from.

Choosing a model needs far fewer rows than testing it. What a few thousand rows do not tell is where
exactly the boundary of a statement lies: they err by a thirtieth of a row's spread, and a test of a
million rows by a thousandth. So one pass over all candidate rows says what the mean of each
statement is at the model that was found, and the search goes on from there with means that are
*anchored* to it: what is left of the luck of its rows is in the difference between models that are
nearly alike. Then the search does the same on twice as many rows, until that gains next to nothing.

Validity never depends on any of this: held-out rows stay sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from elfair.data.subsample import drawn
from elfair.search.found import Found
from elfair.search.prediction import Target
from elfair.search.problem import USELESS, Candidate, Problem
from elfair.statistics.claims import conditions_of
from elfair.types import Floats

if TYPE_CHECKING:
    from elfair.search.selection import View

#: Up to so many candidate rows, all of them are searched.
MANY_ROWS = 20_000
#: The search begins on so many of more.
FIRST_ROWS = 10_000
#: Of a group that a statement names, at least so many rows are drawn, if there are.
GROUP_ROWS = 2_000
#: It goes on as long as twice the rows gain more than this: in the loss, or, if no model is likely
#: enough to pass, in the logarithm of the probability.
GAIN = 2.5e-4
GAINED_CHANCE = 0.05
#: How often a search is anchored to all rows, at one size.
ANCHORS = 2


class Everyone:
    """All candidate rows, of which the search sees some."""

    def __init__(self, view: View) -> None:
        self._view = view

    def mean_of(self, theta: Floats) -> list[list[float]]:
        """The mean of each tail of each claim under a model."""
        view = self._view
        free = view.policy.free(theta, view.inputs)
        return [
            [sum(float(part.rows.values(free).mean()) for part in tail.parts) for tail in of.tails]
            for of in view.plan.compile(view.data)
        ]

    def anchor(self, problem: Problem, theta: Floats) -> None:
        """Shift what a part of the rows predicts, so that it is right about one model."""
        problem.anchor(theta, self.mean_of(theta))

    def loss(self, best: Floats, theta: Floats) -> float:
        """The loss of a model on all rows."""
        view = self._view
        of, reference = (view.policy.free(each, view.inputs) for each in (theta, best))
        return float(view.selection.task.judging_loss(view.data, reference).value(of))

    def look_at(self, problem: Problem, theta: Floats) -> Candidate:
        """How a problem judges a model by its mean on all rows, unless it is hopeless anyway."""
        seen = problem.look_at(theta)
        if seen.log_pass > USELESS:
            self.anchor(problem, theta)
            seen = problem.look_at(theta)
        return seen


def growing_search(view: View, targets: Sequence[Target], known: Sequence[Floats]) -> Found:
    """All targets, on as many rows as the answer gains from.

    Parameters
    ----------
    view : View
        All candidate rows.
    targets : sequence of Target
        The most demanding first.
    known : sequence of ndarray
        Models to start from.
    """
    n, count, evaluations = view.data.n, FIRST_ROWS, 0
    everyone, before, near = Everyone(view), None, list[Candidate]()
    groups = conditions_of(view.plan.claims, revealed=view.data.revealed is not None)
    while True:
        if count >= n:
            return replace(view.on_all(targets, known), evaluations=evaluations)
        some = drawn(view.data, count, groups, GROUP_ROWS, view.selection.seed)
        part = replace(view, data=some, n_candidate=n, everyone=everyone)
        found = part.on_some(targets, known, near)
        near, evaluations = found.candidates, evaluations + found.evaluations
        wanted = near[targets.index(view.selection.target)]
        now = replace(wanted, loss=everyone.loss(part.best, wanted.theta))
        if before is not None and not now.better_than(before, GAIN, GAINED_CHANCE):
            return replace(found, evaluations=evaluations, view=part)
        before, count = now, 2 * count
