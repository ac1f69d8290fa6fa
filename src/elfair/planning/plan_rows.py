"""plan_rows: how many rows a fit would need, from the candidate rows of a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, isfinite, log2
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from elfair.data import LoggedData
from elfair.errors import DataError, InputError
from elfair.estimators.base import ELFEstimator
from elfair.estimators.parameters import Parameter
from elfair.fairness_test.diagnostics import FEW_ROWS
from elfair.language.conditions import EVERYONE, who
from elfair.language.evaluation import holds
from elfair.planning.curve import ChanceCurve
from elfair.planning.forecast import Forecaster
from elfair.planning.row_plan import CurvePoint, RowPlan, Verdict
from elfair.planning.visible import VisibleRows, not_forecast, require_plannable
from elfair.records.allowed import number, whole
from elfair.records.progress import Progress, parts
from elfair.records.text import floored, raised
from elfair.statistics.claims import Claim, conditions_of

#: The ends of intervals: 80 % lie between.
ENDS = (0.1, 0.9)
#: Numbers of rows are looked at up to this many times those at hand, 3 % apart.
HORIZON, APART = 100, 1.03
#: An interval wider than this is worth a note.
WIDE = 4.0
#: Each size is this many times the one below it; at least so many are measured, and none smaller.
STEP, FEWEST_SIZES, SMALLEST = 2.0, 3, 32
#: How far a plan is after the search in all rows, as progress is told.
FIRST = 0.1
#: So many rows of each condition should be tested at the smallest size.
FEWEST_ROWS = 10
_AHEAD = "how much better than the constraints ask, on the scale of the impact"
#: What `plan_rows` takes in addition to estimator and data.
OPTIONS = (
    Parameter("share", number("(0, 1)"), {}, "the wanted probability of a solution", 0.9),
    Parameter("improvement", number("(0, inf)"), {}, _AHEAD, 0.05, optional=True),
    Parameter("fits", whole(3), {}, "how many models are searched for at each size", 10),
)
CROSSFIT = (
    "this plan LOOKED at impacts of rows that split='crossfit' would TEST: fit other rows, or they "
    "have been seen before their test, and the stated confidence does not hold"
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
    """Say how many rows ``fit`` would need to release a model, from the rows at hand.

    The forecast is that of `check`, extended to other numbers of rows. Models are searched for on
    *candidate rows* alone, those that ``fit`` with this estimator and seed would make of ``data``,
    and judged on others of them. Held-out rows are not used, so planning costs nothing of the
    guarantee. The chance is an average over the luck of the pilot: if you plan by it, you get a
    model in about ``share`` of all cases, lucky and unlucky pilots taken together.

    Parameters
    ----------
    estimator : ELFClassifier or ELFRegressor
        What is to be fitted, with its constraints and all other parameters; ``random_state`` must
        be a whole number, since the split depends on it.
    data : LoggedData
        The rows at hand (`ContinuousData` for a regressor): a pilot, or all there is.
    share : float, default 0.9
        The wanted probability that ``fit`` releases a model.
    improvement : float, optional
        Plan for more than the constraints ask: every statement about an impact under the new model
        is to pass with this much to spare, as if its threshold were raised by it (or lowered, if a
        small impact is good). It is on the scale of the impact, or of whatever the statement
        compares: a difference, a probability, a quantile. Other statements, such as accuracy, stay
        as they are. With ``E[impact | T == 1] >= E_logged[impact | T == 1]`` and 0.05, the answer
        is how many rows would show that group 1 is better off by at least 0.05.
    fits : int, default 10
        How many models are searched for at each number of rows below today's. (The forecast for
        today's rows does not depend on it.)
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
    for option, value in zip(OPTIONS, (share, improvement, fits), strict=True):
        option.check(value)
    with Progress("planning"):
        return _plan(estimator, data, share, improvement, fits, n_jobs)


