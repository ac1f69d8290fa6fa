"""Statistics in words: the average score change, the share who get a loan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from elfair.language import conditions as of
from elfair.language.conditions import (
    Column,
    Condition,
    all_of,
    parts_of,
    uses_decision,
    uses_label,
)
from elfair.language.distribution import ConditionalValueAtRisk, Quantile, Threshold, Variance
from elfair.language.expressions import Expression, Mean, Quotient
from elfair.language.people import Speech
from elfair.language.tree import number_text


@dataclass(frozen=True)
class Noun:
    """A statistic in words, with a gap for the people that it is about.

    Parameters
    ----------
    before, after : str
        The words around the gap.
    given : Condition or None
        Whom it is about.
    unit : str
        The unit of its numbers; "%" for a share of people.

    Examples
    --------
    >>> noun = Noun("the average score change of", None, unit="points")
    >>> noun.about("Black applicants"), noun.amount(2.0)
    ('the average score change of Black applicants', '2 points')
    """

    before: str
    given: Condition | None
    after: str = ""
    unit: str = ""

    def about(self, people: str) -> str:
        """The words, with these people in the gap."""
        return f"{self.before} {people}{self.after}"

    def that(self, people: str) -> str:
        """The same statistic of others, where it was named before: "that of White applicants"."""
        return f"that {self.before.rpartition(' ')[2]} {people}"

    def amount(self, value: float) -> str:
        """A value of the statistic."""
        if self.unit == "%":
            return f"{_number(100 * value)} %"
        return " ".join(filter(None, [_number(value), self.unit]))

    def difference(self, value: float) -> str:
        """A difference between two values of it."""
        if self.unit == "%":
            return (
                "1 percentage point"
                if value == 0.01
                else f"{_number(100 * value)} percentage points"
            )
        return self.amount(value)

    @property
    def words(self) -> tuple[str, str, str]:
        """All of it but whom it is about."""
        return self.before, self.after, self.unit


def noun_of(node: Expression, speech: Speech) -> Noun | None:
    """A statistic in words; None if there are no plain ones.

    Parameters
    ----------
    node : Expression
        The statistic.
    speech : Speech
        How the study speaks.

    Examples
    --------
    >>> from elfair import E, TPR, col
    >>> from elfair.language.naming import Names
    >>> speech = Speech(Names(people="applicants"), ("0", "1"), "1")
    >>> noun_of(TPR(), speech).about("all applicants")
    'the share who get decision 1 among all applicants with label 1'
    """
    match node:
        case Mean():
            return _mean(node, speech)
        case Quotient(top, bottom):
            return _quotient(top, bottom, speech)
        case Quantile(impact, given, share):
            level = "median" if share == 0.5 else f"{percentile(share)}"
            return Noun(
                f"the {level} of the {speech.column(impact.name)} of",
                given,
                unit=speech.unit(impact.name),
            )
        case ConditionalValueAtRisk(impact, given, share):
            whose = (
                f"the average {speech.column(impact.name)} of the worst-off {_percent(share)} of"
            )
            return Noun(whose, given, unit=speech.unit(impact.name))
        case Variance(impact, given):
            return Noun(f"the variance of the {speech.column(impact.name)} of", given)
    return None


def percentile(share: float) -> str:
    """A quantile, as people call it.

    Examples
    --------
    >>> percentile(0.1), percentile(0.21), percentile(0.025)
    ('10th percentile', '21st percentile', '2.5 % quantile')
    """
    whole = 100 * share
    if abs(whole - round(whole)) > 1e-9:
        return f"{_percent(share)} quantile"
    n = round(whole)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th") if n not in (11, 12, 13) else "th"
    return f"{n}{ending} percentile"


def _percent(share: float) -> str:
    return f"{_number(100 * share)} %"


def _number(value: float) -> str:
    return number_text(float(f"{value:.12g}"))


def _mean(mean: Mean, speech: Speech) -> Noun | None:
    plain = _under_either(mean, speech)
    if plain is None or not mean.logged:
        return plain
    return replace(plain, after=f"{plain.after} under {speech.before}")


def _under_either(mean: Mean, speech: Speech) -> Noun | None:
    """An average in words, whichever model decides."""
    group, label = divided(mean.given)
    if label is not None and not (words := _who(label, speech)):
        return None
    among = "" if label is None else f" {words}"
    match mean.of:
        case Column(name):
            return Noun(f"the average {speech.column(name)} of", group, among, speech.unit(name))
        case of.Decision():
            return Noun(f"the average {speech.column('decision')} of", group, among)
        case of.SquaredError():
            return Noun("the mean squared error of decisions about", group, among)
        case of.Compare(of.Decision(), "==", of.Label()) | of.Compare(
            of.Label(), "==", of.Decision()
        ):
            return Noun("the share of right decisions about", group, among, "%")
        case Threshold(impact, point, op):
            compared = of.Compare(impact, op, of.Literal(point))
            return _share(compared, group, among, speech)
        case Condition():
            return _share(mean.of, group, among, speech)
    return None


def _share(event: Condition, group: Condition | None, among: str, speech: Speech) -> Noun | None:
    who = _who(event, speech)
    return Noun(f"the share {who} among", group, among, "%") if who else None


def _who(event: Condition, speech: Speech) -> str:
    """The people of an event, without the people: "who get a loan"; empty if that is not plain."""
    plain = Speech(replace(speech.names, people="", groups={}), speech.classes, speech.positive)
    words = plain.whom([event]).strip()
    return "" if "for whom" in words else words


def divided(given: Condition | None) -> tuple[Condition | None, Condition | None]:
    """The group of a condition, and what it says of the label."""
    parts = parts_of(given)
    label = tuple(part for part in parts if uses_label(part))
    return all_of(tuple(part for part in parts if part not in label)), all_of(label)


def _quotient(top: Expression, bottom: Expression, speech: Speech) -> Noun | None:
    """A rate among people with some decision; of other quotients nobody speaks."""
    if not (isinstance(top, Mean) and isinstance(bottom, Mean) and top.given == bottom.given):
        return None
    if not (isinstance(top.of, Condition) and isinstance(bottom.of, Condition)):
        return None
    parts, within = parts_of(top.of), parts_of(bottom.of)
    event, (group, label) = all_of(parts[len(within) :]), divided(bottom.given)
    decided = parts[: len(within)] == within and uses_decision(bottom.of)
    if top.logged or bottom.logged or label is not None or event is None or not decided:
        return None
    who, among = _who(event, speech), _who(bottom.of, speech)
    return Noun(f"the share {who} among", group, f" {among}", "%") if who and among else None
