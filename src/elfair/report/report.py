"""A report: a certificate as a document, and the forms in which people read it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

from elfair.certificate import Certificate
from elfair.certificate.explanation import verdict
from elfair.records.files import write_whole
from elfair.records.text import visible
from elfair.report import background, by_group, opening, tested
from elfair.report.blocks import Alarm, Block, Document

SECTIONS = (
    tested.at_a_glance,
    by_group.impact,
    by_group.decisions,
    by_group.weights,
    background.trade_off,
    tested.what_next,
    background.data,
    background.search,
    tested.statements,
    tested.moments,
    tested.assumptions,
    tested.promise,
    background.glossary,
    background.reproduction,
)


def document(certificate: Certificate) -> Document:
    """The whole report, without the sections that have nothing to say.

    Parameters
    ----------
    certificate : Certificate
        The result.
    """
    written = [section(certificate) for section in SECTIONS]
    return Document(
        title=opening.title(certificate),
        about=opening.about(certificate),
        verdict=verdict(certificate),
        tone=opening.tone(certificate),
        opening=opening.opening(certificate),
        facts=opening.facts(certificate),
        sections=tuple(section for section in written if section is not None),
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
        from elfair.report.rendering import page

        return visible(page(self._document))

    def markdown(self) -> str:
        """The same in Markdown, with tables instead of charts."""
        from elfair.report.rendering import markdown

        return visible(markdown(self._document))

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
        from elfair.report.rendering import fragment

        return visible(fragment(self._document, self._in_short))

    @cached_property
    def _document(self) -> Document:
        return document(self.certificate)

    @property
    def _in_short(self) -> tuple[Block, ...]:
        """What a notebook shows: alarms, the chart of the statements, their table."""
        by_key = {section.key: section.blocks for section in self._document.sections}
        return (
            *(block for block in self._document.opening if isinstance(block, Alarm)),
            *by_key.get("statements", ()),
            *by_key.get("table", ())[:1],
        )
