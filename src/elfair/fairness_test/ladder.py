"""The ladder: models ordered from most to least cautious, to be tested in turn.

The order is fixed before the held-out rows are opened, so ``delta`` needs no correction
(fixed-sequence testing; Angelopoulos, Bates, Candes, Jordan and Lei 2021 use it to tune a
predictor): a model that violates a constraint is released only if the *first* such model on the
ladder passes its test, and that test errs with probability delta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from elfair.certificate.pictures import Fate, ModelPicture, TradeOff
from elfair.data import LoggedData
from elfair.data.by_table import ByTable
from elfair.data.preparation import Preparation
from elfair.data.setting import Setting
from elfair.data.split import SealedHalf
from elfair.fairness_test.diagnostics import FEW_ROWS
from elfair.fairness_test.drawing import impact_series
from elfair.policies.models import Model, digests
from elfair.statistics import rows
from elfair.statistics.hidden import worst_row
from elfair.statistics.plan import CompiledClaim, Plan
from elfair.statistics.settling import settle
from elfair.statistics.shift import Wrong
from elfair.types import Floats


@dataclass(frozen=True)
class Learnt:
    """What rows outside the test say about it.

    Parameters
    ----------
    n : int
        How many such rows there are.
    rows : list of lists of rows.Learnt or None
        For each claim and each part of its tails, what they say about a row.
    sizes : list of lists of int
        For each claim and each part of its tails, how many rows meet the condition.
    """

    n: int
    rows: list[list[rows.Learnt | None]]
    sizes: list[list[int]]

    @classmethod
    def nothing(cls, claims: Sequence[CompiledClaim]) -> Learnt:
        """What is known without such rows."""
        return cls(
            0,
            [[None] * len(claim.parts) for claim in claims],
            [[FEW_ROWS] * len(claim.parts) for claim in claims],
        )


def learn_from(plan: Plan, data: LoggedData, free: Floats) -> Learnt | None:
    """Look at rows outside the test, under the policy that will be tested."""
    if not data.n:
        return None
    claims = plan.compile(data)
    return Learnt(
        data.n,
        [[_learnt(part.rows, free) for part in claim.parts] for claim in claims],
        [[p.rows.size for p in claim.parts] for claim in claims],
    )


def _learnt(of: rows.Rows, free: Floats) -> rows.Learnt:
    values = of.values(free)
    h = of.threshold(values)
    values, _, _ = of.worst_case(values, h)
    moments = float(values.mean()), float(values.std(ddof=1))
    return rows.Learnt(*moments, worst_row(of, free), values.size, h)


@dataclass(frozen=True)
class Rung:
    """One model's test on one fold, fixed before the fold is opened.

    Parameters
    ----------
    plan : Plan
        What is tested.
    sealed : SealedHalf
        The held-out rows.
    policy : callable
        The free numbers of a policy that held-out rows had no part in, of shape (channels, n).
    learnt : Learnt, optional
        What other rows say.
    """

    plan: Plan
    sealed: SealedHalf
    policy: Callable[[LoggedData], Floats]
    learnt: Learnt | None = None

    def at(self, claims: Sequence[int], what: Wrong, ratio: float) -> Rung:
        """The same for the claims at these places, if more is wrong; see `Baselines.at`."""
        plan = self.plan.at(claims, what, ratio)
        others, learnt = plan.baselines.candidate, None
        if self.learnt is not None:
            learnt = learn_from(plan, others, self.policy(others))
        return replace(self, plan=plan, learnt=learnt)


@dataclass(frozen=True)
class Ladder:
    """Models of one family, in the order in which they are tested.

    Parameters
    ----------
    policy : Policy
        Their family. (Typed Any: the caller who asked for a family knows what its policies can do.)
    thetas : sequence of ndarray
        Their parameters.
    candidate : LoggedData
        The candidate rows, as the family sees them.
    preparation : Preparation, optional
        The part of each model that prepares features.
    setting : Setting, optional
        What else the decisions of each model depend on.
    """

    policy: Any
    thetas: Sequence[Floats]
    candidate: LoggedData
    preparation: Preparation | None = None
    setting: Setting | None = None
    _shown: ByTable[Any] = field(default_factory=ByTable)

    @classmethod
    def on(cls, candidate: LoggedData, policy: Any, thetas: Sequence[Floats]) -> Ladder:
        """The ladder of a family that was found on these candidate rows."""
        setting = Setting.of(candidate, policy)
        return cls(policy, thetas, candidate, candidate.preparation, setting)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The models."""
        shared = self.preparation, self.setting
        return tuple(Model(self.policy, theta, *shared) for theta in self.thetas)

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """The digest of each model."""
        return digests(self.models)

    def free(self, theta: Floats, rows: LoggedData) -> Floats:
        """The free numbers of one of them on some rows, of shape (channels, n)."""
        if rows not in self._shown:  # prepared once for all models
            self._shown[rows] = self.policy.logged(rows)
        numbers: Floats = self.policy.free(theta, self._shown[rows])
        return numbers

    def rungs(self, plan: Plan, sealed: SealedHalf) -> Iterator[Rung]:
        """The test of each model, with what candidate rows say about it.

        Parameters
        ----------
        plan : Plan
            What was asked for.
        sealed : SealedHalf
            The held-out rows.
        """
        fixed = not plan.statistics and plan.bound == "ttest"  # the only one that learns nothing
        for place, theta in enumerate(self.thetas):
            if place == 0 or not fixed:  # else there is nothing to learn from another model
                numbers = self.free(theta, self.candidate)
                settled = settle(plan, self.candidate, numbers, sealed.n)
                learnt = learn_from(settled, self.candidate, numbers)
            yield Rung(settled, sealed, partial(self.free, theta), learnt)

    def trade_off(self, plan: Plan, fates: Sequence[Fate], losses: Sequence[float]) -> TradeOff:
        """The objective beside the impact, of each model, on candidate rows.

        Parameters
        ----------
        plan : Plan
            What the released model was tested for.
        fates : sequence of Fate
            What the test made of each model.
        losses : sequence of float
            What the search minimises, of each model.
        """
        series, rows = impact_series(plan, self.candidate)
        models = []
        for place, (theta, fate, loss) in enumerate(zip(self.thetas, fates, losses, strict=True)):
            numbers = self.free(theta, self.candidate)
            impacts = tuple(float(each.values(numbers).mean()) for each in rows)
            models.append(ModelPicture(place + 1, loss, fate, impacts))
        return TradeOff(tuple(series), tuple(models))


def fate_of(place: int, tested: int, last: int, *, passed: bool, released: bool) -> Fate:
    """What the test made of the model at a place on the ladder.

    Parameters
    ----------
    place : int
        Its place, from 1.
    tested : int
        How many were tested.
    last : int
        The place of the last that passed, or of the first if that one failed.
    passed : bool
        Whether any passed.
    released : bool
        Whether the last that passed was released: no violated assumption stood against it.

    Examples
    --------
    >>> [fate_of(place, 3, 2, passed=True, released=True) for place in (1, 2, 3, 4)]
    ['passed', 'released', 'failed', 'not tested']
    """
    if place > tested:
        return "not tested"
    if place == last and passed:
        return "released" if released else "passed"
    return "passed" if place < last else "failed"
