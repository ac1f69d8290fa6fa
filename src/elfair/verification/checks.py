"""What a verification says: one line for each check."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from elfair.records import to_plain

Level = Literal["digests", "arithmetic", "recomputation"]
LEVELS: tuple[Level, ...] = ("digests", "arithmetic", "recomputation")
CheckStatus = Literal["passed", "failed", "skipped"]


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

    @property
    def passed(self) -> bool:
        """Whether nothing was found to be wrong."""
        return all(check.status != "failed" for check in self.checks)

    @property
    def complete(self) -> bool:
        """Whether every check could be made."""
        return all(check.status != "skipped" for check in self.checks)

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
        word = "check" if counts["passed"] == 1 else "checks"
        lines.append(
            f"{'nothing is wrong with what was checked' if self.passed else 'NOT VERIFIED'}: "
            + (f"{counts['failed']} failed, " if counts["failed"] else "")
            + f"{counts['passed']} {word} passed, {counts['skipped']} skipped"
        )
        return "\n".join(lines)

    def to_json(self) -> str:
        """For programs."""
        document = {"passed": self.passed, "complete": self.complete, **to_plain(self)}
        return json.dumps(document, indent=2, ensure_ascii=False)


class MismatchError(Exception):
    """What was found is not what the certificate says."""


class SkippedError(Exception):
    """The check cannot be made, for the reason given."""


def require(right: bool | np.bool_, detail: str) -> None:
    """Raise where something is not as the certificate says."""
    if not right:
        raise MismatchError(detail)


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
        said = str(error).partition("\nHint: ")[0]
        return Check(level, name, "failed", f"{type(error).__name__}: {said}")
