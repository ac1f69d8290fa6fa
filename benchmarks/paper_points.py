"""What the paper reports, point by point, beside what the experiments found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from paper_page import OURS, PAPER, Cell, Results, accurate, percent, table, wrapped

ALWAYS, OFTEN = 0.95, 0.5
#: Of the paper's "n = 1,000" and "n < 1,000".
THOUSAND, FEWER = 1_024, (256, 512)
LARGEST = 32_768
LOGISTIC = "logistic-regression"
ALL_RETURN = (
    LOGISTIC,
    "fairlearn-demographic-parity",
    "fairlearn-equalized-odds",
    "fairness-constraints",
)


class Point(NamedTuple):
    """A statement of the paper, and what became of it here."""

    paper: str
    here: str
    same: bool
    why_not: str


def points(plain: Results, strict: Results, appendix: Results) -> str:
    """The table of docs/results.md."""
    rows = [
        [point.paper, point.here, "same" if point.same else f"**different**: {point.why_not}"]
        for point in [*_failures(plain, strict), *_costs(plain), *_alphas(appendix)]
    ]
    return table(["the paper says", "here", "same?"], rows)


def _failures(plain: Results, strict: Results) -> list[Point]:
    worst = {
        method: max(_largest(results, method, "any") for results in (plain, strict))
        for method in ("elfair", PAPER)
    }
    static = [method for method in plain.methods if method not in (*OURS, PAPER)]
    of_one = {m: _of_returned(plain, m, "1") for m in static}
    of_both = {m: _of_returned(strict, m, "0") for m in static}
    always = [m for m in static if of_one[m] >= ALWAYS]
    often = [m for m in static if OFTEN <= of_one[m] < ALWAYS]
    rest = [m for m in static if of_one[m] < OFTEN]
    of_zero = {m: _of_returned(plain, m, "0") for m in static}
    zero = [m for m in static if of_zero[m] >= OFTEN]
    return [
        Point(
            "ELF's solutions are always fair.",
            f"Largest failure rate over all sizes, plain and strict: paper mode "
            f"{percent(worst[PAPER])} %, default mode {percent(worst['elfair'])} %.",
            max(worst.values()) == 0,
            "elfair promises a rate of at most delta, not of 0; a test that errs in delta of the "
            "cases at the edge passes some models that lie just beyond it.",
        ),
        Point(
            "Methods for static fairness always fail Black youth (group 1) ...",
            "Models that fail group 1: always (>= 95 %) "
            f"{_named(plain, always, of_one)}; often (>= 50 %) {_named(plain, often, of_one)}; "
            f"otherwise {_named(plain, rest, of_one)}.",
            not often and not rest,
            "the label depends on the group, which the features show only weakly. So methods that "
            "equalise rates of decisions must give up much accuracy, and move decisions towards "
            "group 1.",
        ),
        Point(
            "... and often, or always, fail White youth (group 0) as well.",
            f"Often (>= 50 %): {_named(plain, zero, of_zero)}. Strict: "
            f"{_named(strict, [m for m in static if of_both[m] >= OFTEN], of_both)}.",
            len(zero) == len(static),
            "here accuracy alone helps group 0; the strict variant, in which accuracy alone harms "
            "both groups, is closer to the paper.",
        ),
    ]


def _costs(plain: Results) -> list[Point]:
    paper, ours = plain.line(PAPER), plain.line("elfair")
    most = max(paper[n].returned for n in FEWER)
    static = [method for method in plain.methods if method not in (*OURS, PAPER)]
    accuracy = {m: plain.line(m)[THOUSAND].accuracy or 0.0 for m in static}
    near = [m for m in static if accuracy[m] >= 0.895]
    far = [m for m in static if m not in near]
    gap = (plain.line(LOGISTIC)[LARGEST].accuracy or 0) - (ours[LARGEST].accuracy or 0)
    gap_paper = (plain.line(LOGISTIC)[LARGEST].accuracy or 0) - (paper[LARGEST].accuracy or 0)
    returned = [cell.returned for m in ALL_RETURN for cell in plain.line(m).values()]
    any_failure = {m: _of_returned(plain, m, "any") for m in ALL_RETURN}
    seldonian = [method for method in static if method.startswith("qsa-")]
    earlier = [m for m in seldonian if plain.line(m)[FEWER[0]].returned > paper[FEWER[0]].returned]
    of_qsa = {m: _of_returned(plain, m, "any") for m in seldonian}
    return [
        Point(
            "ELF returns no solution with n < 1,000.",
            f"Returned at n = {FEWER[0]} and {FEWER[1]}: paper mode {_at(paper, FEWER)}, default "
            f"mode {_at(ours, FEWER)}.",
            most <= 0.02,
            "the number of rows it takes depends on how much room the behaviour model leaves, and "
            "this one seems to leave more than the paper's.",
        ),
        Point(
            "At n = 1,000 ELF is 83 % accurate ...",
            f"At n = {THOUSAND:,}: paper mode {accurate(paper[THOUSAND].accuracy)} %, default mode "
            f"{accurate(ours[THOUSAND].accuracy)} %.",
            abs((paper[THOUSAND].accuracy or 0) - 0.83) < 0.015,
            "another population.",
        ),
        Point(
            "... and the others above 90 %.",
            f"About 90 %: {_named(plain, near, accuracy)}. Less: {_named(plain, far, accuracy)}.",
            not far,
            "no model here can be more accurate than 90.1 %; equal rates of decisions cost far "
            "more accuracy than in the paper, because the label depends on the group and the "
            "features show the group only weakly.",
        ),
        Point(
            "ELF returns a solution with 91 % probability at n = 4,096.",
            f"Paper mode {percent(paper[4_096].returned)} %, default mode "
            f"{percent(ours[4_096].returned)} %.",
            abs(paper[4_096].returned - 0.91) < 0.03,
            "with lambda = 2 the rate of each binding constraint tends to 84 % on a 60/40 split, "
            "however many rows there are ([why](method.md#where-elfair-departs-from-the-paper)); "
            "91 % is more than that, so something in the paper's setting must differ.",
        ),
        Point(
            "As n grows, that probability increases rapidly.",
            f"At n = {LARGEST:,}: paper mode {percent(paper[LARGEST].returned)} %, default mode "
            f"{percent(ours[LARGEST].returned)} %.",
            paper[LARGEST].returned >= 0.95,
            "paper mode stays on the plateau above; default mode approaches 100 %.",
        ),
        Point(
            "As n grows, ELF's accuracy approaches the others'.",
            f"Below logistic regression at n = {LARGEST:,}: paper mode by {100 * gap_paper:.1f} "
            f"points, default mode by {100 * gap:.1f}.",
            max(gap, gap_paper) < 0.01,
            "the constraints bind: logistic regression harms group 1.",
        ),
        Point(
            "ELF's solutions are always at least 75 % accurate.",
            "Largest share of trials with a less accurate one: paper mode "
            f"{percent(plain.run['below_floor'][PAPER])} %, default mode "
            f"{percent(plain.run['below_floor']['elfair'])} %.",
            max(plain.run["below_floor"].values()) == 0,
            "the floor is a constraint like the others, and holds at level delta.",
        ),
        Point(
            "Fairlearn, Fairness Constraints and logistic regression always return a solution; it "
            "never satisfies both constraints.",
            f"Returned: at least {percent(min(returned))} %. Models that fail some group: "
            f"{_named(plain, ALL_RETURN, any_failure)}.",
            min([*returned, *any_failure.values()]) >= ALWAYS,
            "equal rates move decisions towards group 1 here, at the price of accuracy.",
        ),
        Point(
            "Quasi-Seldonian classifiers often return solutions with fewer rows than ELF; they "
            "fail to satisfy both constraints.",
            f"More often than paper mode at n = {FEWER[0]}: {len(earlier)} of {len(seldonian)}. "
            f"Models that fail some group: {_named(plain, seldonian, of_qsa)}.",
            len(earlier) >= 3 and min(of_qsa.values()) >= ALWAYS,
            "as above: those that equalise rates of decisions hardly harm anybody, but are not "
            "accurate.",
        ),
    ]


def _alphas(appendix: Results) -> list[Point]:
    lines = {m: {a: appendix.line(m, a) for a in appendix.alphas} for m in ("elfair", PAPER)}
    positive = [alpha for alpha in appendix.alphas if alpha > 0]
    last = {m: {a: lines[m][a][LARGEST] for a in appendix.alphas} for m in lines}
    worst = {m: _largest(appendix, m, "any") for m in lines}
    low = {m: next((a for a in positive if last[m][a].returned), None) for m in lines}
    ends = {
        m: [accurate(last[m][a].accuracy) for a in (positive[-1], low[m]) if a is not None]
        for m in lines
    }
    falls = [value for a in positive if (value := last[PAPER][a].accuracy) is not None]
    return [
        Point(
            "ELF never returns an unfair model, whatever alpha.",
            f"Largest failure rate over alphas and sizes: paper mode {percent(worst[PAPER])} %, "
            f"default mode {percent(worst['elfair'])} %.",
            max(worst.values()) == 0,
            "the promise is a rate of up to delta, and covers default mode only.",
        ),
        Point(
            "It returns solutions under all alpha > 0, given enough data ...",
            f"At n = {LARGEST:,} and alpha = {positive[0]:g}: paper mode "
            f"{percent(last[PAPER][positive[0]].returned)} %, default mode "
            f"{percent(last['elfair'][positive[0]].returned)} %.",
            min(last[m][positive[0]].returned for m in lines) > 0,
            "paper mode needs more rows than that at the smallest alpha.",
        ),
        Point(
            "... less often as alpha approaches 0.",
            f"At n = 4,096 and alpha = {', '.join(f'{a:g}' for a in appendix.alphas)}: paper mode "
            f"{_over(lines[PAPER], 4_096)} %; default mode {_over(lines['elfair'], 4_096)} %.",
            lines[PAPER][positive[0]][4_096].returned < lines[PAPER][positive[-1]][4_096].returned,
            "",
        ),
        Point(
            "Accuracy falls from 90 % to 84 % as alpha approaches 0.",
            f"At n = {LARGEST:,}, from alpha = {positive[-1]:g} down to the smallest at which "
            f"models are returned: paper mode {' to '.join(ends[PAPER])} %, default mode "
            f"{' to '.join(ends['elfair'])} %.",
            abs(max(falls) - 0.90) < 0.01 and abs(min(falls) - 0.84) < 0.02,
            "how far it falls depends on the room that is left, and on the largest n.",
        ),
    ]


def in_short(results: Mapping[str, Results]) -> str:
    """The few lines of the README."""
    plain, appendix = results["figures-1-2"], results["appendix"]
    ours, paper = plain.line("elfair"), plain.line(PAPER)
    logistic = plain.line(LOGISTIC)
    times = {
        each["settings"]["alpha"]: each
        for each in results["elfair-against-paper"].run["efficiency"]
    }
    fewer = ", ".join(
        f"{'at least ' if times[a]['at_least'] else ''}{times[a]['ratio']:.1f} "
        f"({times[a]['interval']}) at alpha = {a:g}"
        for a in sorted(times, reverse=True)
    )
    trials = sum(cell.trials for each in results.values() for cell in each.cells)
    worst = max(_largest(each, "elfair", "any") for each in results.values())
    lines = [
        f"These results are from simulated populations, whose truth is known ({trials:,} trials, "
        f"up to {len(plain.methods)} methods). The first two points are about a population that "
        "follows the paper's description of its data; alpha is the share of the impact that comes "
        "from decisions.\n",
        f"* With {THOUSAND:,} rows and alpha = 0.9, elfair returns a model in "
        f"{percent(ours[THOUSAND].returned)} % of trials, and its models are "
        f"{accurate(ours[THOUSAND].accuracy)} % accurate. With the paper's settings these are "
        f"{percent(paper[THOUSAND].returned)} % and "
        f"{accurate(paper[THOUSAND].accuracy)} %. Logistic regression is "
        f"{accurate(logistic[THOUSAND].accuracy)} % accurate and makes group 1 worse off in "
        f"{percent(logistic[THOUSAND].failed['1'])} % of trials.",
        "* To be as accurate as the paper's settings, and to return a model as often, elfair needs "
        f"fewer rows, by a factor of {fewer} (95 % intervals in parentheses).",
        f"* Over all combinations of population, alpha ({len(appendix.alphas)} values) and size "
        f"({len(ours)} values), elfair made some group worse off in at most {percent(worst)} % of "
        "trials. The promise is at most 10 %.",
    ]
    return "\n".join(wrapped(line) + "\n" * line.endswith("\n") for line in lines)


def _largest(results: Results, method: str, group: str) -> float:
    return max(cell.failed[group] for cell in results.cells if cell.method == method)


def _of_returned(results: Results, method: str, group: str) -> float:
    """The share of models returned with n >= 1,000 that make a group worse off."""
    cells = [cell for n, cell in results.line(method).items() if n >= THOUSAND]
    failed = sum(cell.failed[group] * cell.trials for cell in cells)
    return failed / (sum(cell.returned * cell.trials for cell in cells) or 1)


def _named(results: Results, methods: Sequence[str], shares: Mapping[str, float]) -> str:
    return (
        ", ".join(f"{results.methods[m].replace(',', ':')} {percent(shares[m])} %" for m in methods)
        or "none"
    )


def _at(line: Mapping[int, Cell], sizes: Sequence[int]) -> str:
    return " and ".join(f"{percent(line[n].returned)} %" for n in sizes)


def _over(lines: Mapping[float, Mapping[int, Cell]], n: int) -> str:
    return ", ".join(percent(line[n].returned) for line in lines.values())
