"""The tables of a study file: keys, types, and what each key means to a reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Name: TypeAlias = Annotated[str, Field(min_length=1)]
Names: TypeAlias = tuple[Name, ...]


class Part(BaseModel):
    """A table of a study file, strict: "0.1" is no number, and a misspelt key is no key."""

    # Where a tuple is kept, `strict` is off for the list alone that TOML has in its place.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _checked(fits: Callable[[Any], bool]) -> AfterValidator:
    """Whatever fits; the field's description says what that is."""

    def check(value: Any) -> Any:
        if not fits(value):
            raise ValueError
        return value

    return AfterValidator(check)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_value(value: Any) -> bool:
    return isinstance(value, str | bool) or _is_number(value)


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def _are_values(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_value, value))


def _are_levels(value: Any) -> bool:
    """Two or more different texts, or as many whole numbers."""
    if not isinstance(value, list) or len(value) < 2 or len(set(map(repr, value))) < len(value):
        return False
    return any(all(type(each) is kind for each in value) for kind in (str, int))


def _are_names(value: Any) -> bool:
    listed = [value] if isinstance(value, str) else value
    fine = isinstance(listed, list) and bool(listed)
    return fine and all(isinstance(each, str) and each for each in listed)


_By: TypeAlias = Annotated[Any, _checked(_are_names)]


def _by(name: str) -> Any:
    """The field of a recipe: the columns that make its groups."""
    return Field(
        default=None, description="a column, or a list of them", examples=[f"{name} = 'race'"]
    )


_Tolerance: TypeAlias = float | None


class DataPart(Part):
    """``[data]``: where the table is.

    Examples
    --------
    >>> DataPart(source="loans.csv").query is None
    True
    """

    source: Name = Field(
        description="a file (.csv, .tsv, .parquet, .arrow, .feather) or the address of a database",
        examples=["source = 'loans.csv'"],
    )
    query: Name | None = Field(
        default=None, description="text", examples=["query = 'select * from loans'"]
    )


class ColumnsPart(Part):
    """``[columns]``: which column is what.

    Examples
    --------
    >>> ColumnsPart(features=["age", "income"], sensitive=["race"]).features
    ('age', 'income')
    """

    features: Names = Field(
        strict=False,
        min_length=1,
        description="a list of columns, with at least one",
        examples=["features = ['age', 'income']"],
    )
    label: Name | None = Field(default=None, description="a column", examples=["label = 'repaid'"])
    sensitive: Names = Field(
        default=(), strict=False, description="a list of columns", examples=["sensitive = ['race']"]
    )
    decision: Name | None = Field(
        default=None, description="a column", examples=["decision = 'approved'"]
    )
    propensity: Name | None = Field(
        default=None, description="a column", examples=["propensity = 'p(approve)'"]
    )
    behavior: dict[str, Name] = Field(
        default={},
        description="a table that names, for each class, the column of its probability",
        examples=["behavior = { '0' = 'p(refuse)', '1' = 'p(approve)' }"],
    )
    behavior_spread: Annotated[
        Any, _checked(lambda v: (isinstance(v, str) and v != "") or (_is_number(v) and v > 0))
    ] = Field(
        default=None,
        description="a column, or a number above 0",
        examples=["behavior_spread = 'sd of dose'"],
    )
    impact: Names = Field(
        default=(), strict=False, description="a list of columns", examples=["impact = ['savings']"]
    )
    row_id: Name | None = Field(
        default=None, description="a column", examples=["row_id = 'person'"]
    )
    categories: dict[str, Annotated[Any, _checked(_are_levels)]] = Field(
        default={},
        description="a table that lists the levels of each text feature: two or more different "
        "texts (or whole numbers)",
        examples=["categories = { housing = ['own', 'rent'] }"],
    )


class RowsPart(Part):
    """``[rows]``: which rows take part.

    Examples
    --------
    >>> RowsPart().missing_impact
    'refuse'
    """

    missing_impact: Literal["refuse", "drop"] = Field(
        default="refuse",
        description="'refuse', or 'drop' (rows without impact are left out and counted)",
        examples=["missing_impact = 'drop'"],
    )


class ModelPart(Part):
    """``[model]``: what is decided, and what makes a decision good.

    Examples
    --------
    >>> ModelPart(objective="E[profit]").kind
    'classifier'
    """

    kind: Literal["classifier", "regressor"] = Field(
        default="classifier",
        description="'classifier', or 'regressor' (decisions are numbers)",
        examples=["kind = 'classifier'"],
    )
    objective: Name | None = Field(
        default=None,
        description="'accuracy', 'log_loss', 'mse' (a regressor's), or an expression to make large",
        examples=["objective = 'accuracy'"],
    )
    positive: Annotated[Any, _checked(_is_value)] = Field(
        default=None,
        description="one of the classes: text, a number, true or false",
        examples=["positive = 1"],
    )
    classes: Annotated[Any, _checked(_are_values)] = Field(
        default=None,
        description="a list of classes: texts, numbers, true or false",
        examples=["classes = [0, 1]"],
    )
    cost: dict[str, dict[str, float]] = Field(
        default={},
        description="a table that gives, for each label, a table of the cost of each decision",
        examples=["cost = { '0' = { '0' = 0, '1' = 1 }, '1' = { '0' = 5, '1' = 0 } }"],
    )
    exploration: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="a number above 0 and below 1: the share of decisions taken blindly",
        examples=["exploration = 0.1"],
    )
    spread: Annotated[Any, _checked(lambda v: _is_range(v) and 0 < v[0] < v[1])] = Field(
        default=None,
        description="[low, high], two numbers above 0: the spread of new decisions, as shares of "
        "the behaviour model's",
        examples=["spread = [0.2, 0.9]"],
    )


