"""Guess from names and values which column of a table is what, for a person to correct.

Of an impact, only whether it is there and is a number is used: what it says about a decision
belongs to rows that may be held out. A column whose name tells a role, but whose values do not fit
it, never becomes a feature silently: an outcome that the model sees before it is known would make
any model look good.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import chdtrc

from elfair.data.behavior import TOLERANCE
from elfair.data.columns import as_floats, is_missing, table_columns
from elfair.errors import listed
from elfair.records.names import OF_ROWS, words_of
from elfair.records.toml import class_text
from elfair.study.encoding import MOST_LEVELS
from elfair.study.later import behind, times
from elfair.study.notation import date_hint, no_numbers, notation
from elfair.study.profiles import Profile

#: More different decisions than this are numbers that are decided on, not classes.
MOST_CLASSES = 10

#: Words that follow a number of a row: 'customer no'.
NUMBERS = frozenset({"number", "nr", "no", "num", "key"})
#: Words that tell a decision that was drawn at random. What came of it is an impact, not a label.
TRIAL = (
    "arm", "arms", "assignment", "assigned", "randomised", "randomized", "randomisation",
    "randomization", "treatment", "treated", "treat", "rx", "trt")  # fmt: skip

#: What a column of each role looks like, and words in its name that tell the role, the clearest
#: first.
ROLES = {
    "row_id": ("an identifier", (
        "id", "pid", "subjid", "usubjid", "patid", "uuid", "guid", "identifier", "person", "row",
        "case", "client", "customer", "applicant", "student", "patient", "subject", "participant",
        "number", "nr", "no", "num", "key")),
    "propensity": ("a propensity", ("propensity", "pscore", "probability", "prob", "p")),
    "decision": ("a decision", (
        "decision", "decided", "dec", "action", "approved", "approve", "accepted", "accept",
        "granted", "admitted", *TRIAL, "offer", "offered", "hired", "selected")),
    "label": ("a label", (
        "label", "target", "truth", "y", "outcome", "repaid", "correct", "qualified", "default",
        "defaulted", "class")),
    "impact": ("an impact", (
        "impact", "delayed", "later", "savings", "wellbeing", "benefit", "followup", "gain",
        "profit", "reward", "outcome", "health", "after", "change", "y")),
    "sensitive": ("groups", (
        "race", "ethnicity", "ethnic", "sex", "gender", "group", "minority", "religion",
        "nationality", "disability", "caste", "protected", "sensitive", "band", "female", "male",
        "black", "white", "hispanic", "latino", "asian")),
}  # fmt: skip


#: Words for a decision that people hope for, and words that turn them round.
FAVOURABLE = frozenset({
    "accept", "accepted", "admit", "admitted", "approve", "approved", "award", "awarded",
    "eligible", "grant", "granted", "hire", "hired", "invite", "invited", "offer", "offered",
    "pass", "passed", "positive", "release", "released", "select", "selected", "true", "y", "yes",
})  # fmt: skip
CONTRARY = frozenset({"no", "non", "not", "never", "un"})


@dataclass
class Guess:
    """Which column is what; what is not known is left empty.

    Parameters
    ----------
    row_id, unit, propensity, decision, label, impact : str or None
        Columns.
    behavior : dict of str to str
        Columns of the probabilities of all classes, instead of a propensity.
    sensitive : list of Profile
        Columns that name groups.
    features : list of Profile
        What a model could see.
    probabilities : list of str
        Columns that may be the propensity, although it is not clear.
    shares : dict of str to float
        How often each decision was taken, if nothing says with which probability.
    unlogged : bool
        Whether that is so, impacts were measured, and nothing looks like a lottery.
    later : list of str
        Columns of numbers that may be impacts, although it is not clear.
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
    unit: str | None = None
    propensity: str | None = None
    decision: str | None = None
    label: str | None = None
    impact: str | None = None
    behavior: dict[str, str] = field(default_factory=dict)
    sensitive: list[Profile] = field(default_factory=list)
    features: list[Profile] = field(default_factory=list)
    probabilities: list[str] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)
    unlogged: bool = False
    later: list[str] = field(default_factory=list)
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

    def take(role: str, found: Profile | None) -> Profile | None:
        if found is not None:
            pool.remove(found)
            setattr(guess, role, found.name)
        return found

    if take("row_id", _first(fitting("row_id"))) is None:
        take("unit", _first([each for each in matches("row_id", pool) if _is_of_people(each)]))
    probabilities = fitting("propensity")
    pool = [each for each in pool if each not in probabilities]
    told = _first(fitting("decision")) or _named_in(probabilities, pool)
    told = told or _arm(fitting("sensitive"))
    drawn = None if told or probabilities else _drawn_evenly(pool)
    decision = take("decision", told or drawn)
    is_trial = drawn is not None or _is_trial(decision)
    _share_out(guess, probabilities, decision)
    again = times([each.name for each in profiles])
    firsts = {first for first, _ in again.values()}
    labels = fitting("label", decision)
    if is_trial:
        take("impact", _latest(fitting("impact"), again))
        labels = [each for each in labels if not matches("impact", [each])]
    alike = None if is_trial else _speaks_alike(decision, pool)
    label = take("label", _first(labels) or alike)
    if shown := decision or label:  # a label that fits has the values of the decision
        guess.classes = sorted(shown.counts)
    # Before sensitive features are looked for: an impact may be 'change of group'.
    if guess.impact is None:
        take("impact", _latest(fitting("impact"), again))
    if guess.impact is None and is_trial:
        take("impact", _only_behind(decision, profiles, pool))
    guess.unlogged = bool(guess.shares and guess.impact) and not is_trial
    guess.sensitive = fitting("sensitive")
    others = [each for each in pool if each not in guess.sensitive]
    reasons = {  # what is measured again later is a feature, whatever its name says
        each.name: None if each.name in firsts else why_not(each, vars(guess), decision)
        for each in others
    }
    # A table with probabilities was made for this; of others nobody knows.
    later = _later(profiles, others, again, decision) if not probabilities else {}
    if is_trial and not probabilities:
        later = _series(others, firsts) | later
    guess.later = [each.name for each in others if each.name in later and each.kind == "number"]
    for each in others:
        reasons[each.name] = reasons[each.name] or later.get(each.name) or _no_feature(each)
    guess.left |= {name: why for name, why in reasons.items() if why is not None}
    guess.features = [each for each in others if each.name not in guess.left]
    return guess


