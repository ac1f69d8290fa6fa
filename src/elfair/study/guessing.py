"""Guess from names and values which column of a table is what, for a person to correct.

Of an impact, only whether it is there and is a number is used: what it says about a decision
belongs to rows that may be held out. A column whose name tells a role, but whose values do not fit
it, never becomes a feature silently: an outcome that the model sees before it is known would make
any model look good.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from elfair.data.behavior import TOLERANCE
from elfair.data.columns import as_floats, is_missing, table_columns
from elfair.errors import listed
from elfair.language.recipes import FEWEST_ROWS
from elfair.records.tables import has_decimal_comma
from elfair.study.data import class_text
from elfair.study.encoding import MOST_LEVELS
from elfair.types import Array

#: More different decisions than this are numbers that are decided on, not classes.
MOST_CLASSES = 10

#: Words that tell an identifier, whatever the other words of the name.
CLEARLY_ROWS = frozenset({"id", "uuid", "guid", "identifier"})

#: What a column of each role looks like, and words in its name that tell the role, the clearest
#: first.
ROLES = {
    "row_id": ("an identifier", (
        "id", "uuid", "guid", "identifier", "person", "row", "case", "client", "customer",
        "applicant", "student", "patient", "number", "nr", "no", "key")),
    "propensity": ("a propensity", ("propensity", "pscore", "probability", "prob", "p")),
    "decision": ("a decision", (
        "decision", "decided", "dec", "action", "approved", "approve", "accepted", "accept",
        "granted", "admitted", "treatment", "treated", "treat", "arm", "offer", "offered", "hired",
        "selected")),
    "label": ("a label", (
        "label", "target", "truth", "y", "outcome", "repaid", "correct", "qualified", "default",
        "defaulted", "class")),
    "impact": ("an impact", (
        "impact", "delayed", "later", "savings", "wellbeing", "benefit", "followup", "gain",
        "profit", "reward", "health", "outcome", "after", "change", "y")),
    "sensitive": ("groups", (
        "race", "ethnicity", "ethnic", "sex", "gender", "group", "minority", "religion",
        "nationality", "disability", "caste", "protected", "sensitive", "band")),
}  # fmt: skip


#: Words for a decision that people hope for, and words that turn them round.
FAVOURABLE = frozenset({
    "accept", "accepted", "admit", "admitted", "approve", "approved", "award", "awarded",
    "eligible", "grant", "granted", "hire", "hired", "invite", "invited", "offer", "offered",
    "pass", "passed", "positive", "release", "released", "select", "selected", "true", "y", "yes",
})  # fmt: skip
CONTRARY = frozenset({"no", "non", "not", "never", "un"})


@dataclass(frozen=True)
class Profile:
    """What a column holds.

    Parameters
    ----------
    name : str
        The column.
    values : ndarray
        Its values.

    Examples
    --------
    >>> Profile("race", np.array(["A", "B", None, "A"], dtype=object)).counts
    Counter({'A': 2, 'B': 1})
    """

    name: str
    values: Array

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.values)

    @cached_property
    def known(self) -> list[Any]:
        """Its values where it is not missing."""
        return list(self.values[~is_missing(self.values)].tolist())

    @property
    def missing(self) -> int:
        """In how many rows it is missing."""
        return self.n - len(self.known)

    @cached_property
    def kind(self) -> str:
        """Whether it holds numbers, truth values or texts ("number", "truth", "text"), or other
        values ("other").
        """
        kinds = set(map(type, self.known))
        if kinds and kinds <= {int, float}:
            return "number"
        return "text" if kinds == {str} else "truth" if kinds == {bool} else "other"

    @cached_property
    def counts(self) -> Counter[Any]:
        """How often each value occurs; of other values nothing is counted."""
        return Counter(() if self.kind == "other" else self.known)

    @property
    def words(self) -> list[str]:
        """The words of its name."""
        return words_of(self.name)

    @property
    def different(self) -> int:
        """How many different values it has."""
        return len(self.counts)

    @property
    def has_decimal_commas(self) -> bool:
        """Whether its texts are numbers with a decimal comma."""
        commas = [value for value in self.counts if has_decimal_comma(value)]
        return bool(commas) and all(
            value in commas or re.fullmatch(r"-?\d+", value.strip()) for value in self.counts
        )

    @property
    def is_measured(self) -> bool:
        """Whether it holds measurements: numbers that are not whole."""
        return self.kind == "number" and any(value != int(value) for value in self.counts)

    @property
    def groups(self) -> list[Any]:
        """Its values that enough rows have, in order."""
        return sorted(each for each, count in self.counts.items() if count >= FEWEST_ROWS)


@dataclass
class Guess:
    """Which column is what; what is not known is left empty.

    Parameters
    ----------
    row_id, propensity, decision, label, impact : str or None
        Columns.
    behavior : dict of str to str
        Columns of the probabilities of all classes, instead of a propensity.
    sensitive : list of Profile
        Columns that name groups.
    features : list of Profile
        What a model could see.
    probabilities : list of str
        Columns that may be the propensity, although it is not clear.
    classes : list
        The values of decision and label together.
    left : dict of str to str
        Columns that have no role, and why.

    Examples
    --------
    >>> guess_columns({"branch": ["north", "north"]}).left
    {'branch': 'the same in every row'}
    """

    row_id: str | None = None
    propensity: str | None = None
    decision: str | None = None
    label: str | None = None
    impact: str | None = None
    behavior: dict[str, str] = field(default_factory=dict)
    sensitive: list[Profile] = field(default_factory=list)
    features: list[Profile] = field(default_factory=list)
    probabilities: list[str] = field(default_factory=list)
    classes: list[Any] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def guess_columns(table: Any) -> Guess:
    """Guess which column of a table is what.

    Parameters
    ----------
    table : pyarrow table, data frame or mapping
        The table.

    Examples
    --------
    >>> guess = guess_columns({
    ...     "age": [31, 45, 28, 60] * 2, "sex": ["f", "m"] * 4, "approved": [1, 0, 0, 1] * 2,
    ...     "prob": [0.5, 0.75, 0.25, 0.5] * 2, "savings later": [1.5, 0.0, 2.25, 3.0] * 2})
    >>> guess.decision, guess.propensity, guess.impact, guess.row_id
    ('approved', 'prob', 'savings later', None)
    >>> [each.name for each in guess.sensitive], [each.name for each in guess.features]
    (['sex'], ['age'])
    """
    profiles = [Profile(*each) for each in (table_columns(table, "X") or {}).items()]
    guess = Guess(left={each.name: why for each in profiles if (why := _useless(each))})
    pool = [each for each in profiles if each.name not in guess.left]

    def fitting(role: str, decision: Profile | None = None) -> list[Profile]:
        return [each for each in matches(role, pool) if _obstacle(role, each, decision) is None]

    def take(role: str, decision: Profile | None = None) -> Profile | None:
        found = next(iter(fitting(role, decision)), None)
        if found is not None:
            pool.remove(found)
            setattr(guess, role, found.name)
        return found

    take("row_id")
    probabilities = fitting("propensity")
    pool = [each for each in pool if each not in probabilities]
    decision = take("decision")
    _share_out(guess, probabilities, decision)
    label = take("label", decision)
    if label is None and (alike := _speaks_alike(decision, pool)) is not None:
        pool.remove(alike)
        guess.label = alike.name
    if shown := decision or label:  # a label that fits has the values of the decision
        guess.classes = sorted(shown.counts)
    # Before sensitive features are looked for: an impact may be 'change of group'.
    take("impact")
    guess.sensitive = fitting("sensitive")
    others = [each for each in pool if each not in guess.sensitive]
    reasons = {
        each.name: why_not(each, vars(guess), decision) or _no_feature(each) for each in others
    }
    guess.left |= {name: why for name, why in reasons.items() if why is not None}
    guess.features = [each for each in others if each.name not in guess.left]
    return guess


def words_of(text: str) -> list[str]:
    """The words of a name, in lower case.

    Examples
    --------
    >>> words_of("customerNo_2")
    ['customer', 'no', '2']
    """
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    return re.findall(r"[^\W\d_]+|\d+", split)


def likely_positive(classes: Iterable[Any]) -> Any:
    """The only class that sounds like a decision people hope for; None if it is not clear.

    Parameters
    ----------
    classes : iterable
        All classes.

    Examples
    --------
    >>> likely_positive(["approved", "not approved"]), likely_positive(["A", "B"])
    ('approved', None)
    """
    words = {each: set(words_of(str(each))) for each in classes}
    good = [each for each, of in words.items() if of & FAVOURABLE and not of & CONTRARY]
    return good[0] if len(good) == 1 else None


def matches(role: str, profiles: Iterable[Profile]) -> list[Profile]:
    """Those whose names have a word of the role, the clearest first.

    Parameters
    ----------
    role : str
        A key of `ROLES`.
    profiles : iterable of Profile
        The columns.

    Examples
    --------
    >>> ages = np.array([31, 45])
    >>> [each.name for each in matches("row_id", [Profile("customer no", ages),
    ...                                           Profile("customer age", ages)])]
    ['customer no']
    """
    words = ROLES[role][1]
    ranked = [
        (min((words.index(word) for word in each.words if word in words), default=-1), each)
        for each in profiles
        if role != "row_id" or _names_a_row(each.words)
    ]
    return [each for rank, each in sorted(ranked, key=lambda pair: pair[0]) if rank >= 0]


def _names_a_row(words: list[str]) -> bool:
    """Whether a name is that of an identifier: 'customer no' is, 'customer age' is not."""
    if not words:
        return False
    told = not CLEARLY_ROWS.isdisjoint(words)
    return (
        told or words[-1] in ("number", "nr", "no", "key") or set(words) <= set(ROLES["row_id"][1])
    )


def why_not(
    profile: Profile, taken: Mapping[str, str | None], decision: Profile | None
) -> str | None:
    """Why a column is not what its name says; None for a name that says nothing.

    Parameters
    ----------
    profile : Profile
        A column that was not chosen for any role.
    taken : mapping
        The columns that were, by role.
    decision : Profile or None
        The decision.

    Examples
    --------
    >>> why_not(Profile("id", np.array([1, 2, 2])), {}, None)
    'looks like an identifier, but 1 value is repeated'
    """
    role = next((role for role in ROLES if _is_called(role, profile)), None)
    if role is None:
        return None
    why = _obstacle(role, profile, decision) or f"{taken.get(role)!r} was taken for it"
    return f"looks like {ROLES[role][0]}, but {why}"


def _is_called(role: str, profile: Profile) -> bool:
    """Whether a name tells the role; 'student', with few values, may be a yes or no."""
    few = profile.different <= profile.n / 2
    clear = role != "row_id" or not few or not CLEARLY_ROWS.isdisjoint(profile.words)
    return clear and bool(matches(role, [profile]))


def _obstacle(role: str, profile: Profile, decision: Profile | None) -> str | None:
    """What keeps a column from its role, if anything does."""
    numbers = profile.kind == "number" or (role == "impact" and profile.kind == "truth")
    if profile.missing and role not in ("impact", "sensitive"):
        return f"it is missing in {profile.missing} of {profile.n} rows"
    if role in ("impact", "propensity") and not numbers:
        return "it holds no numbers"
    if role == "propensity":
        return _improbable(profile)
    if role == "row_id":
        repeated = sum(count > 1 for count in profile.counts.values())
        if repeated:
            return "1 value is repeated" if repeated == 1 else f"{repeated} values are repeated"
        return "it holds measurements" if profile.is_measured else None
    most = {"decision": MOST_CLASSES, "label": MOST_CLASSES, "sensitive": MOST_LEVELS}
    if profile.different > most.get(role, profile.n):
        return f"it has {profile.different} different values"
    if role == "sensitive" and profile.different < 2:
        return "it names a single group"
    if role == "sensitive" and not profile.groups:
        return "no group has enough rows"
    if role == "label" and decision is not None and set(decision.counts) != set(profile.counts):
        its, others = (listed(sorted(each.counts)) for each in (profile, decision))
        return f"its values are {its}, and those of the decision {others}"
    return None


def _improbable(profile: Profile) -> str | None:
    values = np.array(list(profile.counts.elements()))
    wrong = int(((values <= 0) | (values > 1)).sum())
    if wrong > len(values) / 2 and values.min() >= 0 and values.max() <= 100:
        return "it is in per cent: it must be above 0 and at most 1"
    if wrong:
        return f"in {wrong} of {profile.n} rows it is not above 0 and at most 1"
    return "it is 1 in every row" if values.min() == 1 else None


def _useless(profile: Profile) -> str | None:
    if profile.missing == profile.n:
        return "empty"
    if profile.kind == "other":
        return "neither numbers nor text"
    if profile.has_decimal_commas:
        return "looks like numbers with a decimal comma: write 1.5, not 1,5"
    if profile.different == 1 and not profile.missing:
        # Except in an experiment, where all decisions have the same chance.
        chance = matches("propensity", [profile]) and not _obstacle("propensity", profile, None)
        return None if chance else "the same in every row"
    return None


def _no_feature(profile: Profile) -> str | None:
    if profile.missing:
        return f"missing in {profile.missing} of {profile.n} rows"
    if profile.kind == "text" and profile.different == profile.n:
        return "different in every row"
    if profile.kind == "text" and profile.different > MOST_LEVELS:
        return f"free text ({profile.different} different values)"
    return None


def _share_out(guess: Guess, probabilities: Sequence[Profile], decision: Profile | None) -> None:
    """Decide what columns of probabilities are: that of the decision, or those of all classes."""
    total = sum((as_floats(each.values, each.name) for each in probabilities), np.zeros(1))
    if len(probabilities) < 2 or not (np.abs(total - 1) < TOLERANCE).all():
        best, rest, of = probabilities[:1], probabilities[1:], "what"
        guess.propensity = best[0].name if best else None
    else:
        classes = [class_text(value) for value in sorted(decision.counts)] if decision else []
        owners = {
            each: [one.name for one in probabilities if each.lower() in one.words]
            for each in classes
        }
        rest, of = probabilities, "which class"
        if len(classes) == len(rest) and all(len(names) == 1 for names in owners.values()):
            guess.behavior, rest = {each: names[0] for each, names in owners.items()}, []
    guess.probabilities = [each.name for each in rest]
    guess.left |= dict.fromkeys(guess.probabilities, f"a probability, but of {of}?")


def _speaks_alike(decision: Profile | None, pool: Sequence[Profile]) -> Profile | None:
    """The only column that says in the same words what was decided: a label, whatever its name.
    (Of numbers this says nothing: half the features may be 0 or 1.)
    """
    if decision is None or decision.kind != "text":
        return None
    alike = [each for each in pool if set(each.counts) == set(decision.counts) and not each.missing]
    return alike[0] if len(alike) == 1 and not matches("sensitive", alike) else None
