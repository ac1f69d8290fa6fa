"""The keys of a study file: what each may be, what it is for, and an example.

The keys of ``[model]`` and ``[test]`` are parameters of the estimators, from their one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from elfair.data.behavior import ESTIMATED
from elfair.data.lottery import BY, is_lottery
from elfair.data.unseen import MISSING_IMPACT
from elfair.estimators.parameters import study_keys
from elfair.language.naming import Names
from elfair.language.recipes import RECIPES
from elfair.records.allowed import Allowed, is_number, number, one_of
from elfair.records.reading import Key, key
from elfair.records.tables import ENDINGS


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _are_names(value: Any) -> bool:
    listed = [value] if isinstance(value, str) else value
    return isinstance(listed, list) and bool(listed) and all(map(_is_name, listed))


#: The mark of a number in brackets, as accountants write what is below 0.
BRACKETS = "()"


def _are_units(value: Any) -> bool:
    """Text, a list of texts, or a table of what a number with each of them is multiplied by."""
    if isinstance(value, Mapping):
        return bool(value) and all(is_number(each) and each != 0 for each in value.values())
    return value == "" or _are_names(value)


def _are_levels(value: Any) -> bool:
    """Two or more different texts, or as many whole numbers."""
    if not isinstance(value, list) or len(value) < 2 or len(set(map(repr, value))) < len(value):
        return False
    return any(all(type(each) is kind for each in value) for kind in (str, int))


def _are_values(value: Any) -> bool:
    """A list of texts and numbers."""
    return isinstance(value, list | tuple) and all(
        isinstance(each, str | int | float) for each in value
    )


def _is_off(value: Any) -> bool:
    """Whether a number cannot be a chance; of tables, `elfair.study.mistakes` has more to say."""
    return is_number(value) and not 0 < value < 1


_FLAG = Allowed("true or false", lambda value: isinstance(value, bool))
_TEXT = Allowed("text", lambda value: isinstance(value, str))
_QUERY = Allowed("text", _is_name)
_SOURCE = Allowed(
    f"a file ({ENDINGS}), a list or a pattern of such files, or the address of a database",
    _are_names,
)
_MEANING = Allowed(
    "text, a number, true or false", lambda value: isinstance(value, str | bool | int | float)
)
_MISSING = Allowed("a list of texts or numbers", _are_values)
_UNITS = Allowed(
    "text, a list of texts, or a table that says what a number with each of them is multiplied by",
    _are_units,
)
_DERIVED = Allowed(
    "a table of new columns: a condition, or a table with 'of' and 'bins', 'of' and 'values', or "
    "'join'",
    lambda value: True,
)
_CONDITION = Allowed("a condition", _is_name)
_KEEP = Allowed("a list of conditions", lambda value: True)
_COLUMN = Allowed("a column", _is_name)
_COLUMNS = Allowed("a list of columns", lambda value: True)
_BY = Allowed("a column, or a list of them", _are_names)
_PROPENSITY = Allowed(
    "a column; or the chances of a lottery: a number in (0, 1), a table of the probability of each "
    "decision, or a table that names a column as 'by' and has either for each of its values; or "
    f"'{ESTIMATED}', if nobody logged it",
    lambda value: _is_name(value) or (is_lottery(value) and not _is_off(value)),
)
_BEHAVIOR = Allowed("a table that names, for each class, the column of its probability", bool)
_COSTS = Allowed(
    "a column; or a table that names, for each class, the column of what it costs",
    lambda value: (
        _is_name(value)
        or (isinstance(value, Mapping) and bool(value) and all(map(_is_name, value.values())))
    ),
)
_SPREAD = Allowed(
    "a column, or a number above 0",
    lambda value: _is_name(value) or (is_number(value) and value > 0),
)
_FOLLOW_UP = Allowed(
    "a column, or a number in (0, 1]",
    lambda value: _is_name(value) or (is_number(value) and 0 < value <= 1),
)
_TRIM = Allowed("a number from 0 to below 0.5", lambda value: is_number(value) and 0 <= value < 0.5)
_LEVELS = Allowed("two or more different texts, or whole numbers", _are_levels)
_CATEGORIES = Allowed(
    "a table that lists the levels of each text feature: two or more different texts (or whole "
    "numbers)",
    lambda value: True,
)
_KIND = one_of("classifier", "regressor", about={"regressor": "decisions are numbers"})
_CONSTRAINT = Allowed("a constraint", _is_name)
_GROUPS = Allowed(
    "a list of groups; of several columns, a list of lists",
    lambda value: isinstance(value, list) and bool(value),
)
_IMPACT = Allowed("one of the impacts", _is_name)

#: The columns that only a regressor has: how the behaviour model drew numbers.
OF_NUMBERS = ("behavior_mean", "behavior_spread")

Name: TypeAlias = Annotated[str, _COLUMN]
Columns: TypeAlias = tuple[Name, ...]


@dataclass(frozen=True)
class DataKeys:
    """``[data]``: where the table is.

    Examples
    --------
    >>> DataKeys(source="loans.csv").query is None
    True
    """

    source: Any = key(_SOURCE, "loans.csv", "the table; several files are read one below the other")
    query: str | None = key(
        _QUERY, "select * from loans", default=None,
        about="the query, if the source is the address of a database, such as duckdb://",
    )  # fmt: skip
    missing: tuple[Any, ...] = key(
        _MISSING, ["n/a", -999], default=(),
        about="values that mean missing, in every column; an empty field, NA, NaN and null are "
        "missing anyway",
    )  # fmt: skip
    batches: bool = key(
        _FLAG, True, default=False,
        about="whether Parquet files are read in batches, because they do not fit into memory",
    )  # fmt: skip


@dataclass(frozen=True)
class LaterKeys:
    """``[later]``: a table of what was measured later, to be joined by identifier.

    Examples
    --------
    >>> LaterKeys(source="savings-2026.csv", on="customer").on
    'customer'
    """

    source: Any = key(_SOURCE, "savings-2026.csv", "the table of what was measured later")
    query: str | None = key(
        _QUERY, "select * from savings", "the query, if the source is a database", default=None
    )
    on: Any = key(_BY, "customer", "the column, or columns, that identify a row in both tables")


@dataclass(frozen=True)
class CleanKeys:
    """``[clean.COLUMN]``: how the values of a column are written.

    Examples
    --------
    >>> CleanKeys(decimal=",", unit="EUR").is_number, CleanKeys(values={"a": "A"}).is_number
    (True, False)
    """

    missing: tuple[Any, ...] = key(_MISSING, [-9], "values that mean missing", default=())
    values: Mapping[str, Annotated[Any, _MEANING]] = key(
        Allowed("a table that says, for some values, what they mean", lambda value: True),
        {"A ": "A", "a": "A"}, default=dict,
        about="what some values mean; others stay as they are",
    )  # fmt: skip
    decimal: str | None = key(one_of(",", "."), ",", "the sign before decimals", default=None)
    thousands: str | None = key(
        one_of(",", ".", " ", "'"), ".", "the sign between thousands", default=None
    )
    unit: Any = key(
        _UNITS, ["EUR", "€"], default="",
        about="what stands before or behind a number; or what numbers with it are multiplied by, "
        'such as { k = 1000 }, { "%" = 0.01 } or, of numbers in brackets, { "()" = -1 }',
    )  # fmt: skip
    percent: bool = key(
        Allowed("true or false", lambda value: isinstance(value, bool)), True,
        "whether 12 (or 12 %) means 0.12, in every row", default=False,
    )  # fmt: skip
    scale: float | None = key(
        Allowed("a number other than 0", lambda value: is_number(value) and value != 0), 1000,
        "what numbers are multiplied by", default=None,
    )  # fmt: skip
    date: str | None = key(
        _QUERY, "%d.%m.%Y", "how dates are written, as Python's strptime reads them", default=None
    )

    @property
    def units(self) -> tuple[str, ...]:
        """What may stand before or behind a number."""
        several = [self.unit] if isinstance(self.unit, str) else self.unit
        return tuple(each for each in several if each)

    @property
    def is_number(self) -> bool:
        """Whether the column was declared to hold numbers."""
        some = self.decimal, self.thousands, self.scale
        return self.percent or bool(self.unit) or any(each is not None for each in some)


@dataclass(frozen=True)
class ColumnKeys:
    """``[columns]``: which column is what.

    Examples
    --------
    >>> ColumnKeys(features=("age", "income"), sensitive=("race",)).label is None
    True
    """

    features: Columns = key(
        Allowed("a list of columns, with at least one", bool), ["age", "income"],
        "what the new model sees, all of it known before the decision",
    )  # fmt: skip
    label: Name | None = key(
        _COLUMN, "repaid", default=None,
        about="what the best decision would have been; accuracy and error rates are measured "
        "against it",
    )  # fmt: skip
    sensitive: Columns = key(_COLUMNS, ["race"], "columns that name groups of people", default=())
    decision: Name | None = key(_COLUMN, "approved", "the decision that was taken", default=None)
    propensity: Any = key(
        _PROPENSITY, "p(approve)", default=None,
        about="the probability with which the old model took that decision, not the probability of "
        "a yes; or the chances of a lottery, if one decided; or 'estimated', if nobody logged it",
    )  # fmt: skip
    behavior: Mapping[str, Name] = key(
        _BEHAVIOR, {"0": "p(refuse)", "1": "p(approve)"}, default=dict,
        about="instead of a propensity: the probability of every decision; one may be left out, "
        "and has the rest",
    )  # fmt: skip
    behavior_mean: Name | None = key(
        _COLUMN, "mean dose", default=None,
        about="for a regressor, instead of a propensity: the mean of the normal distribution from "
        "which the old model drew its decision",
    )  # fmt: skip
    behavior_spread: Any = key(
        _SPREAD, "sd of dose", default=None,
        about="for a regressor: the spread of the old model's decisions",
    )  # fmt: skip
    impact: Columns = key(
        _COLUMNS, ["savings"], "what was measured later; more is better", default=()
    )
    early: Columns = key(
        _COLUMNS, ["savings after a month"], default=(),
        about='early outcomes, known of everyone after the decision, for missing_impact = "at '
        'random"; no model sees them',
    )  # fmt: skip
    follow_up: Any = key(
        _FOLLOW_UP, "p(followed up)", default=None,
        about="the probability with which each person was drawn to be followed up, if that is why "
        "impacts are missing",
    )  # fmt: skip
    row_id: Name | None = key(
        _COLUMN, "person", default=None,
        about="one identifier for each person; the split then does not depend on the order of "
        "rows, and repeated people are found",
    )  # fmt: skip
    unit: Name | None = key(
        _COLUMN, "customer", default=None,
        about="whom a row is about, if several rows may be about one person, or its cluster, such "
        "as a school: no split divides a unit, and bounds count units",
    )  # fmt: skip
    sample_weight: Name | None = key(
        _COLUMN, "households", default=None,
        about="how many people a row stands for, where that differs",
    )  # fmt: skip
    time: Name | None = key(
        _COLUMN, "decided on", default=None,
        about='when each decision was taken, for split = "time"; no model sees it',
    )  # fmt: skip
    person_cost: Any = key(
        _COSTS, "amount", default=None,
        about="what E[cost] averages, for each person: the column of what a wrong decision costs, "
        "or, as a table, a column for each decision",
    )  # fmt: skip
    categories: Mapping[str, Annotated[Any, _LEVELS]] = key(
        _CATEGORIES, {"housing": ["own", "rent"]}, default=dict,
        about="the levels of text features; others are refused, here and for new people",
    )  # fmt: skip

    @property
    def lottery(self) -> Any:
        """The declared chances of decisions, if there are any."""
        return None if isinstance(self.propensity, str) else self.propensity

    @property
    def estimated(self) -> bool:
        """Whether nobody logged propensities, and they are estimated."""
        return bool(self.propensity == ESTIMATED)

    @property
    def drawn_with(self) -> str | None:
        """The column of propensities, if there is one."""
        is_column = isinstance(self.propensity, str) and not self.estimated
        return self.propensity if is_column else None

    @property
    def strata(self) -> str | None:
        """The column by which these chances differ, if they do."""
        by = self.lottery.get(BY) if isinstance(self.lottery, Mapping) else None
        return by if isinstance(by, str) else None

    @property
    def costs(self) -> tuple[str, ...]:
        """The columns of costs, which may be features, too: an amount is known beforehand."""
        of = self.person_cost
        return tuple(of.values()) if isinstance(of, Mapping) else () if of is None else (of,)

    @property
    def roles(self) -> dict[str, str]:
        """The columns that are neither features nor groups, by what they are."""
        every = {
            "label": self.label,
            "decision": self.decision,
            "row_id": self.row_id,
            "unit": self.unit,
            "sample_weight": self.sample_weight,
            "time": self.time,
            **{f"impact {name!r}": name for name in self.impact},
            **{f"early {name!r}": name for name in self.early},
            "follow_up": self.follow_up,
            "propensity": self.drawn_with,
            **{name: getattr(self, name) for name in OF_NUMBERS},
            **{f"behavior {name!r}": column for name, column in self.behavior.items()},
        }
        return {role: name for role, name in every.items() if isinstance(name, str)}


@dataclass(frozen=True)
class RowKeys:
    """``[rows]``: which rows take part.

    Examples
    --------
    >>> RowKeys().missing_impact
    'refuse'
    """

    keep: tuple[Annotated[str, _CONDITION], ...] = key(
        _KEEP, ["age >= 18"], default=(),
        about="conditions that all rows must meet to take part, on what was known before the "
        "decision; the certificate is about these people alone",
    )  # fmt: skip
    missing_impact: str = key(
        one_of("refuse", "drop", *MISSING_IMPACT, about={
            "drop": "they are left out, and counted by group",
            "at random": "given features, groups, decision and early outcomes, they are like the "
            "others",
            "worst case": "the bad end of impact_range stands for it",
        }),
        "drop", default="refuse", about="what to do with rows whose impact was not measured",
    )  # fmt: skip
    trim: float | None = key(
        _TRIM, 0.05, default=None,
        about="if propensities are estimated: statements are about people for whom every decision "
        "has at least this estimated probability, and others have no part",
    )  # fmt: skip
    label_seen_for: tuple[Any, ...] = key(
        Allowed("a list of decisions", _are_values), ["approve"], default=(),
        about="the decisions that reveal the label, if it is empty for all others, as only a loan "
        "shows who repays it",
    )  # fmt: skip

    @property
    def stands_in(self) -> str | None:
        """What is declared of missing impacts, if their rows take part."""
        return self.missing_impact if self.missing_impact in MISSING_IMPACT else None


def _optional(allowed: Allowed | None, example: Any, about: str, default: Any = None) -> Key:
    """A key of a table that is read into a mapping."""
    return Key(Any, allowed, default, example, about)


MODEL: Mapping[str, Key] = {
    "kind": _optional(_KIND, "classifier", "what is decided", "classifier"),
    **study_keys("model"),
}
TEST: Mapping[str, Key] = study_keys("test")

#: What recipes take in addition to their columns.
RECIPE_KEYS: Mapping[str, Key] = {
    "groups": _optional(_GROUPS, ["A", "B"], "which groups; without it, all in the table"),
    "impact": _optional(_IMPACT, "savings", "which impact, if there are several"),
    "tolerance": _optional(number(), 0.1, "how far two groups may differ"),
    "ratio": _optional(number(), 0.8, "the share of another group's rate to be reached"),
    "slack": _optional(number(), 0.1, "by how much a group's expected impact may fall"),
    "margin": _optional(number(), 0.1, "by how much a group's expected impact must rise"),
    "at_most": _optional(number(), 0.1, "by how much a group's expected impact may fall"),
}
CONSTRAINT: Mapping[str, Key] = {
    "text": _optional(
        _CONSTRAINT, "E[savings | race == 'A'] >= E_logged[savings | race == 'A']", "what must hold"
    ),
    **{
        name: _optional(_BY, "race", f"what must hold, by name: {name} of the groups of a column")
        for name in RECIPES
    },
    **RECIPE_KEYS,
    "delta": _optional(TEST["delta"].allowed, 0.05, "instead of the delta of [test]"),
    "chosen_by": _optional(_TEXT, "the review board", "who chose tolerance and delta", ""),
    "why": _optional(_TEXT, "the 80 % rule", "why they were chosen", ""),
}


@dataclass(frozen=True)
class StudyKeys:
    """The tables of a study file.

    Parameters
    ----------
    title : str
        For people.
    data : DataKeys
        Where the table is.
    later : LaterKeys or None
        A table of what was measured later.
    clean : mapping of str to CleanKeys
        How the values of columns are written.
    derived : mapping of str to object
        Columns that are made of others; see `elfair.study.derived`.
    columns : ColumnKeys
        Which column is what.
    rows : RowKeys
        Which rows take part.
    model, test : mapping of str to object
        The parameters that the file sets; see `elfair.estimators.parameters`.
    constraints : tuple of mappings
        What must hold, and who chose it.
    """

    title: str = key(_TEXT, "Loans of 2024", "appears above the report")
    data: DataKeys = key(about="where the table is")
    later: LaterKeys | None = key(
        about="what was measured later, if it has a table of its own", default=None
    )
    clean: Mapping[str, CleanKeys] = key(
        about="how the values of a column are written: one table for each column", default=dict
    )
    derived: Mapping[str, Any] = key(
        _DERIVED, {"age_band": {"of": "age", "bins": [30, 60]}},
        "columns that are made of others", default=dict,
    )  # fmt: skip
    columns: ColumnKeys = key(about="which column is what")
    rows: RowKeys = key(about="which rows take part", default=RowKeys)
    names: Names = key(
        about="what sentences call people, columns, groups, units and decisions; no result depends "
        "on it", default=Names,
    )  # fmt: skip
    model: Mapping[str, Any] = key(
        about="what is decided, and what makes a decision good", default=dict, keys=MODEL
    )
    test: Mapping[str, Any] = key(
        about="how sure you must be, and how that is shown", default=dict, keys=TEST
    )
    constraints: tuple[Mapping[str, Any], ...] = key(
        about="what must hold, as text or by name, and who chose it", default=(), keys=CONSTRAINT
    )
