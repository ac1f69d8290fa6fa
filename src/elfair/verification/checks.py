"""All checks of a certificate, by level, and the result of making them."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from elfair.data.digests import columns_digest, file_digest
from elfair.errors import ElfairError
from elfair.fairness_test.issue import ladder_digest
from elfair.records.json import to_plain
from elfair.records.text import plural
from elfair.verification import arithmetic, bookkeeping, recomputation
from elfair.verification.comparison import MismatchError, SkippedError, require
from elfair.verification.context import Context, Look
from elfair.verification.recomputation import same

Level = Literal["digests", "arithmetic", "recomputation"]
CheckStatus = Literal["passed", "failed", "skipped"]


# -- digests -------------------------------------------------------------------------------------


def _digest(name: str, found: Callable[[Context], str]) -> Look:
    """The check of one of the certificate's digests."""
    return lambda context: _equal(getattr(context.record.digests, name), found(context))


def _check_source(context: Context) -> str:
    """Whether the file is the one that the rows were read from."""
    source, said = context.source, context.record.provenance.source_digest
    if source is None:
        raise SkippedError("no file was given")
    if not said:
        raise SkippedError("the certificate names no file")
    return _equal(said, file_digest(source))


def _equal(said: str, found: str) -> str:
    require(found == said, f"the certificate says {said}, and {found} was found")
    return found


def _check_encoding(context: Context) -> str | None:
    """Whether the model makes the same features of a table as the study does."""
    from elfair.study.outcome import encoding_of

    if not (context.record.provenance.study and context.loaded):
        return None
    said, found = encoding_of(context.study), getattr(context.model, "encoding_", None)
    require(found == said, f"the model reads a table as {found}, and the study as {said}")
    return ""


# -- all checks ----------------------------------------------------------------------------------

#: The checks of each level, in the order in which they are made and shown. Three come before them,
#: in `elfair.verify`: "record", "table" and "model file" fail if these cannot be read.
CHECKS: dict[Level, dict[str, Look]] = {
    "digests": {
        "source file": _check_source,
        "model": _digest("model", lambda of: of.tested_model),
        "ladder": _digest("ladder", lambda of: ladder_digest(of.ladder)),
        "data": _digest("data", lambda of: of.rows.fingerprint()),
        "candidate rows": _digest("candidate", lambda of: of.split.candidate.fingerprint()),
        "held-out rows": _digest("held_out", lambda of: of.held_out.fingerprint()),
        "split": _digest("split", lambda of: columns_digest([("position", of.held_out.position)])),
        "features of the model": _check_encoding,
    },
    "arithmetic": {
        "statements": arithmetic.check_statements,
        "moments": arithmetic.check_moments,
        "bounds": arithmetic.check_bounds,
        "formulas": arithmetic.check_formulas,
        "verdicts": arithmetic.check_verdicts,
        "joint promise": bookkeeping.check_promise,
        "groups": arithmetic.check_groups,
        "numbers of rows": bookkeeping.check_sizes,
        "places on the ladder": bookkeeping.check_ladder,
        "pictures": bookkeeping.check_pictures,
        "assumptions": bookkeeping.check_assumptions,
        "warnings": bookkeeping.check_warnings,
        "study file": arithmetic.check_study,
    },
    "recomputation": {
        "rows left out": recomputation.check_left_out,
        "results": same("passed", "constraints", "joint_delta", "joint_statement"),
        "conditions of the test": same(
            "estimator", "bound", "classes", "n", "n_candidate", "n_held_out", "split", "seed",
            "terms", "roles", "people",
        ),
        "pictures of groups": same("groups"),
        "order of the test": same("search"),
        "trade-off": same("trade_off"),
        "assumptions": same("assumptions"),
        "warnings": same("warnings"),
        "what decides": recomputation.check_what_decides,
        "search": recomputation.check_search,
        "openings": recomputation.check_openings,
    },
}  # fmt: skip


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


def all_checks(context: Context) -> Iterator[Check]:
    """Make all checks, in the order of `CHECKS`."""
    for level, of_level in CHECKS.items():
        for name, look in of_level.items():
            yield from made(level, name, look, context)


def made(level: Level, name: str, look: Callable[..., str | None], *given: Any) -> list[Check]:
    """Make one check; none if there is nothing to check. Any error on the way means that something
    is wrong with the certificate, or with what it is compared to.

    Parameters
    ----------
    level, name
        See `Check`.
    look : callable
        See `Look`.
    *given
        What it looks at.

    Examples
    --------
    >>> (check,) = made("arithmetic", "sum", lambda n: str(1 / n), 0)
    >>> check.status
    'failed'
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the original test raised them
            found = look(*given)
        return [] if found is None else [Check(level, name, "passed", found)]
    except SkippedError as reason:
        return [Check(level, name, "skipped", str(reason))]
    except MismatchError as wrong:
        return [Check(level, name, "failed", str(wrong))]
    except Exception as error:
        said = error.message if isinstance(error, ElfairError) else str(error)
        return [Check(level, name, "failed", f"{type(error).__name__}: {said}")]
