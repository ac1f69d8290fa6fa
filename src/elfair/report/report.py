"""A report: a certificate as a document, and the forms in which people read it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeAlias

from elfair.certificate import NOT_STATED, Assumption, Certificate
from elfair.certificate.codes import are_violated
from elfair.certificate.explanation import verdict
from elfair.records.files import write_whole
from elfair.records.text import confidence, count, plural, sentence, visible
from elfair.report import background, board, by_group, model, rendering, rule, tested
from elfair.report.blocks import Alarm, Block, Bullets, Document, Paragraph, Section

TITLE = "Bounds on expected delayed impact"
Writer: TypeAlias = Callable[[Certificate], Iterator[Block]]
#: The key and the title of each section, and what writes it: a section without blocks is left out.
SECTIONS: dict[str, tuple[tuple[str, str, Writer], ...]] = {
    "Part 1: the result": (
        ("covered", "Who is covered, and who is not", board.covered),
        ("decides", "What the model decides on", model.decides),
        ("chosen", "Who chose what, and why", board.chosen),
        ("matters", "What matters most for the promise", board.rests_on),
        ("meaning", "What the confidence means", board.meaning),
    ),
    "Part 2: the technical record": (
        ("statements", "Every statement at a glance", tested.at_a_glance),
        ("rule", "The rule", rule.rule),
        ("model", "The model on the table", model.on_table),
        ("impact", "Impact by group, old and new", by_group.impact),
        ("decisions", "Decisions by group, old and new", by_group.decisions),
        ("weights", "Weights and overlap", by_group.weights),
        ("trade-off", "Objective and impact along the ladder", background.trade_off),
        ("next", "What to do next", tested.what_next),
        ("data", "Data", background.data),
        ("search", "How the model was found", background.search),
        ("table", "The statements in numbers", tested.statements),
        ("moments", "Moments", tested.moments),
        ("assumptions", board.RESTS_ON, tested.assumptions),
        ("promise", "The promise in full", lambda of: iter([Paragraph(of.joint_statement)])),
        ("glossary", "Glossary", background.glossary),
        ("verify", "How to reproduce and verify", background.reproduction),
    ),
}
#: Further warnings are about single statements, and stand beside them.
MOST_WARNED = 5
NONE_FOUND = (
    "No model is released: none was shown to meet all statements. This is a valid result, not an "
    "error. It does not mean that no such model exists."
)
NOT_SHOWN = (
    "This model is not released: it was not shown to meet all statements. This is a valid result, "
    "not an error. It does not mean that the model violates them."
)
OBJECTED = (
    "No model is released: with a violated assumption the test does not show what it should, "
    "whatever the bounds are. This is a valid result, not an error."
)


@dataclass(frozen=True)
class Report:
    """A certificate in the forms that people read, rendered from it alone.

    Parameters
    ----------
    certificate : Certificate
        The result.

    Examples
    --------
    >>> from elfair import LoggedData, certify
    >>> data = LoggedData([[0.0]] * 240, [0, 1] * 120)
    >>> report = Report(certify([0.2, 0.7] * 120, data, "accuracy >= 0.7"))
    >>> print(report.text().splitlines()[0])
    Model passed: the statement passed the test on 240 held-out rows.
    >>> report.html()[:15], "<script" in report.html()
    ('<!DOCTYPE html>', False)
    """

    certificate: Certificate

    def html(self) -> str:
        """One HTML page without scripts or anything to load, in light and dark, and for paper."""
        return visible(rendering.page(self._document))

    def markdown(self) -> str:
        """The same in Markdown, with tables instead of charts."""
        return visible(rendering.markdown(self._document))

    def text(self) -> str:
        """The result in short, for the terminal; see `Certificate.explain`."""
        return self.certificate.explain()

    def __str__(self) -> str:
        return self.text()

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path-like
            The file; its folder must exist.
        """
        write_whole(path, self.html())

    def write_markdown(self, path: str | os.PathLike[str]) -> None:
        """Write the Markdown to a file.

        Parameters
        ----------
        path : str or path-like
            The file; its folder must exist.
        """
        write_whole(path, self.markdown())

    def _repr_html_(self) -> str:
        """What a notebook shows: alarms, the promise, the picture, the statements in a table."""
        document = self._document
        by_key = {section.key: section.blocks for _, part in document.parts for section in part}
        statements = (*by_key.get("statements", ()), *by_key.get("table", ())[:1])
        return visible(rendering.fragment(document, (*document.opening, *statements)))

    def opening(self) -> str:
        """What stands right below the verdict: the promise, and one picture. HTML, for a page that
        has the styles of a report.
        """
        return visible(rendering.blocks_html(self._document.opening))

    @cached_property
    def _document(self) -> Document:
        of, source = self.certificate, self.certificate.provenance
        programs = [f"{v.name} {v.version}" for v in of.versions if v.name == "elfair"]
        parts = (
            (part, [Section(title, tuple(write(of)), key) for key, title, write in sections])
            for part, sections in SECTIONS.items()
        )
        return Document(
            title=TITLE if source.title == NOT_STATED else source.title,
            about=tuple(x for x in (_time(of), source.source, *programs) if x != NOT_STATED),
            verdict=verdict(of),
            tone="nothing" if not of.constraints else "found" if of.passed else "none",
            opening=(
                *(_doubts(of) if of.passed else ()),
                *board.lead(of),
                *(() if of.passed else _doubts(of)),
                *board.picture(of),
                *_warnings(of),
                *_valid(of),
            ),
            facts=_facts(of),
            parts=tuple(
                (part, tuple(each for each in all_ if each.blocks)) for part, all_ in parts
            ),
        )


