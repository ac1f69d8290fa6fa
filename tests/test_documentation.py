"""The documentation says only what is so: its snippets run, its links lead somewhere."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import elfair
from elfair.bounds import BOUNDS, FINITE_SAMPLE
from elfair.certificate.codes import ASSUMPTIONS
from elfair.cli import main
from elfair.language.build import BEYOND_THE_MEAN
from elfair.language.conditions import RATES
from elfair.language.recipes import RECIPES
from elfair.populations import POPULATIONS
from elfair.search.selection import ASKED
from elfair.statistics.impact_estimators import ESTIMATORS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
SHOWN = re.compile(r"\s*^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
FILE = re.compile(r"# ([\w-]+\.(?:toml|py))\n")
PART = re.compile(r"# ([\w/-]+\.\w+), in part\n")
NAMED = re.compile(r"`(\w+)` \(`([\w/]+\.py)`\)")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def snippets(page: Path) -> list[tuple[int, str, str, str | None]]:
    """The blocks of a page that do something: the line each starts on, its language, its source,
    and the output shown below it.

    They are python, the command line (console), and files, which name themselves in their first
    line: whole ones are written, and of a file shown in part the lines must be in the file.
    """
    text = page.read_text(encoding="utf-8")
    return [
        (
            text.count("\n", 0, block.start(2)) + 1,
            block[1],
            block[2],
            shown[1] if (shown := SHOWN.match(text, block.end())) else None,
        )
        for block in FENCE.finditer(text)
        if block[1] in ("python", "console") or FILE.match(block[2]) or PART.match(block[2])
    ]


def same_output(shown: str, printed: str) -> bool:
    """Whether all words are the same, and all numbers as near as machines agree on them.

    Three dots stand for anything.
    """
    words = " ".join(shown.split())
    pattern = "".join(
        ".*?"
        if part == "..."
        else f"({NUMBER.pattern})"
        if NUMBER.fullmatch(part)
        else re.escape(part)
        for part in re.split(rf"(\.\.\.|{NUMBER.pattern})", words)
    )
    found = re.fullmatch(pattern, " ".join(printed.split()))
    if found is None:
        return False
    numbers = [
        [float(number.replace(",", "")) for number in each]
        for each in (NUMBER.findall(words), found.groups())
    ]
    return numbers[0] == pytest.approx(numbers[1], rel=0.05)


def run(page: Path) -> None:
    """Run a page's snippets in order, in one namespace; compare what ``>>>`` and ``$`` show."""
    namespace: dict[str, object] = {"__name__": page.stem}
    for line, language, source, output in snippets(page):
        if file := FILE.match(source):
            Path(file[1]).write_text(source, encoding="utf-8")
        if file := PART.match(source):
            lines = iter(Path(file[1]).read_text(encoding="utf-8").splitlines())
            for wanted in filter(None, source.splitlines()[1:]):
                assert wanted in lines, f"{file[1]} has no line (in this place): {wanted}"
        if language == "console":
            command_line(source)
        elif language != "python":
            continue
        elif ">>> " in source:
            test = doctest.DocTestParser().get_doctest(
                source, namespace, page.name, page.name, line - 1
            )
            shown: list[str] = []
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            runner.run(test, out=shown.append, clear_globs=False)
            assert not runner.failures, "".join(shown)
            namespace.update(test.globs)
        else:
            # Blank lines before the source make a traceback point at the line of the page.
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile("\n" * (line - 1) + source, page.name, "exec"), namespace)
            if output is not None:
                assert same_output(output, printed.getvalue()), printed.getvalue()


def command_line(source: str) -> None:
    """Run the commands of a console block; compare what they print, and how they end.

    A command must end with code 0, unless `echo $?` follows and shows another one.
    """
    commands = COMMAND.findall(source)
    assert sum(line.startswith("$ ") for line in source.splitlines()) == len(commands) > 0
    code = 0
    for command, shown in commands:
        if command == "echo $?":
            assert int(shown) == code
            code = 0
            continue
        assert code == 0, f"the command before `{command}` ended with code {code}"
        code, printed = ran(shlex.split(command))
        assert same_output(shown, printed), f"$ {command}\n{printed}"
    assert code == 0, f"ended with code {code}"


