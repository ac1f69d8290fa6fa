"""The server's addresses, and what answers each of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from elfair.errors import ElfairError
from elfair.serve import commands, outcomes, studying
from elfair.serve.access import UPLOAD, App, Guard, RefusedError
from elfair.serve.bench import Bench, Page, answering, static

#: What is sent to these paths changes nothing, also where nothing may be changed.
OPEN_TO = ("/preview", "/line")
PAGES: dict[str, Page] = {
    "/": studying.home,
    "/tables/{name}": studying.table_page,
    "/studies/{name}": studying.study_page,
    "/studies/{name}/{command}": commands.study_page,
    "/jobs": commands.jobs_page,
    "/jobs/{job}": commands.job_page,
    "/results": outcomes.results,
    "/results/{name:path}/report": outcomes.report,
    "/results/{name:path}": outcomes.result,
    "/decide": outcomes.decide,
    "/ledger": outcomes.ledger,
}
ACTIONS: dict[str, Page] = {
    "/run": commands.run,
    "/line": commands.line,
    "/jobs/{job}/cancel": commands.cancel,
    "/studies/{name}/preview": studying.preview,
    "/studies/{name}": studying.save,
}


def application(bench: Bench) -> App:
    """The server of a workbench.

    Parameters
    ----------
    bench : Bench
        The workbench.
    """
    routes = [
        Route("/static/{name}", _static),
        Route("/jobs/{job}/events", partial(commands.events, bench)),
        Route(UPLOAD, partial(studying.upload, bench), methods=["POST"]),
        *(Route(at, answering(bench, page), methods=["POST"]) for at, page in ACTIONS.items()),
        *(Route(at, answering(bench, page)) for at, page in PAGES.items()),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            RefusedError: _refused,
            ClientDisconnect: _gone,
            ElfairError: partial(_said, bench, 400),
            LookupError: partial(_said, bench, 404),
            OSError: partial(_said, bench, 400),
            HTTPException: partial(_said, bench, 404),
        },
    )
    return Guard(app, bench.secret, write=bench.write, open_to=OPEN_TO)


async def _static(request: Request) -> Response:
    path = static(request.path_params["name"])
    if path is None:
        return PlainTextResponse("There is no such file.\n", 404)
    return FileResponse(path)


async def _refused(request: Request, error: Any) -> Response:
    return PlainTextResponse(f"{error}\n", error.status, headers={"connection": "close"})


async def _gone(request: Request, error: Any) -> Response:
    """Nobody is there any more to hear the answer: what was begun is undone already."""
    return PlainTextResponse("", 400)


async def _said(bench: Bench, status: int, request: Request, error: Any) -> Response:
    """An error as a page, in the words of its message; of the system's, only what went wrong."""
    if isinstance(error, HTTPException):
        status, said = error.status_code, "There is no such page."
    elif isinstance(error, OSError):
        said = f"A file could not be used: {error.strerror or 'the system refused it'}."
    else:
        said = str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)
    if request.headers.get("accept", "").startswith("text/plain"):
        return PlainTextResponse(f"{said}\n", status)
    return bench.page("message.html", status=status, said=said)
