"""The one table of parameters of `ELFClassifier`, `ELFRegressor` and `certify`.

Each parameter is declared once: what it may be, its default, what it is for, and an example.
``fit`` and `certify` check their parameters by this table before they look at data, whatever else
is asked for, and study files take their keys from it. What a parameter must be *for given data*,
such as a range that no impact leaves, is checked with the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np

from elfair.bounds import AUTO, BOUNDS
from elfair.certificate.codes import REFUTABLE
from elfair.data.units import AVERAGES
from elfair.errors import InputError, did_you_mean
from elfair.language.expressions import Expression, Statement
from elfair.language.recipes import Recipe
from elfair.policies.softmax import EXPLORATION
from elfair.records.allowed import Allowed, is_number, number, one_of, whole
from elfair.records.reading import REQUIRED, Key
from elfair.search.classification import DEEPEST, FAMILIES, LEAF_ROWS, POLICIES
from elfair.search.regression import REACH
from elfair.search.selection import ASKED, DEFAULT, SEARCHES
from elfair.statistics.impact_estimators import ESTIMATORS

#: Whose parameter it is.
Owner: TypeAlias = Literal["classifier", "regressor", "certify"]

#: More models in a ladder would differ by rounding alone.
MOST_MODELS = 1_000


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator or of `certify`.

    Parameters
    ----------
    name : str
        Its name.
    allowed : Allowed
        What it may be.
    defaults : mapping of Owner to object
        Whose parameter it is, and its default there.
    about : str
        What it is for: completes the sentence "power is ...".
    example : object
        A value to show; the first default unless given.
    optional : bool
        Whether it may be None.
    table : {"model", "test"}, optional
        The table of a study file that it is a key of.
    written : Allowed, optional
        What it may be in a study file, if that is not the same.
    key : str
        What a study file calls it; its name unless given.
    read : callable, optional
        From the value in a study file, and all parameters there by key, to the parameter's value.
    tunable : bool
        Whether ``candidate_tuning`` may choose it: it acts on candidate rows alone.
    """

    name: str
    allowed: Allowed
    defaults: Mapping[Owner, Any]
    about: str
    example: Any = None
    optional: bool = False
    table: Literal["model", "test"] | None = None
    written: Allowed | None = None
    key: str = ""
    read: Callable[[Any, Mapping[str, Any]], Any] = lambda value, given: value
    tunable: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.key or self.name)

    def check(self, value: Any) -> None:
        """Raise `InputError` unless a value is allowed.

        Examples
        --------
        >>> parameters_of("classifier")["power"].check("x")
        Traceback (most recent call last):
            ...
        elfair.errors.InputError: power must be a number in (0, 1), or None. Got 'x' instead.
        Hint: power is the wanted probability that each statement passes the test, as in power=0.95.
        """
        if self.fits(value):
            return
        shown = self.shown
        example = "" if shown is None else f", as in {self.name}={shown!r}"
        raise InputError(
            f"{self.name} must be {self.words}. Got {value!r} instead.",
            hint=self.allowed.advice(value) or f"{self.name} is {self.about}{example}.",
        )

    def fits(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return (value is None and self.optional) or self.allowed.fits(value)

    @property
    def words(self) -> str:
        """What it must be."""
        return f"{self.allowed.words}, or None" if self.optional else self.allowed.words

    @property
    def shown(self) -> Any:
        """A value to show."""
        return next(iter(self.defaults.values())) if self.example is None else self.example

    def as_key(self) -> Key:
        """The key of a study file."""
        default = next(iter(self.defaults.values()))
        return Key(Any, self.written or self.allowed, default, self.shown, self.about)


def parameters_of(owner: Owner) -> dict[str, Parameter]:
    """The parameters of one owner, by name.

    Parameters
    ----------
    owner : {"classifier", "regressor", "certify"}
        Whose they are.

    Examples
    --------
    >>> parameters_of("regressor")["estimator"].defaults["regressor"]
    'auto'
    """
    return {each.name: each for each in PARAMETERS if owner in each.defaults}


def check_parameters(owner: Owner, given: Mapping[str, Any]) -> None:
    """Raise `InputError` for the first parameter that makes no sense.

    Parameters
    ----------
    owner : {"classifier", "regressor", "certify"}
        Whose parameters they are.
    given : mapping
        Their values; those that are left out are not checked.

    Examples
    --------
    >>> check_parameters("classifier", {"folds": "five"})
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: folds must be a whole number of at least 2. Got 'five' instead.
    Hint: folds is the number of folds of split='crossfit', as in folds=5.
    """
    known = parameters_of(owner)
    for name, value in given.items():
        if name in known:
            known[name].check(value)
    grid = given.get("candidate_tuning") or {}
    _check_tuning(known, grid)
    _check_together(given)
    for choice in product(*grid.values()):
        _check_together({**given, **dict(zip(grid, choice, strict=True))})


def _check_together(given: Mapping[str, Any]) -> None:
    """Parameters that do not fit each other."""
    margins = {name: given[name] for name in ("power", "inflation") if name in given}
    if len(margins) == 2 and (margins["power"] is None) == (margins["inflation"] is None):
        raise InputError(
            "give either power or inflation, and None for the other. Got "
            f"power={margins['power']!r} and inflation={margins['inflation']!r}.",
            hint="power=0.95 is the default; the paper's way is power=None, inflation=2.0.",
        )


def _check_tuning(known: Mapping[str, Parameter], grid: Mapping[str, Sequence[Any]]) -> None:
    """Only what acts inside the candidate rows can be tuned, between values that are allowed."""
    tunable = [name for name, each in known.items() if each.tunable]
    for name, values in grid.items():
        if name not in tunable:
            raise InputError(
                f"candidate_tuning can choose {', '.join(tunable)}. Got {name} instead.",
                hint=did_you_mean(
                    name, tunable, "what decides the split or the promise cannot be tuned."
                ),
            )
        for value in values:
            if not known[name].fits(value):
                raise InputError(
                    f"candidate_tuning lists values of {name}, which must be "
                    f"{known[name].words}. Got {value!r} instead.",
                    hint=f"{name} is {known[name].about}.",
                )
    tunable = [name for name, each in ESTIMATORS.items() if not each.replaces_logged]
    if others := [name for name in grid.get("estimator", ()) if name not in tunable]:
        raise InputError(
            f"candidate_tuning cannot choose estimator={others[0]!r}: its tau carries no "
            "guarantee.",
            hint=f"choose between {' and '.join(map(repr, tunable))}.",
        )


# -- what values are allowed -------------------------------------------------------------------


def _each(value: Any, fits: Callable[[Any], bool]) -> bool:
    """Whether a value is a sequence (not a text, not a mapping) of values that all fit."""
    several = isinstance(value, Sized) and isinstance(value, Iterable)
    return several and not isinstance(value, str | bytes | Mapping) and all(map(fits, value))


def _is_constraint(value: Any) -> bool:
    return isinstance(value, str | Statement | Recipe)


def _is_value(value: Any) -> bool:
    return isinstance(value, str | bool | np.generic) or is_number(value)


def _is_pair(value: Any) -> bool:
    return _each(value, is_number) and len(value) == 2


def _ascends(value: Any) -> bool:
    return _is_pair(value) and bool(value[0] < value[1])


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(values, Sequence) and not isinstance(values, str) and len(values)
        for values in value.values()
    )


