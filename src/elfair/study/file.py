"""StudyFile: a study as its TOML file describes it, from the table to the estimator."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from elfair.data import LoggedData
from elfair.errors import InputError
from elfair.estimators.classifier import ELFClassifier
from elfair.estimators.parameters import from_study, parameters_of
from elfair.estimators.regressor import ELFRegressor
from elfair.language.conditions import columns_used
from elfair.language.parsing import parse, parse_expression
from elfair.language.recipes import Recipe
from elfair.records.files import decoded, read_whole
from elfair.records.toml import parsed, shaped, together
from elfair.search.goals import OBJECTIVES
from elfair.study.data import StudyData, study_data
from elfair.study.databases import is_address
from elfair.study.defects import proposals, toml_of
from elfair.study.derived import read_derived
from elfair.study.encoding import Feature, TableEncoding
from elfair.study.in_batches import not_in_batches, read_in_batches
from elfair.study.joining import read_joined
from elfair.study.keys import CleanKeys, StudyKeys
from elfair.study.mistakes import constraint_of, mistakes_of
from elfair.study.reach import Reach
from elfair.study.reading import TableReading
from elfair.study.secrets import redacted, strings_of, without_secrets
from elfair.study.sources import check_query, nearest_file, open_tables, read_opened

#: A value that `elfair init` leaves to the user.
TODO = "TODO"
#: The longest study file that is read.
MOST_BYTES = 2_000_000
_OPEN = re.compile(rf"""^[^#]*["']{TODO}\b""")


@dataclass(frozen=True)
class StatedConstraint:
    """A constraint in plain text, and who is responsible for it.

    Parameters
    ----------
    text : str
        The constraint.
    delta : float
        The probability with which it may be violated although a model is returned.
    chosen_by : str
        Who chose tolerance and delta; empty if not stated.
    why : str
        Why; empty if not stated.

    Examples
    --------
    >>> StatedConstraint("accuracy >= 0.75", 0.1, "the review board", "as good as before").delta
    0.1
    """

    text: str
    delta: float
    chosen_by: str
    why: str


@dataclass(frozen=True)
class StudyFile(StudyKeys):
    """A study: where the table is, which column is what, what must hold, how it is tested.

    Attributes
    ----------
    title : str
        For people.
    data, columns, rows, model, test, constraints
        The tables of the file; see `StudyKeys`.
    folder : Path
        Where relative paths begin.
    text : str
        The file, without secrets.
    within : tuple of str or Path
        Folders whose files the study may read, beside its own.
    servers : tuple of str
        Hosts of databases that the study may ask.

    Examples
    --------
    >>> study = StudyFile.loads('''
    ... title = "Loans"
    ... [data]
    ... source = "loans.csv"
    ... [columns]
    ... features = ["Age (years)", "housing"]
    ... label = "repaid?"
    ... sensitive = ["race"]
    ... decision = "approved"
    ... propensity = "p(approve)"
    ... impact = ["savings 2y"]
    ... categories = { housing = ["own", "rent"] }
    ... [[constraints]]
    ... no_worse = "race"
    ... ''')
    >>> study.encoding.names
    ['Age (years)', 'housing=rent']
    >>> study.estimator().delta
    [0.1]
    """

    folder: Path = Path()
    text: str = ""
    within: tuple[str | Path, ...] = ()
    servers: tuple[str, ...] = ()

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        within: Sequence[str | Path] = (),
        servers: Sequence[str] = (),
    ) -> Self:
        """Read a study from its file; one error lists all mistakes.

        Parameters
        ----------
        path : str or Path
            A TOML file.
        within : sequence of str or Path
            Folders whose files the study may read, beside its own: the file may be a stranger's.
        servers : sequence of str
            Hosts of databases that it may ask.

        Examples
        --------
        >>> StudyFile.load("nowhere/study.toml")
        Traceback (most recent call last):
            ...
        elfair.errors.InputError: there is no study file 'nowhere/study.toml'.
        Hint: `elfair init` writes one for a table.
        """
        path = Path(path)
        if not os.path.lexists(path):
            beside = path.parent.glob("*.toml") if path.parent.is_dir() else ()
            raise InputError(
                f"there is no study file {str(path)!r}.",
                hint=nearest_file(path, beside, "`elfair init` writes one for a table."),
            )
        content = read_whole(path, hint="check its name, and read permission.", most=MOST_BYTES)
        text = decoded(content, path, hint="check that it is a TOML file.").removeprefix("\ufeff")
        allowed: dict[str, Any] = {"within": within, "servers": servers}
        return cls.loads(text, folder=path.parent, name=str(path), **allowed)

    @classmethod
    def loads(
        cls,
        text: str,
        *,
        folder: str | Path = ".",
        name: str = "the study",
        within: Sequence[str | Path] = (),
        servers: Sequence[str] = (),
    ) -> Self:
        """Read a study from TOML.

        Parameters
        ----------
        text : str
            The TOML.
        folder : str or Path
            Where relative paths begin.
        name : str
            What messages call it.
        within, servers
            See `load`.
        """
        mistakes: list[InputError] = [
            InputError(
                f"line {number} is still to be filled in: {line.strip()}",
                hint="write the name of the column, or delete the line if there is none.",
            )
            for number, line in lines_to_fill_in(text).items()
        ]
        try:
            keys, wrong = shaped(parsed(text, name), StudyKeys, whole="a study file")
            if mistakes := mistakes + wrong:
                raise together(name, mistakes)
            where = Path(folder).resolve()
            named = (keys.data, keys.later)
            said = strings_of([(of.source, of.query) for of in named if of is not None])
            study = cls(
                **vars(keys),
                folder=where,
                text=redacted(text, set(said)),
                within=(within,) if isinstance(within, str | Path) else tuple(within),
                servers=(servers,) if isinstance(servers, str) else tuple(servers),
            )
            if mistakes := list(mistakes_of(study)) or list(not_in_batches(study)):
                raise together(name, mistakes)
        except InputError as error:
            raise InputError(without_secrets(str(error))) from None
        return study

    @property
    def kind(self) -> Literal["classifier", "regressor"]:
        """What is decided: classes, or numbers."""
        return "regressor" if self.model.get("kind") == "regressor" else "classifier"

    @cached_property
    def encoding(self) -> TableEncoding:
        """How features are made of columns."""
        levels = self.columns.categories
        return TableEncoding(
            tuple(Feature(name, tuple(levels.get(name, ()))) for name in self.columns.features)
        )

    @cached_property
    def reading(self) -> TableReading:
        """How its columns are made of those of the table, and which rows take part."""
        return TableReading(
            missing=self.data.missing,
            clean=self.clean,
            derived=tuple(read_derived(*each) for each in self.derived.items()),
            keep=self.rows.keep,
        )

    @property
    def reach(self) -> Reach:
        """What its own sources may read."""
        return Reach.of(self.folder, self.within, self.servers)

    @property
    def needed_columns(self) -> list[str]:
        """The columns that take part, of the table or derived."""
        columns = self.columns
        known = [*columns.features, *columns.sensitive, *columns.roles.values(), *columns.costs]
        return list(dict.fromkeys(known))

    def read(self, source: str | Path | None = None, *, query: str | None = None) -> StudyData:
        """Read the table into the rows that `fit` takes.

        Parameters
        ----------
        source : str or Path, optional
            What to read instead of the source that the study names: a file (from the working
            directory), or the address of a database.
        query : str, optional
            The query for that database. The query of the study is not used for it: the person who
            names another database need not be the one who wrote the study.
        """
        own = source is None
        if source is None:
            if query is not None:
                raise InputError(
                    "a query must come with the address of a database.",
                    hint="name the source as well; without one, both are those of the study.",
                )
            source, query = self.data.source, self.data.query
        else:
            check_query(source, query, of_study=self.data.query)
            source = source if is_address(source) else Path(source).resolve()
        if self.data.batches:
            return read_in_batches(self, source, self.reach if own else None)
        wanted = self.needed_columns
        table = read_joined(
            open_tables(
                source,
                query=query,
                folder=self.folder,
                reach=self.reach if own else None,
                within=self.within,
            ),
            self.reading.raw(wanted),
            self.later,
            self.clean,
            self.folder,
            self.reach,
        )
        return study_data(self.reading.read(table, wanted, self.columns.sensitive), self)

    def proposed(self) -> list[str]:
        """Lines for this file that may cure how its columns are written, if any look odd."""
        wanted = self.reading.raw(self.needed_columns)
        data = self.data
        opened = open_tables(data.source, query=data.query, folder=self.folder, reach=self.reach)
        names = [name for name in wanted if all(name in each.names for each in opened)]
        found = proposals(read_opened(opened, names, True)) if names else {}
        known = {str(each) for each in self.data.missing}
        return list(
            toml_of(
                {
                    name: keys
                    for name, keys in found.items()
                    if name not in self.clean
                    and keys != CleanKeys(missing=tuple(v for v in keys.missing if str(v) in known))
                }
            )
        )

    def estimator(self) -> ELFClassifier | ELFRegressor:
        """An estimator with the parameters of the file, and defaults for the others."""
        kind = ELFRegressor if self.kind == "regressor" else ELFClassifier
        constraints = [constraint_of(entry, self.columns.impact) for entry in self.constraints]
        deltas = [self._delta(entry) for entry in self.constraints]
        return kind(constraints, **self.parameters | ({"delta": deltas} if deltas else {}))

    def stated(self, data: LoggedData | None = None) -> tuple[StatedConstraint, ...]:
        """Every constraint in plain text, with who is responsible for it.

        Parameters
        ----------
        data : LoggedData, optional
            Where constraints by name take their groups from, unless the file lists the groups.
        """
        return tuple(
            StatedConstraint(
                text,
                self._delta(entry),
                entry.get("chosen_by", "").strip(),
                entry.get("why", "").strip(),
            )
            for entry in self.constraints
            for constraint in [constraint_of(entry, self.columns.impact)]
            for text in (
                constraint.expand(data) if isinstance(constraint, Recipe) else [constraint]
            )
        )

    def setting(self, name: str) -> Any:
        """A parameter of the estimator, as the file sets it or by default.

        Parameters
        ----------
        name : str
            The parameter.
        """
        return self.parameters.get(name, parameters_of(self.kind)[name].defaults[self.kind])

    def _delta(self, entry: Mapping[str, Any]) -> float:
        return float(entry.get("delta", self.setting("delta")))

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the estimator that the file sets."""
        return from_study({**self.model, **self.test})

    @property
    def in_conditions(self) -> list[str]:
        """Categories that constraints or the objective compare, or by which declared chances
        differ: encoded, they have other names.
        """
        compared = {self.columns.strata} - {None}
        for each in map(constraint_of, self.constraints):
            compared |= set(each.by if isinstance(each, Recipe) else columns_used(parse(each)))
        objective = self.model.get("objective")
        if objective is not None and objective not in OBJECTIVES:
            compared |= columns_used(parse_expression(objective))
        return [name for name in self.columns.categories if name in compared]


def lines_to_fill_in(text: str) -> dict[int, str]:
    r"""The lines of a study file that are left to the user, by number.

    Parameters
    ----------
    text : str
        The file.

    Examples
    --------
    >>> lines_to_fill_in('title = "Loans"\nlabel = "TODO: a column"')
    {2: 'label = "TODO: a column"'}
    """
    lines = enumerate(text.splitlines(), 1)
    return {number: line for number, line in lines if _OPEN.match(line)}
