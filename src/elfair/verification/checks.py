"""The result of a verification, one line for each check, and how two records are compared.

Numbers may differ by the rounding of another machine, and by no more.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite, isnan
from typing import Any, Literal

import numpy as np

from elfair.certificate import PartRecord
from elfair.errors import ElfairError
from elfair.records.json import to_plain
from elfair.records.text import plural

Level = Literal["digests", "arithmetic", "recomputation"]
#: In the order in which they are shown.
LEVELS: tuple[Level, ...] = ("digests", "arithmetic", "recomputation")
CheckStatus = Literal["passed", "failed", "skipped"]
#: How many differences are shown in full.
SHOWN = 3


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Parameters
    ----------
    level : {"digests", "arithmetic", "recomputation"}
        How deep the check goes.
    name : str
        What was checked.
    status : {"passed", "failed", "skipped"}
        A check that could not be made is skipped; it never counts as passed.
    detail : str
        What was found, or why the check was skipped.

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
    """The result of checking a certificate.

    Parameters
    ----------
    checks : tuple of Check
        All checks, including those that could not be made.
    refit : bool
        Whether to repeat the search as well was asked for.

    Examples
    --------
    >>> of = Verification((Check("digests", "model", "skipped", "no model was given"),))
    >>> of.passed, of.complete
    (True, False)
    >>> print(of.text())
    digests
      skipped  model: no model was given
    no problems found: 0 checks passed, 1 skipped
    """

    checks: tuple[Check, ...]
    refit: bool = False

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.status != "failed" for check in self.checks)

    @property
    def complete(self) -> bool:
        """Whether every check could be made."""
        return all(check.status != "skipped" for check in self.checks)

    @property
    def falls_short(self) -> bool:
        """Whether a repeated search was asked for and could not be made."""
        return self.refit and ("search", "skipped") in self._found

    @property
    def _found(self) -> set[tuple[str, str]]:
        return {(check.name, check.status) for check in self.checks}

    def text(self) -> str:
        """For people: a line for each check, and a summary."""
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
            f"{'no problems found' if self.passed else 'NOT VERIFIED'}: "
            + (f"{counts['failed']} failed, " if counts["failed"] else "")
            + f"{plural(counts['passed'], 'check')} passed, {counts['skipped']} skipped"
        )
        wrong = [check.name for check in self.checks if check.status == "failed"]
        if wrong == ["source file"] and ("data", "passed") in self._found:
            lines[-1] += "; the rows are the same, but the file is not the one that was read"
        elif self.passed and self.falls_short:
            lines.append("NOT COMPLETE: the search could not be repeated")
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
    """Something is not as the certificate says."""


class SkippedError(Exception):
    """The check cannot be made, for the reason that the message gives."""


def require(right: bool | np.bool_, detail: str) -> None:
    """Raise `MismatchError` if something is not as the certificate says."""
    if not right:
        raise MismatchError(detail)


def agree(name: str, said: Any, found: Any, scale: float = 0.0) -> None:
    """Raise `MismatchError` unless the certificate says what was found, up to rounding.

    Parameters
    ----------
    name : str
        What it is about.
    said, found : object
        What the certificate says, and what was found.
    scale : float, default 0
        The size of the numbers around it; see `close`.

    Examples
    --------
    >>> agree("the joint delta", 0.1, 0.2 - 0.1)
    """
    floats = isinstance(said, float) and isinstance(found, float)
    same = close(said, found, scale) if floats else said == found
    require(same, f"{name} is {_short(said)}, and should be {_short(found)}")


def require_same(said: Any, found: Any, name: str, but: frozenset[str] = frozenset()) -> None:
    """Raise `MismatchError` if two records differ, and say where; see `differences`."""
    wrong = list(differences(said, found, name, but))
    more = f"; and {len(wrong) - SHOWN} more differences" if len(wrong) > SHOWN else ""
    require(not wrong, "; ".join(wrong[:SHOWN]) + more)


def make(level: Level, name: str, look: Callable[..., str], *given: Any) -> Check:
    """Make one check. Any error on the way means that something is wrong with the certificate, or
    with what it is compared to.

    Parameters
    ----------
    level, name
        See `Check`.
    look : callable
        Returns what it found; raises `MismatchError` or `SkippedError`.
    *given
        What it looks at.

    Examples
    --------
    >>> make("arithmetic", "sum", lambda n: str(1 / n), 0).status
    'failed'
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the original test raised them
            return Check(level, name, "passed", look(*given))
    except SkippedError as reason:
        return Check(level, name, "skipped", str(reason))
    except MismatchError as found:
        return Check(level, name, "failed", str(found))
    except Exception as error:
        said = error.message if isinstance(error, ElfairError) else str(error)
        return Check(level, name, "failed", f"{type(error).__name__}: {said}")


