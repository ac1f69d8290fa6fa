"""The served folder: its tables, study files, results and models, by name.

A name from an address is looked up among the files that are there, and is never made into a path:
what is outside the folder, also behind a link, cannot be named.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from elfair.certificate import Certificate
from elfair.consistency import require_consistent
from elfair.errors import ElfairError, InputError
from elfair.records.files import decoded, read_whole, sync_folder, write_whole
from elfair.records.tables import ENDINGS, FORMATS
from elfair.records.text import plural
from elfair.study.file import MOST_BYTES
from elfair.study.outcome import CERTIFICATE, MODEL, REPORT

#: More files than this are not listed.
MOST_LISTED = 500
#: What a file may be called that comes through the browser.
_NEW_NAME = re.compile(r"[^\W_][\w .()+-]{0,99}")


@dataclass(frozen=True)
class Run:
    """A folder with the results of a fit.

    Parameters
    ----------
    name : str
        Its path inside the served folder.
    folder : Path
        Where it is.
    certificate : Certificate or None
        What it says; None if it cannot be read.
    problem : str
        Why it cannot.
    """

    name: str
    folder: Path
    certificate: Certificate | None
    problem: str = ""

    @property
    def model(self) -> str | None:
        """The model file inside the served folder, if a model was released."""
        there = (self.folder / MODEL).is_file()
        return f"{self.name}/{MODEL}" if there else None


def bytes_text(n: int) -> str:
    """A size as people say it.

    Examples
    --------
    >>> bytes_text(812), bytes_text(52_340), bytes_text(7_340_032)
    ('812 bytes', '52 kB', '7.3 MB')
    """
    if n < 1_000:
        return plural(n, "byte")
    return f"{n / 1_000:.0f} kB" if n < 1_000_000 else f"{n / 1_000_000:.1f} MB"


class Workspace:
    """A folder, seen through its files.

    Parameters
    ----------
    folder : Path
        The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._read: dict[Path, tuple[float, Run]] = {}

    def tables(self) -> list[str]:
        """The names of all tables, in order."""
        return self._named(lambda path: path.suffix.lower() in FORMATS)

    def studies(self) -> list[str]:
        """The names of all study files, in order."""
        return self._named(lambda path: path.suffix.lower() == ".toml")

    def _named(self, wanted: Callable[[Path], bool]) -> list[str]:
        paths = sorted(self.folder.iterdir(), key=lambda path: path.name.lower())
        found = (path for path in paths if wanted(path) and self._is_inside(path))
        shown = [path.name for path in found if not path.name.startswith(".")]
        return [name for name in shown if name.isprintable()][:MOST_LISTED]

    def _is_inside(self, path: Path) -> bool:
        try:
            return path.is_file() and path.resolve().is_relative_to(self.folder)
        except (OSError, RuntimeError):
            return False

    def file(self, name: str, among: list[str], what: str) -> Path:
        """The path of a file that is there.

        Parameters
        ----------
        name : str
            Its name, from an address.
        among : list of str
            The names that there are.
        what : str
            What it is called in the message if it is not there.
        """
        if name not in among:
            raise LookupError(f"There is no {what} {name!r} in this folder.")
        return self.folder / name

    def size(self, name: str) -> str:
        """How large a file is, in words."""
        try:
            return bytes_text((self.folder / name).stat().st_size)
        except OSError:  # it was removed meanwhile
            return ""

    def text(self, name: str) -> str:
        """The text of a study file."""
        path = self.file(name, self.studies(), "study")
        content = read_whole(path, hint="check read permission.", most=MOST_BYTES)
        return decoded(content, path, hint="check that it is a TOML file.")

    def write_text(self, name: str, text: str) -> None:
        """Replace the text of a study file, whole or not at all."""
        path = self.file(name, self.studies(), "study")
        if len(text.encode()) > MOST_BYTES:
            raise InputError("the study file is too long.", hint="shorten it.")
        write_whole(path, text)

    def runs(self) -> list[Run]:
        """All results, the latest first."""
        found = [*self.folder.glob(f"*/{CERTIFICATE}"), *self.folder.glob(f"*/*/{CERTIFICATE}")]
        inside = [path for path in found if self._is_inside(path)][:MOST_LISTED]
        visible = [path for path in inside if str(path.relative_to(self.folder)).isprintable()]
        hidden = [p for p in visible if p.relative_to(self.folder).as_posix().startswith(".")]
        runs = [(path.stat().st_mtime, self._run(path)) for path in visible if path not in hidden]
        return [run for _, run in sorted(runs, key=lambda pair: pair[0], reverse=True)]

    def run(self, name: str) -> Run:
        """The results of a name."""
        found = [run for run in self.runs() if run.name == name]
        if not found:
            raise LookupError(f"There are no results {name!r} in this folder.")
        return found[0]

    def _run(self, path: Path) -> Run:
        """The results beside a certificate, read once for each time that it is written."""
        changed = path.stat().st_mtime
        known = self._read.get(path)
        if known is None or known[0] != changed:
            name = path.parent.relative_to(self.folder).as_posix()
            try:
                run = Run(name, path.parent, require_consistent(Certificate.load(path)))
            except ElfairError as error:
                run = Run(name, path.parent, None, str(error))
            known = self._read[path] = (changed, run)
        return known[1]

    def report(self, run: Run) -> Path:
        """The file of the report beside a certificate."""
        path = run.folder / REPORT
        if not self._is_inside(path):
            raise LookupError(f"There is no report in {run.name!r}.")
        return path

    def free_name(self, stem: str, ending: str = "") -> str:
        """A name that no file has: ``results``, ``results-2``, ..."""
        for number in range(1, MOST_LISTED):
            name = f"{stem}-{number}{ending}" if number > 1 else f"{stem}{ending}"
            if not os.path.lexists(self.folder / name):
                return name
        raise InputError(f"there are too many files {stem!r}.", hint="remove some of them.")

    def new_file(self, name: str) -> Path:
        """Where a new file may be written.

        Parameters
        ----------
        name : str
            What somebody wants to call it.
        """
        if _NEW_NAME.fullmatch(name) is None or name != name.strip() or name.endswith("."):
            raise InputError(
                f"a file cannot be called {name[:120]!r} here.",
                hint="use letters, numbers, spaces, dots and dashes, without a folder.",
            )
        path = self.folder / name
        if os.path.lexists(path):
            raise InputError(f"{name!r} is there already.", hint="choose another name.")
        return path

    async def receive(self, name: str, content: AsyncIterator[bytes]) -> str:
        """Write a table that comes through the browser: all of it, or nothing.

        Parameters
        ----------
        name : str
            What it is called.
        content : async iterator of bytes
            The file.
        """
        path = self.new_file(name)
        if path.suffix.lower() not in FORMATS:
            raise InputError(
                f"a table must end with one of {ENDINGS}. Got {name!r} instead.",
                hint="save it in one of these formats.",
            )
        part = self.folder / f".elfair-{secrets.token_hex(8)}.part"
        try:
            with part.open("xb") as file:
                async for piece in content:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(part, path)  # fails if a file of that name came meanwhile
            except FileExistsError:
                raise InputError(
                    f"{name!r} is there already.", hint="choose another name."
                ) from None
        finally:
            part.unlink(missing_ok=True)
        sync_folder(self.folder)
        return name
