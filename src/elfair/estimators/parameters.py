"""The one table of parameters of `ELFClassifier`, `ELFRegressor` and `certify`.

Each parameter is declared once: what it may be, its default, what it is for, and an example.
``fit`` and `certify` check their parameters by this table before they look at data, whatever else
is asked for, and study files take their keys from it. What a parameter must be *for given data*,
such as a range that no impact leaves, is checked where the data are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np

from elfair.bounds import BOUNDS
from elfair.errors import InputError, did_you_mean
from elfair.language import Expression, Statement
from elfair.language.fairness import Recipe
from elfair.policies.softmax import EXPLORATION
from elfair.records.allowed import Allowed, is_number, number, one_of, whole
from elfair.search.families import is_module
from elfair.search.tuning import TUNABLE

#: Whose parameter it is.
Owner: TypeAlias = Literal["classifier", "regressor", "certify"]

#: Stands for the default of a parameter that must be given.
REQUIRED = "(required)"
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
    table : {"model", "test"}, optional
        The table of a study file that it is a key of.
    written : Allowed, optional
        What it may be in a study file, where that is not the same.
    key : str
        What a study file calls it; its name unless given.
    """

    name: str
    allowed: Allowed
    defaults: Mapping[Owner, Any]
    about: str
    example: Any = None
    table: Literal["model", "test"] | None = None
    written: Allowed | None = None
    key: str = ""

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
        if self.allowed.fits(value):
            return
        shown = next(iter(self.defaults.values())) if self.example is None else self.example
        example = "" if shown is None else f", as in {self.name}={shown!r}"
        raise InputError(
            f"{self.name} must be {self.allowed.words}. Got {value!r} instead.",
            hint=self.allowed.advice(value) or f"{self.name} is {self.about}{example}.",
        )


