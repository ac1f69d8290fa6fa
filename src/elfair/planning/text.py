"""A plan in words, and its curve in characters."""

from __future__ import annotations

from elfair.planning.record import CurvePoint, RowPlan

#: Characters from 0 to 1.
WIDTH = 40


def text(plan: RowPlan) -> str:
    """The plan for a terminal.

    Parameters
    ----------
    plan : RowPlan
        The plan.
    """
    lines = [headline(plan)]
    if plan.groups:
        groups = "; ".join(f"{name}: {rows:,}" for name, rows in plan.groups.items())
        lines.append(f"Of them with {groups}.")
    lines += [f"What needs them: {plan.binding}", "", *_curve(plan)]
    if plan.notes:
        lines += ["", *(f"- {note}" for note in plan.notes)]
    return "\n".join(lines)


def headline(plan: RowPlan) -> str:
    """The answer in one sentence."""
    wanted = f"a solution with probability {plan.share:g}"
    if plan.improvement is not None:
        wanted = (
            f"with probability {plan.share:g} a solution that is better by {plan.improvement:g} "
            "than the constraints ask"
        )
    if plan.verdict == "infeasible":
        return f"No number of rows would give {wanted}, as far as these rows can tell."
    if plan.rows is None:
        return f"These rows cannot tell how many would give {wanted}: {between(plan)}."
    return f"About {plan.rows:,} rows give {wanted} ({between(plan)}, with 80 % confidence)."


def between(plan: RowPlan) -> str:
    """The interval in words."""
    if plan.high is not None:
        return f"between {plan.low:,} and {plan.high:,}"
    return f"{plan.low:,} or more" if plan.low is not None else "more than can be planned for"


def _curve(plan: RowPlan) -> list[str]:
    width = max(6, *(len(f"{point.rows:,}") for point in plan.curve))
    title = f"{'rows':>{width}}  {'probability of a solution':<{WIDTH + 9}}  low to high   fits"
    return [title, *(_line(point, plan.share, width) for point in plan.curve)]


def _line(point: CurvePoint, share: float, width: int) -> str:
    filled = round(WIDTH * point.probability)
    bar = list("#" * filled + " " * (WIDTH - filled))
    bar[min(WIDTH - 1, round(WIDTH * share))] = "|"  # the wanted share
    seen = f"{point.solutions} of {point.fits}" if point.measured else "extrapolated"
    ends = f"{point.low:.2f} to {point.high:.2f}"
    return f"{point.rows:>{width},}  {point.probability:.2f}  [{''.join(bar)}]  {ends}  {seen}"