def ran(words: list[str]) -> tuple[int, str]:
    """How a command ended, and what it printed."""
    program, *arguments = words
    if program == "elfair":
        done = CliRunner().invoke(main, arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout if done.exit_code == 0 else done.output
    if program == "cd":
        os.chdir(arguments[0])
        return 0, ""
    assert program == "python", f"`{program}` is no command that pages are tested with"
    with (
        contextlib.redirect_stdout(io.StringIO()) as printed,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "argv", arguments)
        runpy.run_path(str(ROOT / arguments[0]), run_name="__main__")
    return 0, printed.getvalue()


def anchors(page: Path) -> set[str]:
    """The fragments by which the headings of a page can be reached."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=named)
def test_snippets_run(page, tmp_path, monkeypatch, counted):
    monkeypatch.chdir(tmp_path)  # a page may write files
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # starting processes takes longer than its fits
    monkeypatch.setattr(sys, "path", [*sys.path])  # and import modules from there
    run(page)


def test_a_wrong_snippet_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\n>>> x + 1\n3\n```\n")
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run(page)
    page.write_text("```python\nx = 1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError):
        run(page)
    for shown in ("passed: 1.5", "failed: 1"):
        page.write_text(f"```python\nprint('passed: 1')\n```\n\n```text\n{shown}\n```\n")
        with pytest.raises(AssertionError, match="passed: 1"):
            run(page)
    wrong = ("elfair experiment nonsense", "elfair --version\n0", "elfair check no\n...", "ls")
    for shown in (*wrong, "elfair check no\n...\n$ echo $?\n3"):
        page.write_text(f"```console\n$ {shown}\n```\n")
        with pytest.raises(AssertionError):
            run(page)
    page.write_text("```console\n$ elfair check no\n...no study file...\n$ echo $?\n2\n```\n")
    run(page)


def test_a_wrong_part_of_a_file_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    written = "```toml\n# a.toml\nx = 1\ny = 2\n```\n\n"
    page.write_text(written + "```toml\n# a.toml, in part\ny = 2\n```\n")
    run(page)
    for lines in ("y = 3", "y = 2\nx = 1"):
        page.write_text(written + f"```toml\n# a.toml, in part\n{lines}\n```\n")
        with pytest.raises(AssertionError, match="has no line"):
            run(page)


def test_shown_numbers_may_differ_a_little_and_dots_stand_for_anything():
    assert same_output("n = 100 ... 2.5 rows", "n = 101 and so on\n 2.45 rows")
    assert not same_output("n = 100 ... 2.5 rows", "n = 120 and so on 2.45 rows")
    assert not same_output("n = 100 ... 2.5 rows", "n = 101 and so on 2.8 rows")
    assert not same_output("a ... c", "a b")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_resolve(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, fragment = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{target} leads nowhere"
        if fragment:
            assert fragment in anchors(linked), f"{target}: no such heading"


def test_the_study_is_told_as_its_committed_results_say(tmp_path, monkeypatch):
    """What benchmarks/paper_page.py writes from docs/results is what stands in the pages."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import pages
    import paper_page

    (tmp_path / "docs").mkdir()
    told = ["README.md", "docs/results.md"]
    for page in told:
        shutil.copy(ROOT / page, tmp_path / page)
    monkeypatch.setattr(pages, "DOCS", tmp_path / "docs")
    paper_page.write()
    for page in told:
        assert (tmp_path / page).read_text() == (ROOT / page).read_text(), page


def test_every_page_can_be_reached_from_the_readme():
    text = "".join(
        page.read_text(encoding="utf-8") for page in (ROOT / "README.md", ROOT / "docs/index.md")
    )
    assert [page.name for page in PAGES if page.name not in text and page.parent != ROOT] == []


def test_every_assumption_has_its_section_and_every_section_its_assumption():
    text = (ROOT / "docs" / "assumptions.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert sections == {words.name for words in ASSUMPTIONS.values()}
    assert len(sections) > 20
    table = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    assert [name for name in sections if name not in table] == []


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("method.md", BOUNDS),
        ("../README.md", FINITE_SAMPLE),
        ("method.md", ESTIMATORS),
        ("glossary.md", ESTIMATORS),
        ("method.md", ASKED),
        ("constraints.md", (*RATES, *BEYOND_THE_MEAN)),
        ("beyond-the-mean.md", {make.__name__ for make in BEYOND_THE_MEAN.values()}),
        ("glossary.md", RATES),
        ("fairness-constraints.md", RECIPES),
        ("experiments.md", POPULATIONS),
    ],
    ids=[
        "bounds",
        "bounds in short",
        "estimators",
        "words",
        "searches",
        "statistics",
        "tests of statistics",
        "rates",
        "recipes",
        "populations",
    ],
)
def test_everything_that_can_be_chosen_is_on_its_page(page, names):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    shown = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`\n]+)`", FENCE.sub("", text)))))
    assert [name for name in names if name not in shown] == []


