"""The division of rows, made again from what the certificate says of it.

Level 1: whether rows, split and models are those that the certificate names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.data.digests import columns_digest, file_digest
from elfair.data.split import Split
from elfair.estimators.certify import GivenModel
from elfair.fairness_test.issue import lineup_digest
from elfair.fairness_test.test import opened_before
from elfair.policies.models import Fitted, Model, digests, mixture_digest
from elfair.verification.checks import Check, MismatchError, SkippedError, make, require


def rows_of(data: object) -> LoggedData:
    """The rows that were given."""
    if data is None:
        raise SkippedError("there are no data to check it with")
    require(isinstance(data, LoggedData), f"data must be a LoggedData. Got {type(data).__name__}")
    assert isinstance(data, LoggedData)
    return data


def split_of(record: Certificate, data: object) -> Split:
    """Divide rows by the certificate's seed, shares and folds."""
    everyone = rows_of(data).with_thresholds(record.terms.thresholds)
    return Split.of(
        everyone,
        record.split,
        share=record.terms.candidate_share,
        seed=record.seed,
        folds=record.terms.folds,
    )


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
    split = cache(lambda: split_of(record, data))
    tested = cache(lambda: opened_before(split()))
    line = cache(lambda: line_digests(record, data, model))
    checks: list[tuple[str, str, Callable[[], str]]] = [
        ("model", said.model, lambda: _of_model(record, line())),
        ("line of models", said.lineup, lambda: lineup_digest(line())),
        ("data", said.data, lambda: rows_of(data).fingerprint()),
        ("candidate rows", said.candidate, lambda: split().candidate.fingerprint()),
        ("held-out rows", said.fairness, lambda: tested().fingerprint()),
        ("split", said.split, lambda: _positions(tested())),
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
        return [GivenModel.read(model, rows_of(data)).digest()]
    return digests(ladder_of(model))


def ladder_of(model: Any) -> tuple[Model, ...]:
    """The models in line of a fitted estimator."""
    trained: Fitted | None = getattr(model, "fitted_", None)
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
    trained = getattr(model, "fitted_", None)
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


def _positions(tested: LoggedData) -> str:
    return columns_digest([("position", np.asarray(tested.position))])


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