def _time(certificate: Certificate) -> str:
    """When it was issued, as people write it."""
    issued = certificate.provenance.issued
    try:
        return f"{datetime.fromisoformat(issued):%Y-%m-%d %H:%M %Z}"
    except ValueError:
        return issued


def _doubts(certificate: Certificate) -> Iterator[Block]:
    """The violated assumptions, which call the promise into question."""
    if against := certificate.objections:
        yield Alarm(f"No model is released: {are_violated(against)}", (_evidence(against),))
    if accepted := certificate.accepted:
        yield Alarm(
            f"The stated confidence is NOT justified: {are_violated(accepted)}, which was accepted",
            (_evidence(accepted),),
        )


def _warnings(certificate: Certificate) -> Iterator[Block]:
    """What else a reader must not overlook."""
    of_statements = {said for result in certificate.constraints for said in result.warnings}
    people = certificate.people
    covered = people.said(certificate.n)[:1] if any(not g.named for g in people.groups) else []
    warnings = [
        said
        for said in certificate.warnings
        if said.code != "assumption_violated" and said.text not in covered  # said in the promise
    ]
    warnings.sort(key=lambda said: said in of_statements)
    if warnings:
        shown = [sentence(str(said)) for said in warnings[:MOST_WARNED]]
        if more := warnings[MOST_WARNED:]:
            shown.append(f"And {plural(len(more), 'more warning')}, beside the statements.")
        yield Alarm("Do not overlook", (Bullets(tuple(shown)),))


def _evidence(violated: Sequence[Assumption]) -> Bullets:
    return Bullets(tuple(f"{each.name}: {each.evidence}." for each in violated))


def _valid(certificate: Certificate) -> Iterator[Block]:
    """That no release is a result, too."""
    if certificate.objections:
        yield Paragraph(OBJECTED)
    elif certificate.constraints and not certificate.passed:
        yield Paragraph(NONE_FOUND if certificate.search else NOT_SHOWN)


def _facts(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """A few numbers, and what they are."""
    if not certificate.constraints:
        return ((count(certificate.n), "rows, all for the search"),)
    total = len(certificate.constraints)
    sizes = [group.n for result in certificate.constraints for group in result.groups]
    return (
        (f"{total - len(certificate.failed)} of {total}", "statements passed"),
        (confidence(certificate.joint_delta), "confidence"),
        (count(certificate.n_held_out), "held-out rows"),
        (count(min(sizes, default=0)), "rows in the smallest group"),
    )
