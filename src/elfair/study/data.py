"""The rows of a study, as `fit` takes them; who was left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair.certificate import GroupCount, LeftOut
from elfair.data import ContinuousData, LoggedData
from elfair.data.columns import Columns, distinct, is_missing, one_column, table_columns
from elfair.errors import DataError, listed
from elfair.study.delimited import POINTS, has_decimal_comma
from elfair.study.encoding import TableEncoding
from elfair.types import Array

#: What a row without a group is counted under.
NO_GROUP = "(missing)"


@dataclass(frozen=True)
class StudyData:
    """The rows of a study.

    Parameters
    ----------
    X : pyarrow.Table
        Features, encoded.
    y : ndarray or None
        Labels.
    logged : mapping
        What else `fit` takes: sensitive_features, decision, propensity, impact ...
    parameters : mapping
        What `LoggedData` takes beside: classes, positive, cost.
    continuous : bool
        Whether decisions are numbers.
    encoding : TableEncoding
        How features were made.
    n_read : int
        How many rows were read.
    left_out : tuple of LeftOut
        Those that take no part.
    without_impact : LoggedData or None
        The same people, as far as they are known.
    source : str
        Where they came from, without secrets.
    digest : str or None
        The sha256 of the file's bytes; a query has none.

    Examples
    --------
    >>> from elfair.study import StudyFile
    >>> study = StudyFile.loads('''
    ... title = "Two people"
    ... [data]
    ... source = "duckdb://"
    ... query = "select * from (values (1.0, 'yes'), (2.0, 'no')) t(x, y)"
    ... [columns]
    ... features = ["x"]
    ... label = "y"
    ... ''')
    >>> rows = study.read()
    >>> rows.n_read, rows.data.classes.tolist()
    (2, ['no', 'yes'])
    """

    X: Any
    y: Array | None
    logged: Mapping[str, Any]
    parameters: Mapping[str, Any]
    continuous: bool
    encoding: TableEncoding
    n_read: int
    left_out: tuple[LeftOut, ...]
    without_impact: LoggedData | None
    source: str
    digest: str | None

    @property
    def arguments(self) -> dict[str, Any]:
        """What `fit` takes: ``study.estimator().fit(**rows.arguments)``."""
        return {"X": self.X, "y": self.y, **self.logged}

    @cached_property
    def data(self) -> LoggedData:
        """The validated rows."""
        return _validated(self.arguments, self.parameters, self.continuous)


def _validated(
    arguments: Mapping[str, Any], parameters: Mapping[str, Any], continuous: bool
) -> LoggedData:
    if continuous:
        return ContinuousData(**arguments)
    return LoggedData(**arguments, **parameters)


def study_data(
    table: Any,
    columns: Any,
    *,
    encoding: TableEncoding,
    in_conditions: Sequence[str] = (),
    missing_impact: str = "refuse",
    **about: Any,
) -> StudyData:
    """Rows as `fit` takes them, from a table.

    Parameters
    ----------
    table : pyarrow.Table
        All columns that are needed.
    columns : object
        Which column is what: ``label``, ``sensitive``, ``decision`` ... as in a study file.
    encoding : TableEncoding
        How features are made.
    in_conditions : sequence of str
        Categories that conditions name; they join the sensitive features, as the encoded columns
        have other names.
    missing_impact : {"refuse", "drop"}
        What to do with rows without impact.
    **about
        The rest of `StudyData`.
    """
    read = table_columns(table, "the table") or {}
    _check_points(read, columns)
    features = encoding.encode(table)  # before rows are left out: messages count those of the table
    keep, left_out = _with_impact(read, columns, missing_impact)

    def part(rows: NDArray[np.bool_]) -> dict[str, Any]:
        some = {name: column[rows] for name, column in read.items()}
        logged = _logged(some, columns, in_conditions, about)
        return {"X": features.filter(rows), **logged}

    without = None
    if left_out:
        people = part(~keep) | {"impact": None}
        known = about["parameters"]
        if "classes" not in known and not about["continuous"]:
            # The few who are left out may not show all classes.
            seen = columns.label if columns.label is not None else columns.decision
            known = {**known, "classes": None if seen is None else distinct(read[seen])}
        without = _validated(people, known, about["continuous"])
    arguments = part(keep)
    return StudyData(
        X=arguments.pop("X"),
        y=arguments.pop("y"),
        logged=arguments,
        encoding=encoding,
        n_read=table.num_rows,
        left_out=left_out,
        without_impact=without,
        **about,
    )


def _check_points(read: Columns, columns: Any) -> None:
    """Raise where what must be numbers was written with a decimal comma."""
    for name in (*columns.impact, columns.propensity, *columns.behavior.values()):
        values = [] if name is None else read[name].tolist()
        commas = [k for k, value in enumerate(values) if has_decimal_comma(value)]
        if commas:
            raise DataError(
                f"column '{name}' looks like numbers with a decimal comma. Got "
                f"{values[commas[0]]!r} in row {commas[0] + 1}, counted from 1.",
                hint=POINTS,
            )


def _logged(
    read: Columns, columns: Any, in_conditions: Sequence[str], about: Mapping[str, Any]
) -> dict[str, Any]:
    """What `fit` takes beside features."""
    groups = [
        *columns.sensitive,
        *(name for name in in_conditions if name not in columns.sensitive),
    ]
    y = None if columns.label is None else read[columns.label]
    decision = None if columns.decision is None else read[columns.decision]
    logged: dict[str, Any] = {
        "y": y,
        "sensitive_features": {name: read[name] for name in groups} or None,
        "decision": decision,
        "propensity": None if columns.propensity is None else read[columns.propensity],
        "impact": {name: read[name] for name in columns.impact} or None,
        "row_id": None if columns.row_id is None else read[columns.row_id],
    }
    if about["continuous"]:
        spread = columns.behavior_spread
        logged["behavior_spread"] = read[spread] if isinstance(spread, str) else spread
    elif columns.behavior:
        seen = about["parameters"].get("classes")
        if seen is None:
            seen = y if y is not None else decision
        logged["behavior"] = _behavior(read, columns.behavior, one_column(seen, "classes"))
    return logged


def class_text(value: object) -> str:
    """A class as a TOML key names it.

    Examples
    --------
    >>> class_text(True), class_text(1), class_text(1.0), class_text("yes")
    ('true', '1', '1', 'yes')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def _behavior(read: Columns, behavior: Mapping[str, str], seen: Array) -> dict[str, Array]:
    """The probabilities of all classes, called as `LoggedData` calls them."""
    classes = {str(each): class_text(each) for each in seen[~is_missing(seen)].tolist()}
    if set(classes.values()) != set(behavior):
        raise DataError(
            "[columns.behavior] must name a column for each class "
            f"({listed(sorted(classes.values()))}). Got {listed(behavior)} instead.",
            hint="the classes are the values of the label (or else of the decision), unless "
            "classes in [model] names them.",
        )
    return {name: read[behavior[key]] for name, key in classes.items()}


