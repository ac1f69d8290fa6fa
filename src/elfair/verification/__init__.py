"""Checking a certificate: its digests, its arithmetic, and the test made again.

What each level catches is in the documentation; what none can is there, too: who writes a whole
certificate of rows and models that never were, writes one that agrees with itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.errors import InputError
from elfair.verification.checks import LEVELS, Check, Verification, make

__all__ = ["Check", "Verification", "verify", "verify_files"]


def verify(
    certificate: Certificate | str | bytes | os.PathLike[str],
    *,
    data: Any = None,
    model: Any = None,
    source: str | os.PathLike[str] | None = None,
    refit: bool = False,
) -> Verification:
    """Check a certificate against itself, and against the rows and models that it names.

    Three levels: *digests* (of the record, the rows, the split, the models), *arithmetic* (what
    follows from the moments and numbers in the record) and *recomputation* (the test is made again,
    and every number compared). A check that cannot be made is reported as skipped. Nothing is
    raised, whatever the certificate holds; only data that are no rows are refused.

    Parameters
    ----------
    certificate : Certificate, str, bytes or path-like
        The certificate, its text, or the name of its file.
    data : LoggedData or ContinuousData, optional
        All rows.
    model : ELFClassifier, ELFRegressor or array of shape (n, classes), optional
        The fitted estimator, which holds all models that were lined up; the probabilities that were
        given to `certify`.
    source : str or path-like, optional
        The file that the rows were read from.
    refit : bool, default False
        Fit again as well, with the estimator's own parameters, and compare the models that are
        found. It takes as long as fitting did, and needs the versions that the certificate names.

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
    ['source file', 'openings']
    >>> verify(certificate.to_json().replace("0.7", "0.6")).passed
    False
    """
    from elfair.verification.arithmetic import arithmetic_checks
    from elfair.verification.digests import digest_checks
    from elfair.verification.recomputation import recomputation_checks
    from elfair.verification.studies import study_checks

    if data is not None and not isinstance(data, LoggedData):
        raise InputError(
            f"data must be a LoggedData, or a ContinuousData. Got {type(data).__name__} instead.",
            hint="a table is read as the study says by elfair verify --data, or "
            "elfair.verification.verify_files.",
        )
    found: list[Certificate] = []

    def read() -> str:
        found.append(_read(certificate))
        return "digest and form are as elfair writes them, and the subject is the model"

    record = make("digests", "record", read)
    if not found:
        return Verification((record,), refit)
    (known,) = found
    return Verification(
        (
            record,
            *digest_checks(known, data, model, source),
            *arithmetic_checks(known),
            *study_checks(known, data),
            *recomputation_checks(known, data, model, refit=refit),
        ),
        refit,
    )


def verify_files(
    certificate: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    query: str | None = None,
    model: str | os.PathLike[str] | None = None,
    refit: bool = False,
) -> Verification:
    """Check a certificate that was made from a study file, with the files that belong to it.

    Parameters
    ----------
    certificate : str or path-like
        The certificate.
    data : str or path-like, optional
        The table: a file, or the address of a database.
    query : str, optional
        What to ask that database. The query that the certificate holds is never asked by itself.
    model : str or path-like, optional
        The model's file. Without one, a model beside the certificate is not looked for.
    refit : bool, default False
        See `verify`.

    Returns
    -------
    Verification
        A table or a model that cannot be read is a check that failed.
    """
    from elfair.verification.studies import read_model, read_rows

    if not Path(certificate).is_file():
        raise InputError(
            f"there is no certificate '{certificate}'.",
            hint="elfair fit writes certificate.json into the folder of its results.",
        )
    rows, of_rows = read_rows(certificate, data, query)
    fitted, of_model = read_model(certificate, model)
    source = None if data is None or not Path(data).is_file() else data
    checked = verify(Path(certificate), data=rows, model=fitted, source=source, refit=refit)
    found = (*of_model, *of_rows, *checked.checks)
    ordered = sorted(found, key=lambda check: LEVELS.index(check.level))
    return Verification(tuple(ordered), refit)


def _read(certificate: Certificate | str | bytes | os.PathLike[str]) -> Certificate:
    if isinstance(certificate, Certificate):
        text = certificate.to_json()
    elif isinstance(certificate, bytes):
        text = certificate.decode()
    elif isinstance(certificate, str) and certificate.lstrip().startswith("{"):
        text = certificate
    elif isinstance(certificate, str | os.PathLike):
        text = Path(certificate).read_bytes().decode()
    else:
        raise InputError(
            f"a certificate is a record, its text or a file. Got {type(certificate).__name__}.",
            hint="pass the name of certificate.json.",
        )
    return Certificate.from_json(text)
