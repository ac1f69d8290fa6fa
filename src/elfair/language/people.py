"""People in words: what a sentence calls those whom a condition selects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elfair.language import conditions as of
from elfair.language.conditions import MIRRORED, OPPOSITE, Column, Condition, Operand, parts_of
from elfair.language.naming import Names
from elfair.language.tree import number_text

#: Values that are understood without quotation marks.
_PLAIN = re.compile(r"[\w+/.%&-]+( [\w+/.%&-]+)*")
#: Of more groups than this, not all are named.
MOST_LISTED = 8
#: What is said of a column that is compared with a value.
_COMPARED = {
    "==": "is {}",
    "!=": "is not {}",
    "<": "is below {}",
    "<=": "is at most {}",
    ">": "is above {}",
    ">=": "is at least {}",
}


@dataclass(frozen=True)
class Speech:
    """What sentences about one study share: its names, and what its decisions are.

    Parameters
    ----------
    names : Names
        The words of the study.
    classes : tuple of str
        The decisions; empty if they are numbers.
    positive : str or None
        The decision that PR, TPR and so on count.
    impacts : tuple of str
        The impacts. A single one is also called "impact" in constraints.
    drawn : bool
        Whether a lottery took the logged decisions.

    Examples
    --------
    >>> from elfair.language.parsing import parse_condition
    >>> speech = Speech(Names(people="applicants", groups={"race": {"B": "Black"}}))
    >>> print(speech.whom([parse_condition("race == 'B' and age < 30")]))
    Black applicants whose age is below 30
    """

    names: Names
    classes: tuple[str, ...] = ()
    positive: str | None = None
    impacts: tuple[str, ...] = ()
    drawn: bool = False

    @property
    def before(self) -> str:
        """What new decisions are compared with."""
        usual = "the lottery's decisions" if self.drawn else "today's decisions"
        return self.names.before or usual

    def column(self, name: str) -> str:
        """What a column is called."""
        return self.names.columns.get(self._measured(name), self._measured(name).replace("_", " "))

    def unit(self, impact: str) -> str:
        """The unit of an impact; empty if it was not stated."""
        return self.names.units.get(self._measured(impact), "")

    def _measured(self, name: str) -> str:
        known = self.names.columns.keys() | self.names.units.keys() | set(self.impacts)
        alone = name == "impact" and len(self.impacts) == 1 and name not in known
        return self.impacts[0] if alone else name

    def gets(self, event: str, value: str) -> str:
        """What is said of people about whom a decision is taken, or is not."""
        value, event = self._known(event, value)
        words = self.names.decisions.get(value)
        if event == "==":
            return f"who get decision {_quoted(value)}" if words is None else f"who get {words}"
        if event == "!=":
            other = f"another decision than {_quoted(value)}" if words is None else f"no {words}"
            return f"who get {other}"
        return f"whose decision {_COMPARED[event].format(value)}"

    def has(self, event: str, value: str) -> str:
        """What is said of people with a label, or without it."""
        value, event = self._known(event, value)
        words = self.names.labels.get(value)
        if event in ("==", "!="):
            other = "with" if event == "==" else "without"
            return f"{other} label {_quoted(value)}" if words is None or event == "!=" else words
        return f"whose label {_COMPARED[event].format(value)}"

    def _known(self, event: str, value: str) -> tuple[str, str]:
        """Of two decisions, not to get one is to get the other."""
        others = [each for each in self.classes if each != value]
        if event == "!=" and len(self.classes) == 2 and len(others) == 1:
            return others[0], "=="
        return value, event

    def whom(self, conditions: Sequence[Condition | None]) -> str:
        """The people of one or more groups, each of which is meant by itself."""
        several = list(dict.fromkeys(conditions))
        return self._before(several) or self._one_column(several) or self._each(several)

    def _before(self, groups: Sequence[Condition | None]) -> str:
        """Black, N/A and White applicants: all groups have names that stand before the people."""
        parts = [self._split(group) for group in groups]
        tails = {tail for _, tail in parts}
        if len(tails) > 1 or not all(words for words, _ in parts):
            return ""
        named = listed([words for words, _ in parts], "and")
        return f"{named} {self.names.people}{tails.pop()}"

    def _split(self, group: Condition | None) -> tuple[str, str]:
        """What stands before the people of a group, and what stands after them."""
        before, after, last = [], [], None
        for part in map(_turned, parts_of(group)):
            if words := self._named(part):
                before.append(words)
                continue
            column, words = _column(part), self._whose(part)
            if column is not None and column == last:  # at least 18 and below 65
                words = words.removeprefix(f"whose {self.column(column)} is ")
            after.append(words)
            last = column
        tail = " and ".join(after)
        return " ".join(before), f" {tail}" if tail else ""

    def _named(self, part: Condition) -> str:
        match part:
            case of.Compare(Column(name), "==", of.Literal(value)):
                return self.names.groups.get(name, {}).get(_text(value), "")
        return ""

    def _one_column(self, groups: Sequence[Condition | None]) -> str:
        """Applicants whose race is A, B or C."""
        found = [_value(group) for group in groups]
        known = [each for each in found if each is not None]
        if len(groups) < 2 or len(known) < len(groups) or len({name for name, _ in known}) > 1:
            return ""
        values = listed([_quoted(value) for _, value in known], "or")
        return f"{self.names.people} whose {self.column(known[0][0])} is {values}"

    def _each(self, groups: Sequence[Condition | None]) -> str:
        every = [self._single(group) for group in groups]
        if len(every) > MOST_LISTED:
            return f"each of {len(every)} groups ({'; '.join(every[:2])} ... {every[-1]})"
        return joined(every, ", and" if any(" and " in each for each in every) else "and")

    def _single(self, group: Condition | None) -> str:
        if group is None:
            return f"all {self.names.people}"
        before, after = self._split(group)
        return " ".join(filter(None, [before, self.names.people])) + after

    def _whose(self, part: Condition) -> str:
        match part:
            case of.Compare(of.Label(), op, value) if isinstance(value, of.Literal | of.Positive):
                return self.has(op, self._operand(value))
            case of.Compare(of.Decision(), op, value) if isinstance(
                value, of.Literal | of.Positive
            ):
                return self.gets(op, self._operand(value))
            case of.Member(of.Label(), values):
                return joined([self.has("==", _text(v.value)) for v in values], "or")
            case of.Member(of.Decision(), values):
                return joined([self.gets("==", _text(v.value)) for v in values], "or")
        words = self._fact(part)
        return f'for whom "{part}" holds' if words is None else f"whose {words}"

    def _fact(self, part: Condition) -> str | None:
        """What a condition says of a column; None if that takes more than a few words."""
        match _turned(part):
            case of.Compare(Column(name), op, right):
                return (
                    f"{self.column(name)} {_COMPARED[op].format(self._operand(right, shown=True))}"
                )
            case of.Member(Column(name), values):
                listed = joined([_quoted(_text(each.value)) for each in values], "or")
                return f"{self.column(name)} is {listed}"
            case of.Not(of.Member(Column(name), values)):
                listed = joined([_quoted(_text(each.value)) for each in values], "nor")
                return f"{self.column(name)} is neither {listed}"
            case of.Not(of.Compare(left, op, right)):
                return self._fact(of.Compare(left, OPPOSITE[op], right))
            case of.Or(parts):
                facts = [self._fact(each) for each in parts]
                known = [fact for fact in facts if fact is not None]
                return " or whose ".join(known) if len(known) == len(facts) else None
        return None

    def _operand(self, operand: Operand, *, shown: bool = False) -> str:
        match operand:
            case of.Literal(value):
                return _quoted(_text(value)) if shown else _text(value)
            case Column(name):
                return f"their {self.column(name)}"
            case of.Positive():
                return self.positive or "the positive one"
        return f"their {operand}"


def joined(items: Iterable[str], last: str = "and") -> str:
    """Items in a sentence.

    Examples
    --------
    >>> joined(["A"]), joined(["A", "B", "C"]), joined(["A", "B"], "or")
    ('A', 'A, B and C', 'A or B')
    """
    *before, end = items
    space = "" if last.startswith(",") else " "
    return f"{', '.join(before)}{space}{last} {end}" if before else end


def listed(items: Sequence[str], last: str) -> str:
    """Items in a sentence; of many, how many they are, and the first and the last of them.

    Examples
    --------
    >>> listed(["A", "B", "C"], "or")
    'A, B or C'
    >>> listed([f"region {k}" for k in range(1, 25)], "or")
    'one of 24 (region 1, region 2 ... region 24)'
    >>> listed([f"group {k}" for k in range(1, 25)], "and")
    '24 groups (group 1, group 2 ... group 24) of'
    """
    if len(items) <= MOST_LISTED:
        return joined(items, last)
    some = f"({', '.join(items[:2])} ... {items[-1]})"
    return f"one of {len(items)} {some}" if last == "or" else f"{len(items)} groups {some} of"


def _turned(part: Condition) -> Condition:
    """A comparison with the value on its right: 18 <= age is age >= 18."""
    match part:
        case of.Compare(of.Literal() | of.Positive() as value, op, right):
            return of.Compare(right, MIRRORED[op], value)
    return part


def _column(part: Condition) -> str | None:
    """The column that a comparison is about."""
    match part:
        case of.Compare(Column(name)):
            return name
    return None


def _value(group: Condition | None) -> tuple[str, str] | None:
    """The column and the value of a group that has one value of one column."""
    match None if group is None else _turned(group):
        case of.Compare(Column(name), "==", of.Literal(value)):
            return name, _text(value)
    return None


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return number_text(value) if isinstance(value, float) else str(value).lower()


def _quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else f"'{text}'"
