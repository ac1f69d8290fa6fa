"""The division of rows, made again from what the certificate says of it.

Level 1: whether rows, split and models are those that the certificate names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.data.digests import columns_digest, file_digest
from elfair.data.split import SealedHalf, cross_partition, partition
from elfair.estimators.certify import free_probabilities, probabilities_digest, set_aside
from elfair.fairness_test.issue import lineup_digest
from elfair.fairness_test.sealed import opened_before
from elfair.policies.models import Model, Trained, digests, mixture_digest
from elfair.verification.checks import Check, MismatchError, SkippedError, make, require


@dataclass(frozen=True)
class Halves:
    """Rows as they were divided.

    Parameters
    ----------
    everyone : LoggedData
        All rows.
    aside : LoggedData
        Those that were not for the test; under cross-fitting all.
    tested : LoggedData
        The held-out rows, in the order of the test.
    divided : tuple of (LoggedData, SealedHalf)
        For each model's test, the rows that its search could use, and those it was tested on; empty
        where no model was searched for, or none tested.
    """

    everyone: LoggedData
    aside: LoggedData
    tested: LoggedData
    divided: tuple[tuple[LoggedData, SealedHalf], ...] = ()


def rows_of(data: object) -> LoggedData:
    """The rows that were given."""
    if data is None:
        raise SkippedError("there are no data to check it with")
    require(isinstance(data, LoggedData), f"data must be a LoggedData. Got {type(data).__name__}")
    assert isinstance(data, LoggedData)
    return data


def halves_of(record: Certificate, data: object) -> Halves:
    """Divide rows by the certificate's seed, shares and folds."""
    everyone = rows_of(data).with_thresholds(record.terms.thresholds)
    share, seed = record.terms.candidate_share, record.seed
    if record.split == "none" and record.candidate is None:
        aside, tested = set_aside(everyone, share, seed)
        return Halves(everyone, everyone.take(aside), everyone.take(tested))
    if record.split == "none":
        return Halves(everyone, everyone, everyone.take(np.arange(0)))
    if record.split == "crossfit":
        divided = cross_partition(everyone, folds=record.terms.folds, seed=seed)
        tested_rows = opened_before([sealed for _, sealed in divided])
        return Halves(everyone, everyone, tested_rows, tuple(divided))
    candidate, sealed = partition(
        everyone, candidate_fraction=share, seed=seed, stratified=record.split == "stratified"
    )
    return Halves(everyone, candidate, opened_before([sealed]), ((candidate, sealed),))


def digest_checks(
    record: Certificate, data: Any, model: Any, source: str | os.PathLike[str] | None
) -> list[Check]:
    """The checks of all digests.

    Parameters
    ----------
    record : Certificate
        What is checked.
    data, model, source
        See `elfair.verify`.
    """
    said = record.digests
    halves = cache(lambda: halves_of(record, data))
    line = cache(lambda: line_digests(record, data, model))
    checks: list[tuple[str, str, Callable[[], str]]] = [
        ("model", said.model, lambda: _of_model(record, line())),
        ("line of models", said.lineup, lambda: lineup_digest(line())),
        ("data", said.data, lambda: rows_of(data).fingerprint()),
        ("candidate rows", said.candidate, lambda: halves().aside.fingerprint()),
        ("held-out rows", said.fairness, lambda: halves().tested.fingerprint()),
        ("split", said.split, lambda: _positions(halves())),
    ]
    return [
        make("digests", "source file", partial(_source, record, source)),
        *(make("digests", name, partial(_equal, said, found)) for name, said, found in checks),
    ]


def line_digests(record: Certificate, data: Any, model: Any) -> Sequence[str]:
    """The digests of all models in line."""
    if model is None:
        raise SkippedError("there is no model to check it with")
    if record.candidate is None:
        if data is None:
            raise SkippedError("probabilities are read beside the data, which were not given")
        return [probabilities_digest(free_probabilities(model, rows_of(data), None))]
    return digests(lineup_of(model))


def lineup_of(model: Any) -> tuple[Model, ...]:
    """The models in line of a fitted estimator."""
    trained: Trained | None = getattr(model, "_trained", None)
    require(trained is not None, f"the model must be a fitted estimator. Got {model!r:.80}")
    assert trained is not None
    return trained.ladder


def _of_model(record: Certificate, line: Sequence[str]) -> str:
    """Of the model that was let out: the one in its place, or the mixture of all folds'."""
    if record.split == "crossfit":
        return mixture_digest(line)
    place = 1 if record.candidate is None else record.candidate.place
    require(1 <= place <= len(line), f"place {place} is not among the {len(line)} models in line")
    return line[place - 1]


def check_what_decides(record: Certificate, model: Any) -> str:
    """Whether the estimator decides with the model that was tested, and by the same names.

    Its file holds a certificate of its own, and all models in line: that the tested one is among
    them does not say that it is the one in use.
    """
    if model is None:
        raise SkippedError("there is no model to check it with")
    trained = getattr(model, "_trained", None)
    require(trained is not None, f"the model must be a fitted estimator. Got {model!r:.80}")
    assert trained is not None
    used, tested = mixture_digest(digests(trained.models)), digests(trained.ladder)
    require(used == _of_model(record, tested), f"the model decides by another one, {used}")
    passed = trained.certificate.passed
    require(
        passed == record.passed,
        f"the model's own certificate says that it {'passed' if passed else 'did not pass'}",
    )
    classes = tuple(str(name) for name in getattr(model, "classes_", ()))
    require(classes == record.classes, f"it decides between {classes}, not {record.classes}")
    names = tuple(str(n) for n in getattr(model, "feature_names_in_", record.roles.features))
    require(names == record.roles.features, f"it sees {names}, not {record.roles.features}")
    n, folds = record.n, len(trained.models)
    shares = [len(range(fold, n, folds)) / n for fold in range(folds)]
    require(np.allclose(trained.shares, shares, rtol=0, atol=1e-9), f"shares {trained.shares}")
    return ""


def _positions(halves: Halves) -> str:
    return columns_digest([("position", np.asarray(halves.tested.position))])


def _source(record: Certificate, source: str | os.PathLike[str] | None) -> str:
    said = record.provenance.source_digest
    if source is None:
        raise SkippedError("no file was given")
    if not said:
        raise SkippedError("the certificate names no file")
    return _equal(said, lambda: file_digest(source))


def _equal(said: str, found: Callable[[], str]) -> str:
    digest = found()
    if digest != said:
        raise MismatchError(f"the certificate says {said}, and {digest} was found")
    return digest
