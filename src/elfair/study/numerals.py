"""Numbers as people write them: with a decimal comma, thousands, a unit, a sign of per cent.

A number is read by decimal arithmetic: ``12,5 %`` is exactly what ``0.125`` is. What multiplies it
is either declared for all numbers of a column (``percent``, ``scale``), or for those that carry a
mark (``unit = { k = 1000 }``). A table in which some numbers carry a mark and others do not is
never multiplied as a whole: that would misread half of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, NamedTuple

from elfair.errors import DataError, listed
from elfair.records.text import plural
from elfair.records.toml import toml
from elfair.study.keys import BRACKETS, CleanKeys

#: Spaces that look like one another: a space, and those that keep a number on one line.
_SPACES = re.compile("[\u00a0\u2009\u202f]")
#: Words and signs for the same money.
_SAME = tuple(
    map(frozenset, (
        {"eur", "€", "euro", "euros"}, {"usd", "$", "us$", "dollar", "dollars"}, {"gbp", "£"},
        {"jpy", "¥", "yen"}, {"inr", "₹", "rs"}, {"chf", "sfr"},
    ))
)  # fmt: skip


class Unread:
    """Stands for a value that is not written as declared."""


class Numeral(NamedTuple):
    """A number as it was written.

    Parameters
    ----------
    value : str
        Its digits, as Python writes them.
    is_whole : bool
        Whether it was written without a point and an exponent.
    marks : tuple of str
        What it carries: units, a sign of per cent, brackets.
    """

    value: str
    is_whole: bool
    marks: tuple[str, ...]


def tidy(text: str) -> str:
    r"""A text with plain spaces and a plain minus.

    Examples
    --------
    >>> tidy(" \u22121\u202f000 ")
    '-1 000'
    """
    return _SPACES.sub(" ", text).replace("\u2212", "-").strip()


def numeral_reader(keys: CleanKeys) -> Callable[[str], Numeral | None]:
    """What takes a text apart that is a number written as declared.

    Parameters
    ----------
    keys : CleanKeys
        How the column is written.

    Examples
    --------
    >>> read = numeral_reader(CleanKeys(decimal=",", unit="EUR"))
    >>> read("-1,5 EUR"), read("1.5")
    (Numeral(value='-1.5', is_whole=False, marks=('EUR',)), None)
    >>> numeral_reader(CleanKeys(thousands=","))("0,873") is None  # this is no thousand
    True
    """
    point, comma = re.escape(keys.decimal or "."), re.escape(keys.thousands or "")
    whole = rf"[1-9]\d{{0,2}}(?:{comma}\d{{3}})+|\d+" if comma else r"\d+"
    known = {tidy(each): each for each in (*keys.units, *(["%"] if keys.percent else []))}
    unit = "|".join(re.escape(each) for each in known if each != BRACKETS)
    around = f"({unit})?" if unit else "()"
    digits = rf"({whole}|(?={point}\d))(?:{point}(\d*))?([eE][+-]?\d+)?"
    number = re.compile(rf"([+-]?) ?{around} ?([+-]?){digits} ?{around}")

    def read(text: str) -> Numeral | None:
        text = tidy(text)
        inside = re.fullmatch(r"\((.*)\)", text) if BRACKETS in keys.units else None
        found = number.fullmatch(tidy(inside[1]) if inside else text)
        if found is None or (found[1] and found[3]):
            return None
        whole = found[4].replace(keys.thousands, "") if keys.thousands else found[4]
        value = f"{found[1]}{found[3]}{whole or 0}.{found[5] or 0}{found[6] or ''}"
        marks = [known[each] for each in dict.fromkeys((found[2], found[7])) if each]
        marks += [BRACKETS] * bool(inside)
        return Numeral(value, found[5] is None and found[6] is None, tuple(marks))

    return read


def number_reader(keys: CleanKeys) -> Callable[[Any], Any]:
    """What reads a number that is written as declared; `Unread` stands for anything else.

    Parameters
    ----------
    keys : CleanKeys
        How the column is written.

    Examples
    --------
    >>> read = number_reader(CleanKeys(unit={"%": 0.01}))
    >>> read("95.0%"), read("0.423"), read("often").__class__.__name__
    (0.95, 0.423, 'Unread')
    """
    take_apart, every, of_marks = numeral_reader(keys), factor(keys), factors(keys)

    def read(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return Unread()
        if isinstance(value, str):
            found = take_apart(value)
            if found is None:
                return Unread()
        else:
            found = Numeral(repr(value), isinstance(value, int), ())
        times = every
        for mark in found.marks or ("",):
            times *= of_marks.get(mark, Decimal(1))
        try:
            number = Decimal(found.value) * times
        except InvalidOperation:
            return Unread()
        is_whole = found.is_whole and times == int(times)
        return int(number) if is_whole else float(number)

    return read


def factors(keys: CleanKeys) -> dict[str, Decimal]:
    """What numbers are multiplied by that carry a mark; '' stands for those that carry none.

    Parameters
    ----------
    keys : CleanKeys
        How the column is written.

    Examples
    --------
    >>> factors(CleanKeys(unit={"k": 1000})), factors(CleanKeys(unit="EUR"))
    ({'k': Decimal('1000')}, {})
    """
    worth = keys.unit if isinstance(keys.unit, Mapping) else {}
    return {mark: Decimal(repr(each)) for mark, each in worth.items()}


def factor(keys: CleanKeys) -> Decimal:
    """What every number of a column is multiplied by, whatever mark it carries.

    Parameters
    ----------
    keys : CleanKeys
        How it is written.

    Examples
    --------
    >>> factor(CleanKeys(percent=True)), factor(CleanKeys(scale=1000.0))
    (Decimal('0.01'), Decimal('1000.0'))
    """
    scale = Decimal(1) if keys.scale is None else Decimal(repr(keys.scale))
    return scale * Decimal("0.01") if keys.percent else scale


def written(number: float, keys: CleanKeys) -> Any:
    """A number as such a column has it, so that it can be added to the table.

    Parameters
    ----------
    number : float
        What it means.
    keys : CleanKeys
        How the column is written.

    Examples
    --------
    >>> written(0.125, CleanKeys(percent=True)), written(0.125, CleanKeys(decimal=","))
    (12.5, '0,125')
    """
    times = factor(keys) * factors(keys).get("", Decimal(1))
    value = float(Decimal(repr(float(number))) / times)
    return value if keys.decimal in (None, ".") else repr(value).replace(".", keys.decimal)


def said(keys: CleanKeys) -> str:
    """How the numbers of a column are written, in words.

    Parameters
    ----------
    keys : CleanKeys
        How the column is written.

    Examples
    --------
    >>> said(CleanKeys(percent=True, decimal=",")), said(CleanKeys(unit={"k": 1000}))
    (', in per cent, written 1,5', ", times 1,000 with 'k'")
    """
    told = [", in per cent"] if keys.percent else []
    told += [f", times {keys.scale:,.15g}"] if keys.scale is not None else []
    if isinstance(keys.unit, Mapping):
        worth = [f"times {each:,.15g} {_with(mark)}" for mark, each in keys.unit.items()]
        told += [f", {' and '.join(worth)}"]
    elif keys.units:
        told.append(f", with {' or '.join(map(repr, keys.units))}")
    if keys.decimal or keys.thousands:
        thousands = f"{keys.thousands}000" if keys.thousands else ""
        told.append(f", written 1{thousands}{keys.decimal or '.'}5")
    return "".join(told)


def _with(mark: str) -> str:
    return f"with {mark!r}" if mark else "without a unit"


@lru_cache(maxsize=1024)
def same_unit(one: str, other: str) -> bool:
    """Whether two units are known to be the same.

    Examples
    --------
    >>> same_unit("EUR", "€"), same_unit("EUR", "USD"), same_unit("KG", "kg")
    (True, False, True)
    """
    one, other = one.casefold(), other.casefold()
    return one == other or any(one in same and other in same for same in _SAME)


def _is_money(unit: str) -> bool:
    return any(unit.casefold() in same for same in _SAME)


def mixed(name: str, keys: CleanKeys, counts: Mapping[str, int]) -> DataError | None:
    """What is wrong if one factor is declared for numbers that are written in two ways.

    Parameters
    ----------
    name : str
        The column.
    keys : CleanKeys
        How it was declared to be written.
    counts : mapping of str to int
        How often each text is there.

    Examples
    --------
    >>> print(mixed("p", CleanKeys(percent=True), {"95%": 9, "0.42": 1}))
    column 'p' has numbers with '%' in 9 rows, such as '95%', and without it in 1 row, such as
    '0.42': percent = true would divide both by 100.
    Hint: in [clean."p"], write instead unit = { "%" = 0.01 } if numbers without '%' are meant as
    they stand, or unit = { "%" = 0.01, "" = 0.01 } if they are in per cent, too.
    """
    read = numeral_reader(keys)
    by_mark: dict[str, list[str]] = {}
    for text in counts:
        if (found := read(text)) is not None:
            by_mark.setdefault(found.marks[0] if found.marks else "", []).append(text)
    marks = [mark for mark in by_mark if mark]
    if marks and "" in by_mark and factor(keys) != 1:
        return _half_marked(name, keys, by_mark, counts)
    listed_units = [mark for mark in marks if not isinstance(keys.unit, Mapping)]
    for other in listed_units[1:]:
        first = listed_units[0]
        if _is_money(first) and _is_money(other) and not same_unit(first, other):
            worth = {first: 1, other: 0.9}
            return DataError(
                f"column {name!r} has numbers in {_rows(first, by_mark, counts)}, and in "
                f"{_rows(other, by_mark, counts)}. A list of units is for one unit that is "
                "written in several ways.",
                hint=f"in [clean.{toml(name)}], say what each is worth: unit = {toml(worth)}, if "
                f"0.9 {first} is 1 {other}.",
            )
    return None


def _half_marked(
    name: str, keys: CleanKeys, by_mark: Mapping[str, list[str]], counts: Mapping[str, int]
) -> DataError:
    times = float(factor(keys))
    marks = [mark for mark in by_mark if mark]
    worth = dict.fromkeys(marks, times)
    declared = "percent = true" if keys.percent else f"scale = {keys.scale:.15g}"
    does = "divide both by 100" if keys.percent else f"multiply both by {times:,.15g}"
    shown = listed(marks)
    return DataError(
        f"column {name!r} has numbers with {_rows(marks[0], by_mark, counts)}, and without it in "
        f"{_rows('', by_mark, counts)}: {declared} would {does}.",
        hint=f"in [clean.{toml(name)}], write instead unit = {toml(worth)} if numbers without "
        f"{shown} are meant as they stand, or unit = {toml({**worth, '': times})} if they are "
        f"{'in per cent' if keys.percent else f'multiplied by {times:,.15g}'}, too.",
    )


def _rows(mark: str, by_mark: Mapping[str, list[str]], counts: Mapping[str, int]) -> str:
    """In how many rows numbers carry a mark, with one of them."""
    n = sum(counts[text] for text in by_mark[mark])
    shown = f"{mark!r} in " if mark else ""
    return f"{shown}{plural(n, 'row')}, such as {by_mark[mark][0]!r}"
