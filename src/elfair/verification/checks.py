"""All checks of a certificate, by level, and the result of making them."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from elfair import consistency
from elfair.certificate import Certificate
from elfair.certificate.envelope import UNSIGNED, signed_by
from elfair.certificate.explanation import verdict
from elfair.consistency.comparison import MismatchError, SkippedError, require, require_same
from elfair.data import LoggedData
from elfair.data.batches import digest_like, split_digest_like
from elfair.data.digests import file_digest
from elfair.data.split import in_order
from elfair.data.stages import fresh_rows
from elfair.errors import ElfairError
from elfair.estimators.continuing import digest_of
from elfair.fairness_test.issue import ladder_digest, this_version
from elfair.records.drawing import paragraphs_html
from elfair.records.files import read_whole
from elfair.records.json import to_plain
from elfair.records.text import plural
from elfair.verification import recomputation
from elfair.verification.context import Context, Look
from elfair.verification.recomputation import same
from elfair.verification.studies import check_study

Level = Literal["digests", "arithmetic", "recomputation"]
CheckStatus = Literal["passed", "failed", "skipped"]


# -- digests -------------------------------------------------------------------------------------


def _digest(name: str, found: Callable[[Context], str]) -> Look:
    """The check of one of the certificate's digests."""
    return lambda context: _equal(getattr(context.record.digests, name), found(context))


def _digest_of_rows(name: str, rows: Callable[[Context], LoggedData]) -> Look:
    """The check of the digest of some rows."""

    def look(context: Context) -> str:
        said = getattr(context.record.digests, name)
        return _equal(said, digest_like(said, rows(context)))

    return look


def _check_split(context: Context) -> str:
    """Whether these rows were held out."""
    said = context.record.digests.split
    return _equal(said, split_digest_like(said, context.held_out))


def _check_signature(context: Context) -> str:
    """Whether everybody signed the certificate whose key was given."""
    envelope, keys = context.envelope, context.keys
    if envelope is None or not envelope.signatures:
        require(not keys, UNSIGNED)
        raise SkippedError(UNSIGNED)
    n = plural(len(envelope.signatures), "signature")
    if not keys:
        raise SkippedError(f"{n}, but no key was given: anybody could have written and signed it")
    signed, others = signed_by(envelope, keys)
    require(not others, f"none of its {n} was made by {', '.join(others)}")
    return f"by {', '.join(signed)}"


def _check_source(context: Context) -> str:
    """Whether the file is the one that the rows were read from."""
    source, said = context.source, context.record.provenance.source_digest
    if source is None:
        raise SkippedError("no file was given")
    if not said:
        raise SkippedError("the certificate names no file")
    if context.table is not None:  # of the same read as its rows
        return _equal(said, context.table.digest or "nothing")
    return _equal(said, "nothing" if Path(source).is_dir() else file_digest(source))


def _equal(said: str, found: str) -> str:
    require(found == said, f"the certificate says {said}, and {found} was found")
    return found


def _check_encoding(context: Context) -> str | None:
    """Whether the model makes the same features of a table as the study does."""
    from elfair.study.data import encoding_of

    if not (context.record.provenance.study and context.loaded):
        return None
    said, found = encoding_of(context.study), getattr(context.model, "encoding_", None)
    require(found == said, f"the model reads a table as {found}, and the study as {said}")
    return ""


def check_earlier(context: Context) -> str | None:
    """Whether a later stage goes on where the one before it ended."""
    record, earlier, stage = context.record, context.earlier, context.record.stage
    if stage is None:
        require(earlier is None, "this is a first stage, and one before it was given")
        return None
    if earlier is None:
        raise SkippedError("the certificate of the stage before was not given")
    digest = digest_of(earlier)
    require(digest == stage.earlier, f"it goes on from {stage.earlier}, and {digest} was given")
    before = 1 if earlier.stage is None else earlier.stage.number
    require(stage.number == before + 1, f"stage {stage.number} after stage {before}")
    require(not earlier.passed, "the stage before released a model")
    _equal(earlier.digests.ladder, record.digests.ladder)
    said = [(each.place, each.statement, each.before) for each in record.wealth]
    won = [(each.place, each.statement, each.after) for each in earlier.wealth]
    require(said == won, "it does not begin with the e-values that the stage before ended with")
    asked = [(claim.constraint, claim.delta) for claim in record.terms.claims]
    asked_before = [(claim.constraint, claim.delta) for claim in earlier.terms.claims]
    require(asked == asked_before, "it asks for something else than the stage before")
    if context.data is not None:
        old = in_order(context.rows).take(np.flatnonzero(~fresh_rows(stage, context.rows.n)))
        _equal(earlier.digests.data, old.fingerprint())
    return digest