#: An identifier with more rows for each value than this is of something else than people.
MOST_ROWS = 10


def _is_of_people(profile: Profile) -> bool:
    """Whether an identifier is repeated, as that of people with several rows is."""
    whole = not profile.missing and not profile.is_measured
    return whole and MOST_LEVELS < profile.different >= profile.n / MOST_ROWS


def _first(profiles: Sequence[Profile]) -> Profile | None:
    return profiles[0] if profiles else None


def _latest(impacts: Sequence[Profile], again: Mapping[str, tuple[str, int]]) -> Profile | None:
    """The one that was measured last; not one that was measured again later."""
    firsts = {first for first, _ in again.values()}
    late = [each for each in impacts if each.name not in firsts]
    return max(late, key=lambda each: again.get(each.name, ("", 0))[1], default=None)


def _named_in(probabilities: Sequence[Profile], pool: Sequence[Profile]) -> Profile | None:
    """The only column that the name of a probability speaks of, as 'P(referred)' of 'Referred'."""
    named = [
        each
        for each in pool
        if any(set(each.words) <= set(one.words) for one in probabilities)
        and _obstacle("decision", each, None) is None
    ]
    return named[0] if len(named) == 1 else None


def _arm(sensitive: Sequence[Profile]) -> Profile | None:
    """A column called 'group', beside another one that names groups: those of a trial."""
    arms = [each for each in sensitive if each.words == ["group"]]
    few = [each for each in arms if _obstacle("decision", each, None) is None]
    return _first(few) if len(sensitive) > 1 else None