def parameters_of(owner: Owner) -> dict[str, Parameter]:
    """The parameters of one owner, by name.

    Parameters
    ----------
    owner : {"classifier", "regressor", "certify"}
        Whose they are.

    Examples
    --------
    >>> parameters_of("regressor")["estimator"].defaults["regressor"]
    'dr'
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
    declared = given.get("impact_range")
    if given.get("center") == "range" and (declared is None or len(declared) == 0):
        raise InputError(
            "center='range' needs a declared range of the impact.",
            hint="declare impact_range=(low, high).",
        )


def _check_tuning(known: Mapping[str, Parameter], grid: Mapping[str, Sequence[Any]]) -> None:
    """Only what acts inside the candidate rows can be tuned, between values that are allowed."""
    tunable = [name for name in TUNABLE if name in known]
    for name, values in grid.items():
        if name not in tunable:
            raise InputError(
                f"candidate_tuning can choose {', '.join(tunable)}. Got {name} instead.",
                hint=did_you_mean(
                    name, tunable, "what decides the split or the promise cannot be tuned."
                ),
            )
        for value in values:
            if not known[name].allowed.fits(value):
                raise InputError(
                    f"candidate_tuning lists values of {name}, which must be "
                    f"{known[name].allowed.words}. Got {value!r} instead.",
                    hint=f"{name} is {known[name].about}.",
                )
    if "is" in grid.get("estimator", ()):
        raise InputError(
            "candidate_tuning cannot choose estimator='is': its tau carries no guarantee.",
            hint="choose between 'paired' and 'dr'.",
        )


# -- what values are allowed -------------------------------------------------------------------


def _each(value: Any, fits: Callable[[Any], bool]) -> bool:
    """Whether a value is a sequence (not a text, not a mapping) of values that all fit."""
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return several and all(map(fits, value))


def _is_constraint(value: Any) -> bool:
    return isinstance(value, str | Statement | Recipe)


def _is_value(value: Any) -> bool:
    return isinstance(value, str | bool | np.generic) or is_number(value)


def _are_values(value: Any) -> bool:
    return _each(value, _is_value) and len(list(value)) > 0


def _is_pair(value: Any) -> bool:
    """Two numbers, the smaller one first."""
    if not _each(value, is_number) or len(list(value)) != 2:
        return False
    low, high = value
    return bool(low < high)


def _is_range(value: Any) -> bool:
    return all(map(_is_pair, value.values())) if isinstance(value, Mapping) else _is_pair(value)


def _are_shares(value: Any) -> bool:
    if not _each(value, is_number) or len(list(value)) != 2:
        return False
    low, high = value
    return bool(0 < low <= high < 1)


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(values, Sequence) and not isinstance(values, str) and len(values)
        for values in value.values()
    )


def _is_cost(value: Any) -> bool:
    return not isinstance(value, str | bytes | type) and (
        isinstance(value, Iterable) or hasattr(value, "columns")
    )


def _is_written_cost(value: Any) -> bool:
    lines = value.values() if isinstance(value, Mapping) else [None]
    return all(isinstance(line, Mapping) and all(map(is_number, line.values())) for line in lines)


def _is_scorer(value: Any) -> bool:
    if isinstance(value, type):
        return False
    scores = hasattr(value, "predict_proba")
    return is_module(value) or (scores and (hasattr(value, "fit") or hasattr(value, "classes_")))


def _scorer_advice(value: Any) -> str:
    if isinstance(value, type):
        return f"pass an object: scorer={value.__name__}(...)."
    if hasattr(value, "fit") and hasattr(value, "predict"):
        name = type(value).__name__
        return f"{name} has no predict_proba; wrap it: CalibratedClassifierCV({name}())."
    return "scorer=HistGradientBoostingClassifier() is a good first choice."


def _is_seed(value: Any) -> bool:
    return SEED.fits(value) or value is None or isinstance(value, np.random.RandomState)


SEED = whole(0)
_DELTA = number("(0, 0.5]")
_SHARE = number("(0, 1)")
_VALUES = Allowed("a list of classes: texts, numbers, True or False", _are_values)

_EVERYWHERE: tuple[Owner, ...] = ("classifier", "regressor", "certify")
_ESTIMATORS: tuple[Owner, ...] = ("classifier", "regressor")


def _same(default: Any, owners: Iterable[Owner] = _ESTIMATORS) -> dict[Owner, Any]:
    return dict.fromkeys(owners, default)


# -- the table ---------------------------------------------------------------------------------

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "constraints",
        Allowed(
            "constraint text, a statement or a recipe, or a sequence of these",
            lambda value: _is_constraint(value) or _each(value, _is_constraint),
        ),
        {**_same(()), "certify": REQUIRED},
        "what must hold",
        example="accuracy >= 0.75",
    ),
    Parameter(
        "delta",
        Allowed(
            f"{_DELTA.words}, or one such number for each constraint",
            lambda value: _DELTA.fits(value) or _each(value, _DELTA.fits),
        ),
        _same(0.1, _EVERYWHERE),
        "the probability of an error: 0.1 asks for 90 % confidence",
        table="test",
        written=_DELTA,
    ),
    Parameter(
        "objective",
        Allowed(
            "'accuracy', 'log_loss', 'mse' (a regressor's), or an expression to make large",
            lambda value: isinstance(value, Expression) or (isinstance(value, str) and value != ""),
        ),
        {"classifier": "accuracy", "regressor": "mse"},
        "what the search makes good; it is not tested",
        table="model",
    ),
    Parameter(
        "positive",
        Allowed("one of the classes: text, a number, True or False", _is_value).or_none(),
        {"classifier": None},
        "the class that PR, TPR and so on count; the largest unless given",
        example=1,
        table="model",
    ),
    Parameter(
        "classes",
        _VALUES.or_none(),
        {"classifier": None},
        "all decisions that exist, if the label does not show them",
        example=[0, 1],
        table="model",
    ),
    Parameter(
        "classes",
        _VALUES.or_none(),
        {"certify": None},
        "the order of the columns of probabilities, if it is not the sorted one",
        example=[0, 1],
    ),
    Parameter(
        "cost",
        Allowed("an array, a data frame or a mapping, with a cost for each label and decision",
                _is_cost).or_none(),
        {"classifier": None},
        "what E[cost] averages: label -> decision -> cost",
        example={"0": {"0": 0, "1": 1}, "1": {"0": 5, "1": 0}},
        table="model",
        written=Allowed(
            "a table that gives, for each label, a table of the cost of each decision",
            _is_written_cost,
        ),
    ),
    Parameter(
        "scorer",
        Allowed("a scikit-learn classifier with predict_proba, or a torch.nn.Module",
                _is_scorer, _scorer_advice).or_none(),
        {"classifier": None},
        "what tells the policy more about a person than the features do",
    ),
    Parameter(
        "exploration",
        _SHARE,
        {"classifier": EXPLORATION},
        "the share of decisions taken blindly; 0.1 leaves a log from which the next round can "
        "learn",
        example=0.1,
        table="model",
    ),
    Parameter(
        "spread",
        Allowed("two numbers (low, high) with 0 < low <= high < 1", _are_shares),
        {"regressor": (0.2, 0.9)},
        "the smallest and the largest spread of new decisions, as shares of the behaviour model's; "
        "from 1 on, importance weights would have no bound",
        table="model",
    ),
    Parameter(
        "estimator",
        one_of("paired", "is", "dr", about={"is": "the paper's", "dr": "doubly robust"}),
        {"classifier": "paired", "certify": "paired", "regressor": "dr"},
        "how the impact of a new model is estimated",
        table="test",
    ),
    Parameter(
        "bound",
        one_of(*BOUNDS),
        _same("ttest", _EVERYWHERE),
        "how a statement is bounded; all but 'ttest' are finite-sample and need a declared range",
        table="test",
    ),
    Parameter(
        "impact_range",
        Allowed("two numbers (low, high) with low < high, or such a pair for each impact by name",
                _is_range).or_none(),
        _same(None, _EVERYWHERE),
        "what impacts cannot leave, declared by you, not what the data show",
        example=(0, 1),
        table="test",
    ),
    Parameter(
        "propensity_floor",
        number("(0, 1]").or_none(),
        _same(None, ("classifier", "certify")),
        "the smallest probability with which the behaviour model could take any decision",
        example=0.05,
        table="test",
    ),
    Parameter(
        "search",
        one_of("gradient", "cmaes", about={"cmaes": "the paper's"}),
        _same("gradient"),
        "how candidates are looked for",
        table="test",
    ),
    Parameter(
        "power",
        _SHARE.or_none(),
        _same(0.95),
        "the wanted probability that each statement passes the test",
        table="test",
    ),
    Parameter(
        "inflation",
        number("(0, inf)").or_none(),
        _same(None),
        "the paper's margin instead of power: the factor that stretches the predicted bound",
        example=2.0,
    ),
    Parameter(
        "xi",
        number("[0, inf)").or_none(),
        _same(None),
        "a margin; a hundredth of a row's standard deviation unless given",
        example=0.01,
    ),
    Parameter(
        "candidates",
        whole(1, MOST_MODELS),
        _same(20),
        "how many models may be tested in turn, from the most cautious on; the paper tests 1",
        table="test",
    ),
    Parameter(
        "candidate_fraction",
        _SHARE,
        _same(0.6),
        "the share of rows for the search; the others are held out",
        table="test",
    ),
    Parameter(
        "split",
        one_of("random", "stratified", "crossfit",
               about={"stratified": "the paper's", "crossfit": "all rows do both"}),
        _same("random"),
        "how rows are divided into candidate and held-out rows",
        table="test",
    ),
    Parameter(
        "folds",
        whole(2),
        _same(5),
        "the number of folds of split='crossfit'",
        table="test",
    ),
    Parameter(
        "center",
        one_of("auto", "range", "mean"),
        _same("auto", _EVERYWHERE),
        "the constant of the paired form: an end of the range, or the mean of candidate rows",
        table="test",
    ),
    Parameter(
        "outcome_model",
        Allowed("a scikit-learn regressor",
                lambda value: hasattr(value, "predict") and not isinstance(value, type)).or_none(),
        _same(None, ("classifier", "certify")),
        "what estimator='dr' fits to rows that are not tested; leave it out for ridge regression",
    ),
    Parameter(
        "candidate_tuning",
        Allowed("a mapping of names to lists of values", _is_grid).or_none(),
        _same(None),
        "values to choose from by cross-validation inside the candidate rows",
        example={"power": [0.8, 0.95]},
    ),
    Parameter(
        "nuisance_fraction",
        _SHARE,
        {"certify": 0.2},
        "the share of rows to set aside, where something must be learnt before the test",
    ),
    Parameter(
        "random_state",
        Allowed(f"{SEED.words}, a numpy RandomState or None", _is_seed),
        _same(0),
        "the seed of the split and of the search",
        table="test",
        written=SEED,
        key="seed",
    ),
    Parameter(
        "random_state",
        SEED,
        {"certify": 0},
        "the seed of the order of rows and of the choice of those set aside",
    ),
)  # fmt: skip
