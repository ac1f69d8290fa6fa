"""What was tested: every statement with its numbers, what to do next, and what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isinf

from elfair.certificate import Certificate, GroupRecord, advice
from elfair.certificate.codes import ASSUMPTIONS, SHOWN_STATUS
from elfair.certificate.explanation import (
    numbered,
    pass_or_fail,
    positive_is,
    seen,
    would_hold,
    would_last,
)
from elfair.records.text import count, exact, number, plural, raised, sentence
from elfair.report import blocks, charts
from elfair.report.blocks import Block, Bullets, Code, Paragraph, Subsection, Table, group_name

#: This many failed statements get advice of their own, the worst first.
MOST_ADVISED = 10


def at_a_glance(certificate: Certificate) -> Iterator[Block]:
    """Every statement in one chart."""
    if certificate.constraints:
        if certificate.terms.positive is not None:
            yield Paragraph(positive_is(certificate.terms.positive))
        yield charts.statements(certificate.constraints)


def what_next(certificate: Certificate) -> Iterator[Block]:
    """After "no solution found"."""
    failed = certificate.failed
    if certificate.passed:
        return
    yield from _advice(advice.advise_on_all(certificate))
    for result in failed[:MOST_ADVISED]:
        said = Paragraph(f"{seen(result)}.")
        yield Subsection(
            Code(result.statement), (said, *_advice(advice.advise(result, certificate)))
        )
    if more := failed[MOST_ADVISED:]:
        told = f"And {plural(len(more), 'more statement')} failed, by less: see the table below."
        yield Paragraph(told)
    if not failed:
        return
    same_rows = (
        Paragraph("Choose these before you look at the next rows:"),
        Bullets(advice.more_from_the_same_rows(certificate)),
        Paragraph(advice.WHAT_NOT_TO_DO),
    )
    yield Subsection("More from the same number of rows", same_rows)


def _advice(found: Sequence[advice.Advice]) -> Iterator[Block]:
    for each in found:
        yield blocks.Definitions(
            (
                ("What it says", sentence(each.seen)),
                ("Likely cause", sentence(each.cause)),
                ("What to do", sentence(each.steps)),
            )
        )


def _even(
    title: str, values: Sequence[tuple[str, float | None]], say: Callable[[float], str]
) -> Iterator[Block]:
    """How wrong something may be, by the statements of which it is true."""
    by_value: dict[float, list[str]] = {}
    for name, value in values:
        if value is not None:
            by_value.setdefault(value, []).append(name)
    if by_value:
        told = tuple(f"{', '.join(by_value[each])} {say(each)}." for each in sorted(by_value))
        yield Subsection(title, (Bullets(told),))


def statements(certificate: Certificate) -> Iterator[Block]:
    """Everything that is known about each statement."""
    if not certificate.constraints:
        return
    results = numbered(certificate.constraints)
    kinds = " or ".join(dict.fromkeys(result.kind for _, result in results))
    yield Table.of(
        "The tests, the worst first; estimate, bound and spread are on the scale of g; bounds are "
        f"{kinds}",
        "number",
        results,
        {
            "statement": lambda result: Code(result.statement),
            "verdict": pass_or_fail,
            "rows" if certificate.terms.units is None else "units": lambda result: count(result.n),
            "estimate": lambda result: number(result.estimate),
            "bound": lambda result: number(result.upper),
            "delta": lambda result: f"{result.delta:g}",
            "spread": lambda result: number(result.spread),
            "rows needed": lambda result: _rows_needed(result.rows_needed),
            "break-even": lambda result: (
                "" if result.break_even is None else f"{result.break_even:g}"
            ),
            "shift": lambda result: (
                "" if result.break_even_shift is None else f"{result.break_even_shift:g}"
            ),
        },
        words=3,
    )
    yield from _even(
        "How wrong the logged probabilities may be",
        [(name, result.break_even) for name, result in results],
        would_hold,
    )
    yield from _even(
        "How much people may change",
        [(name, result.break_even_shift) for name, result in results],
        would_last,
    )
    yield _weights(certificate)
    parts = [(name, Code(r.constraint)) for name, r in results if r.statement != r.constraint]
    if parts:
        title = "Statements that are part of a constraint"
        yield Table.of_facts(title, parts, ("statement", "constraint"))
    warned: dict[str, list[str]] = {}
    for name, result in results:
        for warning in result.warnings:
            warned.setdefault(warning.text, []).append(name)
    if warned:
        said = tuple(f"{', '.join(names)}: {text}." for text, names in warned.items())
        yield Subsection("Warnings", (Bullets(said),))


def _rows_needed(rows: int | None) -> str:
    return "none is enough" if rows is None else f"about {raised(rows):,}"


def _weights(certificate: Certificate) -> Table:
    """Statements about the same people share a row."""
    by_group: dict[GroupRecord, list[str]] = {}
    for name, result in numbered(certificate.constraints):
        for group in result.groups:
            by_group.setdefault(group, []).append(name)

    def shown(value: float | None) -> str:
        return "" if value is None else number(value)

    return Table.of(
        "Rows and importance weights by condition",
        "condition",
        [(group_name(group.condition), group) for group in by_group],
        {
            "statements": lambda group: ", ".join(dict.fromkeys(by_group[group])),
            "rows": lambda group: count(group.n),
            "ESS": lambda group: shown(group.ess),
            "mean weight": lambda group: shown(group.mean_weight),
            "standard error": lambda group: shown(group.mean_weight_error),
            "largest weight": lambda group: shown(group.max_weight),
        },
        words=2,
    )


def moments(certificate: Certificate) -> Iterator[Block]:
    """What an auditor computes the bounds from again."""
    if not certificate.constraints:
        return
    tails = [(name, t) for name, result in numbered(certificate.constraints) for t in result.tails]
    bounds = Table.of(
        "Bounded forms; all digits are shown",
        "statement",
        tails,
        {
            "form": lambda tail: Code(tail.form),
            "delta": lambda tail: exact(tail.delta),
            "estimate": lambda tail: exact(tail.estimate),
            "standard error": lambda tail: exact(tail.error),
            "upper bound": lambda tail: exact(tail.upper),
        },
        words=2,
    )
    parts = Table.of(
        "Moments of the held-out rows of each form; all digits are shown",
        "statement",
        [(name, part) for name, tail in tails for part in tail.parts],
        {
            "condition": lambda part: group_name(part.condition),
            "rows": lambda part: count(part.n),
            "mean": lambda part: exact(part.mean),
            "variance": lambda part: exact(part.variance),
            "lowest": lambda part: _end(part.low),
            "highest": lambda part: _end(part.high),
        },
        words=2,
    )
    said = (
        "An auditor can compute the t bounds again from these numbers, without the rows. Lowest "
        "and highest are limits that a row cannot exceed, whatever the data, or none."
    )
    if shared := dict.fromkeys(name for name, tail in tails if not tail.disjoint):
        said += (
            " Some people are in two parts at once, so the standard error is not that of the parts "
            f"alone: {', '.join(shared)}."
        )
    yield Paragraph(said)
    yield blocks.Folded("The moments", (bounds, parts))


def _end(value: float) -> str:
    return "none" if isinf(value) else exact(value)


def assumptions(certificate: Certificate) -> Iterator[Block]:
    """What the promise rests on, violated assumptions first."""
    if not certificate.assumptions:
        return
    statuses = blocks.prose("statuses")
    yield blocks.Definitions(tuple((SHOWN_STATUS[each], statuses[each]) for each in SHOWN_STATUS))
    order = list(reversed(SHOWN_STATUS))
    listed = sorted(certificate.assumptions, key=lambda each: order.index(each.status))
    yield Table.of(
        "What the stated confidence rests on",
        "assumption",
        [(each.name, each) for each in listed],
        {
            "status": lambda each: (
                "VIOLATED" if each.status == "violated" else SHOWN_STATUS[each.status]
            ),
            "in plain words": lambda each: ASSUMPTIONS[each.code].plain,
            "as it is stated": lambda each: each.statement,
            "what was seen": lambda each: each.evidence,
        },
        words=5,
    )
