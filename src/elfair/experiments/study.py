"""What can be wrong with a study of methods beside the shape of its file: names and values.

A study, as its TOML file describes it: methods x settings x sizes x seeds on a population.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from elfair.errors import InputError, did_you_mean
from elfair.records.files import decoded, unreadable
from elfair.records.toml import malformed, of_shape, repeated, together

Raw = dict[str, Any]


def of_meaning(raw: Raw, *, runnable: bool = True) -> list[InputError]:
    """Unknown names, repetitions, settings that the population refuses.

    It looks at the file as read, so that a wrong type elsewhere hides none of these. Unless it is
    to be runnable, modules of the user's own methods need not be there.
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
        # One that is known but not installed is no mistake of the file: figures can be drawn.
        if name not in METHODS and (runnable or ":" not in name):
            try:
                get_method(name)
            except InputError as error:
                yield error
            except Exception as error:
                yield InputError(
                    f"the method {name!r} must be importable. Importing it raised "
                    f"{type(error).__name__}: {error}.",
                    hint="import its module in Python to see where.",
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
    for key, value in settings.items():
        swept = value if isinstance(value, list) else [value]
        fine = swept and all(isinstance(each, bool | int | float | str) for each in swept)
        if not fine or any(isinstance(each, float) and not isfinite(each) for each in swept):
            yield InputError(
                f"the setting {key!r} must be a number, true, false, text, or a list of these with "
                f"at least one. Got {value!r} instead.",
                hint=f"for example: {key} = 0.9, or {key} = [0.5, 0.9] to sweep it.",
            )
        else:
            yield from repeated(f"the setting {key!r}", swept)


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
                hint="`elfair experiment list` shows what it has.",
            )


def _efficiency(
    where: str, table: Raw, methods: Sequence[str], sizes: Sequence[Any], settings: Raw
) -> Iterator[InputError]:
    if "method" in table and table.get("method") == table.get("against"):
        yield InputError(
            f"method and against of {where} must be different methods. Got {table['method']!r} "
            "for both.",
            hint="name the method that may need fewer rows, and the one it is held against.",
        )
    named = [("method", methods), ("against", methods), ("n", sizes)]
    asked = table.get("settings", {})
    for key, value in asked.items() if isinstance(asked, dict) else ():
        table = {**table, f"settings.{key}": value}
        named.append((f"settings.{key}", _list(settings.get(key), alone=True)))
    for key, allowed in named:
        if key in table and table[key] not in allowed:
            yield InputError(
                f"{key} of {where} must be one of {list(allowed)}, as the study has it. Got "
                f"{table[key]!r} instead.",
                hint=did_you_mean(table[key], allowed, "add it to the study, or remove this."),
            )


def _list(value: Any, *, alone: bool = False) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value] if alone and value is not None else []


#: Where the files that come with the library lie.
READY = files("elfair.experiments") / "studies"


class _Table(BaseModel):
    # Strict: "500" is no number, and a misspelt key is no key. (Where a tuple is kept, `strict` is
    # off for the list alone that TOML has in its place, not for what is in it.)
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Sizes(_Table):
    """Numbers of rows, and how often each is drawn."""

    n: tuple[int, ...] = Field(
        strict=False,
        description="a list of different whole numbers of at least 1",
        examples=["n = [256, 512]"],
    )
    seeds: int = Field(ge=1, description="a whole number of at least 1", examples=["seeds = 100"])


class Figures(_Table):
    """What ``elfair experiment plot`` draws."""

    arrangements: tuple[Literal["methods", "settings", "comparison"], ...] = Field(
        default=("methods",),
        strict=False,
        description="a list of 'methods' (one line a method), 'settings' (one line a setting) and "
        "'comparison' (elfair against the paper's ELF)",
        examples=["arrangements = ['methods']"],
    )


class EfficiencyQuestion(_Table):
    """A comparison that ``elfair experiment summarize`` prints: how many times fewer rows."""

    method: str = Field(description="one of the study's methods", examples=["method = 'elfair'"])
    against: str = Field(
        description="one of the study's methods", examples=["against = 'elf-paper'"]
    )
    n: int = Field(description="one of the study's sizes", examples=["n = 4096"])
    settings: dict[str, Any] = Field(
        default={}, description="one of the study's settings", examples=["settings = {alpha = 0.9}"]
    )


