"""Checking a certificate: its digests, its arithmetic, and its test, run again.

The documentation says what each level catches, and what none can: someone who makes up a whole
certificate, with rows and models that never existed, can make one that agrees with itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from elfair.certificate import Certificate
from elfair.certificate.envelope import public_key
from elfair.consistency.comparison import MismatchError
from elfair.data import LoggedData
from elfair.errors import InputError
from elfair.verification.checks import Check, Verification, all_checks, made
from elfair.verification.context import Context, read_certificate


def verify(
    certificate: Certificate | str | bytes | os.PathLike[str],
    *,
    data: Any = None,
    model: Any = None,
    source: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    keys: Sequence[str | os.PathLike[str]] = (),
    refit: bool = False,
    earlier: Certificate | str | bytes | os.PathLike[str] | None = None,
) -> Verification:
    """Check a certificate against itself, and against the rows and models that it names.

    There are three levels: *digests* (of the record, the rows, the split, the models), *arithmetic*
    (what follows from the moments and numbers in the record) and *recomputation* (the test is run
    again, and every number compared). A check that cannot be made is reported as skipped. Nothing
    in the certificate makes this function raise an error; only data that are not rows do.

    Parameters
    ----------
    certificate : Certificate, str, bytes or path-like
        The certificate, its text, or the name of its file.
    data : LoggedData or ContinuousData, optional
        All rows.
    model : ELFClassifier, ELFRegressor or array of shape (n, classes), optional
        The fitted estimator, which holds all models on the ladder; or the probabilities that were
        given to `certify`.
    source : str or path-like, optional
        The file that the rows were read from.
    report : str or path-like, optional
        The report: a page, or Markdown if its name ends with ``.md``. It is rendered again from the
        certificate, and must be the same byte for byte.
    keys : sequence of str or path-like
        Files of public keys. Each of them must have signed the certificate, which is then an
        envelope: see `elfair.certificate.envelope`.
    refit : bool, default False
        Fit again as well, with the estimator's own parameters, and compare the models that are
        found. It takes as long as fitting did, and needs the versions that the certificate names.
    earlier : Certificate, str, bytes or path-like, optional
        The certificate of the stage before, if this one goes on with it.

    Returns
    -------
    Verification

    Examples
    --------
    >>> import numpy as np
    >>> from elfair import LoggedData, certify, verify
    >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    >>> certificate = certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")
    >>> verification = verify(certificate.to_json(), data=data, model=[0.2, 0.7] * 200)
    >>> verification.passed
    True
    >>> [check.name for check in verification.checks if check.status == "skipped"]
    ['signature', 'source file', 'bounds', 'openings']
    >>> verify(certificate.to_json().replace("0.7", "0.6")).passed
    False
    """
    if data is not None and not isinstance(data, LoggedData):
        raise InputError(
            f"data must be a LoggedData, or a ContinuousData. Got {type(data).__name__} instead.",
            hint="elfair verify --data, or elfair.verification.verify_files, reads a table as the "
            "study says.",
        )

    def given(context: Context) -> list[Check]:
        context.data, context.model, context.source = data, model, source
        context.report = report
        return []

    return _verified(certificate, given, refit, keys, earlier)


def verify_files(
    certificate: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    query: str | None = None,
    model: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    keys: Sequence[str | os.PathLike[str]] = (),
    within: Sequence[str | Path] = (),
    refit: bool = False,
    earlier: str | os.PathLike[str] | None = None,
) -> Verification:
    """Check a certificate that was made from a study file, with the files that belong to it.

    Parameters
    ----------
    certificate : str or path-like
        The certificate.
    data : str or path-like, optional
        The table: a file, or the address of a database; or a folder, in which the files are found
        that the study names.
    query : str, optional
        What to ask that database. The query inside the certificate is never asked by itself.
    model : str or path-like, optional
        The model's file. It is not looked for beside the certificate.
    within : sequence of str or Path
        Folders whose files the query may read, beside the working directory.
    report, keys, refit
        See `verify`.
    earlier : str or path-like, optional
        See `verify`.

    Returns
    -------
    Verification
        A table or a model that cannot be read is a check that failed.
    """
    from elfair.study.databases import is_address

    if data is None and query is not None:
        raise InputError(
            "a query was given, but no database to ask.", hint="--data names its address."
        )
    source = None if data is None or is_address(str(data)) else data
    for what, path, hint in (
        (
            "certificate",
            certificate,
            "elfair fit writes certificate.json beside its results.",
        ),
        ("table", source, "--data names the file of the rows."),
        ("model", model, "--model names the model's file."),
        ("report", report, "--report names the file of the report."),
        ("certificate", earlier, "--earlier names the certificate of the stage before."),
    ):
        is_folder = what == "table" and path is not None and Path(path).is_dir()
        if path is not None and not Path(path).is_file() and not is_folder:
            raise InputError(f"there is no {what} '{path}'.", hint=hint)

    def given(context: Context) -> list[Check]:
        context.source, context.report = source, report
        unread = []
        try:
            if data is not None:
                context.read_table(data, query, within)
        except MismatchError as error:
            unread.append(Check("digests", "table", "failed", str(error)))
        try:
            if model is not None:
                context.read_model(model)
        except MismatchError as error:
            unread.append(Check("digests", "model file", "failed", str(error)))
        return unread

    before = None if earlier is None else Path(earlier)
    return _verified(Path(certificate), given, refit, keys, before)


def _verified(
    certificate: Certificate | str | bytes | os.PathLike[str],
    given: Callable[[Context], list[Check]],
    refit: bool,
    keys: Sequence[str | os.PathLike[str]],
    earlier: Certificate | str | bytes | os.PathLike[str] | None,
) -> Verification:
    """All checks, if the certificate can be read, with what was given beside it."""
    contexts: list[Context] = []
    for key in [keys] if isinstance(keys, str | os.PathLike) else keys:
        public_key(key)  # one that cannot be read is no fault of the certificate

    def look() -> str:
        record, envelope = read_certificate(certificate)
        before = None if earlier is None else read_certificate(earlier)[0]
        contexts.append(Context(record, envelope=envelope, keys=keys, refit=refit, earlier=before))
        return "its digest and form are as elfair writes them, and its subject is the model"

    checks = made("digests", "record", look)
    for context in contexts:
        checks += [*given(context), *all_checks(context)]
    record = contexts[0].record if contexts else None
    return Verification.of(checks, record, refit=refit)
