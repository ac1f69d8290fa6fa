"""An experiment, as its file describes it: methods x settings x sizes x seeds on a population."""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from importlib.resources import files
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from elfair.errors import InputError, did_you_mean
from elfair.records.allowed import Allowed, number, whole
from elfair.records.files import decoded, unreadable
from elfair.records.reading import key
from elfair.records.toml import parsed, repeated, shaped, together

Raw = dict[str, Any]


def of_meaning(raw: Raw, *, runnable: bool = True) -> list[InputError]:
    """Collect unknown names, repetitions and settings that the population refuses.

    It checks the file as read, so a wrong type elsewhere hides none of these. Unless the experiment
    has to be runnable, the modules of a user's own methods may be missing.
    """
    settings = raw.get("settings", {})
    settings = settings if isinstance(settings, dict) else {}
    methods = [each for each in _list(raw.get("methods")) if isinstance(each, str)]
    tables = [each for each in _list(raw.get("sizes")) if isinstance(each, dict)]
    sizes = [n for each in tables for n in _list(each.get("n"))]
    mistakes = [*_methods(methods, runnable), *_sizes(tables, sizes)]
    wrong = list(_settings(settings))
    mistakes += wrong
    if isinstance(raw.get("population"), str) and not wrong:
        mistakes += _population(raw["population"], settings)
    for position, each in enumerate(_list(raw.get("efficiency"))):
        if isinstance(each, dict):
            mistakes += _efficiency(f"efficiency[{position}]", each, methods, sizes, settings)
    return mistakes


def _methods(names: Sequence[str], runnable: bool) -> Iterator[InputError]:
    from elfair.experiments.baselines import METHODS, get_method

    yield from repeated("methods", names)
    for name in dict.fromkeys(names):
        # A known method that is not installed is not a mistake of the file: it can be drawn.
        if name not in METHODS and (runnable or ":" not in name):
            try:
                get_method(name)
            except InputError as error:
                yield error
            except Exception as error:
                yield InputError(
                    f"the method {name!r} must be importable. Importing it raised "
                    f"{type(error).__name__}: {error}.",
                    hint="import its module in Python to see the traceback.",
                )


def _sizes(tables: Sequence[Raw], sizes: Sequence[Any]) -> Iterator[InputError]:
    example = "for example: n = [256, 512]"
    for position, each in enumerate(tables):
        if each.get("n") == []:
            yield InputError(
                f"n of sizes[{position}] must have at least one number. Got [] instead.",
                hint=example,
            )
    whole = [n for n in sizes if isinstance(n, int) and not isinstance(n, bool)]
    for n in whole:
        if n < 1:
            yield InputError(
                f"n of sizes must be whole numbers of at least 1. Got {n} instead.", hint=example
            )
    yield from repeated("sizes", whole)


def _settings(settings: Raw) -> Iterator[InputError]:
    for name, value in settings.items():
        swept = value if isinstance(value, list) else [value]
        fine = swept and all(isinstance(each, bool | int | float | str) for each in swept)
        if not fine or any(isinstance(each, float) and not isfinite(each) for each in swept):
            yield InputError(
                f"the setting {name!r} must be a number, true, false, text, or a list of these "
                f"with at least one. Got {value!r} instead.",
                hint=f"for example: {name} = 0.9, or {name} = [0.5, 0.9] to run both.",
            )
        else:
            yield from repeated(f"the setting {name!r}", swept)


def _population(name: str, settings: Raw) -> Iterator[InputError]:
    from elfair.populations import make_population

    swept = [each if isinstance(each, list) else [each] for each in settings.values()]
    for values in product(*swept):
        try:
            make_population(name, dict(zip(settings, values, strict=True)))
        except InputError as error:
            yield error
        except TypeError as error:
            yield InputError(
                f"the population {name!r} must accept its settings. Got {error} instead.",
                hint="`elfair experiment list` shows its settings.",
            )


def _efficiency(
    where: str, table: Raw, methods: Sequence[str], sizes: Sequence[Any], settings: Raw
) -> Iterator[InputError]:
    if "method" in table and table.get("method") == table.get("against"):
        yield InputError(
            f"method and against of {where} must be different methods. Got {table['method']!r} "
            "for both.",
            hint="name the method that may need fewer rows, and the one to compare it with.",
        )
    named = [("method", methods), ("against", methods), ("n", sizes)]
    asked = table.get("settings", {})
    for setting, value in asked.items() if isinstance(asked, dict) else ():
        table = {**table, f"settings.{setting}": value}
        named.append((f"settings.{setting}", _list(settings.get(setting), alone=True)))
    for name, allowed in named:
        if name in table and table[name] not in allowed:
            yield InputError(
                f"{name} of {where} must be one of {list(allowed)}, which the experiment has. Got "
                f"{table[name]!r} instead.",
                hint=did_you_mean(
                    table[name], allowed, "add it to the experiment, or remove this."
                ),
            )


def _list(value: Any, *, alone: bool = False) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value] if alone and value is not None else []


