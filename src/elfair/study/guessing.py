"""What is seen of a column, and what its name says it is.

Columns whose names tell a role that their values do not fit, or that another column has taken.

None of them may pass for a feature without a word: an outcome that the model sees before it is
known would make any model look good.

Which column of a table is what, guessed from names and values; for a person to correct.

Of an impact no more is looked at than whether it is there and is a number: what it says about a
decision belongs to rows that may be held out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elfair.data.behavior import TOLERANCE
from elfair.data.columns import as_floats, is_missing, table_columns
from elfair.errors import listed
from elfair.language.fairness import FEWEST_ROWS
from elfair.study.delimited import has_decimal_comma
from elfair.study.encoding import MOST_LEVELS
from elfair.types import Array

#: More different decisions than this are numbers that are decided on, not classes.
MOST_CLASSES = 10

#: Words that tell an identifier whatever stands beside them.
CLEARLY_ROWS = frozenset({"id", "uuid", "guid", "identifier"})

#: Words in the name of a column that tell its role, the clearest first.
WORDS = {
    "row_id": ("id", "uuid", "guid", "identifier", "person", "row", "case", "client", "customer",
               "applicant", "student", "patient", "number", "nr", "no", "key"),
    "propensity": ("propensity", "pscore", "probability", "prob", "p"),
    "decision": ("decision", "decided", "dec", "action", "approved", "approve", "accepted",
                 "accept", "granted", "admitted", "treatment", "treated", "treat", "arm", "offer",
                 "offered", "hired", "selected"),
    "label": ("label", "target", "truth", "y", "outcome", "repaid", "correct", "qualified",
              "default", "defaulted", "class"),
    "impact": ("impact", "delayed", "later", "savings", "wellbeing", "benefit", "followup", "gain",
               "profit", "reward", "health", "outcome", "after", "change", "y"),
    "sensitive": ("race", "ethnicity", "ethnic", "sex", "gender", "group", "minority", "religion",
                  "nationality", "disability", "caste", "protected", "sensitive", "band"),
}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """What is seen of a column.

    Parameters
    ----------
    name : str
        The column.
    kind : {"number", "truth", "text", "other"}
        What it holds.
    n : int
        How many rows there are.
    missing : int
        In how many of them it is missing.
    counts : mapping
        How often each value occurs.
    values : ndarray
        The column.

    Examples
    --------
    >>> import numpy as np
    >>> look_at("race", np.array(["A", "B", None, "A"], dtype=object)).counts
    Counter({'A': 2, 'B': 1})
    """

    name: str
    kind: str
    n: int
    missing: int
    counts: Counter[Any]
    values: Array

    @property
    def words(self) -> list[str]:
        """The words of its name."""
        split = re.sub(r"([a-z])([A-Z])", r"\1 \2", self.name).lower()
        return re.findall(r"[^\W\d_]+|\d+", split)

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
    def is_class(self) -> bool:
        """Whether it could be what is decided between: few values, one in each row."""
        return 2 <= self.different <= MOST_CLASSES and not self.missing

    @property
    def is_measured(self) -> bool:
        """Whether it holds measurements: numbers that are not whole."""
        return self.kind == "number" and any(value != int(value) for value in self.counts)

    @property
    def is_probability(self) -> bool:
        """Whether it could be the probability of a decision that was taken."""
        if self.kind != "number" or self.missing:
            return False
        return all(0 < value <= 1 for value in self.counts) and any(v < 1 for v in self.counts)

    @property
    def groups(self) -> list[Any]:
        """Its values that enough rows have, in order."""
        return sorted(each for each, count in self.counts.items() if count >= FEWEST_ROWS)


def look_at(name: str, column: Array) -> Look:
    """Look at a column.

    Examples
    --------
    >>> import numpy as np
    >>> look_at("ok?", np.array([True, False])).kind
    'truth'
    """
    missing = is_missing(column)
    values = column[~missing].tolist()
    kinds = {type(value) for value in values} if column.dtype.kind == "O" else set()
    kind = {"b": "truth", "i": "number", "u": "number", "f": "number"}.get(column.dtype.kind)
    if kind is None:
        kind = "text" if kinds == {str} else "truth" if kinds == {bool} else "other"
        if kinds and kinds <= {int, float}:
            kind = "number"
    counts = Counter() if kind == "other" else Counter(values)
    return Look(name, kind, len(column), int(missing.sum()), counts, column)


def matches(role: str, looks: Iterable[Look]) -> list[Look]:
    """Those whose names have a word of the role, the clearest first.

    Parameters
    ----------
    role : str
        A key of `WORDS`.
    looks : iterable of Look
        The columns.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.array([31, 45])
    >>> [each.name for each in matches("row_id", [look_at("customer no", ages),
    ...                                           look_at("customer age", ages)])]
    ['customer no']
    """
    words = WORDS[role]
    ranked = [
        (min((words.index(word) for word in look.words if word in words), default=-1), look)
        for look in looks
        if role != "row_id" or _names_a_row(look.words)
    ]
    return [look for rank, look in sorted(ranked, key=lambda each: each[0]) if rank >= 0]


def _names_a_row(words: list[str]) -> bool:
    """Whether a name is that of an identifier: 'customer no' is, 'customer age' is not."""
    if not words:
        return False
    told = not CLEARLY_ROWS.isdisjoint(words)
    return told or words[-1] in ("number", "nr", "no", "key") or set(words) <= set(WORDS["row_id"])


#: What a column with a name of that role looks like.
_LIKE = {
    "row_id": "an identifier",
    "propensity": "a propensity",
    "decision": "a decision",
    "label": "a label",
    "impact": "an impact",
    "sensitive": "groups",
}


def misfit(look: Look, taken: Mapping[str, str | None], decision: Look | None) -> str | None:
    """Why a column is not what its name says; None for a name that says nothing.

    Parameters
    ----------
    look : Look
        The column, which was not chosen for any role.
    taken : mapping
        The columns that were, by role.
    decision : Look or None
        The decision.

    Examples
    --------
    >>> from elfair.study.guessing import look_at
    >>> misfit(look_at("id", np.array([1, 2, 2])), {}, None)
    'looks like an identifier, but 1 value is repeated'
    """
    role = next((role for role in _LIKE if _is_called(role, look)), None)
    if role is None:
        return None
    why = _obstacle(role, look, decision) or f"{taken.get(role)!r} was taken for it"
    return f"looks like {_LIKE[role]}, but {why}"


def covers(label: Look, decision: Look | None) -> bool:
    """Whether a label's classes hold all decisions, as they must.

    Parameters
    ----------
    label, decision : Look
        The columns; a decision that is not known is covered.
    """
    return decision is None or set(decision.counts) <= set(label.counts)


def _is_called(role: str, look: Look) -> bool:
    """Whether a name tells the role; 'student', with few values, may be a yes or no."""
    few = look.different <= look.n / 2
    clear = role != "row_id" or not few or not CLEARLY_ROWS.isdisjoint(look.words)
    return clear and bool(matches(role, [look]))


def _obstacle(role: str, look: Look, decision: Look | None) -> str | None:
    """What keeps a column from its role, if anything does."""
    if look.missing and role not in ("impact", "sensitive"):
        return f"it is missing in {look.missing} of {look.n} rows"
    if role == "row_id":
        return _repeated(look)
    if role == "propensity":
        return _improbable(look)
    if role == "impact":
        return None if look.kind in ("number", "truth") else "it holds no numbers"
    if role == "sensitive":
        few = look.different <= MOST_LEVELS
        return "no group has enough rows" if few else f"it has {look.different} different values"
    if look.different > MOST_CLASSES:
        return f"it has {look.different} different values"
    if role == "label" and decision is not None and not covers(look, decision):
        its, others = (listed(sorted(each.counts)) for each in (look, decision))
        return f"its values are {its}, and those of the decision {others}"
    return None


def _repeated(look: Look) -> str | None:
    repeated = sum(count > 1 for count in look.counts.values())
    if repeated:
        return "1 value is repeated" if repeated == 1 else f"{repeated} values are repeated"
    return "it holds measurements" if look.is_measured else None


def _improbable(look: Look) -> str | None:
    if look.kind != "number":
        return "it holds no numbers"
    values = np.array(list(look.counts.elements()))
    wrong = int(((values <= 0) | (values > 1)).sum())
    if wrong > len(values) / 2 and values.min() >= 0 and values.max() <= 100:
        return "it is in per cent: it must be above 0 and at most 1"
    return f"in {wrong} of {look.n} rows it is not above 0 and at most 1" if wrong else None


@dataclass
class Roles:
    """Which column is what; what is not known is left empty.

    Parameters
    ----------
    row_id, propensity, decision, label, impact : str or None
        Columns.
    behavior : dict of str to str
        Columns of the probabilities of all classes, instead of a propensity.
    sensitive : list of Look
        Columns that name groups.
    features : list of Look
        What a model could see.
    probabilities : list of str
        Columns that may be the propensity, although it is not clear.
    left : dict of str to str
        Columns that have no role, and why.

    Examples
    --------
    >>> guess_roles({"branch": ["north", "north"]}).left
    {'branch': 'the same in every row'}
    """

    row_id: str | None = None
    propensity: str | None = None
    decision: str | None = None
    label: str | None = None
    impact: str | None = None
    behavior: dict[str, str] = field(default_factory=dict)
    sensitive: list[Look] = field(default_factory=list)
    features: list[Look] = field(default_factory=list)
    probabilities: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def guess_roles(table: Any) -> Roles:
    """Guess which column of a table is what.

    Parameters
    ----------
    table : pyarrow table, data frame or mapping
        The table.

    Examples
    --------
    >>> roles = guess_roles({
    ...     "age": [31, 45, 28, 60] * 2, "sex": ["f", "m"] * 4, "approved": [1, 0, 0, 1] * 2,
    ...     "prob": [0.5, 0.75, 0.25, 0.5] * 2, "savings later": [1.5, 0.0, 2.25, 3.0] * 2})
    >>> roles.decision, roles.propensity, roles.impact, roles.row_id
    ('approved', 'prob', 'savings later', None)
    >>> [each.name for each in roles.sensitive], [each.name for each in roles.features]
    (['sex'], ['age'])
    """
    looks = [look_at(name, column) for name, column in (table_columns(table, "X") or {}).items()]
    roles, pool = Roles(), []
    for look in looks:
        reason = _useless(look)
        if reason is None:
            pool.append(look)
        else:
            roles.left[look.name] = reason

    def take(role: str, fits: Callable[[Look], bool]) -> Look | None:
        found = next(iter(matches(role, [look for look in pool if fits(look)])), None)
        if found is not None:
            pool.remove(found)
        return found

    row_id = take("row_id", lambda look: look.different == look.n and not look.is_measured)
    probabilities = matches("propensity", [look for look in pool if look.is_probability])
    pool = [look for look in pool if look not in probabilities]
    decision = take("decision", lambda look: look.is_class)
    roles.decision = None if decision is None else decision.name
    roles.row_id = None if row_id is None else row_id.name
    _share_out(roles, probabilities, decision)
    label = take("label", lambda look: look.is_class and covers(look, decision))
    if label is None and (label := _speaks_alike(decision, pool)) is not None:
        pool.remove(label)
    roles.label = None if label is None else label.name
    # Before sensitive features are looked for: an impact may be 'change of group'.
    impact = take("impact", lambda look: look.kind in ("number", "truth"))
    roles.impact = None if impact is None else impact.name
    for look in matches("sensitive", pool):
        if 2 <= look.different <= MOST_LEVELS and look.groups:
            roles.sensitive.append(look)
            pool.remove(look)
    for look in pool:
        reason = misfit(look, vars(roles), decision) or _no_feature(look)
        if reason is None:
            roles.features.append(look)
        else:
            roles.left[look.name] = reason
    return roles


def _useless(look: Look) -> str | None:
    if look.missing == look.n:
        return "empty"
    if look.kind == "other":
        return "neither numbers nor text"
    if look.has_decimal_commas:
        return "looks like numbers with a decimal comma: write 1.5, not 1,5"
    if look.different == 1 and not look.missing:
        # But for an experiment, where all decisions have the same chance.
        chance = look.is_probability and matches("propensity", [look])
        return None if chance else "the same in every row"
    return None


def _no_feature(look: Look) -> str | None:
    if look.missing:
        return f"missing in {look.missing} of {look.n} rows"
    if look.kind == "text" and look.different == look.n:
        return "different in every row"
    if look.kind == "text" and look.different > MOST_LEVELS:
        return f"free text ({look.different} different values)"
    return None


def _share_out(roles: Roles, probabilities: Sequence[Look], decision: Look | None) -> None:
    """Decide what columns of probabilities are: that of the decision, or those of all classes."""
    total = sum((as_floats(look.values, look.name) for look in probabilities), np.zeros(1))
    whole = len(probabilities) > 1 and bool((np.abs(total - 1) < TOLERANCE).all())
    if not whole:
        best = next(iter(probabilities), None)
        roles.propensity = None if best is None else best.name
        _leave(roles, [look for look in probabilities if look is not best], "what")
        return
    classes = [] if decision is None else [_as_key(value) for value in sorted(decision.counts)]
    owners = {
        each: [look.name for look in probabilities if each.lower() in look.words]
        for each in classes
    }
    if len(classes) == len(probabilities) and all(len(names) == 1 for names in owners.values()):
        roles.behavior = {each: names[0] for each, names in owners.items()}
    else:
        _leave(roles, probabilities, "which class")


def _leave(roles: Roles, probabilities: Sequence[Look], of: str) -> None:
    roles.probabilities = [look.name for look in probabilities]
    roles.left |= dict.fromkeys(roles.probabilities, f"a probability, but of {of}?")


def _as_key(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _speaks_alike(decision: Look | None, pool: Sequence[Look]) -> Look | None:
    """The only column that says in the same words what was decided: a label, whatever its name.
    (Of numbers this says nothing: half the features may be 0 or 1.)
    """
    if decision is None or decision.kind != "text":
        return None
    alike = [look for look in pool if set(look.counts) == set(decision.counts) and not look.missing]
    return alike[0] if len(alike) == 1 and not matches("sensitive", alike) else None
