"""From a study file to a model, its certificate and its report."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from elfair.certificate import Certificate, GroupCount, LeftOut, Provenance
from elfair.classifier import ELFClassifier
from elfair.errors import InputError
from elfair.regressor import ELFRegressor
from elfair.study.data import StudyData
from elfair.study.file import StudyFile
from elfair.study.ledger import Ledger

#: What a model's file is called after "no solution found": nobody takes it for one to be used.
MODEL, REJECTED = "model.elfair", "rejected.elfair"


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
        names = [MODEL if self.certificate.passed else REJECTED, "certificate.json", "report.html"]
        check_free(folder, overwrite=overwrite)
        try:
            target = folder.resolve()  # what a link leads to is replaced, not the link
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".elfair-") as made:
                part = Path(made) / "results"
                part.mkdir()
                self.estimator.save(part / names[0], encoding=self.rows.encoding.to_dict())
                self.certificate.save(part / names[1])
                self.certificate.report().write_html(part / names[2])
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
    estimator = study.estimator().fit(**rows.arguments)
    stated = study.stated(rows.data)
    provenance = Provenance(
        title=study.title,
        issued=datetime.now(UTC).isoformat(timespec="seconds"),
        source=rows.source,
        source_digest=rows.digest or "",
        rows_read=rows.n_read,
        left_out=left_out_of(rows),
        study=study.text,
    )
    before = 0
    if ledger is not None and estimator.certificate_.constraints:
        before = ledger.enter(estimator.certificate_, rows.data)
    estimator.state(
        chosen_by={each.text: each.chosen_by for each in stated},
        why={each.text: each.why for each in stated},
        provenance=provenance,
        earlier_tests=before,
    )
    return StudyOutcome(study, rows, estimator)


def left_out_of(rows: StudyData) -> tuple[LeftOut, ...]:
    """The rows that took no part, as a certificate counts them."""
    return tuple(
        LeftOut(
            each.reason,
            each.n,
            tuple(
                GroupCount(f"{column} = {group}", n)
                for column, groups in each.by_group.items()
                for group, n in groups.items()
            ),
        )
        for each in rows.left_out
    )


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that results must not go to, before anything is spent on them."""
    if not folder.exists():
        return
    known = {MODEL, REJECTED, "certificate.json", "report.html"}
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