#: The folder of the files that come with elfair.
READY = files("elfair.experiments") / "ready"

_METHOD = Allowed("one of the experiment's methods", lambda value: True)
Arrangement: TypeAlias = Literal["methods", "settings", "comparison"]


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows, and how often each is drawn."""

    n: tuple[int, ...] = key(
        Allowed("a list of different whole numbers of at least 1", lambda value: True),
        [256, 512],
        "numbers of rows",
    )
    seeds: int = key(whole(1), 100, "how often each is drawn: with the seeds 0, 1, ...")


@dataclass(frozen=True)
class Figures:
    """What ``elfair experiment plot`` draws."""

    arrangements: tuple[Arrangement, ...] = key(
        Allowed(
            "a list of 'methods' (one line for each method), 'settings' (one line for each "
            "setting) and 'comparison' (elfair against the paper's ELF)",
            lambda value: True,
        ),
        ["methods"],
        "the figures",
        default=("methods",),
    )


@dataclass(frozen=True)
class EfficiencyQuestion:
    """A comparison that ``elfair experiment summarize`` prints: how many times fewer rows."""

    method: str = key(_METHOD, "elfair", "the method that may need fewer rows")
    against: str = key(_METHOD, "elf-paper", "the method to compare it with")
    n: int = key(
        Allowed("one of the experiment's sizes", lambda value: True), 4096, "the rows of the other"
    )
    settings: Mapping[str, Any] = key(
        Allowed("one of the experiment's settings", lambda value: True),
        {"alpha": 0.9},
        "where, if the experiment has several settings",
        default=dict,
    )


@dataclass(frozen=True, kw_only=True)
class ExperimentKeys:
    """The keys of an experiment's file."""

    title: str = key(
        Allowed("text", lambda value: True), "Figure 1", "the title of tables and figures"
    )
    population: str = key(
        Allowed("the name of a population", lambda value: True),
        "foster-care",
        "where data come from",
    )
    methods: tuple[str, ...] = key(
        Allowed("a list of names, with at least one", bool),
        ["elfair", "elf-paper"],
        "what is compared; module:object for your own method",
    )
    delta: float = key(
        number("(0, 0.5]"),
        0.1,
        "the probability with which each constraint may be violated",
        default=0.1,
    )
    settings: Mapping[str, Any] = key(
        Allowed("a table of settings", lambda value: True),
        {"alpha": [0.5, 0.9]},
        "settings of the population; each value of a list is run",
        default=dict,
    )
    sizes: tuple[Sizes, ...] = key(
        Allowed("a list of tables, with at least one", bool), None, "numbers of rows"
    )
    figures: Figures = key(None, None, "what is drawn", default=Figures)
    efficiency: tuple[EfficiencyQuestion, ...] = key(
        None, None, "comparisons of the rows that two methods need", default=()
    )


