"""A report: a certificate as a document, and the forms in which people read it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from elfair.certificate import NOT_STATED, Assumption, Certificate
from elfair.certificate.explanation import are_violated, verdict
from elfair.records.files import write_whole
from elfair.records.text import confidence, count, plural, rate, visible
from elfair.report import background, by_group, rendering, tested
from elfair.report.blocks import Alarm, Block, Bullets, Document, Paragraph, Section

TITLE, RESTS_ON = "Bounds on expected delayed impact", "What it rests on"
#: The key and the title of each section, and what writes it: a section without blocks is left out.
SECTIONS: tuple[tuple[str, str, Callable[[Certificate], Iterator[Block]]], ...] = (
    ("statements", "Every statement at a glance", tested.at_a_glance),
    ("impact", "Impact by group, old and new", by_group.impact),
    ("decisions", "Decisions by group, old and new", by_group.decisions),
    ("weights", "Weights and overlap", by_group.weights),
    ("trade-off", "Objective and impact along the ladder", background.trade_off),
    ("next", "What to do next", tested.what_next),
    ("data", "Data", background.data),
    ("search", "How the model was found", background.search),
    ("table", "The statements in numbers", tested.statements),
    ("moments", "Moments", tested.moments),
    ("assumptions", RESTS_ON, tested.assumptions),
    ("promise", "The promise in full", lambda of: iter([Paragraph(of.joint_statement)])),
    ("glossary", "Glossary", background.glossary),
    ("verify", "How to reproduce and verify", background.reproduction),
)
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
    Solution found: the statement passed the test on 240 held-out rows.
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
        """What a notebook shows: alarms, the chart of the statements, their table."""
        document = self._document
        by_key = {section.key: section.blocks for section in document.sections}
        shown = (
            *(block for block in document.opening if isinstance(block, Alarm)),
            *by_key.get("statements", ()),
            *by_key.get("table", ())[:1],
        )
        return visible(rendering.fragment(document, shown))

    @cached_property
    def _document(self) -> Document:
        of, source = self.certificate, self.certificate.provenance
        programs = [f"{v.name} {v.version}" for v in of.versions if v.name == "elfair"]
        sections = [Section(title, tuple(write(of)), key) for key, title, write in SECTIONS]
        return Document(
            title="Bounds on expected delayed impact"
            if source.title == NOT_STATED
            else source.title,
            about=tuple(x for x in (source.issued, source.source, *programs) if x != NOT_STATED),
            verdict=verdict(of),
            tone="nothing" if not of.constraints else "found" if of.passed else "none",
            opening=(*_alarms(of), *_promise(of)),
            facts=_facts(of),
            sections=tuple(section for section in sections if section.blocks),
        )


def _alarms(certificate: Certificate) -> Iterator[Block]:
    """What calls the promise into question."""
    if against := certificate.objections:
        yield Alarm(f"No model is released: {are_violated(against)}", (_evidence(against),))
    if accepted := certificate.accepted:
        yield Alarm(
            f"The stated confidence is NOT justified: {are_violated(accepted)}, which was accepted",
            (_evidence(accepted),),
        )
    of_statements = {said for result in certificate.constraints for said in result.warnings}
    warnings = [said for said in certificate.warnings if said.code != "assumption_violated"]
    warnings.sort(key=lambda said: said in of_statements)
    if warnings:
        shown = [f"{said}." for said in warnings[:MOST_WARNED]]
        if more := warnings[MOST_WARNED:]:
            shown.append(f"And {plural(len(more), 'more warning')}, beside the statements.")
        yield Alarm("Do not overlook", (Bullets(tuple(shown)),))


def _evidence(violated: Sequence[Assumption]) -> Bullets:
    return Bullets(tuple(f"{each.name}: {each.evidence}." for each in violated))


def _promise(certificate: Certificate) -> Iterator[Block]:
    """The promise in plain words."""
    if not certificate.constraints:
        yield Paragraph("Nothing was tested, and nothing is promised about this model.")
        return
    if certificate.objections:
        yield Paragraph(OBJECTED)
    elif not certificate.passed:
        yield Paragraph(NONE_FOUND if certificate.search else NOT_SHOWN)
    sure, often = confidence(certificate.joint_delta), rate(certificate.joint_delta)
    looks = certificate.terms.looks
    in_looks = f", in any of their {looks} looks," if looks > 1 else ""
    stable = ", a stable search among them" if certificate.split == "crossfit" else ""
    yield Paragraph(
        f"What {sure} confidence means: if the whole study were repeated many times, each time "
        f"with other people from the same population, then at most {often} of the repetitions"
        f"{in_looks} would release a model that violates one of the statements below. This "
        f'requires that all assumptions hold{stable} (see "{RESTS_ON}"). Repetitions that release '
        "no model count, too. It does not mean that this model meets the statements with "
        f"probability {sure}: if "
        "no model can meet them, every released model violates them."
    )
    asymptotic = any(result.kind == "asymptotic" for result in certificate.constraints)
    limit = (
        "in the limit of many rows; with few rows the rate may be somewhat higher"
        if asymptotic
        else "for any number of rows"
    )
    yield Paragraph(
        "The promise is about expected impact, averaged over a group, not about single people. It "
        "is about these statements as written, not about fairness in every sense. It holds "
        f"{limit}."
    )


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