#: The share of themselves by which numbers may differ.
RELATIVE = 1e-9
#: The share of the numbers around them by which they may differ: an average of 0 is 0 only up to
#: the rounding of its rows.
OF_SCALE = 1e-11
#: The same for "about how many rows": found by bisection, so the last digits mean nothing.
ABOUT = 1e-3

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def close(one: float, other: float, scale: float = 0.0) -> bool:
    """Whether two numbers are equal up to rounding; infinities must be equal.

    Examples
    --------
    >>> close(0.1 + 0.2, 0.3), close(1e-17, 0.0), close(1e-17, 0.0, scale=1.0)
    (True, False, True)
    """
    if one == other or (isnan(one) and isnan(other)):
        return True
    if not (isfinite(one) and isfinite(other)):
        return False
    return abs(one - other) <= RELATIVE * max(abs(one), abs(other)) + OF_SCALE * scale


def differences(
    recorded: Any,
    found: Any,
    path: str,
    but: frozenset[str] = frozenset(),
    scale: float = 0.0,
) -> Iterator[str]:
    """Say where two records differ.

    Parameters
    ----------
    recorded, found : record, tuple, number, text or None
        What the certificate says, and what was found.
    path : str
        Their name.
    but : frozenset of str
        The fields that are not compared.
    scale : float, default 0
        The size of the numbers around them; see `close`.

    Examples
    --------
    >>> from elfair.certificate import Version
    >>> list(differences(Version("numpy", "2.1"), Version("numpy", "2.2"), "version"))
    ["version.version is '2.1', and '2.2' was found"]
    """
    if type(recorded) is not type(found):
        yield _said(path, recorded, found)
    elif is_dataclass(recorded):
        # The ends of a row do not say how large rows are.
        ends = ("low", "high") if isinstance(recorded, PartRecord) else ()
        names = [field.name for field in fields(recorded)]
        inner = _largest(getattr(recorded, name) for name in names if name not in ends)
        for name in names:
            if name not in but:
                one, other = getattr(recorded, name), getattr(found, name)
                yield from differences(one, other, f"{path}.{name}", but, inner)
    elif isinstance(recorded, tuple):
        if len(recorded) != len(found):
            yield f"{path} has {len(recorded)} entries, and {len(found)} were found"
            return
        inner = _largest(recorded)
        for k, (one, other) in enumerate(zip(recorded, found, strict=True)):
            yield from differences(one, other, f"{path}[{k}]", but, inner)
    elif not _same(recorded, found, path, scale):
        yield _said(path, recorded, found)


def _same(recorded: Any, found: Any, path: str, scale: float) -> bool:
    if isinstance(recorded, float):
        return close(recorded, found, scale)
    if isinstance(recorded, str):
        shown = path.endswith((".evidence", ".text"))
        return same_text(recorded, found) if shown else recorded == found
    if path.endswith("rows_needed") and recorded is not None:
        return bool(abs(recorded - found) <= max(1, ABOUT * recorded))
    return bool(recorded == found)


def same_text(one: str, other: str) -> bool:
    """Whether texts are equal up to the last digit of rounded decimal numbers.

    Examples
    --------
    >>> same_text("T == 0: 1.003 +- 0.02", "T == 0: 1.004 +- 0.02"), same_text("0.1", "0.3")
    (True, False)
    """
    if one == other:
        return True
    if _NUMBER.split(one) != _NUMBER.split(other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(a == b or _near(a, b) for a, b in pairs)


def _near(one: str, other: str) -> bool:
    """Whether two written numbers differ by one in the last decimal place; whole ones must not."""
    digits = one.partition(".")[2]
    if not digits.isdigit():
        return False
    return abs(float(one) - float(other)) <= 1.5 * 10.0 ** -len(digits)


def _largest(values: Iterable[Any]) -> float:
    """The size of the largest finite number."""
    return max((abs(v) for v in values if isinstance(v, float) and isfinite(v)), default=0.0)


def _said(path: str, recorded: Any, found: Any) -> str:
    return f"{path} is {_short(recorded)}, and {_short(found)} was found"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