class Experiment(ExperimentKeys):
    """What is compared, on what, how often.

    Parameters
    ----------
    title : str
        For people.
    population : str
        Its name.
    methods : sequence of str
        Their names, or ``module:object`` for your own.
    delta : float, default 0.1
        The delta of each method: the probability with which each constraint may be violated.
    settings : dict
        Settings of the population; each value of a list is run.
    sizes : sequence of Sizes or dict
        Numbers of rows, and how many seeds (0, 1, ...) each is drawn with.
    figures : Figures or dict
        What is drawn.
    efficiency : sequence of EfficiencyQuestion or dict
        Which data efficiencies are computed.

    Examples
    --------
    >>> experiment = Experiment.load("figure-3")
    >>> experiment.methods
    ('elfair', 'elf-paper')
    >>> experiment.combinations[:2]
    ['{"alpha": 0, "strict": false}', '{"alpha": 0.1, "strict": false}']
    >>> experiment.seeds[256]
    100
    """

    def __init__(self, /, **given: Any) -> None:
        """Check keys and types. `run` also checks names, as `load` and `parse` do."""
        record, mistakes = shaped(_plain_tables(given), ExperimentKeys)
        if mistakes:
            raise together("the experiment", mistakes)
        super().__init__(
            **{each.name: getattr(record, each.name) for each in fields(ExperimentKeys)}
        )

    def tables(self) -> dict[str, Any]:
        """The experiment as its file would have it: dictionaries, lists and plain values."""
        made: dict[str, Any] = _plain_tables(asdict(self))
        return made

    @classmethod
    def load(cls, source: str | Path, *, runnable: bool = True) -> Self:
        """Read an experiment from its file, or a built-in one by its name.

        If a method is named ``module:object``, the folder of the file is added to ``sys.path``, so
        the module can be beside the file.

        Parameters
        ----------
        source : str or Path
            A TOML file, or one of `ready_experiments`.
        runnable : bool, default True
            Whether your own methods must be importable. To read finished trials they need not.

        Examples
        --------
        >>> Experiment.load("figures-1-3")
        Traceback (most recent call last):
            ...
        elfair.errors.InputError: An experiment must be a TOML file or one of 'appendix', ... Got
        'figures-1-3' instead.
        Hint: did you mean 'figures-1-2'?
        """
        text, folder = _text_and_folder(source)
        return cls.parse(text, name=str(source), folder=folder, runnable=runnable)

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        name: str = "the experiment",
        folder: Path | None = None,
        runnable: bool = True,
    ) -> Self:
        """Read an experiment from TOML.

        Parameters
        ----------
        text : str
            The TOML.
        name : str
            Its name in messages.
        folder : Path, optional
            The folder of modules of your own methods.
        runnable : bool, default True
            Whether they must be importable.

        Examples
        --------
        >>> experiment = Experiment.parse('''
        ... title = "A small experiment"
        ... population = "foster-care"
        ... methods = ["elfair"]
        ... sizes = [{ n = [256], seeds = 2 }]
        ... ''')
        >>> experiment.trials
        2
        """
        raw = parsed(text, name)
        methods = raw.get("methods")
        own = isinstance(methods, list) and any(":" in str(method) for method in methods)
        if own and folder is not None and str(folder) not in sys.path:
            sys.path.append(str(folder))
        _, mistakes = shaped(raw, ExperimentKeys)
        mistakes += of_meaning(raw, runnable=runnable)
        if mistakes:
            raise together(name, mistakes)
        return cls(**raw)

    @property
    def seeds(self) -> dict[int, int]:
        """The number of seeds by size, sizes ascending."""
        return dict(sorted((n, each.seeds) for each in self.sizes for n in each.n))

    @property
    def combinations(self) -> list[str]:
        """Every combination of settings, as canonical JSON."""
        swept = [each if isinstance(each, list) else [each] for each in self.settings.values()]
        return [canonical(dict(zip(self.settings, each, strict=True))) for each in product(*swept)]

    @property
    def trials(self) -> int:
        """How many trials there are: methods x settings x seeds of all sizes."""
        return len(self.methods) * len(self.combinations) * sum(self.seeds.values())

    @property
    def definition(self) -> dict[str, Any]:
        """What results depend on, in a form in which equal experiments are equal."""
        plain = {
            "population": self.population,
            "settings": self.settings,
            "methods": sorted(self.methods),
            "sizes": {str(n): seeds for n, seeds in self.seeds.items()},
            "delta": self.delta,
        }
        as_read: dict[str, Any] = json.loads(canonical(plain))
        return as_read

    @property
    def digest(self) -> str:
        """A fingerprint of `definition`; title, figures and efficiency are not part of it."""
        return hashlib.sha256(canonical(self.definition).encode()).hexdigest()


def experiment_text(source: str | Path) -> str:
    """The TOML of an experiment, to copy and change.

    Parameters
    ----------
    source : str or Path
        A TOML file, or one of `ready_experiments`.

    Examples
    --------
    >>> print(experiment_text("figure-3").splitlines()[0])
    title = "Figure 3: ELF at every alpha"
    """
    return _text_and_folder(source)[0]


def _text_and_folder(source: str | Path) -> tuple[str, Path | None]:
    """The TOML of an experiment, and the folder of its file; a built-in one has none."""
    path = Path(source)
    try:
        if path.is_file():
            text = decoded(path.read_bytes(), path, hint="check that it is a TOML file.")
            return text, path.resolve().parent
    except OSError as error:
        raise unreadable(path, error) from None
    ready = ready_experiments()
    if str(source) not in ready:
        names = ", ".join(map(repr, ready))
        raise InputError(
            f"An experiment must be a TOML file or one of {names}. Got {str(source)!r} instead.",
            hint=did_you_mean(source, ready, "check the path; there is no such file."),
        )
    return (READY / f"{source}.toml").read_text(encoding="utf-8"), None


def ready_experiments() -> dict[str, str]:
    """The built-in experiments: titles by name.

    Examples
    --------
    >>> list(ready_experiments())[:2]
    ['appendix', 'elfair-against-paper']
    """
    texts = {
        each.name.removesuffix(".toml"): each.read_text(encoding="utf-8")
        for each in READY.iterdir()
        if each.name.endswith(".toml")
    }
    return {name: tomllib.loads(texts[name])["title"] for name in sorted(texts)}


def canonical(value: Any) -> str:
    """JSON text that is equal for equal values: keys are sorted, and 1.0 is 1.

    Examples
    --------
    >>> canonical({"strict": False, "alpha": 1.0})
    '{"alpha": 1, "strict": false}'
    """
    return json.dumps(_plain(value), sort_keys=True)


def in_words(settings: Mapping[str, object]) -> str:
    """Settings as one would say them.

    Examples
    --------
    >>> in_words({"alpha": 0.9, "strict": False})
    'alpha = 0.9, strict = false'
    """
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in settings.items()
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain_tables(value: Any) -> Any:
    """Records as dictionaries and tuples as lists, as a file has them."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {name: _plain_tables(each) for name, each in value.items()}
    return [_plain_tables(each) for each in value] if isinstance(value, list | tuple) else value