def test_the_method_page_says_what_each_bound_is_and_needs():
    text = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    said = re.findall(r'^\| `"(\w+)"` \| ([\w-]+) \| (.+?) \|', text, re.MULTILINE)
    declared = {"high": "`impact_range`", "low": "`propensity_floor`"}
    assert {(name, kind) for name, kind, _ in said} == {(b.name, b.kind) for b in BOUNDS.values()}
    for name, _, needs in said:
        assert {end for end, words in declared.items() if words in needs} == {*BOUNDS[name].needs}


def test_the_map_names_every_room_in_the_order_of_the_layers():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?) \|", page.split("## The map")[1].split("##")[0], re.MULTILINE)
    shown = [re.findall(r"`(\w+)`", row) for row in rows]
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = [c for c in config["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    assert shown == [layer.split(" | ") for layer in layers["layers"]]


def test_what_the_architecture_names_is_where_it_says():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = NAMED.findall(page)
    assert len(named) > 15
    for name, path in named:
        tree = ast.parse((ROOT / "src" / "elfair" / path).read_text(encoding="utf-8"))
        defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        assigned = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        assert name in defined | assigned, f"{name} is not in {path}"
    for path in re.findall(r"`([\w-]+/[\w./-]*)`", page):
        assert (ROOT / path).exists() or (ROOT / "src" / "elfair" / path).exists(), path


def test_a_fit_makes_the_calls_of_the_path_in_its_order():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("## The path of the data")[1].split("## ")[0]
    steps = [row.split(" | ")[2] for row in re.findall(r"^\| \d+\. .+$", section, re.MULTILINE)]
    calls = [call for step in steps[:-1] for call in re.findall(NAMED, step)]
    shown = [(name, path) for name, path in calls if name.islower()]  # not the classes
    made = list[tuple[str, str]]()
    source = str(ROOT / "src" / "elfair") + os.sep

    def watch(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(source):
            call = frame.f_code.co_name, frame.f_code.co_filename.removeprefix(source)
            if call in shown and call not in made:
                made.append(call)

    draw = POPULATIONS["foster-care"]().sample(400, seed=1)
    clf = elfair.ELFClassifier("accuracy >= 0.5")
    previous = sys.getprofile()
    sys.setprofile(watch)
    try:
        clf.fit(draw.features, draw.label, **draw.logged)
    finally:
        sys.setprofile(previous)
    assert made == shown


@pytest.mark.parametrize("name", [name for name in elfair.__all__ if name != "__version__"])
def test_public_names_have_an_example(name):
    documented = inspect.getdoc(getattr(elfair, name))
    assert documented is not None
    assert ">>> " in documented


def test_the_makefile_has_every_target_that_pages_name():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^(\w+):", makefile, re.MULTILINE))
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    asked = set(re.findall(r"(?:`|^)make (\w+)", text, re.MULTILINE))
    assert {"demo", "test"} <= asked <= targets


@pytest.mark.parametrize("target", ["demo", "test"])
def test_make_knows_what_to_do(target):
    make = shutil.which("make")
    assert make is not None
    plan = subprocess.run(
        [make, "-n", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {"demo": "elfair demo", "test": "python -m pytest"}[target] in plan.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_shell_blocks_exist_with_their_options(page):
    """Those of the tutorial are run, above; others, about files that a reader has, are read."""
    from elfair.cli import main

    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line.partition(" > ")[0], comments=True)
            if words[:1] == ["elfair"]:
                name, *arguments = words[1:]
                command = main.commands[name]
                while hasattr(command, "commands"):
                    name, *arguments = arguments
                    command = command.commands[name]
                command.make_context(name, arguments).close()
