"""The pages of tables and studies: what is there, the form of a study, and the file itself."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from elfair.certificate.promise import in_words
from elfair.errors import ElfairError, InputError
from elfair.language.build import BEYOND_THE_MEAN
from elfair.language.conditions import RATES, Column
from elfair.language.recipes import RECIPES
from elfair.records.reading import keys_of
from elfair.records.toml import class_text
from elfair.serve.access import RefusedError
from elfair.serve.bench import Bench, address, check_key, one, to
from elfair.serve.columns import TableView
from elfair.serve.editing import Path as Place
from elfair.serve.editing import guessed
from elfair.serve.forms import (
    AMOUNTS,
    CHOICES,
    Fields,
    Preview,
    changed,
    previewed,
    readings,
    roles,
)
from elfair.serve.jobs import command_line
from elfair.serve.workspace import Run
from elfair.study.keys import CONSTRAINT, MODEL, TEST, ColumnKeys, RowKeys, StudyKeys

#: What the fields of the form are for, from the keys of the file.
ABOUT = {
    "title": keys_of(StudyKeys)["title"].about,
    **{name: keys_of(ColumnKeys)[name].about for name in ("features", "propensity", "impact")},
    "missing_impact": keys_of(RowKeys)["missing_impact"].about,
    **{name: MODEL[name].about for name in ("objective", "positive")},
    **{name: TEST[name].about for name in ("delta", "seed")},
    **{name: CONSTRAINT[name].about for name in ("chosen_by", "why")},
}
#: The first page has so many of the latest results; another page has all.
MOST_SHOWN = 8


def home(bench: Bench, request: Request, fields: Fields) -> Response:
    """The folder: tables, studies, results, and what is running."""
    titles = {name: bench.tables_of(name).get("title") for name in bench.space.studies()}
    studies = [
        (name, title if isinstance(title, str) else "", bench.source_of(name))
        for name, title in titles.items()
    ]
    runs = [(run, _promise(run)) for run in bench.space.runs()[:MOST_SHOWN]]
    return bench.page(
        "home.html",
        tables=[(name, bench.space.size(name)) for name in bench.space.tables()],
        studies=studies,
        runs=runs,
        running=bench.jobs.running(),
    )


def _promise(run: Run) -> str:
    """The first sentence of what a result promises."""
    return "" if run.certificate is None else in_words(run.certificate)[0]


async def upload(bench: Bench, request: Request) -> Response:
    """Take a file, as its bytes; its name is in the address."""
    check_key(bench, request.headers.get("x-elfair-key", ""))
    if not bench.write:
        raise RefusedError(403, "This workbench is read-only.")
    name = await bench.space.receive(request.query_params.get("name", ""), request.stream())
    return JSONResponse({"name": name, "at": address("tables", name)})


def table_page(bench: Bench, request: Request, fields: Fields) -> Response:
    """A table at a glance."""
    name = request.path_params["name"]
    view = bench.view(name)
    studies = [study for study in bench.space.studies() if bench.source_of(study) == name]
    output = bench.space.free_name("study", ".toml")
    arguments = ["init", name, "--output", output]
    return bench.page(
        "table.html", view=view, studies=studies, output=output, line=command_line(arguments)
    )


def study_page(bench: Bench, request: Request, fields: Fields) -> Response:
    """A study as a form, with what is wrong with it and each constraint in words."""
    name = request.path_params["name"]
    return _study(bench, name, bench.space.text(name), notice=request.query_params.get("done", ""))


def _study(
    bench: Bench, name: str, text: str, *, notice: str = "", status: int = 200, problem: str = ""
) -> Response:
    tables, view = bench.tables_of(name), _view(bench, name)
    columns = tables.get("columns") if isinstance(tables.get("columns"), dict) else {}
    stated = tables.get("constraints") if isinstance(tables.get("constraints"), list) else []
    return bench.page(
        "study.html",
        status=status,
        study=name,
        text=text,
        base=_digest(text),
        notice={"saved": "Saved."}.get(notice, ""),
        problem=problem,
        preview=previewed(text, text, name, bench.space.folder, **bench.reach),
        readable=bool(tables),
        tables=tables,
        columns=_rows(columns or {}, tables, view, guessed(text) if tables else frozenset()),
        estimated=(columns or {}).get("propensity") == "estimated",
        declared=isinstance((columns or {}).get("propensity"), dict | float | int)
        or "behavior" in (columns or {}),
        choices=CHOICES,
        about=ABOUT,
        constraints=[_constraint(each, k) for k, each in enumerate([*(stated or []), {}])],
        readings=[*readings(text), ""],
        recipes=list(RECIPES),
        amounts=AMOUNTS,
        sensitive=[n for n, role in roles(columns or {}).items() if role in ("sensitive", "both")],
        words=_words(columns or {}, view),
        missing_impact=["refuse", "drop", "at random", "worst case"],
    )


def _view(bench: Bench, study: str) -> TableView | None:
    """The table of a study at a glance, if it can be read."""
    source = bench.source_of(study)
    try:
        return None if source is None else bench.view(source)
    except (ElfairError, OSError):
        return None


def _rows(
    columns: dict[str, Any],
    tables: dict[str, Any],
    view: TableView | None,
    marked: frozenset[Place],
) -> list[dict[str, Any]]:
    """Each column with the role that the file gives it, those of the table first."""
    chosen = roles(columns)
    derived = tables.get("derived") if isinstance(tables.get("derived"), dict) else {}
    shown = {each.name: each for each in (view.columns if view else ())}
    rows = [{"name": n, "role": chosen.get(n, ""), "view": v, "note": ""} for n, v in shown.items()]
    for name in dict.fromkeys([*(derived or {}), *chosen]):
        if name not in shown:
            note = "derived" if name in (derived or {}) else "not in the table" if view else ""
            rows.append({"name": name, "role": chosen.get(name, ""), "view": None, "note": note})
    for row in rows:
        key = "features" if row["role"] == "both" else row["role"]
        row["guess"] = ("columns", key) in marked
    return rows


def _constraint(entry: Any, k: int) -> dict[str, Any]:
    """An entry of ``[[constraints]]`` as the fields of a form."""
    entry = entry if isinstance(entry, dict) else {}
    kind = next((name for name in ("text", *RECIPES) if name in entry), "")
    by = entry.get(kind) if kind and kind != "text" else []
    groups = entry.get("groups") if isinstance(entry.get("groups"), list) else []
    nested = any(isinstance(each, list) for each in groups)
    return {
        "k": k,
        "kind": kind,
        "text": entry.get("text", ""),
        "by": by if isinstance(by, list) else [by],
        "groups": "" if nested else "\n".join(map(class_text, groups)),
        "nested": nested,
        "amount": entry.get(AMOUNTS.get(kind, ""), ""),
        "delta": entry.get("delta", ""),
        "chosen_by": entry.get("chosen_by", ""),
        "why": entry.get("why", ""),
    }


def _words(columns: dict[str, Any], view: TableView | None) -> list[str]:
    """What may be written in a constraint, for completion."""
    found = ["E[", "E_logged[", "P[", *RATES, *(f"{name}[" for name in BEYOND_THE_MEAN)]
    found += ["decision", "label", "positive", "and", "or", "not", "in", "abs("]
    names = dict.fromkeys(
        [*(each.name for each in (view.columns if view else ())), *roles(columns)]
    )
    found += [str(Column(name)) for name in names]
    for each in view.columns if view else ():
        if each.role == "group":
            found += [f"{Column(each.name)} == {value!r}" for value in each.values[:20]]
    return list(dict.fromkeys(found))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


def _asked(bench: Bench, name: str, fields: Fields) -> tuple[str, Preview]:
    """The file as it is, and as a form asks for it."""
    old = bench.space.text(name)
    if "whole" in fields:
        new = fields["whole"][-1].replace("\r\n", "\n")
    else:
        new = changed(old, fields, _view(bench, name))
    return old, previewed(old, new, name, bench.space.folder, **bench.reach)


def preview(bench: Bench, request: Request, fields: Fields) -> Response:
    """What would change, and what would be wrong, while somebody fills in the form."""
    name = request.path_params["name"]
    try:
        _, found = _asked(bench, name, fields)
        said, shown = found.mistakes, found.diff
    except InputError as error:
        found, said, shown = None, str(error), ()
    page = bench.page("preview.html", diff=shown, mistakes=said, study=name)
    told = {"html": bytes(page.body).decode(), "readings": found.readings if found else None}
    return JSONResponse(told)


def save(bench: Bench, request: Request, fields: Fields) -> Response:
    """Write the file as the form asks for it, unless it was changed by somebody else meanwhile."""
    name = request.path_params["name"]
    old = bench.space.text(name)
    if one(fields, "base") != _digest(old):
        return _study(
            bench, name, old, status=409,
            problem="Not saved: the file was changed meanwhile, in another tab or by another "
            "program. This page shows it as it is now.",
        )  # fmt: skip
    try:
        _, found = _asked(bench, name, fields)
        bench.space.write_text(name, found.text)
    except InputError as error:
        return _study(bench, name, old, status=400, problem=f"Not saved: {error}")
    return to(f"{address('studies', name)}?done=saved")