def _check_certificates(context: Context) -> str | None:
    """Whether the certificate that the estimator keeps is this one."""
    record = context.record
    if record.search is None or context.model is None:
        return None
    kept = context.fitted.certificate
    if not context.loaded:  # `state` and `stating` tell one of them what people say
        terms, assumptions = replace(kept.terms, claims=record.terms.claims), record.assumptions
        kept = replace(kept, terms=terms, assumptions=assumptions, provenance=record.provenance)
    require_same(record, recomputation.shown_as(record, kept), "certificate")
    return "the model keeps the same certificate"


def _check_report(context: Context) -> str | None:
    """Whether the report says what the certificate says, byte for byte."""
    from elfair.report import Report

    if context.report is None:
        return None
    path, report = Path(context.report), Report(context.record)
    text = report.markdown() if path.suffix == ".md" else report.html()
    found = read_whole(path, hint="--report names the file of the report.")
    if found == text.encode():
        return f"{path.name} is what this certificate renders to"
    others = [each for each in context.record.versions if each not in this_version()]
    if any(each.name == "elfair" for each in others):
        raise SkippedError("only the version of elfair that wrote it renders the same report")
    lines = zip_longest(found.decode(errors="replace").split("\n"), text.split("\n"))
    number = next((k for k, (one, other) in enumerate(lines, 1) if one != other), 0)
    raise MismatchError(f"{path.name} is not what this certificate renders to (line {number})")


# -- all checks ----------------------------------------------------------------------------------

#: The checks of each level, in the order in which they are made and shown. Three come before them,
#: in `elfair.verify`: "record", "table" and "model file" fail if these cannot be read.
CHECKS: dict[Level, dict[str, Look]] = {
    "digests": {
        "signature": _check_signature,
        "source file": _check_source,
        "model": _digest("model", lambda of: of.tested_model),
        "ladder": _digest("ladder", lambda of: ladder_digest(of.ladder)),
        "data": _digest_of_rows("data", lambda of: in_order(of.rows)),
        "candidate rows": _digest_of_rows("candidate", lambda of: of.split.candidate),
        "held-out rows": _digest_of_rows("held_out", lambda of: of.held_out),
        "split": _check_split,
        "features of the model": _check_encoding,
        "stage before": check_earlier,
        "certificate in the model": _check_certificates,
        "report": _check_report,
    },
    "arithmetic": {**consistency.CHECKS, "study file": check_study},
    "recomputation": {
        "rows left out": recomputation.check_left_out,
        "results": same(
            "passed", "constraints", "joint_delta", "joint_statement", "wealth", "stage"
        ),
        "conditions of the test": same(
            "estimator", "bound", "classes", "n", "n_candidate", "n_held_out", "split", "seed",
            "terms", "roles", "people",
        ),
        "pictures of groups": same("groups"),
        "rule": same("rules"),
        "what it decides on": same("effects"),
        "order of the test": same("search"),
        "trade-off": same("trade_off"),
        "assumptions": same("assumptions"),
        "warnings": same("warnings"),
        "what decides": recomputation.check_what_decides,
        "behaviour model": recomputation.check_behavior,
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
    verdict : str
        What the certificate says of the model; empty if it cannot be read.
    released : bool
        Whether it says that the model was released.
    doubts : tuple of str
        The assumptions that it says are violated, whether that was accepted or not: with one of
        them, the stated confidence is not justified.

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
    verdict: str = ""
    released: bool = False
    doubts: tuple[str, ...] = ()

    @classmethod
    def of(cls, checks: Sequence[Check], record: Certificate | None, *, refit: bool) -> Self:
        """The result, with what the record says of the model."""
        if record is None:
            return cls(tuple(checks), refit)
        doubts = tuple(f"{each.name}: {each.evidence}" for each in record.violated)
        return cls(tuple(checks), refit, verdict(record), record.passed, doubts)

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
        """Whether something was asked for and could not be checked: the search, or the report."""
        search = self.refit and ("search", "skipped") in self._found
        return search or ("report", "skipped") in self._found

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
        lines += self._said()
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
            search = self.refit and ("search", "skipped") in self._found
            what = "the search could not be repeated" if search else "the report was not compared"
            lines.append(f"NOT COMPLETE: {what}")
        return "\n".join(lines)

    def _said(self) -> Iterator[str]:
        """The verdict of the certificate, and what speaks against it."""
        if self.verdict:
            yield f"The certificate says: {self.verdict}"
        for doubt in self.doubts:
            yield f"VIOLATED, so the stated confidence is not justified: {doubt}"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        *lines, summary = self.text().splitlines()
        return paragraphs_html(summary, ["\n".join(lines)], good=self.passed)

    def __repr__(self) -> str:
        counts = Counter(check.status for check in self.checks)
        return (
            f"Verification(passed={self.passed}, complete={self.complete}, "
            f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped)"
        )

    def facts(self) -> dict[str, Any]:
        """The same as plain values."""
        said = {"passed": self.passed, "complete": self.complete}
        return {**said, "falls_short": self.falls_short, **to_plain(self)}

    def to_json(self) -> str:
        """For programs."""
        return json.dumps(self.facts(), indent=2, ensure_ascii=False)


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
