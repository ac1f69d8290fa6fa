"""Which tests were made of the same rows before: a file that only grows, beside the studies.

A test that fails and is tried again with other settings is no longer a test of 1 - delta. One
process counts its own openings of held-out rows; between processes this file does. It is a help for
the honest: who deletes it is not found out.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from elfair.certificate import NOT_STATED, Certificate
from elfair.data import LoggedData
from elfair.data.digests import content_digest, rows_digest
from elfair.errors import InputError
from elfair.records.json import from_json, to_json
from elfair.study.writing import lock

#: What the list is called: one for all studies of a folder, or else the copy of a study would begin
#: a list of its own.
OPENINGS = "elfair.openings"


@dataclass(frozen=True)
class Opening:
    """One test.

    Parameters
    ----------
    rows : tuple of str
        For each impact, a digest of what became of the people, whatever their order and features.
    test : str
        A digest of what was tested, and with which models.
    passed : bool
        What came of it.
    time : str
        When, in UTC.
    """

    rows: tuple[str, ...]
    test: str
    passed: bool
    time: str


class Ledger:
    """The tests that were made from the study files of a folder.

    Parameters
    ----------
    path : Path
        The file; made with the first entry.

    Examples
    --------
    >>> import tempfile
    >>> from elfair import certify
    >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder) / OPENINGS)
    ...     for wanted in (0.7, 0.6, 0.6):
    ...         certificate = certify([0.2, 0.7] * 200, data, f"accuracy >= {wanted}")
    ...         ledger.enter(certificate, data)
    0
    1
    1
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def earlier(self, certificate: Certificate, data: LoggedData) -> int:
        """How many other tests of these rows there were: the same one again is not another."""
        return _others(self._entries(), _of_rows(data), _of_test(certificate))

    def enter(self, certificate: Certificate, data: LoggedData) -> int:
        """Write down that a test was made, and say how many others there were before.

        Of two tests at the same time one comes first, and the other one counts it.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Opening(_of_rows(data), _of_test(certificate), certificate.passed, now)
        line = (to_json(entry, indent=None) + "\n").encode()
        try:
            with self._path.open("a+b") as file:
                lock(file)
                earlier = _others(self._entries(), entry.rows, entry.test)
                end, missing = _end_of_whole_lines(file)
                file.truncate(end)  # half a line, of a result that was not shown
                try:
                    file.write(missing + line)
                    file.flush()
                    os.fsync(file.fileno())
                except BaseException:
                    file.truncate(end)
                    raise
                return earlier
        except OSError as error:
            raise InputError(
                f"the list of tests '{self._path.name}' could not be written: {error.strerror}. "
                "No result is shown, since it could not be counted.",
                hint="may you write beside the study file, and is there space on the disk?",
            ) from None

    def _entries(self) -> list[Opening]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"the list of tests '{self._path.name}' cannot be read: {error}.",
                hint="it must be the file that elfair wrote.",
            ) from None
        entries, lines = [], text.splitlines()
        torn = not text.endswith("\n")
        for number, line in enumerate(lines, 1):
            try:
                entries.append(from_json(line, Opening))
            except InputError as error:
                if torn and number == len(lines) and not _is_whole(line):
                    continue  # written when the disk was full: the result was not shown
                raise InputError(
                    f"line {number} of the list of tests '{self._path.name}' is not as elfair "
                    f"wrote it: {str(error).splitlines()[0]}",
                    hint="restore the file; without it nobody knows how often rows were tested.",
                ) from None
        return entries


def _others(entries: list[Opening], rows: tuple[str, ...], test: str) -> int:
    return len({each.test for each in entries if set(each.rows) & set(rows)} - {test})


def _end_of_whole_lines(file: Any) -> tuple[int, bytes]:
    """Where whole lines end, and the line break that the last of them may lack."""
    file.seek(0)
    content: bytes = file.read()
    start = content.rfind(b"\n") + 1
    if content[start:] and _is_whole(content[start:].decode("utf-8", "replace")):
        return len(content), b"\n"  # an editor took it away
    return start, b""


def _is_whole(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _of_rows(data: LoggedData) -> tuple[str, ...]:
    """What became of people, in any order, by impact: features, groups, other impacts and splits
    may change from test to test, and the rows are the same. Without impacts, people and labels.
    """
    continuous = data.decision_index is None
    label = data.label if continuous else data.label_index
    decision = data.decision if continuous else data.decision_index
    outcomes = [[decision, impact] for impact in data.impacts.values()]
    return tuple(
        rows_digest([None if c is None else np.asarray(c) for c in columns], data.n).hex()
        for columns in outcomes or [[label, *data.features.T]]
    )


def _of_test(certificate: Certificate) -> str:
    claims = [
        replace(claim, chosen_by=NOT_STATED, why=NOT_STATED) for claim in certificate.terms.claims
    ]
    terms = asdict(replace(certificate.terms, claims=tuple(claims)))
    how = (certificate.estimator, certificate.bound, certificate.split, certificate.seed)
    return content_digest((terms, *how, certificate.digests.split, certificate.digests.ladder))
