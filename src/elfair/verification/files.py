"""The table and the model that belong to a certificate, from their files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from elfair.certificate import Certificate
from elfair.errors import ElfairError, InputError
from elfair.verification.checks import Check
from elfair.verification.studies import encoding_check, left_out_check

PathLike = str | os.PathLike[str]


def read_rows(
    certificate: PathLike, data: PathLike | None, query: str | None = None
) -> tuple[Any, list[Check]]:
    """The rows of a table, read as the certificate's own study says, with what this shows of the
    certificate; or why they are not read.

    Parameters
    ----------
    certificate : str or path-like
        The certificate.
    data : str or path-like or None
        The table.
    query : str, optional
        What to ask, where the table is in a database. The query that the certificate holds is
        shown and not asked: it was written by whoever made the certificate.
    """
    if data is None:
        if query is not None:
            raise InputError(
                "a query was given, but no database to ask.", hint="--data names its address."
            )
        return None, []
    from elfair.study import StudyFile
    from elfair.study.sources import check_query, is_address

    if not is_address(str(data)) and not Path(data).is_file():
        raise InputError(f"there is no table '{data}'.", hint="--data names the file of the rows.")
    try:
        record = Certificate.load(certificate)
    except InputError:
        return None, []  # what is wrong with the record is a check of its own
    if not record.provenance.study:
        raise InputError(
            "this certificate was not made from a study file: nothing says which column of the "
            "table is what.",
            hint="in Python, elfair.verify(certificate, data=LoggedData(...), model=...) checks "
            "it; without --data, this command checks what the record alone can show.",
        )
    try:
        study = StudyFile.loads(record.provenance.study)
    except ElfairError as error:
        return None, [_unread("table", error)]
    check_query(str(data), query, of_study=study.data.query)
    try:
        rows = study.read(str(data), query=query)
        known = rows.data
    except (ElfairError, OSError) as error:
        return None, [_unread("table", error)]
    return known, [left_out_check(record, rows)]


def read_model(certificate: PathLike, model: PathLike | None) -> tuple[Any, list[Check]]:
    """The estimator of a file, and whether it reads tables as the study does; or why it cannot be
    read.
    """
    if model is None:
        return None, []
    from elfair.persistence import load

    if not Path(model).is_file():
        raise InputError(f"there is no model '{model}'.", hint="--model names the model's file.")
    try:
        loaded = load(model)
    except (ElfairError, OSError) as error:
        return None, [_unread("model file", error)]
    try:
        study = Certificate.load(certificate).provenance.study
    except InputError:
        return loaded, []
    return loaded, [encoding_check(study, loaded)] if study else []


def _unread(what: str, error: Exception) -> Check:
    return Check("digests", what, "failed", "; ".join(str(error).splitlines()))
