"""A certificate as a document: which parts, and in which order."""

from __future__ import annotations

from elfair.certificate import Certificate
from elfair.report import account, finding, opening, people
from elfair.report.blocks import Document
from elfair.report.words import verdict

SECTIONS = (
    opening.at_a_glance,
    people.impact_by_group,
    people.decisions_by_group,
    people.weights_by_group,
    finding.trade_off,
    finding.what_next,
    account.data,
    finding.how_found,
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
    sections = [section(certificate) for section in SECTIONS]
    return Document(
        title=opening.title(certificate),
        about=opening.about(certificate),
        verdict=verdict(certificate),
        tone=opening.tone(certificate),
        opening=opening.opening(certificate),
        facts=opening.facts(certificate),
        sections=tuple(section for section in sections if section is not None),
    )
