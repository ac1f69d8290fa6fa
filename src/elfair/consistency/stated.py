"""What a record states, read once for all checks of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from elfair.certificate import Certificate, GroupRecord
from elfair.consistency.comparison import require
from elfair.language.conjunction import conjuncts
from elfair.statistics.claims import Claim


@dataclass
class Stated:
    """A record, and what its own texts say.

    Parameters
    ----------
    record : Certificate
        What is checked.
    """

    record: Certificate

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What was asked for, from the constraints as their author wrote them."""
        claims: list[Claim] = []
        left = list(self.record.terms.claims)
        while left:
            first, whole = left[0], conjuncts(left[0].constraint)
            said, left = left[: len(whole)], left[len(whole) :]
            require(
                said == [replace(first, statement=each.text) for each in whole],
                f"'{first.constraint}' says {[each.text for each in whole]}, each at delta "
                f"{first.delta}; the terms say {said}",
            )
            require(0 < first.delta <= 0.5, f"delta is {first.delta}")
            claims += [Claim(each, first.delta) for each in whole]
        return tuple(claims)

    @property
    def groups(self) -> list[GroupRecord]:
        """The held-out rows that each statement is about."""
        return [group for result in self.record.constraints for group in result.groups]

    @property
    def behavior_known(self) -> bool:
        """Whether the behaviour model's probability of every decision was known."""
        return any(a.code == "support" and a.status == "checked" for a in self.record.assumptions)