def _plan(
    estimator: ELFEstimator,
    data: LoggedData,
    share: float,
    improvement: float | None,
    fits: int,
    n_jobs: int,
) -> RowPlan:
    """See `plan_rows`."""
    require_plannable(estimator, data)
    request = estimator.request(data)
    if not request.claims:
        raise InputError(
            "there is nothing to plan for: without constraints nothing is tested, and fit returns "
            "a model from any number of rows.",
            hint="give the estimator constraints.",
        )
    if improvement is not None:
        request = replace(request, claims=_improved(request.claims, data, float(improvement)))
    # Under cross-fitting every row is tested; a pilot is then what would be candidate rows else.
    halves = {"split": "random"} if request.crossfit else {}
    visible = VisibleRows.of(data, request.with_parameters(halves))
    shares = _shares(request.claims, visible)
    tested = 1.0 if request.crossfit else visible.n_held_out / data.n
    smallest = _smallest(shares, tested, data.n)
    with Progress(end=FIRST):
        forecaster = Forecaster.of(visible, request)
    curve = _measure(forecaster, smallest, share, fits, n_jobs)
    answer = find_rows(curve, share)
    rows, notes = answer.rows, [CROSSFIT] if request.crossfit else []
    notes += notes_on(answer, curve, share)
    if replaced := not_forecast(request):
        notes.append(f"the forecast uses the default search instead of {replaced}")
    groups = {name: ceil(part * (rows or 0)) for name, part in shares.items() if name != EVERYONE}
    if rows is not None:
        few = [name for name, part in shares.items() if tested * part * rows < FEW_ROWS]
        notes += [f"fewer than {FEW_ROWS} rows with {name} would be tested" for name in few]
    least = int(np.argmin(curve.by_statement(rows or data.n)))
    return RowPlan(
        share=float(share),
        improvement=None if improvement is None else float(improvement),
        **answer._asdict(),
        groups=groups if rows else {},
        curve=points(curve, 2 * max(data.n, rows or 8 * data.n)),
        binding=forecaster.plan.claims[least].conjunct.text,
        pilot=data.n,
        looked_at=visible.candidate.n,
        notes=tuple(notes),
    )


def _measure(
    forecaster: Forecaster, smallest: int, share: float, fits: int, n_jobs: int
) -> ChanceCurve:
    """The chance at today's rows, and at fewer and fewer, until it is well below the share."""
    n, seed = forecaster.visible.everyone.n, forecaster.request.seed
    curve = forecaster.curve(n, [forecaster.now])
    most = 1 + int(log2(n / smallest) / log2(STEP))
    with Parallel(n_jobs=n_jobs) as parallel, Progress("searching in fewer rows", start=FIRST):
        for _ in parts(range(most)):  # fewer rows take hardly less time
            least = curve.sizes[0].rows
            if least < STEP * smallest or not (
                len(curve.sizes) < FEWEST_SIZES or curve.chance(least) > share / 2
            ):
                break
            rows = round(least / STEP)
            seeds = np.random.SeedSequence([seed, rows]).generate_state(fits).tolist()
            trials = parallel(delayed(forecaster.smaller)(rows / n, each) for each in parts(seeds))
            curve = forecaster.curve(rows, trials, curve.sizes)
    return curve


class Answer(NamedTuple):
    """The number of rows; see `RowPlan`."""

    verdict: Verdict
    rows: int | None
    low: int | None
    high: int | None


def find_rows(curve: ChanceCurve, share: float) -> Answer:
    """The smallest number of rows at which the chance of a solution is the wanted share.

    Parameters
    ----------
    curve : ChanceCurve
        The chance by the number of rows.
    share : float
        The wanted chance.
    """
    start, horizon = curve.sizes[0].rows, HORIZON * curve.now.rows
    count = ceil(np.log(horizon / start) / np.log(APART)) + 1
    grid = np.geomspace(start, horizon, count)
    chances = curve.chances(grid)
    reached = np.vstack([chances.mean(axis=0), curve.without_luck(grid), chances]) >= share
    least = np.where(reached.any(axis=1), grid[reached.argmax(axis=1)], np.inf)
    mean, best = least[:2]
    low, high = np.quantile(least[2:], ENDS, method="nearest")
    ends = floored(low) if isfinite(low) else None, raised(high) if isfinite(high) else None
    if isfinite(mean):
        beyond = mean > curve.now.rows
        return Answer("extrapolated" if beyond else "measured", raised(mean), *ends)
    possible = isfinite(best) or ((curve.effects > 0).all() and curve.most(horizon) >= share)
    return Answer("too uncertain" if possible else "infeasible", None, *ends)


