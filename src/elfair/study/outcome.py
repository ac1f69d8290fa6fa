"""From a study file to a model, its certificate and its report; and the ledger of looks.

A process counts its own looks at held-out rows. Between processes the ledger does, a file beside
the studies that only grows. It helps honest people: nothing notices if you delete it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from elfair.certificate import Certificate, Provenance
from elfair.data.looks import Look, counted_in
from elfair.errors import InputError
from elfair.estimators.classifier import ELFClassifier
from elfair.estimators.regressor import ELFRegressor
from elfair.language.conditions import columns_used
from elfair.language.parsing import parse_condition
from elfair.records.files import append_whole, appending, writing
from elfair.records.json import from_json, to_json, to_plain
from elfair.study.data import StudyData
from elfair.study.derived import closure
from elfair.study.file import StudyFile

#: After "no solution found" the file has a name that nobody takes for a model to use.
MODEL, REJECTED = "model.elfair", "rejected.elfair"
CERTIFICATE, REPORT = "certificate.json", "report.html"


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
        folder = Path(folder)
        check_free(folder, overwrite=overwrite)
        with writing(f"the results in '{folder}'"):
            target = folder.resolve()  # what a link leads to is replaced, not the link
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".elfair-") as made:
                part = Path(made) / "results"
                part.mkdir()
                names = write_results(self.estimator, part, encoding_of(self.study))
                if overwrite and target.exists():
                    target.replace(Path(made) / "old")
                part.replace(target)  # fails where somebody else's results came meanwhile
        return [folder / name for name in names]


def fit_study(
    study: StudyFile, *, ledger: Ledger | None = None, accept_violated: Sequence[str] = ()
) -> StudyOutcome:
    """Read the rows of a study, search for a model, and test it.

    Parameters
    ----------
    study : StudyFile
        The study.
    ledger : Ledger, optional
        The looks that were made before; this one is entered. Without it, the process counts.
    accept_violated : sequence of str
        Assumptions that may be violated, beside those that the study accepts.
    """
    rows, estimator = study.read(), study.estimator()
    accepted = dict.fromkeys([*estimator.accept_violated, *accept_violated])
    estimator.set_params(accept_violated=tuple(accepted))
    with nullcontext() if ledger is None else counted_in(ledger):
        estimator.fit(rows.data)
    stated = study.stated(rows.data)
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
    )
    return StudyOutcome(study, rows, estimator)


def encoding_of(study: StudyFile) -> dict[str, Any]:
    """What a model must know to decide about new people: how a table becomes features, and the
    names of columns in a log, so the log fits the study that the model came from.
    """
    columns, reading = study.columns, study.reading
    # New people have no label: a condition on it cannot be asked of them.
    keep = [
        text
        for text in reading.keep
        if columns.label
        not in closure(sorted(columns_used(parse_condition(text))), reading.by_name)[0]
    ]
    propensity = study.clean.get(columns.propensity) if columns.lottery is None else None
    return {
        **study.encoding.to_dict(),
        "reading": reading.restricted(columns.features, keep).to_dict(),
        "propensity_written": None if propensity is None else to_plain(propensity),
        "decision": columns.decision,
        # Declared chances were those of the old lottery: the new model logs a column.
        "propensity": columns.propensity if columns.lottery is None else None,
        "behavior": dict(columns.behavior),
        "behavior_mean": columns.behavior_mean,
        "row_id": columns.row_id,
    }


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
    """Raise before a fit if results must not go to a folder."""
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


# -- the ledger -------------------------------------------------------------------------------

#: What the list is called: one for all studies of a folder, or else the copy of a study would begin
#: a list of its own.
OPENINGS = "elfair.openings"


@dataclass(frozen=True)
class Opening:
    """A look, and when it was made.

    Parameters
    ----------
    rows, test, declared
        See `elfair.data.looks.Look`.
    time : str
        When, in UTC.
    """

    rows: tuple[str, ...]
    test: str
    declared: int
    time: str


class Ledger:
    """The tests that were made from the study files of a folder.

    Parameters
    ----------
    path : Path
        The file; made with the first entry.
    least_chance : float, default 0
        The smallest chance to pass with which a test is made that was not made before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder) / OPENINGS)
    ...     [ledger.enter(Look(("rows",), test, declared=1)) for test in ("a", "b", "a")]
    [1, 2, 1]
    """

    def __init__(self, path: Path, *, least_chance: float = 0.0) -> None:
        self._path, self._least_chance = path, least_chance

    def enter(self, look: Look) -> int:
        """Write down a test that is about to be made, and return which look at its rows it is.

        The same test again is the same look.
        If two tests begin at the same time, one comes first, and the other counts it.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Opening(look.rows, look.test, look.declared, now)
        line = (to_json(entry, indent=None) + "\n").encode()
        what = f"no test is made, since it was not counted: the list of tests '{self._path}'"
        with writing(what), appending(self._path) as file:
            file.seek(0)
            content = file.read()
            # Half a line at the end is of a test that was not made: the disk was full.
            end, missing = content.rfind(b"\n") + 1, b""
            if _is_whole(content[end:]):
                end, missing = len(content), b"\n"  # an editor took the line break away
            earlier = self._entries(content[:end])
            if all(each.test != look.test for each in earlier):
                look.require_chance(self._least_chance)
            number = look.number(earlier)
            append_whole(file, end, missing + line)
        return number

    def _entries(self, content: bytes) -> list[Look]:
        entries = []
        for number, line in enumerate(content.splitlines(), 1):
            try:
                entry = from_json(line.decode(), Opening)
                entries.append(Look(entry.rows, entry.test, entry.declared))
            except ValueError as error:
                raise InputError(
                    f"line {number} of the list of tests '{self._path.name}' is not as elfair "
                    f"wrote it: {str(error).splitlines()[0]}",
                    hint="restore the file; without it nobody knows how often rows were tested.",
                ) from None
        return entries


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
