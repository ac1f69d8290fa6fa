"""Hints in the terms of a study file: what Python passes as an argument, a study names as a key.

Rooms below know of arguments alone. Whatever they say at the command line passes through here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from elfair.records.reading import keys_of
from elfair.study.keys import MODEL, TEST, ColumnKeys, RowKeys

#: What a study calls the arguments that have another name there.
_RENAMED = {"y": "label", "sensitive_features": "sensitive", "X": "features"}
#: The table of each key.
_TABLES: Mapping[str, str] = {
    **dict.fromkeys(MODEL, "model"),
    **dict.fromkeys(TEST, "test"),
    **dict.fromkeys(keys_of(RowKeys), "rows"),
    **dict.fromkeys(keys_of(ColumnKeys), "columns"),
}
#: Sentences of which more changes than a name.
_SENTENCES = (
    (
        "(or pass behavior=)",
        '(propensity in [columns]: a column, the chances of a lottery, or "estimated" if nobody '
        "logged it)",
    ),
    (
        "pass the fitted model as behavior",
        "name the columns of all probabilities in [columns.behavior]",
    ),
    (
        "not of a fixed class;",
        "not of a fixed class (if it does, name it, instead of propensity, in [columns.behavior] "
        'behind that class, such as "yes" = "p(yes)");',
    ),
    ("pass behavior=", "name the columns of all probabilities in [columns.behavior]"),
    ("pass the fitted behaviour model", "name the columns of all probabilities"),
    ("pass the labels", "name label in [columns]"),
    ("pass the observed cost as an impact", "name the observed cost in impact of [columns]"),
    (" to ELFClassifier or LoggedData", ""),
    ("pass it in sensitive_features", "name it in sensitive of [columns]"),
)
_NAMES = "|".join(sorted({*_TABLES, *_RENAMED} - {"kind"}, key=len, reverse=True))
_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\d+(?:\.\d+)?|True|False|None"
_PASSED = re.compile(rf"\b(?:pass|give|declare) ({_NAMES})\b(?!')(?:=({_VALUE})?)?(?! is\b)")
_LEFT = re.compile(rf"\b(leave|leave out|out) ({_NAMES})=?(?= out\b|[,;.]| if\b| is\b)")
_SET = re.compile(rf"(?<![\w.'\"])({_NAMES})=({_VALUE})?")


def in_study_terms(text: str) -> str:
    """A message of a room below, with the keys of a study file in the place of arguments.

    Parameters
    ----------
    text : str
        The message.

    Examples
    --------
    >>> print(in_study_terms("Hint: pass y, or leave mse out."))
    Hint: name label in [columns], or leave mse out.
    >>> print(in_study_terms("declare impact_range= and use estimator='paired'."))
    write impact_range in [test] and use estimator = "paired" (in [test]).
    >>> print(in_study_terms("pass positive='yes' if that is the decision"))
    write positive = "yes" in [model] if that is the decision
    >>> print(in_study_terms("accept it: accept_violated=['tau_known']"))
    accept it: accept_violated = ["tau_known"] (in [test])
    """
    for python, study in _SENTENCES:
        text = text.replace(python, study)
    text = _PASSED.sub(lambda found: _key(found[1], found[2]), text)
    text = _LEFT.sub(lambda found: f"{found[1]} {_RENAMED.get(found[2], found[2])}", text)
    return _SET.sub(lambda found: _setting(found[1], found[2]), text)


def _key(name: str, value: str | None) -> str:
    name = _RENAMED.get(name, name)
    if _TABLES[name] == "columns":
        return f"name {name} in [columns]"
    return f"write {name}{_is(value)} in [{_TABLES[name]}]"


def _setting(name: str, value: str | None) -> str:
    name = _RENAMED.get(name, name)
    return f"{name}{_is(value)} (in [{_TABLES[name]}])"


def _is(value: Any) -> str:
    if value is None:
        return ""
    plain = {"True": "true", "False": "false"}.get(value, value)
    return f" = {plain}" if plain[0] == '"' else f" = {plain}".replace("'", '"')
