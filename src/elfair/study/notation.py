"""How the numbers of a column are probably written, told from their texts alone.

A proposal reads every text, and multiplies only those that carry a mark. If numbers with a mark and
numbers without it are there, how large they are tells what those without it mean. Where that is not
clear, nothing is proposed: `question` says what to ask.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import log10
from statistics import median
from typing import Any

from elfair.records.tables import comma_hint, has_decimal_comma, is_plain_number
from elfair.records.toml import toml
from elfair.study.keys import BRACKETS, CleanKeys
from elfair.study.numerals import number_reader, numeral_reader, same_unit, tidy

#: A number as people write it: with a unit, thousands and decimals. Letters right before digits,
#: and zeros before others, are of a name.
_BEFORE = r"(?:([$€£¥₹%])|([^\W\d_]{1,4})(?= ))?"
_BEHIND = r"([^\d\s.,'+-][^\d\s]{0,4})?"
_NUMBER = re.compile(rf"{_BEFORE} ?([+-]?(?:0|[1-9])(?:[\d., ']*\d)?) ?{_BEHIND}")
#: Units that multiply, of which only one is clear: M may be a thousand, or a million.
_MULTIPLES = frozenset({"k", "m", "mm", "mio", "mln", "mn", "bn", "b", "tsd"})
_WORTH = {"%": 0.01, "k": 1000}
_GROUPED = {
    sign: re.compile(rf"[+-]?[1-9]\d{{0,2}}({re.escape(sign)}\d{{3}})+({other}\d+)?")
    for sign, other in ((",", r"\."), (".", ","), ("'", r"[.,]"), (" ", r"[.,]"))
}
#: Numbers are of one size if their medians are less than this many powers of ten apart; those of
#: which some are in other units are a whole factor apart, but for a quarter of it.
SAME_SIZE, QUARTER = 1.0, 0.25
#: A table of more values than this is no hint.
MOST_VALUES = 12


#: Ways to write a date that are tried for a hint.
DATES = (
    "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d",
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%B %d, %Y",
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
)  # fmt: skip


@dataclass(frozen=True)
class _Part:
    """One text, taken apart."""

    text: str
    number: str
    mark: str
    in_brackets: bool


def notation(texts: list[str]) -> dict[str, Any]:
    """The keys of ``[clean.COLUMN]`` that would read the texts of a column, if they are numbers
    that are not written plainly, and it is clear how they are meant.

    Parameters
    ----------
    texts : list of str
        The different texts of a column.

    Examples
    --------
    >>> notation(["12 %", "7,5 %"])
    {'percent': True, 'decimal': ','}
    >>> notation(["95.0%", "0.423"]), notation(["13k", "13000"]), notation(["(3)", "4"])
    ({'unit': {'%': 0.01}}, {'unit': {'k': 1000}}, {'unit': {'()': -1}})
    """
    parts = _parts(texts)
    if not parts:
        return {}
    signs = _signs([part.number for part in parts])
    if signs is None:
        return {}
    marks = _marks(parts, signs)
    if marks is None:
        return {}
    keys = {**marks, **signs}
    signed = any(part.text.strip()[0] in "+\u2212" for part in parts)
    keys = keys or ({"decimal": "."} if signed else {})
    read = numeral_reader(CleanKeys(**keys))
    return keys if all(read(text) is not None for text in texts) else {}


def no_numbers(texts: list[str]) -> list[str]:
    """The texts that are no numbers, however these are written: what they mean, no key can know.

    Parameters
    ----------
    texts : list of str
        The different texts of a column.

    Examples
    --------
    >>> no_numbers(["41,5", "87 yrs", ">89", "lost to follow up"])
    ['>89', 'lost to follow up']
    """
    return [text for text in texts if not _parts([text])]


def question(name: str, texts: list[str]) -> str | None:
    """The text of a hint: what only a person can say about how a column is written.

    Parameters
    ----------
    name : str
        The column.
    texts : list of str
        Its different texts.

    Examples
    --------
    >>> print(question("sum", ["3 EUR", "4 USD"]))
    in [clean."sum"], say what each is worth: unit = { "EUR" = 1, "USD" = 0.9 }, if 1 USD is 0.9
    EUR.
    >>> print(question("x", ["3%", "4"]))
    in [clean."x"], write unit = { "%" = 0.01 } if numbers without it are meant as they stand, or
    unit = { "%" = 0.01, "" = 0.01 } if they are multiplied by 0.01, too.
    """
    if meant := commas_among_points(texts):
        if len(meant) <= MOST_VALUES:
            return f"write values = {toml(meant)} in [clean.{toml(name)}]."
        return (
            "numbers are written both as 1,5 and as 1.5, and no key reads both: write them in one "
            "way in the table."
        )
    commas = [text for text in texts if has_decimal_comma(text)]
    if commas and all(text in commas or is_plain_number(text) for text in texts):
        return comma_hint(toml(name), commas)
    parts = _parts(texts)
    marks = sorted({part.mark for part in parts if part.mark})
    if not marks:
        return None
    where = f"in [clean.{toml(name)}], "
    if len(marks) == 1:
        worth: Mapping[str, Any] = {marks[0]: _WORTH.get(marks[0].casefold(), 1000)}
        if not all(part.mark for part in parts):
            (each,) = worth.values()
            return (
                f"{where}write unit = {toml(worth)} if numbers without it are meant as they stand, "
                f"or unit = {toml({**worth, '': each})} if they are multiplied by {each:,.15g}, "
                "too."
            )
        return f"{where}say what it is worth: unit = {toml(worth)}, if 1 {marks[0]} is 1,000."
    worth = {mark: _WORTH.get(mark.casefold(), 0.9) for mark in marks} | {marks[0]: 1}
    if any(mark.casefold() in _WORTH for mark in marks):
        return f"{where}say what each is worth, such as unit = {toml(worth)}."

    return (
        f"{where}say what each is worth: unit = {toml(worth)}, if 1 {marks[1]} is 0.9 {marks[0]}."
    )


def lines_for(name: str, keys: Mapping[str, Any]) -> str:
    """The text of a hint: the keys that say how a column is written.

    Examples
    --------
    >>> lines_for("sum", {"decimal": ","})
    'write decimal = "," in [clean."sum"].'
    """
    lines = ", ".join(f"{key} = {toml(value)}" for key, value in keys.items())
    return f"write {lines} in [clean.{toml(name)}]."


def date_hint(name: str, texts: list[str]) -> str | None:
    """The text of a hint: how the dates of a column are written; None if no usual way reads all.

    Parameters
    ----------
    name : str
        The column.
    texts : list of str
        Its different texts.

    Examples
    --------
    >>> date_hint("day", ["3/13/2013", "3/1/2013"])
    'these look like dates: write date = "%m/%d/%Y" in [clean."day"].'
    """
    forms = [form for form in DATES if texts and all(is_date(text, form) for text in texts)]
    if not forms:
        return None
    told = " or ".join(f"date = {toml(form)}" for form in forms)
    return f"these look like dates: write {told} in [clean.{toml(name)}]."


def is_date(text: str, form: str) -> bool:
    """Whether a text is a date that is written in some way.

    Examples
    --------
    >>> is_date("31.12.2013", "%d.%m.%Y"), is_date("3/13/2013", "%d.%m.%Y")
    (True, False)
    """
    try:
        datetime.strptime(text.strip(), form)
    except ValueError:
        return False
    return True


def commas_among_points(texts: list[str]) -> dict[str, float]:
    """What the texts with a decimal comma mean, if all others are numbers with a decimal point.

    Parameters
    ----------
    texts : list of str
        The different texts of a column.

    Examples
    --------
    >>> commas_among_points(["1.5", "1,75", "2"]), commas_among_points(["1.500", "2,5"])
    ({'1,75': 1.75}, {})
    """
    commas = [text for text in texts if has_decimal_comma(text)]
    points = [text for text in texts if re.fullmatch(r"\s*[+-]?\d*\.\d+\s*", text)]
    grouped = all(re.fullmatch(r"\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*", text) for text in points)
    if not commas or grouped or not all(t in commas or is_plain_number(t) for t in texts):
        return {}
    if any(re.fullmatch(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", text) for text in commas):
        return {}  # 1,234 beside 1.5 may be above one thousand
    read = number_reader(CleanKeys(decimal=",", thousands="."))
    return {text: read(text) for text in commas}


def _parts(texts: list[str]) -> list[_Part]:
    """The texts, taken apart; none if some of them is no number."""
    parts = []
    for text in texts:
        plain = tidy(text)
        inside = re.fullmatch(r"\((.*)\)", plain)
        found = _NUMBER.fullmatch(tidy(inside[1]) if inside else plain)
        if found is None or re.match(r"[+-]?0\d", found[3]):
            return []
        marks = dict.fromkeys(each for each in (found[1], found[2], found[4]) if each)
        if len(marks) > 1:
            return []
        parts.append(_Part(text, found[3], next(iter(marks), ""), bool(inside)))
    return parts


def _signs(numbers: list[str]) -> dict[str, str] | None:
    """The signs before decimals and between thousands; None if they may mean two things."""
    keys = {}
    signs = {sign for sign, grouped in _GROUPED.items() if any(map(grouped.fullmatch, numbers))}
    commas = [each for each in numbers if re.fullmatch(r"[+-]?\d+,\d+", each)]
    if any(re.fullmatch(r".*,(\d{1,2}|\d{4,})|[+-]?0,\d+", each) for each in numbers):
        keys["decimal"] = ","
        signs.discard(",")
    elif commas and "," in signs and "." not in "".join(numbers):
        return None  # 1,234 may be either
    else:
        signs.discard(".")
    if len(signs) == 1:
        keys["thousands"] = signs.pop()
    return keys


def _marks(parts: list[_Part], signs: Mapping[str, str]) -> dict[str, Any] | None:
    """The keys for units, per cent and brackets; None if only a person can say what they mean."""
    marks = sorted({part.mark for part in parts if part.mark})
    brackets = {BRACKETS: -1} if any(part.in_brackets for part in parts) else {}
    if any(mark.casefold() in _MULTIPLES and mark.casefold() not in _WORTH for mark in marks):
        return None
    if len(marks) > 1 and not all(same_unit(marks[0], mark) for mark in marks):
        return None
    worth = {mark: _WORTH.get(mark.casefold(), 1) for mark in marks}
    times = next(iter(worth.values()), 1)
    if marks and not all(part.mark for part in parts):
        alike = _means(parts, times, signs)
        if alike is None:
            return None
        if times != 1:
            return {"unit": {**worth, **alike, **brackets}}
    if brackets:
        return {"unit": {**worth, **brackets}}
    if marks == ["%"]:
        return {"percent": True}
    unit = {"unit": marks[0] if len(marks) == 1 else marks} if marks else {}
    return unit if times == 1 else {"scale": times, **unit}


def _means(parts: list[_Part], times: float, signs: Mapping[str, Any]) -> dict[str, float] | None:
    """What numbers without a mark are multiplied by, as far as it shows beside those with it."""
    read = number_reader(CleanKeys(**signs))
    sizes: dict[bool, list[float]] = {True: [], False: []}
    for part in parts:
        value = read(part.number)
        if isinstance(value, int | float) and value != 0:
            sizes[bool(part.mark)].append(abs(value))
    if not sizes[True] or not sizes[False]:
        return {}
    apart = log10(median(sizes[False]) / median(sizes[True]))
    if times == 1:
        return {} if abs(apart) < SAME_SIZE else None
    whole = log10(times)
    if abs(apart - whole) < QUARTER * abs(whole):
        # A share above 1 among those without a sign may be of either kind.
        return None if times < 1 and max(sizes[False]) > 1 else {}
    return {"": times} if abs(apart) < QUARTER * abs(whole) else None
