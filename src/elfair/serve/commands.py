"""Pages that run a command, and that show how it goes.

Each builds its command line from choices among names that are there, and shows it before it is run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from elfair.certificate import Certificate
from elfair.certificate.codes import REFUTABLE
from elfair.errors import InputError
from elfair.records.text import sentence
from elfair.records.toml import parsed
from elfair.serve import pictures
from elfair.serve.bench import Bench, address, as_file, one, to
from elfair.serve.forms import Fields
from elfair.serve.jobs import Job, command_line
from elfair.serve.words import reading
from elfair.study.outcome import CERTIFICATE, MODEL, REJECTED, REPORT

#: How often a page is told how its job goes, in seconds.
TELL_EVERY = 0.4
#: What an exit code of a command means, where that is more than done or not done.
ENDS = {
    "fit": {
        0: "A model was released.",
        3: "No solution found. This is a valid result.",
        4: "No solution found: an assumption is violated.",
        5: "Not tested: no held-out row was opened.",
    },
    "verify": {
        0: "Verified: no check failed, and the certificate releases a model.",
        1: "A check failed.",
        3: "No check failed; the certificate says that no solution was found.",
        4: "No check failed, but an assumption is violated.",
    },
}


def _reach(bench: Bench) -> list[str]:
    """What studies may reach: only the person who started the server can say so."""
    folders = [part for each in bench.within for part in ("--within", each)]
    return folders + [part for each in bench.servers for part in ("--server", each)]


def _init(bench: Bench, fields: Fields) -> tuple[str, list[str]]:
    table, output = one(fields, "about"), one(fields, "output")
    bench.space.file(table, bench.space.tables(), "table")
    if not output.endswith(".toml"):
        raise InputError("a study file ends with .toml.", hint="for example: study.toml")
    bench.space.new_file(output)
    return table, ["init", as_file(table), "--output", output]


def _study(bench: Bench, fields: Fields) -> str:
    name = one(fields, "about")
    bench.space.file(name, bench.space.studies(), "study")
    return name


def _check(bench: Bench, fields: Fields) -> tuple[str, list[str]]:
    name = _study(bench, fields)
    return name, ["check", as_file(name), "--json", *_reach(bench)]


def _plan(bench: Bench, fields: Fields) -> tuple[str, list[str]]:
    name, more = _study(bench, fields), []
    for option in ("share", "improvement"):
        if given := one(fields, option):
            try:
                float(given)
            except ValueError:
                raise InputError(
                    f"{option} must be a number. Got {given[:40]!r} instead.", hint="write 0.9."
                ) from None
            more.append(f"--{option}={given}")
    return name, ["plan", as_file(name), *more, "--json", *_reach(bench)]


def _fit(bench: Bench, fields: Fields) -> tuple[str, list[str]]:
    name, output = _study(bench, fields), one(fields, "output")
    if not any(job.command == "fit" and output in job.arguments for job in bench.jobs.running()):
        bench.space.new_file(output)
    more = ["--anyway"] if one(fields, "anyway") else []
    for code in fields.get("accept", []):
        if code not in REFUTABLE:
            raise InputError(f"no assumption {code!r} can be violated.", hint="reload the page.")
        more += ["--accept-violated", code]
    return name, ["fit", as_file(name), "--output", output, *more, "--json", *_reach(bench)]


def _verify(bench: Bench, fields: Fields) -> tuple[str, list[str]]:
    run = bench.space.run(one(fields, "about"))
    folder = as_file(run.name)
    model = MODEL if (run.folder / MODEL).is_file() else REJECTED
    found = ["verify", f"{folder}/{CERTIFICATE}"]
    if run.certificate is not None and (data := _data_of(bench, run.certificate)):
        found += ["--data", data]
    named = {"--model": model, "--report": REPORT}
    for option, file in named.items():
        if (run.folder / file).is_file():
            found += [option, f"{folder}/{file}"]
    return run.name, [*found, "--json"]


def _data_of(bench: Bench, certificate: Certificate) -> str | None:
    """The table of a certificate, where its study says it is; a study of several files lies in
    the folder.
    """
    try:
        study = parsed(certificate.provenance.study, "the study")
        source = study["data"]["source"]
    except (InputError, KeyError, TypeError):
        return None
    if "query" in study["data"]:
        return None
    single = isinstance(source, str) and source in bench.space.tables() and "later" not in study
    return as_file(str(source)) if single else "."


def _decide(bench: Bench, fields: Fields) -> tuple[str, list[str]]:
    model, people, log = (one(fields, name) for name in ("about", "people", "log"))
    if model not in [run.model for run in bench.space.runs()]:
        raise LookupError(f"There is no model {model!r} in this folder.")
    bench.space.file(people, bench.space.tables(), "table")
    if not log.endswith(".csv"):
        raise InputError("a log is a CSV file.", hint="for example: decisions.csv")
    if log == people:
        raise InputError("the log must be another file than the people.", hint="decisions.csv")
    if log not in bench.space.tables():
        bench.space.new_file(log)
    more = ["--skip-invalid"] if one(fields, "skip") else []
    return model, ["decide", as_file(model), as_file(people), "--log", as_file(log), *more]


BUILDERS: dict[str, Callable[[Bench, Fields], tuple[str, list[str]]]] = {
    "init": _init,
    "check": _check,
    "plan": _plan,
    "fit": _fit,
    "verify": _verify,
    "decide": _decide,
}


def run(bench: Bench, request: Request, fields: Fields) -> Response:
    """Run a command that a page asks for, and show how it goes."""
    builder = BUILDERS.get(one(fields, "command"))
    if builder is None:
        raise LookupError("There is no such command here.")
    about, arguments = builder(bench, fields)
    job = bench.jobs.start(arguments, about=about, name=one(fields, "nonce"))
    return to(address("jobs", job.name))


def line(bench: Bench, request: Request, fields: Fields) -> Response:
    """The command that a form would run, before it is sent."""
    builder = BUILDERS.get(one(fields, "command"))
    if builder is None:
        raise LookupError("There is no such command here.")
    return Response(command_line(builder(bench, fields)[1]), media_type="text/plain")


def study_page(bench: Bench, request: Request, fields: Fields) -> Response:
    """Check, plan or fit: what it does, its command, how the last one went."""
    name, command = request.path_params["name"], request.path_params["command"]
    bench.space.file(name, bench.space.studies(), "study")
    if command not in ("check", "plan", "fit"):
        raise LookupError(f"There is no page {command!r}.")
    asked: dict[str, list[str]] = {"about": [name]}
    asked |= {"check": {}, "plan": {"share": ["0.9"]}, "fit": {"output": [""]}}[command]
    if command == "fit":
        asked["output"] = [bench.space.free_name("results")]
    job = bench.jobs.latest(command, name)
    return bench.page(
        f"{command}.html",
        study=name,
        command=command,
        asked=asked,
        line=command_line(BUILDERS[command](bench, asked)[1]),
        job=job,
        found=_found(job),
        refutable=sorted(REFUTABLE),
        changed=job is not None and _changed_since(bench, name, job),
    )


def _changed_since(bench: Bench, study: str, job: Job) -> bool:
    """Whether the study was written after a job began: what it found may be out of date."""
    path = bench.space.file(study, bench.space.studies(), "study")
    return path.stat().st_mtime > (job.folder / "job.json").stat().st_mtime


def _found(job: Job | None) -> dict[str, Any] | None:
    """What a job found, with its picture."""
    if job is None or job.state != "done":
        return None
    facts = job.facts()
    if facts is None:
        return None
    try:
        if job.command == "plan" and facts["curve"]:
            facts["drawing"] = pictures.curve(facts["curve"], facts["share"], facts["rows"])
        if job.command == "check":
            said = {each["statement"] for each in facts["statements"]}
            facts["readings"] = {each: reading({"text": each}) for each in said}
            facts["overlaps"] = [
                (group["condition"], pictures.overlap(group["overlap"]["counts"]))
                for group in facts["groups"]
                if group["overlap"]
            ]
    except (AttributeError, KeyError, TypeError, ValueError):  # another version of elfair wrote it
        return None
    return facts


def jobs_page(bench: Bench, request: Request, fields: Fields) -> Response:
    """Every command that was run here."""
    return bench.page("jobs.html", jobs=bench.jobs.all()[:200])


def job_page(bench: Bench, request: Request, fields: Fields) -> Response:
    """A job: its command, how it goes or went, and where its result is."""
    job = _job(bench, request)
    back, what = _back(bench, job)
    return bench.page(
        "job.html",
        job=job,
        state=job.state,
        meaning=meaning(job),
        usual=_usual(bench, job),
        back=back,
        what=what,
        facts=_found(job) if job.command in ("fit", "verify") else None,
    )


def _job(bench: Bench, request: Request) -> Job:
    job = bench.jobs.get(request.path_params["job"])
    if job is None:
        raise LookupError("There is no such command.")
    return job


def meaning(job: Job) -> str:
    """How a job ended, in a sentence."""
    if job.state == "running":
        return "Running."
    if job.state == "cancelled":
        return "Cancelled."
    if job.state == "lost":
        return "It was stopped from outside, and did not say how it ended."
    code = -1 if job.code is None else job.code
    usual = "Done." if code == 0 else "It could not be done: see below."
    return ENDS.get(job.command, {}).get(code, usual)


def _back(bench: Bench, job: Job) -> tuple[str, str]:
    """Where the result of a job is seen, and what that is called."""
    about = job.about
    if job.command == "fit":
        output = job.arguments[job.arguments.index("--output") + 1]
        if any(run.name == output for run in bench.space.runs()):
            return address("results", output), "See the result"
    if job.command in ("check", "plan", "fit"):
        again = "See the result" if job.command != "fit" and job.code == 0 else "Back to the study"
        return address("studies", about, job.command), again
    if job.command == "init":
        output = job.arguments[job.arguments.index("--output") + 1]
        there = output in bench.space.studies()
        return (address("studies", output), "Go on with the study") if there else ("/", "Back")
    if job.command == "verify":
        return address("results", about), "Back to the result"
    return "/decide", "Back to deciding"


def _usual(bench: Bench, job: Job) -> float:
    """How long the last command of this kind took; 0 if none has ended."""
    others = (each for each in bench.jobs.all() if each.name != job.name)
    alike = (j for j in others if (j.command, j.about) == (job.command, job.about))
    return next((round(j.seconds, 1) for j in alike if j.state == "done" and j.code != 2), 0.0)


def cancel(bench: Bench, request: Request, fields: Fields) -> Response:
    """Stop a job, as Ctrl-C does."""
    job = _job(bench, request)
    job.cancel()
    return to(address("jobs", job.name))


async def events(bench: Bench, request: Request) -> Response:
    """How a job goes, as events that a page listens to until it has ended."""
    job = _job(bench, request)

    async def told() -> AsyncIterator[str]:
        while not await request.is_disconnected():
            state = job.state
            at = job.progress
            facts = {
                "state": state,
                "seconds": round(job.seconds),
                "done": None if at is None else at.done,
                "told": "" if at is None else sentence(str(at)),
                "log": job.said[-20_000:],
            }
            yield f"data: {json.dumps(facts)}\n\n"
            if state != "running":
                return
            await asyncio.sleep(TELL_EVERY)

    return StreamingResponse(told(), media_type="text/event-stream")
