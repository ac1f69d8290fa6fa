"""The table and the model that belong to a certificate, from their files.

The study file inside a certificate: it must ask for what was tested, and leave out what was.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from elfair.certificate import NOT_STATED, Certificate, ClaimRecord
from elfair.data import LoggedData
from elfair.errors import ElfairError, InputError
from elfair.language import conjuncts
from elfair.language.fairness import Recipe
from elfair.records.text import plural
from elfair.statistics.declared import declared_estimation
from elfair.verification.checks import Check, SkippedError, differences, make, require, require_none

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
    from elfair.estimators import load

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


def study_checks(record: Certificate, data: Any) -> list[Check]:
    """Whether the study says what the terms say; nothing where there is no study.

    Parameters
    ----------
    record : Certificate
        What is checked.
    data : LoggedData, optional
        Where constraints by name take their groups from.
    """
    if not record.provenance.study:
        return []
    return [make("arithmetic", "study file", lambda: _check_study(record, data))]


def encoding_check(text: str, model: Any) -> Check:
    """Whether a model makes the same features of a table as the study does.

    Parameters
    ----------
    text : str
        The study.
    model : ELFClassifier or ELFRegressor
        From its file.
    """
    from elfair.study import StudyFile
    from elfair.study.outcome import encoding_of

    def look() -> str:
        said, found = encoding_of(StudyFile.loads(text)), getattr(model, "encoding_", None)
        require(found == said, f"the model reads a table as {found}, and the study as {said}")
        return ""

    return make("digests", "features of the model", look)


def left_out_check(record: Certificate, rows: Any) -> Check:
    """Whether so many rows were read and left out as the certificate says.

    Parameters
    ----------
    record : Certificate
        What is checked.
    rows : StudyData
        The table, read as the study says.
    """

    def look() -> str:
        said = record.provenance
        require(
            said.rows_read == rows.n_read,
            f"{rows.n_read} rows were read, and not {said.rows_read}",
        )
        require_none(list(differences(said.left_out, rows.left_out, "left_out")))
        missing = sum(each.n for each in rows.left_out)
        return f"{plural(rows.n_read, 'row')} read, {missing} left out"

    return make("recomputation", "rows left out", look)


def _check_study(record: Certificate, data: Any) -> str:
    from elfair.study import StudyFile

    study = StudyFile.loads(record.provenance.study)
    asked = study.estimator().get_params(deep=False)
    tested = bool(record.terms.claims)
    said = {"title": record.provenance.title, "seed": record.seed}
    found = {"title": study.title, "seed": asked["random_state"]}
    for name in ("estimator", "bound", *(["split"] if tested else [])):
        said[name], found[name] = getattr(record, name), asked[name]
    said["center"], found["center"] = record.terms.center, asked["center"]
    if record.split == "crossfit":
        said["folds"], found["folds"] = record.terms.folds, asked["folds"]
    elif tested:
        said["candidate_fraction"] = record.terms.candidate_share
        found["candidate_fraction"] = asked["candidate_fraction"]
    if record.candidate is not None:
        for name in ("search", "objective"):
            said[name], found[name] = getattr(record.candidate, name), asked[name]
    for name, value in said.items():
        require(value == found[name], f"the study has {name} {found[name]!r}, and not {value!r}")
    names = [each for each in asked["constraints"] if isinstance(each, Recipe)]
    if not isinstance(data, LoggedData) and names:
        raise SkippedError(f"'{names[0]}' is about the groups in the data, which were not given")
    _check_claims(record, study.stated(data))
    if isinstance(data, LoggedData):
        _check_declared(record, data, asked)
    return f"{plural(len(study.constraints), 'constraint')}, as tested"


def _check_claims(record: Certificate, stated: Any) -> None:
    meant = tuple(
        ClaimRecord(
            each.text, part.text, each.delta, each.chosen_by or NOT_STATED, each.why or NOT_STATED
        )
        for each in stated
        for part in conjuncts(each.text)
    )
    wrong = list(differences(record.terms.claims, meant, "terms.claims"))
    require(not wrong, "not what the study asks for: " + "; ".join(wrong[:3]))


def _check_declared(record: Certificate, data: LoggedData, asked: Any) -> None:
    """What was declared of impacts and propensities."""
    declared = declared_estimation(
        data,
        bound=asked["bound"],
        estimator=asked["estimator"],
        center=asked["center"],
        impact_range=asked["impact_range"],
        propensity_floor=asked.get("propensity_floor"),
    )
    ranges = {each.impact: (each.low, each.high) for each in record.terms.impact_ranges}
    require(ranges == declared.ranges, f"the study has the ranges {declared.ranges}, not {ranges}")
    weight = declared.largest_weight
    floor = 1 / weight if np.isfinite(weight) else None
    said = record.terms.propensity_floor
    require(said == floor, f"the study has the propensity floor {floor}, and not {said}")