def _are_costs(value: Any) -> bool:
    lines = value.values() if isinstance(value, Mapping) else [None]
    return all(isinstance(line, Mapping) and all(map(is_number, line.values())) for line in lines)


def _cost_by_class(
    cost: Mapping[str, Mapping[str, float]], given: Mapping[str, Any]
) -> dict[Any, Any]:
    """Costs by class; a TOML key is text, and means the class that is written like it."""
    texts = {str(each): each for each in given.get("classes") or ()}

    def class_of(key: str) -> Any:
        if texts:
            return texts.get(key, key)
        return int(key) if re.fullmatch(r"-?\d+", key) else key

    return {
        class_of(label): {class_of(decision): each for decision, each in line.items()}
        for label, line in cost.items()
    }


def _scores(value: Any) -> bool:
    return not isinstance(value, type) and any(each.takes(value) for each in FAMILIES)


def _scorer_advice(value: Any) -> str:
    if isinstance(value, type):
        return f"pass an object: scorer={value.__name__}(...)."
    if hasattr(value, "fit") and hasattr(value, "predict"):
        name = type(value).__name__
        return f"{name} has no predict_proba; wrap it: CalibratedClassifierCV({name}())."
    return "scorer=HistGradientBoostingClassifier() is a good first choice."


def _code_advice(value: Any) -> str:
    """Which assumption was meant, or how to write a list of one."""
    if isinstance(value, str) and value in REFUTABLE:
        return f"write accept_violated=[{value!r}]."
    unknown = [each for each in value if each not in REFUTABLE] if _each(value, _is_value) else []
    return did_you_mean(str(unknown[0]), REFUTABLE, "") if unknown else ""


