"""What one verification looks at: every part is read, and the rows are divided, once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elfair.certificate import Certificate
from elfair.certificate.envelope import Envelope
from elfair.consistency.comparison import MismatchError, SkippedError, require
from elfair.consistency.stated import Stated
from elfair.data import LoggedData
from elfair.data.batches import MOST_CANDIDATES
from elfair.data.digests import ANY_ORDER
from elfair.data.preparation import FittedTransformer
from elfair.data.split import Split, in_order
from elfair.data.stages import fresh_rows
from elfair.errors import ElfairError, InputError
from elfair.estimators.certify import GivenModel
from elfair.fairness_test.test import opened_before
from elfair.policies.models import Fitted, digests, mixture_digest
from elfair.records.files import read_whole

if TYPE_CHECKING:
    from elfair.study import StudyFile
    from elfair.study.data import StudyData

PathLike = str | os.PathLike[str]


@dataclass
class Context(Stated):
    """A certificate, and what it is held against.

    Whatever is missing raises `SkippedError` where a check asks for it.

    Parameters
    ----------
    record
        See `Stated`.
    data, model, source, report
        See `elfair.verify`.
    table : StudyData, optional
        The table that the data were read from.
    loaded : bool, default False
        Whether the model was read from a file.
    refit : bool, default False
        Whether to repeat the search, too.
    again : Certificate, optional
        That of the same test, run again.
    envelope : Envelope, optional
        What the certificate came in, with its signatures.
    keys : sequence of str or path-like
        Files of public keys that must have signed it.
    earlier : Certificate, optional
        That of the stage before.
    """

    data: LoggedData | None = None
    model: Any = None
    source: PathLike | None = None
    report: PathLike | None = None
    table: StudyData | None = None
    loaded: bool = False
    refit: bool = False
    again: Certificate | None = None
    envelope: Envelope | None = None
    keys: Sequence[PathLike] = ()
    earlier: Certificate | None = None

    @cached_property
    def study(self) -> StudyFile:
        """The study file inside a certificate that has one."""
        from elfair.study import StudyFile

        return StudyFile.loads(self.record.provenance.study)

    @property
    def rows(self) -> LoggedData:
        """The data, where they were given."""
        if self.data is None:
            raise SkippedError("no data were given")
        if self._in_batches and self.record.n_candidate > MOST_CANDIDATES:
            raise SkippedError(
                f"the rows were read in batches, and the search had {MOST_CANDIDATES:,} of them: "
                "such a test is not made again yet"
            )
        return self.data

    @property
    def _in_batches(self) -> bool:
        """Whether the rows were read in batches."""
        return self.record.digests.data.startswith(ANY_ORDER)

    @cached_property
    def split(self) -> Split:
        """The data, divided by the certificate's seed, shares and folds."""
        terms = self.record.terms
        average = "unit" if terms.units is None else terms.units.average
        stage = self.record.stage
        if stage is not None:
            fitted = getattr(self.model, "fitted_", None)
            prepared = None if fitted is None else fitted.ladder[0].preparation
            fresh = fresh_rows(stage, self.rows.n)
            return Split.continued(in_order(self.rows), fresh, self.record.seed, prepared)
        return Split.of(
            self.rows.changed(thresholds=terms.thresholds, average=average, **self._unsaid),
            self.record.split,
            share=terms.candidate_share,
            seed=self.record.seed,
            folds=terms.folds,
            preprocessor=self._preprocessor,
        )

    @property
    def _unsaid(self) -> dict[str, Any]:
        """What only the model says of its setting: the data may have come without."""
        if self._kept is None:
            return {}
        said = {"behavior_model": self._kept.setting.behavior}
        said["encoding"] = self._kept.setting.encoding
        return {name: known for name, known in said.items() if getattr(self.rows, name) is None}

    @property
    def _kept(self) -> Fitted | None:
        """What the estimator has kept of its fit; None if no estimator was given."""
        fitted = getattr(self.model, "fitted_", None)
        return fitted if isinstance(fitted, Fitted) else None

    @property
    def _preprocessor(self) -> Any:
        """The transformer that prepares features for the model, as it was before it was fitted."""
        from sklearn.base import clone

        known = None if self._kept is None else self._kept.ladder[0].preparation
        return clone(known.transformer) if isinstance(known, FittedTransformer) else None

    @cached_property
    def held_out(self) -> LoggedData:
        """The held-out rows, in the order of the test."""
        return opened_before(self.split)

    @property
    def given(self) -> Any:
        """The model, where it was given."""
        if self.model is None:
            raise SkippedError("no model was given")
        if self._in_batches and self.record.search is None:
            raise SkippedError("the model was asked in batches: such a test is not made again yet")
        return self.model

    @property
    def fitted(self) -> Fitted:
        """What the estimator that was given has kept of its fit."""
        given, fitted = self.given, self._kept
        require(fitted is not None, f"the model must be a fitted estimator. Got {given!r:.80}")
        assert fitted is not None
        return fitted

    @cached_property
    def ladder(self) -> Sequence[str]:
        """The digests of all models on the ladder."""
        if self.record.search is not None:
            return digests(self.fitted.ladder)
        if self.data is None and self.model is not None:
            raise SkippedError("probabilities are read beside the data, which were not given")
        return [GivenModel.read(self.given, self.rows).digest()]

    @property
    def tested_model(self) -> str:
        """The digest of the tested model: by its place, or of the mixture of all folds' models."""
        if self.record.split == "crossfit":
            return mixture_digest(self.ladder, self.fitted.shares)
        place = 1 if self.record.search is None else self.record.search.place
        count = len(self.ladder)
        require(1 <= place <= count, f"place {place} is not among the {count} models on the ladder")
        return self.ladder[place - 1]

    def read_table(
        self, data: PathLike, query: str | None, within: Sequence[str | Path] = ()
    ) -> None:
        """Read the data from a table, as the certificate's own study says.

        If that is not possible, this raises `MismatchError`.

        Parameters
        ----------
        data : str or path-like
            The table.
        query : str or None
            What to ask a database. The query inside the certificate is shown and never asked by
            itself: the author of the certificate wrote it.
        within : sequence of str or Path
            Folders whose files that query may read, beside the working directory.
        """
        from elfair.study.sources import check_query

        if not self.record.provenance.study:
            raise InputError(
                "this certificate was not made from a study file, so nothing says what each column "
                "of the table is.",
                hint="in Python, elfair.verify(certificate, data=LoggedData(...), model=...) "
                "checks it. Without --data, this command checks what the record alone can show.",
            )
        with _reading():
            # What is computed again is computed in memory.
            study = replace(self.study, data=replace(self.study.data, batches=False))
        is_folder = Path(data).is_dir()
        if not is_folder:
            check_query(str(data), query, of_study=study.data.query)
        _check_files(study, is_folder=is_folder)
        with _reading():
            if is_folder:
                table = replace(study, folder=Path(data).resolve()).read()
            else:
                table = replace(study, within=tuple(within)).read(str(data), query=query)
            self.data, self.table = table.in_memory, table

    def read_model(self, model: PathLike) -> None:
        """Read the model from its file; see `read_table`."""
        from elfair.estimators import load

        with _reading():
            self.model, self.loaded = load(model), True


