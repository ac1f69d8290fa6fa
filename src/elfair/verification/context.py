"""What one verification looks at: every part is read, and the rows are divided, once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elfair.certificate import Certificate, GroupRecord
from elfair.data import LoggedData
from elfair.data.preparation import FittedTransformer
from elfair.data.split import Split
from elfair.errors import ElfairError, InputError
from elfair.estimators.certify import GivenModel
from elfair.fairness_test.test import opened_before
from elfair.language.conjunction import conjuncts
from elfair.policies.models import Fitted, digests, mixture_digest
from elfair.statistics.claims import Claim
from elfair.verification.comparison import MismatchError, SkippedError, require

if TYPE_CHECKING:
    from elfair.study import StudyFile
    from elfair.study.data import StudyData

PathLike = str | os.PathLike[str]


@dataclass
class Context:
    """A certificate, and what it is held against.

    Whatever is missing raises `SkippedError` where a check asks for it.

    Parameters
    ----------
    record : Certificate
        What is checked.
    data, model, source
        See `elfair.verify`.
    table : StudyData, optional
        The table that the data were read from.
    loaded : bool, default False
        Whether the model was read from a file.
    refit : bool, default False
        Whether to repeat the search, too.
    again : Certificate, optional
        That of the same test, run again.
    """

    record: Certificate
    data: LoggedData | None = None
    model: Any = None
    source: PathLike | None = None
    table: StudyData | None = None
    loaded: bool = False
    refit: bool = False
    again: Certificate | None = None

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What was asked for, from the constraints as their author wrote them."""
        claims: list[Claim] = []
        left = list(self.record.terms.claims)
        while left:
            first, whole = left[0], conjuncts(left[0].constraint)
            said, left = left[: len(whole)], left[len(whole) :]
            require(
                said == [replace(first, statement=each.text) for each in whole],
                f"'{first.constraint}' says {[each.text for each in whole]}, each at delta "
                f"{first.delta}; the terms say {said}",
            )
            require(0 < first.delta <= 0.5, f"delta is {first.delta}")
            claims += [Claim(each, first.delta) for each in whole]
        return tuple(claims)

    @property
    def groups(self) -> list[GroupRecord]:
        """The held-out rows that each statement is about."""
        return [group for result in self.record.constraints for group in result.groups]

    @property
    def behavior_known(self) -> bool:
        """Whether the behaviour model's probability of every decision was known."""
        return any(a.code == "support" and a.status == "checked" for a in self.record.assumptions)

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
        return self.data

    @cached_property
    def split(self) -> Split:
        """The data, divided by the certificate's seed, shares and folds."""
        terms = self.record.terms
        average = "unit" if terms.units is None else terms.units.average
        return Split.of(
            self.rows.changed(thresholds=terms.thresholds, average=average),
            self.record.split,
            share=terms.candidate_share,
            seed=self.record.seed,
            folds=terms.folds,
            preprocessor=self._preprocessor,
        )

    @property
    def _preprocessor(self) -> Any:
        """The transformer that prepares features for the model, as it was before it was fitted."""
        from sklearn.base import clone

        fitted = getattr(self.model, "fitted_", None)
        known = None if fitted is None else fitted.ladder[0].preparation
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
        return self.model

    @property
    def fitted(self) -> Fitted:
        """What the estimator that was given has kept of its fit."""
        fitted = getattr(self.given, "fitted_", None)
        require(fitted is not None, f"the model must be a fitted estimator. Got {self.model!r:.80}")
        assert isinstance(fitted, Fitted)
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
            return mixture_digest(self.ladder)
        place = 1 if self.record.search is None else self.record.search.place
        count = len(self.ladder)
        require(1 <= place <= count, f"place {place} is not among the {count} models on the ladder")
        return self.ladder[place - 1]

    def read_table(self, data: PathLike, query: str | None) -> None:
        """Read the data from a table, as the certificate's own study says.

        If that is not possible, this raises `MismatchError`.

        Parameters
        ----------
        data : str or path-like
            The table.
        query : str or None
            What to ask a database. The query inside the certificate is shown and never asked by
            itself: the author of the certificate wrote it.
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
            study = self.study
        is_folder = Path(data).is_dir()
        if not is_folder:
            check_query(str(data), query, of_study=study.data.query)
        _check_files(study, is_folder=is_folder)
        with _reading():
            if is_folder:
                table = replace(study, folder=Path(data).resolve()).read()
            else:
                table = study.read(str(data), query=query)
            self.data, self.table = table.data, table

    def read_model(self, model: PathLike) -> None:
        """Read the model from its file; see `read_table`."""
        from elfair.estimators import load

        with _reading():
            self.model, self.loaded = load(model), True


#: A check: it returns what it found, or None if the certificate has nothing of the kind. It raises
#: `MismatchError` if something is wrong, and `SkippedError` if the check cannot be made.
Look = Callable[[Context], str | None]


def read_certificate(certificate: Certificate | str | bytes | PathLike) -> Certificate:
    """A certificate from any of its forms.

    A record is written and read again, too: anyone can make one that could not be written.
    """
    text: Any = certificate.to_json() if isinstance(certificate, Certificate) else certificate
    is_text = isinstance(text, str) and text.lstrip().startswith("{")
    if isinstance(text, str | os.PathLike) and not is_text:
        text = Path(text).read_bytes()
    if isinstance(text, bytes):
        text = text.decode()
    if isinstance(text, str):
        return Certificate.from_json(text)
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