_SEED = whole(0)
_STATE = Allowed(
    f"{_SEED.words}, a numpy RandomState or None",
    lambda value: value is None or _SEED.fits(value) or isinstance(value, np.random.RandomState),
)
_DELTA = number("(0, 0.5]")
_DELTAS = Allowed(
    f"{_DELTA.words}, or one such number for each constraint",
    lambda value: _DELTA.fits(value) or _each(value, _DELTA.fits),
)
_CONSTRAINTS = Allowed(
    "constraint text, a statement or a recipe, or a sequence of these",
    lambda value: _is_constraint(value) or _each(value, _is_constraint),
)
_OBJECTIVE = Allowed(
    "'accuracy', 'log_loss', 'mse' (a regressor's), or an expression to make large",
    lambda value: isinstance(value, Expression) or (isinstance(value, str) and value != ""),
)
_SHARE = number("(0, 1)")
_SHARES = Allowed(
    "two numbers (low, high) with 0 < low <= high < 1",
    lambda value: _is_pair(value) and 0 < value[0] <= value[1] < 1,
)
_RANGE = Allowed(
    "two numbers (low, high) with low < high, or such a pair for each impact by name",
    lambda value: all(map(_ascends, value.values() if isinstance(value, Mapping) else [value])),
)
_VALUE = Allowed("one of the classes: text, a number or a truth value", _is_value)
_VALUES = Allowed(
    "a list of classes: texts, numbers or truth values",
    lambda value: _each(value, _is_value) and len(value) > 0,
)
_COST = Allowed(
    "an array, a data frame or a mapping, with a cost for each label and decision",
    lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes | type),
)
_WRITTEN_COST = Allowed(
    "a table that gives, for each label, a table of the cost of each decision", _are_costs
)
_SCORER = Allowed(
    ", or ".join(each.words for each in FAMILIES if each.words), _scores, _scorer_advice
)
_REGRESSOR = Allowed(
    "a scikit-learn regressor",
    lambda value: hasattr(value, "predict") and not isinstance(value, type),
)
_TRANSFORMER = Allowed(
    "a scikit-learn transformer",
    lambda value: (
        all(hasattr(value, each) for each in ("fit", "transform", "get_params"))
        and not isinstance(value, type)
    ),
    lambda value: f"pass an object: {value.__name__}()." if isinstance(value, type) else "",
)
_ACCEPTED = Allowed(
    f"a list with any of {', '.join(map(repr, REFUTABLE))}",
    lambda value: _each(value, lambda code: code in REFUTABLE),
    _code_advice,
)
_GRID = Allowed("a mapping of names to lists of values", _is_grid)
#: What a choice is, in a few words.
_NOTES = {
    **{name: estimator.note for name, estimator in ESTIMATORS.items() if estimator.note},
    **{name: bound.kind for name, bound in BOUNDS.items()},
    **{name: search.about for name, search in SEARCHES.items()},
    "tree": "a few questions, and a probability for each answer",
    "stratified": "the paper's",
    "time": "the search has the earliest rows, and the test the most recent ones",
    "crossfit": "every row is searched on and tested",
    AUTO: "finite-sample wherever the ends of rows are known",
}

