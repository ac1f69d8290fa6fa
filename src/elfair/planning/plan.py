"""What curves say: the number of rows, how sure that is, and what a reader must know of it.

plan_rows: how many rows a fit would need, told from the candidate half of a pilot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, isfinite, sqrt
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from elfair.data import LoggedData
from elfair.data.propensities import misfit
from elfair.errors import DataError, InputError
from elfair.estimators.base import ELFEstimator
from elfair.fairness_test.diagnostics import FEW_ROWS
from elfair.language import EVERYONE, holds, uses_label, who
from elfair.planning.curve import Curves, ceiling_of, fit_curves
from elfair.planning.row_plan import CurvePoint, RowPlan, Verdict
from elfair.planning.trials import FEWEST_ROWS, STEP, Size, binding, grow
from elfair.planning.visible import require_plannable
from elfair.records.text import floored, raised
from elfair.search.targets import Target
from elfair.statistics import impact_of
from elfair.statistics.plan import Claim, conditions_of

#: The ends of intervals: 80 % lie between.
ENDS = (0.1, 0.9)
#: Numbers of rows that are looked at, up to the horizon: 3 % apart.
APART = 1.03
#: An interval that is wider than this is worth a note.
WIDE = 4.0


class Answer(NamedTuple):
    """The number of rows; see `RowPlan`."""

    verdict: Verdict
    rows: int | None
    low: int | None
    high: int | None


def find_rows(curves: Curves, sizes: Sequence[Size], share: float, horizon: int) -> Answer:
    """The least number of rows at which the probability of a solution is the wanted share.

    Parameters
    ----------
    curves : Curves
        What is possible.
    sizes : sequence of Size
        What was tried.
    share : float
        The wanted probability.
    horizon : int
        The largest number of rows that is looked at.
    """
    count = ceil(np.log(horizon / sizes[0].rows) / np.log(APART)) + 1
    grid = np.geomspace(sizes[0].rows, horizon, count)
    chances = curves.chances(grid)
    reached = np.vstack([chances.mean(axis=0), curves.best_chance(grid), chances]) >= share
    least = np.where(reached.any(axis=1), grid[reached.argmax(axis=1)], np.inf)
    mean, best = least[:2]
    low, high = np.quantile(least[2:], ENDS, method="nearest")
    ends = floored(low) if isfinite(low) else None, raised(high) if isfinite(high) else None
    if isfinite(mean):
        beyond = mean > sizes[-1].rows
        return Answer("extrapolated" if beyond else "measured", raised(mean), *ends)
    possible = isfinite(best) or (curves.best[0] > 0 and curves.most(horizon) >= share)
    return Answer("too uncertain" if possible else "infeasible", None, *ends)


def points(curves: Curves, sizes: Sequence[Size], end: int) -> tuple[CurvePoint, ...]:
    """The curve at the sizes that were tried, and beyond them.

    Parameters
    ----------
    curves : Curves
        What is possible.
    sizes : sequence of Size
        What was tried.
    end : int
        How far the curve goes at least.
    """
    tried = {size.rows: (len(size.trials), size.solutions) for size in sizes}
    rows = list(tried)
    while rows[-1] < end:
        rows.append(round(rows[-1] * STEP))
    chances = curves.chances(np.array(rows, dtype=float))
    lows, highs = np.quantile(chances, ENDS, axis=0)
    columns = zip(rows, chances.mean(axis=0).tolist(), lows.tolist(), highs.tolist(), strict=True)
    return tuple(
        CurvePoint(n, chance, low, high, *tried.get(n, (0, 0))) for n, chance, low, high in columns
    )


def notes_on(
    answer: Answer, curves: Curves, sizes: Sequence[Size], share: float, pilot: int
) -> list[str]:
    """What a reader of the answer must not overlook.

    Parameters
    ----------
    answer : Answer
        The answer.
    curves, sizes, share
        See `find_rows`.
    pilot : int
        The rows at hand.
    """
    tried, (verdict, rows, low, high) = sizes[-1].rows, answer
    notes = []
    if verdict == "infeasible" and curves.best[0] <= 0:
        notes.append(
            "as far as the candidate rows can tell, no model is on the right side of all "
            "constraints: more rows would show that more clearly"
        )
    elif verdict == "too uncertain":
        notes.append(
            f"the {pilot:,} rows at hand show too small an effect to be sure of it; plan again "
            "with more of them"
        )
    elif verdict == "extrapolated":
        notes.append(
            f"an extrapolation: no part of the candidate half has more than {tried:,} rows, and "
            "beyond them the effect is taken to stay as it is"
        )
    elif rows is not None and rows <= raised(sizes[0].rows):
        notes.append(f"fewer rows may do: no part of fewer than {sizes[0].rows:,} was tried")
    if curves.best[0] > 0 and curves.most(tried) < share:
        notes.append(
            f"with the margin that the search keeps, about {curves.most(tried):.2f} of all fits "
            f"pass, and hardly more with more rows: raise power (or inflation) for {share:g}"
        )
    if rows is not None and (high is None or low is None or high > WIDE * low):
        notes.append("very uncertain: take the interval for the answer, or plan with more rows")
    small = sum(not trial.statement for size in sizes for trial in size.trials)
    if small:
        fits = sum(len(size.trials) for size in sizes)
        notes.append(f"in {small} of {fits} fits a group was too small to be tested")
    return notes


#: No number of rows is named beyond so many times those at hand.
HORIZON = 100
#: Parts are never smaller than this.
SMALLEST = 32
CROSSFIT = (
    "this plan LOOKED at impacts of rows that split='crossfit' would TEST: fit other rows, or they "
    "have been seen before their test, and the stated confidence is not backed"
)


def plan_rows(
    estimator: ELFEstimator,
    data: LoggedData,
    *,
    share: float = 0.9,
    improvement: float | None = None,
    fits: int = 10,
    n_jobs: int = 1,
) -> RowPlan:
    """How many rows ``fit`` would need to return a model, told from the rows at hand.

    Models are searched for and tested, as ``fit`` would, on parts of different sizes of the
    *candidate half* that ``fit`` with this estimator and seed would make of ``data``; the held-out
    half is not looked at, so that planning costs nothing of the guarantee. A curve through what
    came of them says how probable a solution is at any number of rows. The probability is an
    average over what the pilot leaves open: who plans by it gets a solution in about ``share`` of
    all cases, lucky and unlucky pilots taken together.

    Parameters
    ----------
    estimator : ELFClassifier or ELFRegressor
        What is to be fitted, with its constraints and all other parameters; ``random_state`` must
        be a whole number, since the split depends on it.
    data : LoggedData
        The rows at hand (`ContinuousData` for a regressor): a pilot, or all there is.
    share : float, default 0.9
        The wanted probability that ``fit`` returns a model.
    improvement : float, optional
        Plan for more than the constraints ask: every statement about an impact under the new model
        is to be *certified* with so much to spare, as if its threshold were raised by it (or, where
        a small impact is good, lowered). It is on the scale of the impact, or of whatever the
        statement compares: a difference, a probability, a quantile. Statements about anything else,
        such as accuracy, stay as they are. With ``E[impact | T == 1] >= E_logged[impact | T == 1]``
        and 0.05, the answer is how many rows would show that group 1 is better off by at least
        0.05.
    fits : int, default 10
        How many models are tested at each of about five sizes.
    n_jobs : int, default 1
        Processes (joblib); -1 for one on each core.

    Returns
    -------
    RowPlan

    Examples
    --------
    >>> from elfair import ELFClassifier
    >>> from elfair.populations import FosterCare
    >>> population = FosterCare(alpha=0.9)
    >>> draw = population.sample(2000, seed=1)
    >>> data = LoggedData(draw.features, draw.label, **draw.logged)
    >>> plan = plan_rows(ELFClassifier(population.constraints), data)
    >>> plan.verdict, 250 < plan.rows < 1200
    ('measured', True)
    >>> list(plan.groups)
    ['T == 0', 'T == 1']
    """
    _check_options(share, improvement, fits)
    require_plannable(estimator, data)
    request = estimator.request(data)
    data = data.with_thresholds(request.thresholds)
    if not request.claims:
        raise InputError(
            "there is nothing to plan for: without constraints nothing is tested, and fit returns "
            "a model from any number of rows.",
            hint="give the estimator constraints.",
        )
    fit = misfit(data) if any(_is_about_impact(each, data) for each in request.claims) else None
    if fit is not None and not fit.is_chance:
        raise fit.refusal
    if improvement is not None:
        request = replace(request, claims=_improved(request.claims, data, float(improvement)))
    halves = {"split": "random"} if request.crossfit else {}
    candidate = request.with_parameters(halves).split(data).candidate
    shares = _shares(request.claims, data, candidate)
    tested = 1.0 if request.crossfit else 1 - float(estimator.candidate_fraction)
    smallest = _smallest(shares, tested, candidate.n)
    # One model is enough: of a whole line, the first decides whether there is a solution.
    single = request.with_parameters({"candidates": 1})
    sizes = grow(single, candidate, smallest, share, fits, n_jobs)
    target = Target(estimator.power, estimator.inflation, estimator.xi)
    # Where folds learn from each other's rows, the search expects all rows' own error alone.
    luck = 1.0 if request.crossfit else sqrt(1 / (1 - tested))
    ceiling = ceiling_of(target, luck, sizes)
    curves = fit_curves(sizes, ceiling, candidate.n, tested, request.seed)
    answer = find_rows(curves, sizes, share, HORIZON * data.n)
    rows, largest = answer.rows, sizes[-1].rows
    notes = [CROSSFIT] if request.crossfit else []
    notes += notes_on(answer, curves, sizes, share, data.n)
    if rows is not None:
        few = [name for name, part in shares.items() if tested * part * rows < FEW_ROWS]
        notes += [f"fewer than {FEW_ROWS} rows with {name} would be tested" for name in few]
    return RowPlan(
        share=float(share),
        improvement=None if improvement is None else float(improvement),
        verdict=answer.verdict,
        rows=rows,
        low=answer.low,
        high=answer.high,
        groups=_by_group(shares, rows),
        curve=points(curves, sizes, max(2 * largest, 2 * rows if rows else 16 * largest)),
        binding=binding(sizes),
        pilot=data.n,
        looked_at=candidate.n,
        notes=tuple(notes),
    )


def _check_options(share: Any, improvement: Any, fits: Any) -> None:
    if not isinstance(share, Real) or not 0 < float(share) < 1:
        raise InputError(
            f"share must be a probability between 0 and 1. Got {share!r} instead.",
            hint="0.9 asks for the rows that give a solution in 90 % of all cases.",
        )
    if improvement is not None and not (
        isinstance(improvement, Real) and isfinite(improvement) and float(improvement) > 0
    ):
        raise InputError(
            f"improvement must be a number above 0, on the scale of the impact, or None. "
            f"Got {improvement!r} instead.",
            hint="leave it out to plan for the constraints as they are.",
        )
    if not isinstance(fits, Integral) or fits < 3:
        raise InputError(
            f"fits must be a whole number of at least 3. Got {fits!r} instead.",
            hint="10 is the default.",
        )


def _improved(claims: tuple[Claim, ...], data: LoggedData, by: float) -> tuple[Claim, ...]:
    """The claims with so much to spare, where they are about impacts under the new model."""
    about = [_is_about_impact(claim, data) for claim in claims]
    if not any(about):
        raise InputError(
            "improvement is on the scale of an impact, and no constraint is about one.",
            hint="leave it out, or add a constraint such as E[impact] >= E_logged[impact].",
        )
    return tuple(
        _with_room(claim, by) if yes else claim for claim, yes in zip(claims, about, strict=True)
    )


def _is_about_impact(claim: Claim, data: LoggedData) -> bool:
    """Whether it speaks of an impact under the new model, which is told by propensities."""
    return bool(claim.statistics) or any(
        not mean.logged and impact_of(mean, data) is not None for mean in claim.means
    )


def _with_room(claim: Claim, by: float) -> Claim:
    form = claim.conjunct.form
    raised = replace(form, constant=form.constant + by)
    return replace(claim, conjunct=replace(claim.conjunct, form=raised))


def _shares(claims: Sequence[Claim], data: LoggedData, candidate: LoggedData) -> dict[str, float]:
    """The share of rows that meet each condition; labels of held-out rows stay out of it."""
    return {
        who(given): float(np.mean(holds(given, rows)))
        for given in conditions_of(claims)
        for rows in [candidate if given is not None and uses_label(given) else data]
    }


def _by_group(shares: dict[str, float], rows: int | None) -> dict[str, int]:
    if rows is None:
        return {}
    return {name: ceil(part * rows) for name, part in shares.items() if name != EVERYONE}


def _smallest(shares: dict[str, float], tested: float, n: int) -> int:
    """The smallest size at which each condition has rows to be tested on."""
    rarest = min(shares, key=lambda name: shares[name])
    if shares[rarest] == 0:
        return SMALLEST  # the first fit says what is wrong
    smallest = max(SMALLEST, ceil(FEWEST_ROWS / (tested * shares[rarest])))
    if n < STEP * smallest:
        raise DataError(
            f"there are too few rows to plan from: {n} candidate rows, "
            f"{round(n * shares[rarest])} of them with {rarest}. At least "
            f"{ceil(STEP * smallest)} are needed.",
            hint="gather more rows, or ask about a larger group.",
        )
    return smallest