class TestPart(Part):
    """``[test]``: how sure one must be, and how that is shown.

    Examples
    --------
    >>> TestPart(bound="betting", impact_range=[0, 1]).delta
    0.1
    """

    __test__ = False  # pytest would take the name for its own

    delta: float = Field(
        default=0.1,
        gt=0,
        le=0.5,
        description="a number above 0 and at most 0.5",
        examples=["delta = 0.1"],
    )
    estimator: Literal["paired", "is", "dr"] | None = Field(
        default=None,
        description="'paired', 'is' (the paper's) or 'dr' (doubly robust)",
        examples=["estimator = 'paired'"],
    )
    bound: Literal["ttest", "hoeffding", "bernstein", "anderson", "betting"] | None = Field(
        default=None,
        description="'ttest', 'hoeffding', 'bernstein', 'anderson' or 'betting'",
        examples=["bound = 'ttest'"],
    )
    search: Literal["gradient", "cmaes"] | None = Field(
        default=None,
        description="'gradient' or 'cmaes' (the paper's)",
        examples=["search = 'gradient'"],
    )
    power: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="a number above 0 and below 1",
        examples=["power = 0.95"],
    )
    candidates: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="a whole number from 1 to 1000",
        examples=["candidates = 20"],
    )
    candidate_fraction: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="a number above 0 and below 1",
        examples=["candidate_fraction = 0.6"],
    )
    split: Literal["random", "stratified", "crossfit"] | None = Field(
        default=None,
        description="'random', 'stratified' (the paper's) or 'crossfit'",
        examples=["split = 'random'"],
    )
    folds: int | None = Field(
        default=None, ge=2, description="a whole number of at least 2", examples=["folds = 5"]
    )
    impact_range: Annotated[
        Any,
        _checked(
            lambda v: all(map(_is_range, v.values())) if isinstance(v, dict) else _is_range(v)
        ),
    ] = Field(
        default=None,
        description="[lowest, highest], or a table of such pairs by impact",
        examples=["impact_range = [0, 1]"],
    )
    propensity_floor: float | None = Field(
        default=None,
        gt=0,
        le=0.5,
        description="a number above 0 and at most 0.5",
        examples=["propensity_floor = 0.05"],
    )
    center: Literal["auto", "range", "mean"] | None = Field(
        default=None, description="'auto', 'range' or 'mean'", examples=["center = 'auto'"]
    )
    seed: int = Field(
        default=0, ge=0, description="a whole number of at least 0", examples=["seed = 0"]
    )


class ConstraintPart(Part):
    """``[[constraints]]``: what must hold, as text or by name, and who says so.

    Examples
    --------
    >>> ConstraintPart(no_worse="race", chosen_by="the review board").no_worse
    'race'
    """

    text: Name | None = Field(
        default=None,
        description="a constraint",
        examples=["text = \"E[savings | race == 'A'] >= E_logged[savings | race == 'A']\""],
    )
    no_worse: _By = _by("no_worse")
    improvement: _By = _by("improvement")
    decline: _By = _by("decline")
    stagnation: _By = _by("stagnation")
    parity: _By = _by("parity")
    equalized_odds: _By = _by("equalized_odds")
    equal_opportunity: _By = _by("equal_opportunity")
    predictive_equality: _By = _by("predictive_equality")
    accuracy_parity: _By = _by("accuracy_parity")
    disparate_impact: _By = _by("disparate_impact")
    groups: Annotated[Any, _checked(lambda v: isinstance(v, list) and bool(v))] = Field(
        default=None,
        description="a list of groups; of several columns, a list of lists",
        examples=["groups = ['A', 'B']"],
    )
    impact: Name | None = Field(
        default=None, description="one of the impacts", examples=["impact = 'savings'"]
    )
    tolerance: _Tolerance = Field(
        default=None, description="a number", examples=["tolerance = 0.1"]
    )
    ratio: _Tolerance = Field(default=None, description="a number", examples=["ratio = 0.8"])
    slack: _Tolerance = Field(default=None, description="a number", examples=["slack = 0.1"])
    margin: _Tolerance = Field(default=None, description="a number", examples=["margin = 0.1"])
    at_most: _Tolerance = Field(default=None, description="a number", examples=["at_most = 0.1"])
    delta: float | None = Field(
        default=None,
        gt=0,
        le=0.5,
        description="a number above 0 and at most 0.5",
        examples=["delta = 0.1"],
    )
    chosen_by: str = Field(
        default="", description="text", examples=["chosen_by = 'the review board'"]
    )
    why: str = Field(default="", description="text", examples=["why = 'the 80 % rule'"])


#: The keys of a constraint that are functions of `elfair.language.fairness`.
RECIPES: Sequence[str] = (
    "no_worse", "improvement", "decline", "stagnation", "parity", "equalized_odds",
    "equal_opportunity", "predictive_equality", "accuracy_parity", "disparate_impact",
)  # fmt: skip
RECIPE_KEYS: Sequence[str] = (
    "groups", "impact", "tolerance", "ratio", "slack", "margin", "at_most",
)  # fmt: skip