def _with_impact(
    read: Columns, columns: Any, missing_impact: str
) -> tuple[NDArray[np.bool_], tuple[LeftOut, ...]]:
    """The rows that have all impacts, and an account of those which have not."""
    n = len(next(iter(read.values())))
    keep = np.ones(n, dtype=np.bool_)
    left_out = []
    for name in columns.impact:
        missing = is_missing(read[name]) & keep
        if not missing.any():
            continue
        by_group = {each: _counted(read[each][missing]) for each in columns.sensitive}
        if missing_impact == "refuse":
            shown = "; ".join(
                f"{each}: " + ", ".join(f"{group} {count}" for group, count in counts.items())
                for each, counts in by_group.items()
            )
            raise DataError(
                f"impact '{name}' is missing in {missing.sum()} of {n} rows"
                f"{f' ({shown})' if shown else ''}: it was not observed (yet).",
                hint='wait until it is observed; or write missing_impact = "drop" in [rows] if, in '
                "each group, it is missing for reasons that have nothing to do with decision and "
                "impact.",
            )
        counted = tuple(
            GroupCount(f"{column} = {group}", count)
            for column, groups in by_group.items()
            for group, count in groups.items()
        )
        left_out.append(LeftOut(f"impact '{name}' is missing", int(missing.sum()), counted))
        keep &= ~missing
    if not keep.any():
        raise DataError(
            f"no row is left: in all {n} of them an impact is missing.",
            hint="check which column holds the impact.",
        )
    return keep, tuple(left_out)


def _counted(groups: Array) -> dict[str, int]:
    """How many there are of each group, the largest first."""
    pairs = zip(groups.tolist(), is_missing(groups), strict=True)
    counts = Counter(NO_GROUP if absent else class_text(value) for value, absent in pairs)
    return dict(counts.most_common())
