"""What a certificate says of impacts that were not seen for everyone."""

from __future__ import annotations

from dataclasses import dataclass


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
