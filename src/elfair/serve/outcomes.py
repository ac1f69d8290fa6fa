"""The pages of results: side by side, one by one, the report, deciding, and the ledger."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from elfair.certificate import Certificate
from elfair.certificate.explanation import opening, paragraphs, verdict
from elfair.certificate.promise import speech_of
from elfair.data.ledger import Ledger, usual_ledger
from elfair.records.files import decoded, read_whole
from elfair.records.text import confidence, count, number
from elfair.report import Report
from elfair.serve import pictures
from elfair.serve.access import REPORT_POLICY
from elfair.serve.bench import Bench
from elfair.serve.commands import BUILDERS, meaning
from elfair.serve.forms import Fields
from elfair.serve.jobs import command_line
from elfair.serve.words import reading
from elfair.serve.workspace import Run

#: So many results stand side by side.
MOST_COMPARED = 6


def results(bench: Bench, request: Request, fields: Fields) -> Response:
    """All results, and the chosen ones side by side."""
    runs = bench.space.runs()
    chosen = request.query_params.getlist("run")
    known = [run for run in runs if run.certificate is not None]
    shown = [run for run in known if run.name in chosen] or known
    return bench.page(
        "results.html",
        runs=runs,
        shown=shown[:MOST_COMPARED],
        rows=_side_by_side(shown[:MOST_COMPARED]),
        drawing=pictures.beside({run.name: run.certificate for run in shown[:MOST_COMPARED]}),
    )


def _side_by_side(runs: list[Run]) -> list[tuple[str, list[str]]]:
    """What is compared: a name, and its value in each result."""
    records = [run.certificate for run in runs if run.certificate is not None]
    rows = [(name, [fact(each) for each in records]) for name, fact in _FACTS.items()]
    pictures_ = [
        {(g.condition, i.impact): i for g in each.groups for i in g.impacts} for each in records
    ]
    for condition, impact in dict.fromkeys(key for each in pictures_ for key in each):
        found = [each.get((condition, impact)) for each in pictures_]
        shown = [
            "" if at is None else f"{number(at.logged.estimate)} → {number(at.new.estimate)}"
            for at in found
        ]
        rows.append((f"{impact}, {condition}: old → new", shown))
    return [row for row in rows if any(row[1])]


def _short(certificate: Certificate) -> str:
    if not certificate.constraints:
        return "nothing tested"
    return "released" if certificate.passed else "not released"


_FACTS: dict[str, Any] = {
    "verdict": _short,
    "study": lambda of: of.provenance.title,
    "written": lambda of: of.provenance.issued.replace("T", " ").partition("+")[0],
    "statements passed": lambda of: (
        f"{len(of.constraints) - len(of.failed)} of {len(of.constraints)}"
    ),
    "confidence": lambda of: confidence(of.joint_delta) if of.constraints else "",
    "look at these rows": lambda of: str(of.openings) if of.openings else "",
    "rows, candidate + held out": lambda of: f"{count(of.n_candidate)} + {count(of.n_held_out)}",
    "objective": lambda of: of.search.objective if of.search else "",
    "loss on candidate rows": lambda of: number(of.search.loss) if of.search else "",
    "forecast": lambda of: f"{of.search.forecast:.2f}" if of.search else "",
    "place on the ladder": lambda of: (
        f"{of.search.place} of {of.search.on_ladder}" if of.search else ""
    ),
    "model": lambda of: of.digests.model[:12],
}


def result(bench: Bench, request: Request, fields: Fields) -> Response:
    """One result: the verdict, its statements, the ladder, and what to do with it."""
    run = bench.space.run(request.path_params["name"])
    asked = {"about": [run.name]}
    verified = bench.jobs.latest("verify", run.name)
    shown: dict[str, Any] = {"run": run, "record": run.certificate, "verified": verified}
    shown |= {"meaning": meaning(verified) if verified else "", "ladder": None}
    shown["report"] = (run.folder / "report.html").is_file()
    if run.certificate is not None:
        shown |= {
            "line": command_line(BUILDERS["verify"](bench, asked)[1]),
            "verdict": verdict(run.certificate),
            "opening": Report(run.certificate).opening(),
            "told": _told(run.certificate),
            "readings": [reading({"text": each.statement}) for each in run.certificate.constraints],
            "ladder": _ladder(run.certificate),
        }
    return bench.page("result.html", **shown)


def _told(certificate: Certificate) -> list[str]:
    """What the terminal says below the promise, less where to find more."""
    said = paragraphs(certificate, details=False)[len(opening(certificate)) :]
    return [each for each in said if not each.startswith("Details: ")]


def _ladder(certificate: Certificate) -> dict[str, Any] | None:
    """The models that one can walk along."""
    of, found = certificate.trade_off, certificate.search
    if of is None or found is None or len(of.models) < 2:
        return None
    series = of.series[:6]
    models = [
        {
            "x": pictures.place(of.models, k),
            "place": model.place,
            "fate": model.fate,
            "values": [number(model.loss), *(number(each) for each in model.impacts[:6])],
        }
        for k, model in enumerate(of.models)
    ]
    released = [k for k, model in enumerate(of.models) if model.fate == "released"]
    return {
        "strips": list(pictures.ladder(of, found.objective, speech_of(certificate))),
        "models": models,
        "at": released[0] if released else 0,
        "json": json.dumps(models),
        "today": ["", *(number(each.logged) for each in series)],
    }


def report(bench: Bench, request: Request, fields: Fields) -> Response:
    """The report, as it was written: it may do nothing, whoever changed it."""
    path = bench.space.report(bench.space.run(request.path_params["name"]))
    content = read_whole(path, hint="check read permission.")
    text = decoded(content, path, hint="is it a report, as it was written?")
    return HTMLResponse(text, headers={"content-security-policy": REPORT_POLICY})


def decide(bench: Bench, request: Request, fields: Fields) -> Response:
    """Decide about the people in a table, and log it."""
    models = [run for run in bench.space.runs() if run.model is not None]
    last = next((job for job in bench.jobs.all() if job.command == "decide"), None)
    return bench.page(
        "decide.html",
        models=models,
        tables=bench.space.tables(),
        people=request.query_params.get("people") or _undecided(bench),
        log=bench.space.free_name("decisions", ".csv"),
        last=last,
        meaning=meaning(last) if last else "",
    )


def _undecided(bench: Bench) -> str:
    """The first table that no study learns from, and that is not a log of decisions."""
    known = {bench.source_of(study) for study in bench.space.studies()}
    made = [job.arguments for job in bench.jobs.all() if job.command == "decide"]
    known |= {each[each.index("--log") + 1] for each in made}
    return next((name for name in bench.space.tables() if name not in known), "")


def ledger(bench: Bench, request: Request, fields: Fields) -> Response:
    """The looks that were made, of all studies of this user."""
    looks = Ledger(usual_ledger())
    made = looks.entries()
    rows = []
    for at, entry in enumerate(made):
        look = entry.look.number([each.look for each in made[:at]])
        rows.append((entry, f"look {look} of {entry.look.declared} declared"))
    return bench.page("ledger.html", path=str(looks.path), rows=rows[::-1])
