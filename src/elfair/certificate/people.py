"""Whom a certificate is about: units, people without an impact, and people whom nothing names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from elfair.records.text import shown_count

#: What statements are about, if several rows belong to one unit.
Average: TypeAlias = Literal["unit", "row"]


@dataclass(frozen=True)
class UnitsRecord:
    """The units that rows belong to, or rows that stand for different numbers of people.

    Parameters
    ----------
    average : {"unit", "row"}
        What statements are about: the average unit, such as a person, or the average row.
    n, n_held_out : int
        How many units there are, and how many of them were held out; every number of rows in the
        result of a statement counts units.
    most_rows : int
        The rows of the largest unit.
    weighted : bool
        Whether rows have sample weights.
    """

    average: Average
    n: int
    n_held_out: int
    most_rows: int
    weighted: bool

    @property
    def about(self) -> str:
        """What statements are about, in words."""
        what = f"the average {self.average}"
        if self.average == "unit":
            what += ", which counts the same however many rows it has"
        return f"{what} (by sample_weight)" if self.weighted else what


@dataclass(frozen=True)
class MissingRecord:
    """How often an impact is missing in one group with one decision.

    Parameters
    ----------
    group, decision : str
        Who; empty if there are no groups, or if decisions are numbers.
    n, missing : int
        How many rows there are, and how many of them lack the impact.
    """

    group: str
    decision: str
    n: int
    missing: int


@dataclass(frozen=True)
class UnseenRecord:
    """An impact that was not seen for everyone, and what was declared about it.

    Parameters
    ----------
    impact : str
        The impact.
    how : {"at random", "worst case"}
        What it was declared to be.
    early : tuple of str
        The early outcomes that being seen may depend on.
    follow_up : str
        The probability of being seen: "declared" or "estimated"; empty in the worst case.
    n, missing : int
        How many rows there are, and how many of them lack it.
    by : tuple of MissingRecord
        The same by group and decision.
    """

    impact: str
    how: str
    early: tuple[str, ...]
    follow_up: str
    n: int
    missing: int
    by: tuple[MissingRecord, ...]


@dataclass(frozen=True)
class RevealedRecord:
    """Labels that were seen only for some decisions.

    Parameters
    ----------
    decisions : tuple of str
        The decisions that reveal the label.
    n, seen : int
        How many rows there are, and how many of them have a label.
    least : float
        The smallest probability with which the behaviour model took such a decision, among rows
        that have a label.
    """

    decisions: tuple[str, ...]
    n: int
    seen: int
    least: float


@dataclass(frozen=True)
class GroupCount:
    """The number of people in a group.

    Parameters
    ----------
    group : str
        The group.
    n : int
        The number.
    """

    group: str
    n: int


@dataclass(frozen=True)
class LeftOut:
    """Rows of the table that were not used.

    Parameters
    ----------
    reason : str
        Why they were left out.
    n : int
        How many were left out.
    groups : tuple of GroupCount
        How many of each group.

    Examples
    --------
    >>> LeftOut("impact 'savings' is missing", 2, (GroupCount("race = A", 2),)).n
    2
    """

    reason: str
    n: int
    groups: tuple[GroupCount, ...]


@dataclass(frozen=True)
class OddGroup:
    """People in no group that a statement names, or in one that looks like a mistake.

    Parameters
    ----------
    group : str
        Who they are, such as "race is 'black '" or "race is missing".
    n : int
        How many of all rows; one row may be in several such groups.
    named : bool
        Whether a statement names some of them all the same.
    perhaps : str
        The likely mistake, such as "meant 'Black'" or "stands for missing"; empty if none shows.
    condition : str
        The same people as a condition; empty if no condition selects them.
    """

    group: str
    n: int
    named: bool
    perhaps: str
    condition: str = ""

    def __str__(self) -> str:
        perhaps = f", perhaps {self.perhaps}" if self.perhaps else ""
        return f"{self.group} ({shown_count(self.n)}{perhaps})"


@dataclass(frozen=True)
class PeopleRecord:
    """Whom no statement speaks of.

    Parameters
    ----------
    unnamed : int
        How many of all rows are in no group that a statement names; 0 if no statement names a
        group.
    groups : tuple of OddGroup
        The values that no statement names, and what else looks like a mistake in groups.

    Examples
    --------
    >>> people = PeopleRecord(37, (OddGroup("race is missing", 37, False, ""),))
    >>> people.said(1000)
    ['37 of 1,000 people are in no group that a statement names. Without a statement: race is
    missing (37)']
    """

    unnamed: int
    groups: tuple[OddGroup, ...]

    def said(self, n: int) -> list[str]:
        """Sentences about these people, among n, without their full stops."""
        texts = []
        if forgotten := [str(each) for each in self.groups if not each.named]:
            start = f"{self.unnamed:,} of {n:,} people are in no group that a statement names. "
            without = f"Without a statement: {', '.join(forgotten)}"
            texts.append(start + without if self.unnamed else without)
        if odd := [str(each) for each in self.groups if each.named]:
            texts.append(f"a statement takes for a group what may be a mistake: {', '.join(odd)}")
        return texts

    @property
    def mistaken(self) -> bool:
        """Whether something looks like a mistake."""
        return any(each.perhaps for each in self.groups)
