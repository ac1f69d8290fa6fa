"""The rule of a tree, and how many people of each group it decides about in each leaf."""

from __future__ import annotations

from collections.abc import Iterator

from elfair.certificate import Certificate
from elfair.certificate.rules import decided, sentences
from elfair.records.text import rate
from elfair.report.blocks import Block, Bullets, Table


def rule(certificate: Certificate) -> Iterator[Block]:
    """The rule in sentences, and the leaves in numbers."""
    if not certificate.rules:
        return
    yield Bullets(tuple(sentences(certificate.rules, certificate.classes)))
    groups = [group.condition for group in certificate.groups]
    if certificate.suppressed_below:  # shares of a few people were left out
        return
    for k, each in enumerate(certificate.rules):
        of = f" of rule {k + 1}" if len(certificate.rules) > 1 else ""
        yield Table(
            f"The share of candidate rows in each leaf{of}, by group",
            ("leaf", "decision", *groups),
            tuple(
                (
                    " and ".join(leaf.conditions) or "everyone",
                    decided(leaf, certificate.classes),
                    *map(rate, leaf.shares),
                )
                for leaf in each.leaves
            ),
            words=2,
        )
