"""The rows of a study, as `fit` takes them; who was left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair.columns import Array, Columns, distinct, is_missing, listed, table_columns
from elfair.continuous import ContinuousData
from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.study.encoding import TableEncoding

#: What a row without a group is counted under.
NO_GROUP = "(missing)"


@dataclass(frozen=True)
class LeftOut:
    """Rows that were read and take no part.

    Parameters
    ----------
    reason : str
        Why.
    n : int
        How many.
    by_group : mapping of str to mapping of str to int
        For each sensitive feature, how many of each group.

    Examples
    --------
    >>> LeftOut("impact 'savings' is missing", 2, {"race": {"A": 2}}).n
    2
    """

    reason: str
    n: int
    by_group: Mapping[str, Mapping[str, int]]


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
    source: str
    digest: str | None

    @property
    def arguments(self) -> dict[str, Any]:
        """What `fit` takes: ``study.estimator().fit(**rows.arguments)``."""
        return {"X": self.X, "y": self.y, **self.logged}

    @cached_property
    def data(self) -> LoggedData:
        """The validated rows."""
        if self.continuous:
            return ContinuousData(**self.arguments)
        return LoggedData(**self.arguments, **self.parameters)


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
    n_read = table.num_rows
    keep, left_out = _with_impact(read, columns, missing_impact)
    if not keep.all():
        table = table.filter(keep)
        read = {name: column[keep] for name, column in read.items()}
    groups = [
        *columns.sensitive,
        *(name for name in in_conditions if name not in columns.sensitive),
    ]
    y = None if columns.label is None else read[columns.label]
    decision = None if columns.decision is None else read[columns.decision]
    logged: dict[str, Any] = {
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
        classes = about["parameters"].get("classes")
        seen = y if y is not None else decision
        known = distinct(seen) if classes is None and seen is not None else classes
        logged["behavior"] = _behavior(read, columns.behavior, [] if known is None else list(known))
    return StudyData(
        X=encoding.encode(table),
        y=y,
        logged=logged,
        encoding=encoding,
        n_read=n_read,
        left_out=left_out,
        **about,
    )


def class_text(value: object) -> str:
    """A class as a TOML key names it.

    Examples
    --------
    >>> class_text(True), class_text(1), class_text("yes")
    ('true', '1', 'yes')
    """
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def _behavior(
    read: Columns, behavior: Mapping[str, str], classes: Sequence[Any]
) -> dict[str, Array]:
    """The probabilities of all classes, called as `LoggedData` calls them."""
    texts = [class_text(each) for each in classes]
    if sorted(texts) != sorted(behavior):
        raise DataError(
            f"[columns.behavior] must name a column for each class ({listed(texts)}). Got "
            f"{listed(behavior)} instead.",
            hint="the classes are the values of the label (or else of the decision), unless "
            "classes in [model] names them.",
        )
    return {str(each): read[behavior[class_text(each)]] for each in classes}


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
        left_out.append(LeftOut(f"impact '{name}' is missing", int(missing.sum()), by_group))
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
