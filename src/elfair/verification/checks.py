"""What a verification says: one line for each check."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from elfair.errors import ElfairError
from elfair.records import to_plain
from elfair.report.words import plural

Level = Literal["digests", "arithmetic", "recomputation"]
#: In the order in which they are shown.
LEVELS: tuple[Level, ...] = ("digests", "arithmetic", "recomputation")
CheckStatus = Literal["passed", "failed", "skipped"]
#: So many differences are said in full.
SHOWN = 3


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Parameters
    ----------
    level : {"digests", "arithmetic", "recomputation"}
        How deep it goes.
    name : str
        What was looked at.
    status : {"passed", "failed", "skipped"}
        A check that could not be made is skipped, and never passed.
    detail : str
        What was seen, or why nothing could be.

    Examples
    --------
    >>> from elfair import verify
    >>> (check,) = verify("{}").checks
    >>> check.name, check.status
    ('record', 'failed')
    """

    level: Level
    name: str
    status: CheckStatus
    detail: str


@dataclass(frozen=True)
class Verification:
    """What came of checking a certificate.

    Parameters
    ----------
    checks : tuple of Check
        All checks, also those that could not be made.
    refit : bool
        Whether the search was to be repeated.

    Examples
    --------
    >>> of = Verification((Check("digests", "model", "skipped", "no model was given"),))
    >>> of.passed, of.complete
    (True, False)
    >>> print(of.text())
    digests
      skipped  model: no model was given
    nothing is wrong with what was checked: 0 checks passed, 1 skipped
    """

    checks: tuple[Check, ...]
    refit: bool = False

    @property
    def passed(self) -> bool:
        """Whether nothing was found to be wrong."""
        return all(check.status != "failed" for check in self.checks)

    @property
    def complete(self) -> bool:
        """Whether every check could be made."""
        return all(check.status != "skipped" for check in self.checks)

    @property
    def falls_short(self) -> bool:
        """Whether the search was to be repeated, and could not be."""
        return self.refit and ("search", "skipped") in self._found

    @property
    def _found(self) -> set[tuple[str, str]]:
        return {(check.name, check.status) for check in self.checks}

    def text(self) -> str:
        """For people: a line for each check, and what it comes to."""
        lines: list[str] = []
        level = ""
        for check in self.checks:
            if check.level != level:
                level = check.level
                lines.append(level)
            detail = " ".join(check.detail.split())
            lines.append(f"  {check.status:<8} {check.name}{': ' if detail else ''}{detail}")
        counts = Counter(check.status for check in self.checks)
        lines.append(
            f"{'nothing is wrong with what was checked' if self.passed else 'NOT VERIFIED'}: "
            + (f"{counts['failed']} failed, " if counts["failed"] else "")
            + f"{plural(counts['passed'], 'check')} passed, {counts['skipped']} skipped"
        )
        wrong = [check.name for check in self.checks if check.status == "failed"]
        if wrong == ["source file"] and ("data", "passed") in self._found:
            lines[-1] += "; the rows are the same, and only the file is not the one that was read"
        elif self.passed and self.falls_short:
            lines.append("NOT COMPLETE: the search was to be repeated and could not be")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        counts = Counter(check.status for check in self.checks)
        return (
            f"Verification(passed={self.passed}, complete={self.complete}, "
            f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped)"
        )

    def to_json(self) -> str:
        """For programs."""
        said = {"passed": self.passed, "complete": self.complete}
        document = {**said, "falls_short": self.falls_short, **to_plain(self)}
        return json.dumps(document, indent=2, ensure_ascii=False)


class MismatchError(Exception):
    """What was found is not what the certificate says."""


class SkippedError(Exception):
    """The check cannot be made, for the reason given."""


def require(right: bool | np.bool_, detail: str) -> None:
    """Raise where something is not as the certificate says."""
    if not right:
        raise MismatchError(detail)


def require_none(wrong: Sequence[str]) -> None:
    """Raise where there are differences, and say the first of them."""
    more = f"; and {len(wrong) - SHOWN} more differences" if len(wrong) > SHOWN else ""
    require(not wrong, "; ".join(wrong[:SHOWN]) + more)


def make(level: Level, name: str, look: Callable[[], str | None]) -> Check:
    """Make one check: whatever goes wrong on the way, something is wrong with the certificate or
    with what it was held against.

    Parameters
    ----------
    level, name
        See `Check`.
    look : callable
        Returns what it saw; raises `MismatchError` or `SkippedError`.

    Examples
    --------
    >>> make("arithmetic", "sum", lambda: str(1 / 0)).status
    'failed'
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # they were raised when the test was made
            return Check(level, name, "passed", look() or "")
    except SkippedError as reason:
        return Check(level, name, "skipped", str(reason))
    except MismatchError as found:
        return Check(level, name, "failed", str(found))
    except Exception as error:
        said = error.message if isinstance(error, ElfairError) else str(error)
        return Check(level, name, "failed", f"{type(error).__name__}: {said}")
