"""What a certificate was made from: rows, split, models, and the study file.

Digests show whether these are the same. The study file must ask for what was tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from elfair.certificate import NOT_STATED, ClaimRecord
from elfair.data.digests import columns_digest, file_digest
from elfair.fairness_test.issue import ladder_digest
from elfair.language.conjunction import conjuncts
from elfair.language.recipes import Recipe
from elfair.records.text import plural
from elfair.statistics.estimators import declared_estimation
from elfair.verification.checks import Check, SkippedError, agree, make, require, require_same
from elfair.verification.context import Context

if TYPE_CHECKING:
    from elfair.study import StudyFile


def digest_checks(context: Context) -> Iterator[Check]:
    """The checks of all digests."""
    said = context.record.digests
    found: dict[str, tuple[str, Callable[[], str]]] = {
        "model": (said.model, lambda: context.tested_model),
        "ladder": (said.ladder, lambda: ladder_digest(context.ladder)),
        "data": (said.data, lambda: context.rows.fingerprint()),
        "candidate rows": (said.candidate, lambda: context.split.candidate.fingerprint()),
        "held-out rows": (said.held_out, lambda: context.held_out.fingerprint()),
        "split": (said.split, lambda: columns_digest([("position", context.held_out.position)])),
    }
    yield make("digests", "source file", _check_source, context)
    for name, given in found.items():
        yield make("digests", name, _equal, *given)


def _check_source(context: Context) -> str:
    source, said = context.source, context.record.provenance.source_digest
    if source is None:
        raise SkippedError("no file was given")
    if not said:
        raise SkippedError("the certificate names no file")
    return _equal(said, lambda: file_digest(source))


def _equal(said: str, found: Callable[[], str]) -> str:
    digest = found()
    require(digest == said, f"the certificate says {said}, and {digest} was found")
    return digest


def study_checks(context: Context) -> Iterator[Check]:
    """Whether the study, the model and the table say what the record says; none without a study."""
    if context.record.provenance.study:
        if context.loaded:
            yield make("digests", "features of the model", _check_encoding, context)
        yield make("arithmetic", "study file", _check_study, context)
        if context.table is not None:
            yield make("recomputation", "rows left out", _check_left_out, context)


def _check_encoding(context: Context) -> str:
    """Whether the model makes the same features of a table as the study does."""
    from elfair.study.outcome import encoding_of

    said, found = encoding_of(context.study), getattr(context.model, "encoding_", None)
    require(found == said, f"the model reads a table as {found}, and the study as {said}")
    return ""


def _check_left_out(context: Context) -> str:
    """Whether as many rows were read and left out as the certificate says."""
    said, table = context.record.provenance, context.table
    assert table is not None
    agree("the number of rows read", said.rows_read, table.n_read)
    require_same(said.left_out, table.left_out, "left_out")
    missing = sum(each.n for each in table.left_out)
    return f"{plural(table.n_read, 'row')} read, {missing} left out"


def _check_study(context: Context) -> str:
    study = context.study
    asked = study.estimator().get_params(deep=False)
    _check_settings(context, study.title, asked)
    names = [each for each in asked["constraints"] if isinstance(each, Recipe)]
    if context.data is None and names:
        raise SkippedError(f"'{names[0]}' is about the groups in the data, which were not given")
    _check_claims(context, study)
    if context.data is not None:
        _check_declared(context, asked)
    return f"{plural(len(study.constraints), 'constraint')}, as tested"


def _check_settings(context: Context, title: str, asked: Mapping[str, Any]) -> None:
    record, terms = context.record, context.record.terms
    said: dict[str, Any] = {
        "random_state": record.seed,
        "estimator": record.estimator,
        "bound": record.bound,
        "center": terms.center,
    }
    if terms.claims:
        said["split"] = record.split
    if record.split == "crossfit":
        said["folds"] = terms.folds
    elif terms.claims:
        said["candidate_fraction"] = terms.candidate_share
    if record.search is not None:
        said |= {"search": record.search.method, "objective": record.search.objective}
    agree("the title", record.provenance.title, title)
    for name, value in said.items():
        agree(name, value, asked[name])


def _check_claims(context: Context, study: StudyFile) -> None:
    meant = tuple(
        ClaimRecord(
            each.text, part.text, each.delta, each.chosen_by or NOT_STATED, each.why or NOT_STATED
        )
        for each in study.stated(context.data)
        for part in conjuncts(each.text)
    )
    require_same(context.record.terms.claims, meant, "terms.claims, which the study asks for,")


def _check_declared(context: Context, asked: Mapping[str, Any]) -> None:
    """Whether the study declares the same ranges of impacts and the same propensity floor."""
    terms = context.record.terms
    declared = declared_estimation(context.rows, asked)
    ranges = {each.impact: (each.low, each.high) for each in terms.impact_ranges}
    agree("the declared ranges", ranges, declared.ranges)
    agree("the propensity floor", terms.propensity_floor, declared.propensity_floor)
