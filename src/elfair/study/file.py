"""StudyFile: a study as its TOML file describes it, from the table to the test."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, PrivateAttr, ValidationError

from elfair.errors import InputError
from elfair.language import columns_used, parse, parse_expression
from elfair.language.fairness import Recipe
from elfair.records.files import decoded, unreadable
from elfair.records.toml import malformed, of_shape, together
from elfair.search.loss import OBJECTIVES
from elfair.study.data import StudyData, study_data
from elfair.study.encoding import Feature, TableEncoding
from elfair.study.meaning import constraint_of, of_meaning
from elfair.study.parts import (
    ColumnsPart,
    ConstraintPart,
    DataPart,
    ModelPart,
    Part,
    RowsPart,
    TestPart,
)
from elfair.study.secrets import without_secrets
from elfair.study.sources import check_query, is_address, nearest_file, read_table

if TYPE_CHECKING:
    from elfair.data import LoggedData
    from elfair.estimators.classifier import ELFClassifier
    from elfair.estimators.regressor import ELFRegressor

#: A value that `elfair init` leaves to the user.
TODO = "TODO"
_OPEN = re.compile(rf"""^[^#]*["']{TODO}\b""")


@dataclass(frozen=True)
class StatedConstraint:
    """A constraint in plain text, and who answers for it.

    Parameters
    ----------
    text : str
        The constraint.
    delta : float
        The probability with which it may be violated although a model is returned.
    chosen_by : str
        Who chose tolerance and delta; empty where it was not stated.
    why : str
        Why; empty where it was not stated.

    Examples
    --------
    >>> StatedConstraint("accuracy >= 0.75", 0.1, "the review board", "as good as before").delta
    0.1
    """

    text: str
    delta: float
    chosen_by: str
    why: str


class StudyFile(Part):
    """A study: where the table is, which column is what, what must hold, how it is tested.

    Attributes
    ----------
    title : str
        For people.
    data : DataPart
        ``source`` and ``query``.
    columns : ColumnsPart
        Which column is what.
    rows : RowsPart
        Which rows take part.
    model : ModelPart
        What is decided, and what makes a decision good.
    test : TestPart
        How sure one must be, and how that is shown.
    constraints : tuple of ConstraintPart
        What must hold.

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

    title: str = Field(description="text", examples=["title = 'Loans of 2024'"])
    data: DataPart = Field(description="a table", examples=["[data]"])
    columns: ColumnsPart = Field(description="a table", examples=["[columns]"])
    rows: RowsPart = Field(default=RowsPart(), description="a table", examples=["[rows]"])
    model: ModelPart = Field(default=ModelPart(), description="a table", examples=["[model]"])
    test: TestPart = Field(default=TestPart(), description="a table", examples=["[test]"])
    constraints: tuple[ConstraintPart, ...] = Field(
        default=(), strict=False, description="a list of tables", examples=["[[constraints]]"]
    )
    _folder: Path = PrivateAttr(default=Path())
    _digest: str = PrivateAttr(default="")
    _text: str = PrivateAttr(default="")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a study from its file; all mistakes are said at once.

        Parameters
        ----------
        path : str or Path
            A TOML file.

        Examples
        --------
        >>> StudyFile.load("nowhere/study.toml")
        Traceback (most recent call last):
            ...
        elfair.errors.InputError: there is no study file 'nowhere/study.toml'.
        Hint: `elfair init` writes one for a table.
        """
        path = Path(path)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            beside = path.parent.glob("*.toml")
            raise InputError(
                f"there is no study file {str(path)!r}.",
                hint=nearest_file(path, beside, "`elfair init` writes one for a table."),
            ) from None
        except OSError as error:
            raise unreadable(path, error, hint="may you read it, and is it a file?") from None
        text = decoded(content, path, hint="is it a TOML file?").removeprefix("\ufeff")
        return cls._parsed(text, content, path.resolve().parent, str(path))

    @classmethod
    def loads(cls, text: str, *, folder: str | Path = ".", name: str = "the study") -> Self:
        """Read a study from TOML.

        Parameters
        ----------
        text : str
            The TOML.
        folder : str or Path
            Where relative paths begin.
        name : str
            What messages call it.
        """
        return cls._parsed(text, text.encode(), Path(folder).resolve(), name)

    @classmethod
    def _parsed(cls, text: str, content: bytes, folder: Path, name: str) -> Self:
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _hidden(malformed(name, text, error)) from None
        mistakes: list[InputError] = [
            InputError(
                f"line {number} is still to be filled in: {line.strip()}",
                hint="write the name of the column, or delete the line if there is none.",
            )
            for number, line in enumerate(text.splitlines(), 1)
            if _OPEN.match(line)
        ]
        try:
            study = cls(**raw)
        except ValidationError as error:
            mistakes += [of_shape(cls, each, whole="a study file") for each in _told(error)]
        else:
            # A name that is still to be filled in would be missed in other places as well.
            mistakes = mistakes or list(of_meaning(study))
        if mistakes:
            raise _hidden(together(name, mistakes))
        study._folder = folder
        study._digest = hashlib.sha256(content).hexdigest()
        study._text = without_secrets(text)
        return study

    @property
    def folder(self) -> Path:
        """Where relative paths begin."""
        return self._folder

    @property
    def text(self) -> str:
        """The file, without secrets."""
        return self._text

    def digest(self) -> str:
        """The sha256 of the file's bytes."""
        return self._digest

    @cached_property
    def encoding(self) -> TableEncoding:
        """How features are made of columns."""
        levels = self.columns.categories
        return TableEncoding(
            tuple(Feature(name, tuple(levels.get(name, ()))) for name in self.columns.features)
        )

    @property
    def needed_columns(self) -> list[str]:
        """The columns of the table that take part."""
        columns = self.columns
        single = (columns.label, columns.decision, columns.propensity, columns.row_id)
        spread = columns.behavior_spread
        every = [*columns.features, *columns.sensitive, *columns.impact, *single]
        every += [*columns.behavior.values(), spread if isinstance(spread, str) else None]
        return list(dict.fromkeys(name for name in every if name is not None))

    def read(self, source: str | Path | None = None, *, query: str | None = None) -> StudyData:
        """Read the table, and make of it what `fit` takes.

        Parameters
        ----------
        source : str or Path, optional
            What to read instead of the source that the study names: a file (from the working
            directory), or the address of a database.
        query : str, optional
            What to ask that database. The query of the study is not taken for it: who names
            another database need not be who wrote the study.
        """
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
        table = read_table(
            source,
            query=query,
            columns=self.needed_columns,
            folder=self.folder,
        )
        keys = ("classes", "positive", "cost")
        parameters = self._parameters()
        return study_data(
            table.table,
            self.columns,
            encoding=self.encoding,
            in_conditions=self._categories_in_conditions(),
            missing_impact=self.rows.missing_impact,
            parameters={key: parameters[key] for key in keys if key in parameters},
            continuous=self.model.kind == "regressor",
            source=table.name,
            digest=table.digest,
        )

    def estimator(self) -> ELFClassifier | ELFRegressor:
        """An estimator with the parameters of the file; what it does not say is the default."""
        from elfair.estimators.classifier import ELFClassifier
        from elfair.estimators.regressor import ELFRegressor

        kind = ELFRegressor if self.model.kind == "regressor" else ELFClassifier
        return kind(
            [self._asked(entry) for entry in self.constraints],
            delta=[self._delta(entry) for entry in self.constraints] or self.test.delta,
            random_state=self.test.seed,
            **self._parameters(),
        )

    def stated(self, data: LoggedData | None = None) -> tuple[StatedConstraint, ...]:
        """Every constraint in plain text, with who answers for it.

        Parameters
        ----------
        data : LoggedData, optional
            Where constraints by name take their groups from, unless the file lists them.
        """
        return tuple(
            StatedConstraint(text, self._delta(entry), entry.chosen_by.strip(), entry.why.strip())
            for entry in self.constraints
            for constraint in [self._asked(entry)]
            for text in (
                constraint.expand(data) if isinstance(constraint, Recipe) else [constraint]
            )
        )

    def _asked(self, entry: ConstraintPart) -> str | Recipe:
        return constraint_of(entry, self.columns.impact)

    def _delta(self, entry: ConstraintPart) -> float:
        return self.test.delta if entry.delta is None else entry.delta

    def _parameters(self) -> dict[str, Any]:
        """The parameters of the estimator that the file sets."""
        given = {**dict(self.model), **dict(self.test)}
        for key in ("kind", "delta", "seed"):
            del given[key]
        given = {key: value for key, value in given.items() if value not in (None, {})}
        for key in ("impact_range", "spread"):
            given |= {key: _pairs(given[key])} if key in given else {}
        if "cost" in given:
            given["cost"] = _cost(given["cost"], given.get("classes"))
        return given

    def _categories_in_conditions(self) -> list[str]:
        """Categories that constraints or the objective compare: their encoding has other names."""
        compared: set[str] = set()
        for entry in self.constraints:
            constraint = constraint_of(entry)
            by = (
                constraint.by if isinstance(constraint, Recipe) else columns_used(parse(constraint))
            )
            compared |= set(by)
        objective = self.model.objective
        if objective is not None and objective not in OBJECTIVES:
            compared |= columns_used(parse_expression(objective))
        return [name for name in self.columns.categories if name in compared]


def _told(error: ValidationError) -> list[Any]:
    # A tuple whose only items are wrong is called too short as well.
    return [e for e in error.errors() if e["type"] != "too_short" or not e["input"]]


def _hidden(error: InputError) -> InputError:
    return InputError(without_secrets(str(error)))


def _pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: tuple(pair) for name, pair in value.items()}
    return tuple(value)


def _cost(cost: dict[str, dict[str, float]], classes: list[Any] | None) -> dict[Any, Any]:
    """Costs by class; a TOML key is text, and stands for the class that reads like it."""
    texts = {str(each): each for each in classes or ()}

    def class_of(key: str) -> Any:
        if texts:
            return texts.get(key, key)
        return int(key) if re.fullmatch(r"-?\d+", key) else key

    return {
        class_of(label): {class_of(decision): each for decision, each in line.items()}
        for label, line in cost.items()
    }