_TIGHTER = "the tighter of 'paired' and 'dr', as rows predict that are not tested"
_EVERYWHERE: tuple[Owner, ...] = ("classifier", "regressor", "certify")


def _same(default: Any, owners: Iterable[Owner] = ("classifier", "regressor")) -> dict[Owner, Any]:
    return dict.fromkeys(owners, default)


# -- the table ---------------------------------------------------------------------------------

PARAMETERS: tuple[Parameter, ...] = (
    Parameter("constraints", _CONSTRAINTS, {**_same(()), "certify": REQUIRED},
              "what must hold", example="accuracy >= 0.75"),
    Parameter("delta", _DELTAS, _same(0.1, _EVERYWHERE), table="test", written=_DELTA,
              about="the probability of an error: 0.1 asks for 90 % confidence"),
    Parameter("objective", _OBJECTIVE, {"classifier": "accuracy", "regressor": "mse"},
              table="model",
              about="what the search optimises, such as 'log_loss' or 'E[impact]'; it is not "
              "tested"),
    Parameter("positive", _VALUE, {"classifier": None}, optional=True, table="model", example=1,
              about="the decision that PR, TPR and so on count; 1 of 0 and 1 or of -1 and 1, true "
              "of true and false; of others you must name it, if anything counts it"),
    Parameter("classes", _VALUES, {"classifier": None}, optional=True, table="model",
              example=[0, 1], about="all decisions that exist, if decision and label together do "
              "not show them"),
    Parameter("classes", _VALUES, {"certify": None}, optional=True, example=[0, 1],
              about="the order of the columns of probabilities, if it is not the sorted one"),
    Parameter("cost", _COST, {"classifier": None}, optional=True, table="model",
              written=_WRITTEN_COST, read=_cost_by_class,
              example={"0": {"0": 0, "1": 1}, "1": {"0": 5, "1": 0}},
              about="what E[cost] averages: label -> decision -> cost"),
    Parameter("preprocessor", _TRANSFORMER, _same(None), optional=True,
              about="what makes numbers of the features, learnt from candidate rows; leave it out "
              "for the default preparation"),
    Parameter("scorer", _SCORER, {"classifier": None}, optional=True,
              about="what tells the policy more about a person than the features do", tunable=True),
    Parameter("policy", one_of(*POLICIES, about=_NOTES), {"classifier": POLICIES[0]},
              "what the model is", table="model", tunable=True),
    Parameter("depth", whole(1, DEEPEST), {"classifier": DEEPEST}, table="model", tunable=True,
              about="the most questions that a tree asks about a person"),
    Parameter("leaf_rows", whole(1), {"classifier": LEAF_ROWS}, table="model", tunable=True,
              about="the fewest candidate rows of each logged decision in a leaf of a tree"),
    Parameter("exploration", _SHARE, {"classifier": EXPLORATION}, table="model", example=0.1,
              about="the share of decisions taken blindly; 0.1 leaves a log from which the next "
              "round can learn"),
    Parameter("spread", _SHARES, {"regressor": (0.2, 0.9)}, table="model",
              about="the smallest and the largest spread of new decisions, as shares of the "
              "behaviour model's; from 1 on, importance weights would have no bound"),
    Parameter("reach", number("(0, inf)"), {"regressor": REACH}, table="model", tunable=True,
              about="how far the mean of a new decision may be from the usual one, in spreads of "
              "the behaviour model"),
    Parameter("estimator", one_of(AUTO, *ESTIMATORS, about={**_NOTES, AUTO: _TIGHTER}),
              {**_same(AUTO), "certify": "paired"},
              "how the impact of a new model is estimated", table="test", tunable=True),
    Parameter("bound", one_of(AUTO, *BOUNDS, about=_NOTES), _same(AUTO, _EVERYWHERE), table="test",
              about="how a statement is bounded"),
    Parameter("impact_range", _RANGE, _same(None, _EVERYWHERE), optional=True, table="test",
              example=(0, 1),
              about="the range that no impact can leave, whatever the data show: with it, the "
              "promise about impacts holds for any number of rows"),
    Parameter("propensity_floor", number("(0, 1]"), _same(None, ("classifier", "certify")),
              optional=True, table="test", example=0.05,
              about="the smallest probability with which the behaviour model could take any "
              "decision"),
    Parameter("average", one_of(*AVERAGES), _same("unit", _EVERYWHERE), table="test",
              about="what statements are about if several rows belong to one unit: the average "
              "unit (person), or the average row"),
    Parameter("Lambda", number("[1, inf)"), _same(1.0, ("classifier", "certify")), table="test",
              example=1.5,
              about="the odds ratio up to which something unmeasured, or wrong propensities, may "
              "distort the logged probabilities, and the result still holds"),
    Parameter("shift", number("[1, inf)"), _same(1.0, _EVERYWHERE), table="test", example=1.1,
              about="the likelihood ratio up to which the people to come may differ from those in "
              "the data (any kind of person so many times as frequent, or as rare), and the result "
              "still holds"),
    Parameter("search", one_of(*ASKED, about=_NOTES), _same(DEFAULT),
              "how candidates are looked for", table="test", tunable=True),
    Parameter("power", _SHARE, _same(0.95), optional=True, table="test",
              about="the wanted probability that each statement passes the test", tunable=True),
    Parameter("inflation", number("(0, inf)"), _same(None), optional=True, example=2.0,
              about="the paper's margin instead of power: the factor that stretches the "
              "predicted bound", tunable=True),
    Parameter("xi", number("[0, inf)"), _same(None), optional=True, tunable=True, example=0.01,
              about="a margin; a hundredth of a row's standard deviation unless given"),
    Parameter("candidates", whole(1, MOST_MODELS), _same(20), table="test",
              about="how many models may be tested in turn, from the most cautious on; the paper "
              "tests 1"),
    Parameter("candidate_fraction", _SHARE, _same(0.6), table="test",
              about="the share of rows for the search; the others are held out"),
    Parameter("split", one_of("random", "time", "stratified", "crossfit", about=_NOTES),
              _same("random"), table="test",
              about="how rows are divided into candidate and held-out rows"),
    Parameter("folds", whole(2), _same(5), table="test",
              about="the number of folds of split='crossfit'"),
    Parameter("outcome_model", _REGRESSOR, _same(None, ("classifier", "certify")), optional=True,
              about="what estimator='dr' fits to rows that are not tested; leave it out for ridge "
              "regression", tunable=True),
    Parameter("candidate_tuning", _GRID, _same(None), optional=True,
              example={"power": [0.8, 0.95]},
              about="values to choose from by cross-validation inside the candidate rows"),
    Parameter("looks", whole(1), _same(1, _EVERYWHERE), table="test",
              about="how many looks at these rows there will be, declared before the first; each "
              "has its share of delta"),
    Parameter("accept_violated", _ACCEPTED, _same((), _EVERYWHERE), table="test",
              example=("tau_known",), read=lambda value, given: tuple(value),
              about="the assumptions that may be violated; without it, a violated assumption means "
              "'no solution found'"),
    Parameter("nuisance_fraction", _SHARE, {"certify": 0.2},
              "the share of rows to set aside, if something must be learnt before the test"),
    Parameter("random_state", _STATE, _same(0), table="test", key="seed", written=_SEED,
              about="the seed of the split and of the search"),
    Parameter("random_state", _SEED, {"certify": 0},
              "the seed of the order of rows and of the choice of those set aside"),
)  # fmt: skip


def study_keys(table: Literal["model", "test"]) -> dict[str, Key]:
    """The parameters that are keys of a table of a study file.

    Parameters
    ----------
    table : {"model", "test"}
        The table.

    Examples
    --------
    >>> study_keys("test")["seed"].allowed.words
    'a whole number of at least 0'
    """
    return {each.key: each.as_key() for each in PARAMETERS if each.table == table}


def from_study(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a study file sets.

    Parameters
    ----------
    given : mapping
        The keys of its tables, and their values.

    Examples
    --------
    >>> from_study({"kind": "classifier", "seed": 3})
    {'random_state': 3}
    """
    known = [each for each in PARAMETERS if each.table and each.key in given]
    return {each.name: each.read(given[each.key], given) for each in known}
