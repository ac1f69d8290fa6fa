"""A study, as its TOML file describes it: methods x settings x sizes x seeds on a population."""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from elfair.errors import InputError, did_you_mean
from elfair.experiments import study_mistakes
from elfair.reading import decoded, unreadable
from elfair.toml_mistakes import malformed, of_shape, together

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


class Efficiency(_Table):
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
    efficiency : tuple of Efficiency
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
    efficiency: tuple[Efficiency, ...] = Field(
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
        mistakes += study_mistakes.of_meaning(raw, runnable=runnable)
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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
