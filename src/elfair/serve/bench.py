"""What all pages share: the folder, its jobs, the secret, and how a page is answered."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs, quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from elfair.errors import InputError
from elfair.records.text import count, number, plural, rate, visible
from elfair.records.toml import parsed
from elfair.serve.access import RefusedError, Secret
from elfair.serve.columns import TableView, TableViews
from elfair.serve.forms import Fields
from elfair.serve.jobs import Jobs
from elfair.serve.workspace import Workspace

#: The most fields of a form: a study of a thousand columns has fewer.
MOST_FIELDS = 20_000


@dataclass(frozen=True)
class Bench:
    """A workbench.

    Parameters
    ----------
    space : Workspace
        The folder.
    jobs : Jobs
        The commands that were run in it.
    secret : Secret
        The secret of its address.
    write : bool
        Whether pages may change files and run commands.
    within, servers : tuple of str
        What studies may reach beside the folder, as the person who started it allowed.
    views : TableViews
        Tables at a glance.
    """

    space: Workspace
    jobs: Jobs
    secret: Secret
    write: bool
    within: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    views: TableViews = field(default_factory=TableViews)

    @property
    def reach(self) -> dict[str, Any]:
        """What studies may reach, as `StudyFile.load` takes it."""
        return {"within": self.within, "servers": self.servers}

    def page(self, template: str, *, status: int = 200, **shown: Any) -> HTMLResponse:
        """A page from its template."""
        text = (
            _templates()
            .get_template(template)
            .render(
                bench=self,
                folder=self.space.folder.name,
                key=self.secret.form,
                nonce=secrets.token_hex(10),
                **shown,
            )
        )
        return HTMLResponse(visible(text), status)

    def tables_of(self, name: str) -> dict[str, Any]:
        """A study file as it is read, without a check of what it says; empty if it is no TOML."""
        try:
            return parsed(self.space.text(name), name)
        except InputError:
            return {}

    def source_of(self, study: str) -> str | None:
        """The table of a study, if it is a file of this folder."""
        data = self.tables_of(study).get("data")
        source = data.get("source") if isinstance(data, dict) else None
        return source if isinstance(source, str) and source in self.space.tables() else None

    def view(self, table: str) -> TableView:
        """A table at a glance. What any study takes for a label or an impact is not shown."""
        closed: set[str] = set()
        for study in self.space.studies():
            if self.source_of(study) == table:
                columns = self.tables_of(study).get("columns", {})
                found = [columns.get(key) for key in ("label", "impact", "early")]
                for each in found:
                    names = each if isinstance(each, list) else [each]
                    closed |= {name for name in names if isinstance(name, str)}
        return self.views.of(self.space.file(table, self.space.tables(), "table"), closed)


#: A page: from the workbench, the request and the fields that were sent, to the answer.
Page: TypeAlias = Callable[[Bench, Request, Fields], Response]


def answering(bench: Bench, page: Page) -> Callable[[Request], Awaitable[Response]]:
    """A page as the server calls it. It runs beside the others, since it may read a table.

    Parameters
    ----------
    bench : Bench
        The workbench.
    page : callable
        The page.
    """

    async def answered(request: Request) -> Response:
        fields: Fields = {}
        if request.method == "POST":
            body = await request.body()
            fields = fields_of(body)
            check_key(bench, fields.get("key", [""])[-1])
        return await run_in_threadpool(page, bench, request, fields)

    return answered


def fields_of(body: bytes) -> Fields:
    """The fields of a form, each with all its values."""
    try:
        return parse_qs(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS,
            strict_parsing=bool(body), errors="strict",
        )  # fmt: skip
    except ValueError:
        raise RefusedError(400, "What was sent is not a form of this server.") from None


def check_key(bench: Bench, given: str) -> None:
    """Raise unless a form came from a page of this server: only these hold its key."""
    if not hmac.compare_digest(given.encode("utf-8", "replace"), bench.secret.form.encode()):
        raise RefusedError(403, "This form is out of date: reload its page.")


def to(path: str) -> RedirectResponse:
    """Go to another page after something was done, so that reloading does not do it again."""
    return RedirectResponse(path, 303)


def address(*parts: str) -> str:
    """The address of a page, from names that may hold anything.

    Examples
    --------
    >>> address("tables", "a b.csv")
    '/tables/a%20b.csv'
    """
    return "/" + "/".join(quote(part, safe="") for part in parts)


def one(fields: Fields, name: str) -> str:
    """A field that is there once, or empty."""
    return fields.get(name, [""])[-1].strip()


def as_file(name: str) -> str:
    """A name of a file that no command takes for an option.

    Examples
    --------
    >>> as_file("--x.csv"), as_file("x.csv")
    ('./--x.csv', 'x.csv')
    """
    return f"./{name}" if name.startswith("-") else name


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("elfair.serve"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": count, "number": number, "rate": rate, "plural": plural, "lines": _lines
    }  # fmt: skip
    environment.globals["address"] = address
    return environment


def _lines(text: str) -> Sequence[str]:
    return text.splitlines()


def static(name: str) -> Path | None:
    """A file that pages load, if there is one of this name."""
    from elfair import report

    known = {
        "style.css": Path(report.__file__).parent / "templates" / "style.css",
        **{n: Path(__file__).parent / "static" / n for n in ("workbench.css", "workbench.js")},
        "icon.svg": Path(__file__).parent / "static" / "icon.svg",
    }
    return known.get(name)
