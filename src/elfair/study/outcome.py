"""From a study file to a model, its certificate and its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from elfair.certificate import Certificate, Provenance
from elfair.data import LoggedData
from elfair.data.ledger import Ledger
from elfair.errors import InputError
from elfair.estimators import load
from elfair.estimators.classifier import ELFClassifier
from elfair.estimators.regressor import ELFRegressor
from elfair.records.folders import ClaimedFolder, claimed
from elfair.records.progress import Progress, logger
from elfair.records.text import plural
from elfair.study.data import StudyData
from elfair.study.file import StudyFile

#: After "no solution found" the file has a name that nobody takes for a model to use.
MODEL, REJECTED = "model.elfair", "rejected.elfair"
CERTIFICATE, REPORT = "certificate.json", "report.html"
#: How far a command is once the table is read, as progress is told.
READ = 0.1


@dataclass(frozen=True)
class StudyOutcome:
    """The results of a study.

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
            The files. After "no solution found" the tested models are in ``rejected.elfair``, to be
            tested again; they cannot be used for decisions.
        """
        with results_in(folder, overwrite=overwrite) as results:
            return self.write_to(results)

    def write_to(self, results: ResultsFolder) -> list[Path]:
        """What `write` does, to a folder that was claimed before the fit: see `results_in`."""
        return results.write(self.estimator)


def fit_study(
    study: StudyFile,
    *,
    ledger: Ledger | str | PathLike[str] | None = None,
    accept_violated: Sequence[str] = (),
) -> StudyOutcome:
    """Read the rows of a study, search for a model, and test it.

    Parameters
    ----------
    study : StudyFile
        The study.
    ledger : Ledger, str or path-like, optional
        Where looks are counted; without it, the process counts.
    accept_violated : sequence of str
        Assumptions that may be violated, beside those that the study accepts.
    """
    with Progress("fitting"):
        with Progress("reading the table", end=READ):
            rows, estimator = study.read(), study.estimator()
            logger.info(
                "%s: %s, %s", rows.source, plural(rows.n_read, "row"), f"{rows.data.n:,} used"
            )
        accepted = dict.fromkeys([*estimator.accept_violated, *accept_violated])
        estimator.set_params(accept_violated=tuple(accepted))
        with Progress(start=READ):
            estimator.fit(rows.data, ledger=ledger)
    return _outcome(study, rows, estimator)


def continue_study(
    study: StudyFile,
    earlier: str | Path,
    *,
    ledger: Ledger | str | PathLike[str],
    accept_violated: Sequence[str] = (),
) -> StudyOutcome:
    """Test the models of an earlier stage on the rows that came since.

    Parameters
    ----------
    study : StudyFile
        The study, as it was at the first stage.
    earlier : str or Path
        The folder with the results of the stage before.
    ledger, accept_violated
        See `fit_study`.
    """
    certificate = Certificate.load(Path(earlier) / CERTIFICATE)
    estimator = load(Path(earlier) / (MODEL if certificate.passed else REJECTED))
    if estimator.certificate_ != certificate:
        raise InputError(
            f"the model in '{earlier}' is not that of the certificate beside it.",
            hint="restore both files.",
        )
    if study.text != certificate.provenance.study:
        raise InputError(
            f"the study file has changed since the stage in '{earlier}'. To go on is to test what "
            "was asked for then.",
            hint="restore it; the certificate holds it, as provenance.study.",
        )
    rows = study.read()
    estimator.go_on(rows.in_memory, ledger=ledger, accept_violated=tuple(accept_violated))
    return _outcome(study, rows, estimator)


def _outcome(
    study: StudyFile, rows: StudyData, estimator: ELFClassifier | ELFRegressor
) -> StudyOutcome:
    """The results, with what only the study knows."""
    # Rows that are read in batches have no constraints by name.
    known = rows.data if isinstance(rows.data, LoggedData) else None
    stated = study.stated(known)
    estimator.state(
        chosen_by={each.text: each.chosen_by for each in stated},
        why={each.text: each.why for each in stated},
        provenance=Provenance(
            title=study.title,
            issued=datetime.now(UTC).isoformat(timespec="seconds"),
            source=rows.source,
            source_digest=rows.digest or "",
            rows_read=rows.n_read,
            left_out=rows.left_out,
            outside=rows.outside,
            changes=rows.changes,
            study=study.text,
        ),
        names=study.names,
    )
    return StudyOutcome(study, rows, estimator)


@dataclass(frozen=True)
class ResultsFolder:
    """A folder for results, to which no other process writes; see `results_in`.

    Parameters
    ----------
    claim : ClaimedFolder
        The folder.
    overwrite : bool
        Whether to replace the results that are there.
    """

    claim: ClaimedFolder
    overwrite: bool

    def write(self, estimator: ELFClassifier | ELFRegressor) -> list[Path]:
        """Write the model, the certificate and the report: all of them, or nothing.

        Parameters
        ----------
        estimator : ELFClassifier or ELFRegressor
            Fitted, also to "no solution found".

        Returns
        -------
        list of Path
            The files.
        """
        certificate: Certificate = estimator.certificate_
        model = MODEL if certificate.passed else REJECTED

        def write(new: Path) -> None:
            estimator.save(new / model)
            certificate.save(new / CERTIFICATE)
            estimator.report().write_html(new / REPORT)
            # Again: the fit took its time, and somebody may have put a file there.
            _check_free(self.claim.folder, overwrite=self.overwrite)

        self.claim.fill(write, overwrite=self.overwrite)
        return [self.claim.folder / name for name in (model, CERTIFICATE, REPORT)]


def next_folder(earlier: Path) -> Path:
    """Where the results of the next stage go: beside those of the stage before.

    Examples
    --------
    >>> next_folder(Path("loans/results")).name, next_folder(Path("results-2")).name
    ('results-2', 'results-3')
    """
    name, dash, number = earlier.name.rpartition("-")
    if dash and number.isdigit():
        return earlier.with_name(f"{name}-{int(number) + 1}")
    return earlier.with_name(f"{earlier.name}-2")


@contextmanager
def results_in(folder: str | Path, *, overwrite: bool = False) -> Iterator[ResultsFolder]:
    """Claim a folder for results, before a fit: another fit for it is refused meanwhile.

    Parameters
    ----------
    folder, overwrite
        See `StudyOutcome.write`.
    """
    folder = Path(folder)
    _check_free(folder, overwrite=overwrite)
    with claimed(folder) as claim:
        _check_free(folder, overwrite=overwrite)  # again: another process may just have ended
        yield ResultsFolder(claim, overwrite)


def _check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise if results must not go to a folder."""
    if not folder.exists():
        return
    known = {MODEL, REJECTED, CERTIFICATE, REPORT}
    if not folder.is_dir() or {each.name for each in folder.iterdir()} - known:
        raise InputError(
            f"'{folder}' exists, and holds other files than results of elfair.",
            hint="name another folder with --output.",
        )
    if not overwrite:
        raise InputError(
            f"'{folder}' holds results already.",
            hint="name another folder with --output, or replace them with --overwrite.",
        )
