"""A study whose table does not fit into memory: Parquet files, read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elfair.data.batches import LoggedBatches
from elfair.data.digests import file_digest
from elfair.errors import InputError, listed
from elfair.language.recipes import Recipe
from elfair.study.data import StudyData, encoding_of
from elfair.study.keys import RowKeys
from elfair.study.mistakes import constraint_of
from elfair.study.reach import Reach
from elfair.study.sources import digest_of, files_of

if TYPE_CHECKING:
    from elfair.study.file import StudyFile

#: Keys of ``[columns]`` that batches do not know.
_COLUMNS = ("early", "follow_up", "unit", "sample_weight", "person_cost", "categories")


def not_in_batches(study: StudyFile) -> Iterator[InputError]:
    """One mistake if a study is to be read in batches and asks for what needs all of its rows."""
    if not study.data.batches:
        return
    columns = study.columns
    asked = {
        "query in [data]": study.data.query,
        "missing in [data]": study.data.missing,
        "[clean]": study.clean,
        "[derived]": study.derived,
        "[later]": study.later,
        "[rows]": study.rows != RowKeys(),
        **{f"{name} in [columns]": getattr(columns, name) for name in _COLUMNS},
        "declared chances in [columns]": columns.lottery,
        "estimated propensities": columns.estimated,
        "a regressor": study.kind == "regressor",
        "constraints by name": any(
            isinstance(constraint_of(entry, columns.impact), Recipe) for entry in study.constraints
        ),
    }
    if found := [name for name, value in asked.items() if value]:
        raise_hint = "leave batches = true out, to read all rows into memory; or write the columns"
        yield InputError(
            f"rows that are read in batches cannot have {listed(found)}.",
            hint=f"{raise_hint} as the model needs them, and statements in full.",
        )


def read_in_batches(
    study: StudyFile, source: str | Path | Sequence[str], reach: Reach | None
) -> StudyData:
    """The rows of such a study.

    Parameters
    ----------
    study : StudyFile
        Which column is what.
    source : str, Path or sequence of str
        Parquet files.
    reach : Reach, optional
        What may be read, if the study names the source.
    """
    paths = []
    for name in files_of(source, study.folder, reach):
        if reach is not None:
            reach.check_file(study.folder / name, name)
        paths.append(study.folder / name)
    columns = study.columns
    given: dict[str, Any] = {name: study.parameters.get(name) for name in ("classes", "positive")}
    rows = LoggedBatches(
        paths,
        features=columns.features,
        y=columns.label,
        sensitive_features=columns.sensitive,
        decision=columns.decision,
        propensity=columns.drawn_with,
        behavior=columns.behavior,
        impact=columns.impact,
        row_id=columns.row_id,
        encoding=encoding_of(study),
        **given,
    )
    digests = [file_digest(path) for path in paths]
    shown = source if isinstance(source, str | Path) else ", ".join(source)
    return StudyData(
        rows,
        n_read=rows.n,
        left_out=(),
        outside=(),
        changes=(),
        without_impact=None,
        source=str(shown),
        digest=digests[0] if len(digests) == 1 else digest_of(digests),
    )