def points(curve: ChanceCurve, end: int) -> tuple[CurvePoint, ...]:
    """The curve at the numbers of rows that were measured, and beyond them.

    Parameters
    ----------
    curve : ChanceCurve
        The chance by the number of rows.
    end : int
        How far the curve goes at least.
    """
    fits = {size.rows: size.fits for size in curve.sizes}
    rows = list(fits)
    while rows[-1] < end:
        rows.append(round(rows[-1] * STEP))
    lows, highs = np.quantile(curve.chances(np.array(rows, dtype=float)), ENDS, axis=0).tolist()
    return tuple(
        CurvePoint(n, curve.chance(n), low, high, fits.get(n, 0))
        for n, low, high in zip(rows, lows, highs, strict=True)
    )


def notes_on(answer: Answer, curve: ChanceCurve, share: float) -> list[str]:
    """What a reader of the answer must not overlook.

    Parameters
    ----------
    answer : Answer
        The answer.
    curve, share
        See `find_rows`.
    """
    (verdict, rows, low, high), n = answer, curve.now.rows
    notes, helps = [], bool((curve.effects > 0).all())
    if verdict == "infeasible" and not helps:
        notes.append(
            "as far as the candidate rows can tell, no model is on the right side of all "
            "constraints: more rows would show that more clearly"
        )
    elif verdict == "too uncertain":
        notes.append(
            f"the effect in the {n:,} rows at hand is too small to be sure of it; plan again with "
            "more rows"
        )
    elif verdict == "extrapolated":
        notes.append(
            f"an extrapolation: beyond the {n:,} rows at hand the effect is assumed to stay as it "
            "is"
        )
    elif rows is not None and rows <= raised(curve.sizes[0].rows):
        notes.append(f"fewer rows may do: no fewer than {curve.sizes[0].rows:,} were tried")
    if helps and curve.most(n) < share:
        notes.append(
            f"with the margin that the search keeps, about {curve.most(n):.2f} of all fits pass, "
            f"and hardly more with more rows: raise power (or inflation) for {share:g}"
        )
    if rows is not None and (high is None or low is None or high > WIDE * low):
        notes.append("very uncertain: take the interval for the answer, or plan with more rows")
    return notes


def _improved(claims: tuple[Claim, ...], data: LoggedData, by: float) -> tuple[Claim, ...]:
    """The claims, those about impacts under the new model with this much to spare."""
    room = [by if claim.impact_conditions(data) else 0.0 for claim in claims]
    if not any(room):
        raise InputError(
            "improvement is on the scale of an impact, and no constraint is about one.",
            hint="leave it out, or add a constraint such as E[impact] >= E_logged[impact].",
        )
    forms = [claim.conjunct.form for claim in claims]
    ahead = [replace(of, constant=of.constant + more) for of, more in zip(forms, room, strict=True)]
    return tuple(
        replace(claim, conjunct=replace(claim.conjunct, form=form))
        for claim, form in zip(claims, ahead, strict=True)
    )


def _shares(claims: Sequence[Claim], visible: VisibleRows) -> dict[str, float]:
    """The share of rows that meet each condition; labels of held-out rows do not count."""
    return {
        who(given): float(np.mean(holds(given, visible.deciding(given))))
        for given in conditions_of(claims)
    }


def _smallest(shares: dict[str, float], tested: float, n: int) -> int:
    """The smallest number of rows at which each condition has rows to be tested on."""
    rarest = min(shares, key=lambda name: shares[name])
    if shares[rarest] == 0:
        return SMALLEST  # the search says what is wrong
    smallest = max(SMALLEST, ceil(FEWEST_ROWS / (tested * shares[rarest])))
    if n < STEP * smallest:
        raise DataError(
            f"there are too few rows to plan from: {n:,}, {round(n * shares[rarest]):,} of them "
            f"with {rarest}. At least {ceil(STEP * smallest)} are needed.",
            hint="collect more rows, or ask about a larger group.",
        )
    return smallest