#: A check: it returns what it found, or None if the certificate has nothing of the kind. It raises
#: `MismatchError` if something is wrong, and `SkippedError` if the check cannot be made.
Look = Callable[[Context], str | None]


def read_certificate(
    certificate: Certificate | str | bytes | PathLike,
) -> tuple[Certificate, Envelope | None]:
    """A certificate from any of its forms, and the envelope that it came in, if it has one.

    A record is written and read again, too: anyone can make one that could not be written.
    """
    text: Any = certificate.to_json() if isinstance(certificate, Certificate) else certificate
    is_text = isinstance(text, str) and text.lstrip().startswith("{")
    if isinstance(text, str | os.PathLike) and not is_text:
        text = read_whole(text, hint="pass the name of certificate.json.")
    if isinstance(text, bytes):
        text = text.decode()
    if isinstance(text, str):
        envelope = Envelope.read(text)
        return Certificate.from_json(text if envelope is None else envelope.text), envelope
    raise InputError(
        f"a certificate is a record, its text or a file. Got {type(certificate).__name__}.",
        hint="pass the name of certificate.json.",
    )


def _check_files(study: StudyFile, *, is_folder: bool) -> None:
    """Raise if a study needs more files than one, or a query of its own would be asked."""
    several = study.later is not None or not isinstance(study.data.source, str)
    if several and not is_folder:
        raise InputError(
            "the study reads several files.", hint="--data names the folder that they are in."
        )
    queries = [study.data.query, None if study.later is None else study.later.query]
    if is_folder and any(each is not None for each in queries):
        raise InputError(
            "the study asks a database, and a query inside a certificate is never asked by itself.",
            hint="export what it returns to a file, and certify from that.",
        )


@contextmanager
def _reading() -> Iterator[None]:
    """What cannot be read does not fit the certificate."""
    try:
        yield
    except (ElfairError, OSError) as error:
        raise MismatchError("; ".join(str(error).splitlines())) from error
