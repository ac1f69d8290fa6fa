"""A certificate as a document: which parts, and in which order.

A report: everything about a result that people read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

from elfair.certificate import Certificate
from elfair.certificate.explanation import verdict
from elfair.records.files import write_whole
from elfair.records.text import visible
from elfair.report import account, sections
from elfair.report.blocks import Alarm, Block, Document

SECTIONS = (
    sections.at_a_glance,
    sections.impact_by_group,
    sections.decisions_by_group,
    sections.weights_by_group,
    sections.trade_off,
    sections.what_next,
    account.data,
    sections.how_found,
    account.statements,
    account.moments,
    account.assumptions,
    account.multiplicity,
    account.glossary,
    account.reproduction,
)


def document(certificate: Certificate) -> Document:
    """The whole report; sections that have nothing to say are left out.

    Parameters
    ----------
    certificate : Certificate
        The result.
    """
    written = [section(certificate) for section in SECTIONS]
    return Document(
        title=sections.title(certificate),
        about=sections.about(certificate),
        verdict=verdict(certificate),
        tone=sections.tone(certificate),
        opening=sections.opening(certificate),
        facts=sections.facts(certificate),
        sections=tuple(section for section in written if section is not None),
    )


@dataclass(frozen=True)
class Report:
    """A certificate in the forms that people read; all of them are rendered from it alone.

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
        """One HTML page: no script, nothing to load, light and dark, and fit for paper."""
        from elfair.report.formats import page

        return visible(page(self._document))

    def markdown(self) -> str:
        """The same in Markdown; tables in the place of pictures."""
        from elfair.report.formats import markdown

        return visible(markdown(self._document))

    def text(self) -> str:
        """The result in sentences, for the terminal."""
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
        from elfair.report.formats import fragment

        return visible(fragment(self._document, self._in_short))

    @cached_property
    def _document(self) -> Document:
        return document(self.certificate)

    @property
    def _in_short(self) -> tuple[Block, ...]:
        """What a notebook shows: what must not be overlooked, the picture, the table."""
        by_key = {section.key: section.blocks for section in self._document.sections}
        return (
            *(block for block in self._document.opening if isinstance(block, Alarm)),
            *by_key.get("statements", ()),
            *by_key.get("table", ())[:1],
        )
