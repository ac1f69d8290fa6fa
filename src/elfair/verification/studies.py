"""The study file inside a certificate, held against what the certificate says was asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from elfair.certificate import NOT_STATED, Certificate, ClaimRecord
from elfair.constraints import read_constraints
from elfair.verification.checks import Check, make, require, require_none
from elfair.verification.comparing import differences


def study_checks(record: Certificate, study: Any, rows: Any) -> Iterator[Check]:
    """Whether the certificate is about what its study asked for, and of all rows that it read.

    Parameters
    ----------
    record : Certificate
        The certificate.
    study : StudyFile
        The study that it holds.
    rows : StudyData
        What this study reads from the table.
    """
    estimator = study.estimator()

    def asked() -> str:
        found = _claims(study, estimator, rows.data)
        _same(record.terms.claims, found, "claims")
        return f"{len(found)} statements, with who chose them and why"

    def settings() -> str:
        parameters = estimator.get_params(deep=False)
        crossfit = parameters["split"] == "crossfit"
        share = 1 - 1 / parameters["folds"] if crossfit else parameters["candidate_fraction"]
        tested = bool(record.constraints)
        wanted: dict[str, tuple[Any, Any]] = {
            "seed": (record.seed, estimator.random_state),
            "estimator": (record.estimator, parameters["estimator"]),
            "bound": (record.bound, parameters["bound"]),
            "center": (record.terms.center, parameters["center"]),
            "split": (record.split, parameters["split"] if tested else "none"),
            "share of candidate rows": (record.terms.candidate_share, share if tested else 1.0),
        }
        if record.candidate is not None:
            wanted["objective"] = (record.candidate.objective, str(estimator.objective))
            wanted["search"] = (record.candidate.search, estimator.search)
        for name, (written, said) in wanted.items():
            require(written == said, f"{name} is {written!r}, and the study says {said!r}")
        return ", ".join(wanted)

    def people() -> str:
        from elfair.study.outcome import provenance_of

        found = provenance_of(study, rows)
        _same(record.provenance.left_out, found.left_out, "left_out")
        _same(record.provenance.rows_read, found.rows_read, "rows_read")
        _same(record.provenance.title, found.title, "title")
        return f"{record.provenance.rows_read - record.n} of {record.provenance.rows_read} rows"

    yield make("recomputation", "constraints of the study", asked)
    yield make("recomputation", "settings of the study", settings)
    yield make("recomputation", "rows left out", people)


def _same(recorded: Any, found: Any, name: str) -> None:
    require_none(list(differences(recorded, found, name)))


def _claims(study: Any, estimator: Any, data: Any) -> tuple[ClaimRecord, ...]:
    said = {each.text: each for each in study.stated(data)}
    claims = []
    for claim in read_constraints(estimator.constraints, estimator.delta, data):
        parent = claim.conjunct.parent
        claims.append(
            ClaimRecord(
                parent,
                claim.conjunct.text,
                claim.delta,
                said[parent].chosen_by or NOT_STATED,
                said[parent].why or NOT_STATED,
            )
        )
    return tuple(claims)