class Study(_Table):
    """What is compared, on what, how often.

    Parameters
    ----------
    title : str
        For people.
    population : str
        Its name.
    methods : tuple of str
        Their names, or ``module:object`` for one of your own.
    delta : float, default 0.1
        What methods are told: the probability with which each constraint may be violated.
    settings : dict
        Settings of the population; a list is swept.
    sizes : tuple of Sizes
        Numbers of rows, and how many seeds (0, 1, ...) each is drawn with.
    figures : Figures
        What is drawn.
    efficiency : tuple of EfficiencyQuestion
        Which data efficiencies are computed.

    Examples
    --------
    >>> study = Study.load("figure-3")
    >>> study.methods
    ('elfair', 'elf-paper')
    >>> study.combinations[:2]
    ['{"alpha": 0, "strict": false}', '{"alpha": 0.1, "strict": false}']
    >>> study.seeds[256]
    100
    """

    title: str = Field(description="text", examples=["title = 'Figure 1'"])
    population: str = Field(
        description="the name of a population", examples=["population = 'foster-care'"]
    )
    methods: tuple[str, ...] = Field(
        strict=False,
        min_length=1,
        description="a list of names, with at least one",
        examples=["methods = ['elfair', 'elf-paper']"],
    )
    delta: float = Field(
        default=0.1,
        gt=0,
        le=0.5,
        description="a number above 0 and at most 0.5",
        examples=["delta = 0.1"],
    )
    settings: dict[str, Any] = Field(
        default={}, description="a table of settings", examples=["[settings]"]
    )
    sizes: tuple[Sizes, ...] = Field(
        strict=False,
        min_length=1,
        description="a list of tables, with at least one",
        examples=["[[sizes]]"],
    )
    figures: Figures = Field(default=Figures(), description="a table", examples=["[figures]"])
    efficiency: tuple[EfficiencyQuestion, ...] = Field(
        default=(), strict=False, description="a list of tables", examples=["[[efficiency]]"]
    )

    def __init__(self, /, **given: Any) -> None:
        """Check types and keys, in our words; `run` checks names, as `load` and `parse` do."""
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise together("the study", _mistakes_of_shape(error)) from None

    @classmethod
    def load(cls, source: str | Path, *, runnable: bool = True) -> Self:
        """Read a study from its file, or a ready one by its name.

        The folder of a file joins ``sys.path`` where a method is named ``module:object``, so that
        it can lie beside the file.

        Parameters
        ----------
        source : str or Path
            A TOML file, or one of `ready_studies`.
        runnable : bool, default True
            Whether your own methods must be importable. Finished trials can be read without.

        Examples
        --------
        >>> Study.load("figures-1-3")
        Traceback (most recent call last):
            ...
        elfair.errors.InputError: A study must be a TOML file or one of 'appendix', ... Got
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
        name: str = "the study",
        folder: Path | None = None,
        runnable: bool = True,
    ) -> Self:
        """Read a study from TOML.

        Parameters
        ----------
        text : str
            The TOML.
        name : str
            What messages call it.
        folder : Path, optional
            Where modules of your own methods lie.
        runnable : bool, default True
            Whether they must be importable.

        Examples
        --------
        >>> study = Study.parse('''
        ... title = "A small study"
        ... population = "foster-care"
        ... methods = ["elfair"]
        ... sizes = [{ n = [256], seeds = 2 }]
        ... ''')
        >>> study.trials
        2
        """
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise malformed(name, text, error) from None
        methods = raw.get("methods")
        own = isinstance(methods, list) and any(":" in str(method) for method in methods)
        if own and folder is not None and str(folder) not in sys.path:
            sys.path.append(str(folder))
        mistakes: list[InputError] = []
        study = cls.__new__(cls)
        try:
            _Table.__init__(study, **raw)  # past our own, which would not wait for what follows
        except ValidationError as error:
            mistakes += _mistakes_of_shape(error)
        mistakes += of_meaning(raw, runnable=runnable)
        if mistakes:
            raise together(name, mistakes)
        return study

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
        """What decides results, in a form in which equal studies are equal."""
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
        """A fingerprint of `definition`; title, figures and efficiency take no part."""
        return hashlib.sha256(canonical(self.definition).encode()).hexdigest()


def _mistakes_of_shape(error: ValidationError) -> list[InputError]:
    return [
        of_shape(Study, each)
        for each in error.errors()
        # A tuple whose only items are wrong is called too short as well.
        if each["type"] != "too_short" or not each["input"]
    ]


def study_text(source: str | Path) -> str:
    """The TOML of a study, to be copied and changed.

    Parameters
    ----------
    source : str or Path
        A TOML file, or one of `ready_studies`.

    Examples
    --------
    >>> print(study_text("figure-3").splitlines()[0])
    title = "Figure 3: ELF at every alpha"
    """
    return _text_and_folder(source)[0]


def _text_and_folder(source: str | Path) -> tuple[str, Path | None]:
    """The TOML of a study, and the folder of its file; a ready one has none."""
    path = Path(source)
    try:
        if path.is_file():
            text = decoded(path.read_bytes(), path, hint="is it a TOML file?")
            return text, path.resolve().parent
    except OSError as error:
        raise unreadable(path, error) from None
    ready = ready_studies()
    if str(source) not in ready:
        names = ", ".join(map(repr, ready))
        raise InputError(
            f"A study must be a TOML file or one of {names}. Got {str(source)!r} instead.",
            hint=did_you_mean(source, ready, "check the path; there is no such file."),
        )
    return (READY / f"{source}.toml").read_text(encoding="utf-8"), None


def ready_studies() -> dict[str, str]:
    """The studies that come with the library: titles by name.

    Examples
    --------
    >>> list(ready_studies())[:2]
    ['appendix', 'elfair-against-paper']
    """
    texts = {
        each.name.removesuffix(".toml"): each.read_text(encoding="utf-8")
        for each in READY.iterdir()
        if each.name.endswith(".toml")
    }
    return {name: tomllib.loads(texts[name])["title"] for name in sorted(texts)}


def canonical(value: Any) -> str:
    """JSON in which equal values have equal text: keys are sorted, and 1.0 is 1.

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
