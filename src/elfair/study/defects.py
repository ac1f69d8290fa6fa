"""What looks wrong with how a table is written, and the keys of a study file that would cure it.

Nothing here changes anything: `elfair init` drafts the keys as guesses, `elfair check` shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from elfair.data.columns import table_columns
from elfair.data.spelling import likely_meant, stands_apart, stands_for_missing
from elfair.records.toml import class_text, toml
from elfair.study.cleaning import clean_column
from elfair.study.guessing import guess_columns, likely_positive, matches
from elfair.study.keys import CleanKeys
from elfair.study.notation import MOST_VALUES, commas_among_points, notation
from elfair.study.profiles import Profile
from elfair.study.sources import SourceTable

#: A column with more different texts than this holds names or remarks, not groups.
MOST_TEXTS = 50


def proposals(source: SourceTable) -> dict[str, CleanKeys]:
    r"""How the columns of a table are probably written, of those that are not written plainly.

    Parameters
    ----------
    source : SourceTable
        The table; what text files have, as it was written.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"race": ["A", "A ", "B"], "sum": ["1.234,5 EUR", "7,0 EUR", "n/a"]})
    >>> found = proposals(SourceTable(table, "loans.csv", None, as_written=frozenset(["sum"])))
    >>> print("\n".join(toml_of(found)))
    [clean."race"]
    values = { "A " = "A" }
    [clean."sum"]
    missing = ["n/a"]
    decimal = ","
    thousands = "."
    unit = "EUR"
    """
    found = {}
    for name in source.table.column_names:
        keys = _of_column(source, name)
        if keys != CleanKeys():
            found[name] = keys
    return {**found, **_of_roles(source, found)}


def toml_of(found: Mapping[str, CleanKeys]) -> Iterator[str]:
    """The lines of a study file that declare how columns are written.

    Parameters
    ----------
    found : mapping of str to CleanKeys
        From `proposals`.
    """
    for name, keys in found.items():
        yield f"[clean.{toml(name)}]"
        usual = vars(CleanKeys())
        yield from (f"{key} = {toml(v)}" for key, v in vars(keys).items() if v != usual[key])


def cleaned(source: SourceTable, found: Mapping[str, CleanKeys]) -> Any:
    """The columns of a table, read as proposed; where this does not work, as they are.

    Parameters
    ----------
    source : SourceTable
        The table.
    found : mapping of str to CleanKeys
        How columns are written.
    """
    import pyarrow as pa

    columns = {}
    for name in source.table.column_names:
        is_text = name in source.as_written
        read = clean_column(
            source.table.column(name), name, found.get(name, CleanKeys()), is_text=is_text
        )
        if read.mistakes:
            read = clean_column(source.table.column(name), name, CleanKeys(), is_text=is_text)
        columns[name] = read.values
    return pa.table(columns)


def _of_column(source: SourceTable, name: str) -> CleanKeys:
    import pyarrow as pa

    column, is_text = source.table.column(name), name in source.as_written
    plain = clean_column(column, name, CleanKeys(), is_text=is_text).values
    profile = Profile(name, (table_columns(pa.table({name: plain}), "the table") or {})[name])
    if profile.kind not in ("text", "number"):
        return CleanKeys()
    if profile.kind == "number":
        counts = profile.counts
        codes = [v for v in counts if stands_for_missing(v, counts) or _is_survey_code(v, counts)]
        few = profile.different - len(codes) >= 2 and 0 < len(codes) <= 3
        return CleanKeys(missing=tuple(sorted(map(_whole, codes)))) if few else CleanKeys()
    words = [each for each in profile.counts if stands_for_missing(each, profile.counts)]
    known = [each for each in profile.counts if each not in words]
    if known and (numbers := notation(known)):
        return CleanKeys(**numbers, missing=tuple(words))
    if len(meant := commas_among_points(known)) in range(1, MOST_VALUES + 1):
        return CleanKeys(values=meant, missing=tuple(words))
    if profile.different > MOST_TEXTS:
        return CleanKeys(missing=tuple(words))
    slips = {each: likely_meant(each, profile.counts) for each in known}
    values = {each: other for each, other in slips.items() if other is not None}
    # Of two that look alike, the rarer one was probably a slip.
    rank = {each: (n, each == each.strip(), each) for each, n in profile.counts.items()}
    rarer = {each: other for each, other in values.items() if rank[each] < rank[other]}
    return CleanKeys(missing=tuple(words), values=_last(rarer))


def _is_survey_code(value: float, counts: Mapping[float, int]) -> bool:
    """Whether it is such as 99, or 9 beside 0 and 1. (Of more values, 9 may well be a number.)"""
    if not stands_apart(value, counts):  # said at once of all but a few numbers
        return False
    others = {each for each in counts if not stands_apart(each, counts)}
    return abs(value) >= 10 or others in ({0, 1}, {1, 2})


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


def _last(values: Mapping[str, str]) -> dict[str, str]:
    """Each value with the end of the chain that it begins: of 'a ', 'a' and 'A', with 'A'."""
    ends = {}
    for value, other in values.items():
        while other in values:
            other = values[other]
        ends[value] = other
    return ends


def _of_roles(source: SourceTable, found: Mapping[str, CleanKeys]) -> dict[str, CleanKeys]:
    """What only shows once it is known which column is what: propensities in per cent, and a label
    in other words than the decision.
    """
    table = cleaned(source, found)
    profiles = {name: Profile(name, v) for name, v in (table_columns(table, "X") or {}).items()}
    more = {}
    for each in matches("propensity", profiles.values()):
        numbers = each.counts if each.kind == "number" else {}
        # Of 0.42 beside 42, nobody knows which are in per cent.
        if numbers and 1 <= min(numbers) < max(numbers) <= 100 and each.name not in found:
            more[each.name] = CleanKeys(percent=True)
    guess = guess_columns(cleaned(source, {**found, **more}))
    if guess.decision is None or guess.label is not None:
        return more
    decision = profiles[guess.decision]
    good = likely_positive(decision.counts)
    for each in matches("label", profiles.values()):
        two = sorted(each.counts) if each.different == 2 and not each.missing else []
        if two == [0, 1] and good is not None and decision.different == 2:
            (bad,) = (other for other in decision.counts if other != good)
            values = {class_text(two[1]): good, class_text(two[0]): bad}
            return {**more, each.name: CleanKeys(values=values)}
    return more
