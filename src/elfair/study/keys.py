"""The keys of a study file: what each may be, what it is for, and an example.

The keys of ``[model]`` and ``[test]`` are parameters of the estimators, from their one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from elfair.data.lottery import BY, is_lottery
from elfair.data.unseen import MISSING_IMPACT
from elfair.estimators.parameters import study_keys
from elfair.language.recipes import RECIPES
from elfair.records.allowed import Allowed, is_number, number, one_of
from elfair.records.reading import Key, key
from elfair.records.tables import ENDINGS


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _are_names(value: Any) -> bool:
    listed = [value] if isinstance(value, str) else value
    return isinstance(listed, list) and bool(listed) and all(map(_is_name, listed))


def _are_levels(value: Any) -> bool:
    """Two or more different texts, or as many whole numbers."""
    if not isinstance(value, list) or len(value) < 2 or len(set(map(repr, value))) < len(value):
        return False
    return any(all(type(each) is kind for each in value) for kind in (str, int))


def _is_off(value: Any) -> bool:
    """Whether a number cannot be a chance; of tables, `elfair.study.mistakes` has more to say."""
    return is_number(value) and not 0 < value < 1


_TEXT = Allowed("text", lambda value: isinstance(value, str))
_QUERY = Allowed("text", _is_name)
_SOURCE = Allowed(f"a file ({ENDINGS}) or the address of a database", _is_name)
_COLUMN = Allowed("a column", _is_name)
_COLUMNS = Allowed("a list of columns", lambda value: True)
_BY = Allowed("a column, or a list of them", _are_names)
_PROPENSITY = Allowed(
    "a column; or the chances of a lottery: a number in (0, 1), a table of the probability of each "
    "decision, or a table that names a column as 'by' and has either for each of its values",
    lambda value: _is_name(value) or (is_lottery(value) and not _is_off(value)),
)
_BEHAVIOR = Allowed("a table that names, for each class, the column of its probability", bool)
_SPREAD = Allowed(
    "a column, or a number above 0",
    lambda value: _is_name(value) or (is_number(value) and value > 0),
)
_FOLLOW_UP = Allowed(
    "a column, or a number in (0, 1]",
    lambda value: _is_name(value) or (is_number(value) and 0 < value <= 1),
)
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
Names: TypeAlias = tuple[Name, ...]


@dataclass(frozen=True)
class DataKeys:
    """``[data]``: where the table is.

    Examples
    --------
    >>> DataKeys(source="loans.csv").query is None
    True
    """

    source: str = key(_SOURCE, "loans.csv", "the table")
    query: str | None = key(
        _QUERY, "select * from loans", default=None,
        about="the query, if the source is the address of a database, such as duckdb://",
    )  # fmt: skip


@dataclass(frozen=True)
class ColumnKeys:
    """``[columns]``: which column is what.

    Examples
    --------
    >>> ColumnKeys(features=("age", "income"), sensitive=("race",)).label is None
    True
    """

    features: Names = key(
        Allowed("a list of columns, with at least one", bool), ["age", "income"],
        "what the new model sees, all of it known before the decision",
    )  # fmt: skip
    label: Name | None = key(
        _COLUMN, "repaid", default=None,
        about="what the best decision would have been; accuracy and error rates are measured "
        "against it",
    )  # fmt: skip
    sensitive: Names = key(_COLUMNS, ["race"], "columns that name groups of people", default=())
    decision: Name | None = key(_COLUMN, "approved", "the decision that was taken", default=None)
    propensity: Any = key(
        _PROPENSITY, "p(approve)", default=None,
        about="the probability with which the old model took that decision, not the probability of "
        "a yes; or the chances of a lottery, if one decided",
    )  # fmt: skip
    behavior: Mapping[str, Name] = key(
        _BEHAVIOR, {"0": "p(refuse)", "1": "p(approve)"}, default=dict,
        about="instead of a propensity: the probability of every decision",
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
    impact: Names = key(
        _COLUMNS, ["savings"], "what was measured later; more is better", default=()
    )
    early: Names = key(
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
    categories: Mapping[str, Annotated[Any, _LEVELS]] = key(
        _CATEGORIES, {"housing": ["own", "rent"]}, default=dict,
        about="the levels of text features; others are refused, here and for new people",
    )  # fmt: skip

    @property
    def lottery(self) -> Any:
        """The declared chances of decisions, if there are any."""
        return None if isinstance(self.propensity, str) else self.propensity

    @property
    def strata(self) -> str | None:
        """The column by which these chances differ, if they do."""
        by = self.lottery.get(BY) if isinstance(self.lottery, Mapping) else None
        return by if isinstance(by, str) else None

    @property
    def roles(self) -> dict[str, str]:
        """The columns that are neither features nor groups, by what they are."""
        every = {
            "label": self.label,
            "decision": self.decision,
            "row_id": self.row_id,
            "unit": self.unit,
            "sample_weight": self.sample_weight,
            **{f"impact {name!r}": name for name in self.impact},
            **{f"early {name!r}": name for name in self.early},
            "follow_up": self.follow_up,
            "propensity": self.propensity,
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

    missing_impact: str = key(
        one_of("refuse", "drop", *MISSING_IMPACT, about={
            "drop": "they are left out, and counted by group",
            "at random": "given features, groups, decision and early outcomes, they are like the "
            "others",
            "worst case": "the bad end of impact_range stands for it",
        }),
        "drop", default="refuse", about="what to do with rows whose impact was not measured",
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
    columns: ColumnKeys = key(about="which column is what")
    rows: RowKeys = key(about="which rows take part", default=RowKeys)
    model: Mapping[str, Any] = key(
        about="what is decided, and what makes a decision good", default=dict, keys=MODEL
    )
    test: Mapping[str, Any] = key(
        about="how sure you must be, and how that is shown", default=dict, keys=TEST
    )
    constraints: tuple[Mapping[str, Any], ...] = key(
        about="what must hold, as text or by name, and who chose it", default=(), keys=CONSTRAINT
    )