#: Words for parts of one size that nobody drew by lot.
PARTS = frozenset({
    "tercile", "quartile", "quintile", "decile", "quantile", "fold", "day", "weekday", "month",
    "quarter", "season", "hour",
})  # fmt: skip
#: Shares that are equal but for chance have a larger p-value than this, in this many rows or more.
EVEN, FEWEST_DRAWN = 0.05, 100


def _drawn_evenly(pool: Sequence[Profile]) -> Profile | None:
    """The only column of three or more values that are as frequent as one another: nature seldom
    makes such a column, and a trial does. (Of two values, half of all yes-or-no columns look so.)
    """
    possible = [each for each in pool if PARTS.isdisjoint(each.words)]
    even = [each for each in possible if _is_even(each) and not matches("sensitive", [each])]
    return even[0] if len(even) == 1 else None


def _is_even(profile: Profile) -> bool:
    few = 3 <= profile.different <= MOST_CLASSES and profile.kind in ("number", "text")
    if not few or profile.missing or profile.is_measured or profile.n < FEWEST_DRAWN:
        return False
    counts = np.array(list(profile.counts.values()), dtype=np.float64)
    expected = profile.n / counts.size
    return bool(chdtrc(counts.size - 1, np.sum((counts - expected) ** 2) / expected) > EVEN)


def _only_behind(
    decision: Profile | None, profiles: Sequence[Profile], pool: Sequence[Profile]
) -> Profile | None:
    """The only column of numbers behind the decision of a trial, if it is the last of the table:
    what came of it.
    """
    names = [each.name for each in profiles]
    if decision is None or names.index(decision.name) != len(names) - 2:
        return None
    last = [each for each in pool if each.name == names[-1] and each.kind == "number"]
    return _first([each for each in last if _obstacle("impact", each, decision) is None])


def _series(profiles: Sequence[Profile], firsts: Collection[str]) -> dict[str, str]:
    """Numbered columns of numbers, such as 'pay2' to 'pay4', that measure one thing several times:
    why each of them may have been measured after the decision.
    """
    stems: dict[str, dict[int, str]] = {}
    for each in profiles:
        found = re.fullmatch(r"(.*\D)(\d{1,3})", each.name)
        if found and each.kind == "number" and each.name not in firsts:
            stems.setdefault(found[1], {})[int(found[2])] = each.name
    return {
        name: f"one of {len(of)} columns called {stem!r} with a number: was it known before?"
        for stem, of in stems.items()
        if len(of) > 1 and re.search(r"[a-z]{3}", stem, re.IGNORECASE)
        for name in of.values()
    }


def _is_trial(decision: Profile | None) -> bool:
    return decision is not None and not {*TRIAL, "group"}.isdisjoint(decision.words)


def _later(
    profiles: Sequence[Profile],
    others: Sequence[Profile],
    again: Mapping[str, tuple[str, int]],
    decision: Profile | None,
) -> dict[str, str]:
    """Why some columns may have been measured after the decision."""
    marks = {} if decision is None else {decision.name: "the decision"}
    marks |= {name: f"which measures {first!r} again" for name, (first, _) in again.items()}
    firsts = {first for first, _ in again.values()}
    names = [each.name for each in others if each.name not in firsts]
    why = behind([each.name for each in profiles], marks, names)
    return why | {
        name: f"measures {again[name][0]!r} again, as what comes of a decision does"
        for name in names
        if name in again
    }


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
    told = not OF_ROWS.isdisjoint(words)
    return told or words[-1] in NUMBERS or set(words) <= set(ROLES["row_id"][1])


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
    """Whether a name tells the role; 'student', with few values, may be a yes or no, but a
    'hospital number' with many is not a quantity.
    """
    most = MOST_LEVELS if set(profile.words[-1:]) & NUMBERS else profile.n / 2
    few = profile.different <= most
    clear = role != "row_id" or not few or not OF_ROWS.isdisjoint(profile.words)
    return clear and bool(matches(role, [profile]))


