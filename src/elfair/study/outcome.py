"""From a study file to a model, its certificate and its report."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from elfair.certificate import Certificate, Provenance
from elfair.errors import InputError
from elfair.estimators.classifier import ELFClassifier
from elfair.estimators.regressor import ELFRegressor
from elfair.study.data import StudyData
from elfair.study.file import StudyFile
from elfair.study.ledger import Ledger

#: What a model's file is called after "no solution found": nobody takes it for one to be used.
MODEL, REJECTED = "model.elfair", "rejected.elfair"
CERTIFICATE, REPORT = "certificate.json", "report.html"


@dataclass(frozen=True)
class StudyOutcome:
    """What came of a study.

    Parameters
    ----------
    study : StudyFile
        The study.
    rows : StudyData
        What was read.
    estimator : ELFClassifier or ELFRegressor
        Fitted, also to "no solution found".
    """

    study: StudyFile
    rows: StudyData
    estimator: ELFClassifier | ELFRegressor

    @property
    def certificate(self) -> Certificate:
        """The record of the test."""
        certificate: Certificate = self.estimator.certificate_
        return certificate

    def write(self, folder: str | Path, *, overwrite: bool = False) -> list[Path]:
        """Write the model, the certificate and the report: all of them, or nothing.

        Parameters
        ----------
        folder : str or Path
            Made by this; one that is there already is refused.
        overwrite : bool, default False
            Replace the folder, if it holds nothing but results of elfair.

        Returns
        -------
        list of Path
            The files. After "no solution found" the tested models are in ``rejected.elfair``, for
            those who want to test them again; they cannot be used for decisions.
        """
        folder = Path(folder)
        check_free(folder, overwrite=overwrite)
        try:
            target = folder.resolve()  # what a link leads to is replaced, not the link
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".elfair-") as made:
                part = Path(made) / "results"
                part.mkdir()
                names = write_results(self.estimator, part, encoding_of(self.study))
                if overwrite and target.exists():
                    target.replace(Path(made) / "old")
                part.replace(target)  # fails where somebody else's results came meanwhile
        except OSError as error:
            raise InputError(
                f"the results could not be written to '{folder}': {error.strerror or error}.",
                hint="may you write there, and is there space on the disk?",
            ) from None
        return [folder / name for name in names]


def fit_study(study: StudyFile, *, ledger: Ledger | None = None) -> StudyOutcome:
    """Read the rows of a study, search for a model, and test it.

    Parameters
    ----------
    study : StudyFile
        The study.
    ledger : Ledger, optional
        The tests of earlier days. Those of the same rows count as openings of the held-out rows,
        and this one is entered.
    """
    rows = study.read()
    estimator = study.estimator().fit(rows.data)
    stated = study.stated(rows.data)
    before = 0
    if ledger is not None and estimator.certificate_.constraints:
        before = ledger.enter(estimator.certificate_, rows.data)
    estimator.state(
        chosen_by={each.text: each.chosen_by for each in stated},
        why={each.text: each.why for each in stated},
        provenance=provenance_of(study, rows),
        earlier_tests=before,
    )
    return StudyOutcome(study, rows, estimator)


def encoding_of(study: StudyFile) -> dict[str, Any]:
    """How a table becomes features, and what decisions are called in a log: what a model must know
    to decide about new people. A log then fits the study that the model came from.
    """
    columns = study.columns
    return {
        **study.encoding.to_dict(),
        "decision": columns.decision,
        "propensity": columns.propensity,
        "behavior": dict(columns.behavior),
        "row_id": columns.row_id,
    }


def provenance_of(study: StudyFile, rows: StudyData) -> Provenance:
    """What a certificate says of where its rows come from."""
    return Provenance(
        title=study.title,
        issued=datetime.now(UTC).isoformat(timespec="seconds"),
        source=rows.source,
        source_digest=rows.digest or "",
        rows_read=rows.n_read,
        left_out=rows.left_out,
        study=study.text,
    )


def write_results(
    estimator: ELFClassifier | ELFRegressor,
    folder: Path,
    encoding: Mapping[str, Any] | None = None,
) -> list[str]:
    """Write the model, the certificate and the report into a folder that is there.

    Parameters
    ----------
    estimator : ELFClassifier or ELFRegressor
        Fitted, also to "no solution found".
    folder : Path
        The folder.
    encoding : mapping, optional
        See `ELFEstimator.save`.

    Returns
    -------
    list of str
        The names of the files.
    """
    certificate: Certificate = estimator.certificate_
    model = MODEL if certificate.passed else REJECTED
    estimator.save(folder / model, encoding=encoding)
    certificate.save(folder / CERTIFICATE)
    estimator.report().write_html(folder / REPORT)
    return [model, CERTIFICATE, REPORT]


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that results must not go to, before anything is spent on them."""
    if not folder.exists():
        return
    known = {MODEL, REJECTED, CERTIFICATE, REPORT}
    if not folder.is_dir() or {each.name for each in folder.iterdir()} - known:
        raise InputError(
            f"'{folder}' exists, and holds more than results of elfair.",
            hint="name another folder with --output.",
        )
    if not overwrite:
        raise InputError(
            f"'{folder}' holds results already.",
            hint="name another folder with --output, or replace them with --overwrite.",
        )