def _obstacle(role: str, profile: Profile, decision: Profile | None) -> str | None:
    """What keeps a column from its role, if anything does."""
    numbers = profile.kind == "number" or (role == "impact" and profile.kind == "truth")
    if profile.missing and role not in ("impact", "sensitive"):
        of = _revealed_by(profile, decision) if role == "label" else []
        alone = f", and known of decision {listed(of)} alone: see label_seen_for" if of else ""
        return f"it is missing in {profile.missing:,} of {profile.n:,} rows{alone}"
    if role in ("impact", "propensity") and not numbers:
        return "it holds no numbers"
    if role == "propensity":
        return _improbable(profile)
    if role == "row_id":
        repeated = sum(count > 1 for count in profile.counts.values())
        if repeated:
            return "1 value is repeated" if repeated == 1 else f"{repeated:,} values are repeated"
        return "it holds measurements" if profile.is_measured else None
    most = {"decision": MOST_CLASSES, "label": MOST_CLASSES, "sensitive": MOST_LEVELS}
    if profile.different > most.get(role, profile.n):
        return f"it has {profile.different:,} different values"
    if role == "sensitive" and profile.different < 2:
        return "it names a single group"
    if role == "sensitive" and not profile.groups:
        return "no group has enough rows"
    if role == "label" and decision is not None and set(decision.counts) != set(profile.counts):
        its, others = (listed(sorted(each.counts)) for each in (profile, decision))
        return f"its values are {its}, and those of the decision {others}"
    return None


def _revealed_by(profile: Profile, decision: Profile | None) -> list[Any]:
    """The decisions of which a label is always known, if it never is of the others."""
    if decision is None or decision.missing:
        return []
    known = ~is_missing(profile.values)
    seen = {value: known[decision.values == value] for value in decision.counts}
    clear = all(each.all() or not each.any() for each in seen.values())
    return [value for value, each in seen.items() if each.all()] if clear else []


def _improbable(profile: Profile) -> str | None:
    values = np.array(list(profile.counts.elements()))
    wrong = int(((values <= 0) | (values > 1)).sum())
    if wrong:
        return f"in {wrong:,} of {profile.n:,} rows it is not above 0 and at most 1"
    return "it is 1 in every row" if values.min() == 1 else None


def _useless(profile: Profile) -> str | None:
    if profile.missing == profile.n:
        return "empty"
    if profile.kind == "other":
        return "neither numbers nor text"
    if profile.has_decimal_commas:
        return "numbers with a comma: declare decimal or thousands in [clean], as it is meant"
    if profile.different == 1 and not profile.missing:
        # Except in an experiment, where all decisions have the same chance.
        chance = matches("propensity", [profile]) and not _obstacle("propensity", profile, None)
        return None if chance else "the same in every row"
    return None


def _no_feature(profile: Profile) -> str | None:
    if profile.missing > profile.n / 2:
        return f"missing in {profile.missing:,} of {profile.n:,} rows"
    if profile.kind == "text" and profile.different == profile.n:
        return "different in every row"
    if profile.kind == "text" and profile.different > MOST_LEVELS:
        return f"{_free_text(profile)} ({profile.different:,} different values)"
    return None


def _free_text(profile: Profile) -> str:
    """What a column of many texts probably holds."""
    texts = [*profile.counts]
    if date_hint(profile.name, texts):
        return "dates: declare date in [clean], as they are written"
    left = no_numbers(texts)
    if left and notation([text for text in texts if text not in left]):
        return f"numbers, but for {listed(left, 3)}: say in [clean] what that means"
    return "free text"


def _share_out(guess: Guess, probabilities: Sequence[Profile], decision: Profile | None) -> None:
    """Decide what columns of probabilities are: that of the decision, or those of all classes."""
    if decision is not None and not probabilities:
        shares = {class_text(value): decision.counts[value] for value in sorted(decision.counts)}
        guess.shares = {key: round(count / decision.n, 4) for key, count in shares.items()}
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
    if decision is None or decision.kind != "text" or _is_trial(decision):
        return None
    alike = [each for each in pool if set(each.counts) == set(decision.counts) and not each.missing]
    return alike[0] if len(alike) == 1 and not matches("sensitive", alike) else None
