"""The wheel and the source distribution: whole, nothing more, and they work where nothing else is.

They are built as for a release, from the files under version control, in an environment of its own.
`make packages` tries them on every Python that elfair supports and that is installed here; without
it, on the newest one. Where packages cannot be fetched, these tests are skipped and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

import elfair

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SUPPORTED = [
    name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name
]  # fmt: skip
FULL = os.environ.get("ELFAIR_PACKAGES") == "full"


def tracked(*places: str) -> set[str]:
    """The files under version control, also those that are not committed yet."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *places]
    try:
        done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("these tests need git, and a folder under version control")
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()}


def said_by(*command: object, **options: Any) -> str:
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(python: object, folder: Path, *packages: object) -> Path:
    """The Python of a new environment with some packages, and nothing else."""
    said_by(python, "-m", "venv", folder)
    new = folder / "bin" / "python"
    if packages:
        installed(new, *packages)
    return new


def installed(python: Path, *packages: object) -> None:
    said_by(python, "-m", "pip", "install", "--quiet", "--no-compile", *packages)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    new = environment(sys.executable, tmp_path_factory.mktemp("tools") / "venv")
    try:
        installed(new, "build", "twine", "hatchling")
    except AssertionError as error:  # where these can be fetched, all that follows can be
        pytest.skip(f"packages cannot be fetched here: {str(error).strip().splitlines()[-1]}")
    return new


@pytest.fixture(scope="module")
def built(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both distributions, by their endings. The wheel is built from the other one."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    said_by(tools, "-m", "build", "--no-isolation", "--outdir", out, source)
    return {".whl": next(out.glob("*.whl")), ".gz": next(out.glob("*.tar.gz"))}


def test_they_are_called_as_the_version_says(built):
    version = elfair.__version__
    assert built[".whl"].name == f"elfair-{version}-py3-none-any.whl"
    assert built[".gz"].name == f"elfair-{version}.tar.gz"


def test_the_wheel_holds_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[".whl"]) as wheel:
        names = set(wheel.namelist())
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(wheel.read(about).decode())
    package = {name for name in names if ".dist-info/" not in name}
    assert package == {name.removeprefix("src/") for name in tracked("src/elfair")}
    assert metadata["Version"] == elfair.__version__
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert any(name.endswith("licenses/LICENSE") for name in names)
    extras = set(metadata.get_all("Provides-Extra", []))
    assert extras == set(PROJECT["optional-dependencies"])


def test_the_source_holds_what_it_takes_to_test_it(built):
    root = f"elfair-{elfair.__version__}/"
    with tarfile.open(built[".gz"]) as source:
        members = source.getmembers()
    assert all(each.name.startswith(root) and ".." not in each.name for each in members)
    names = {each.name.removeprefix(root) for each in members if each.isfile()}
    wanted = tracked("src", "tests", "docs", "benchmarks", "examples", "website")
    wanted |= {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"}
    wanted |= {"pyproject.toml", "conftest.py", "constraints.txt", "mkdocs.yml"}
    assert wanted - names == set()
    assert names - tracked() == {"PKG-INFO"}


def test_their_descriptions_can_be_shown(built, tools):
    said_by(tools, "-m", "twine", "check", "--strict", *built.values())


def python_of(version: str) -> str:
    """The program of a Python, also where pyenv keeps several."""
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    places = chain(
        [shutil.which(f"python{version}")],
        sorted(map(str, kept.glob(f"{version}.*/bin/python"))),
    )
    for place in filter(None, places):
        done = subprocess.run(
            [place, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.stdout.strip() == version:
            return place
    pytest.skip(f"Python {version} is not installed here")


@pytest.mark.parametrize("version", SUPPORTED if FULL else SUPPORTED[-1:])
def test_it_works_where_nothing_else_is_installed(built, tmp_path, version):
    clean = environment(python_of(version), tmp_path / "venv", built[".whl"])
    trial, folder = Path(__file__).with_name("trial.py"), tmp_path / "folder"
    folder.mkdir()
    apart = {"cwd": folder, "env": {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}}
    assert said_by(clean, "-P", trial, folder, **apart).endswith("It works.\n")
    before = packages_of(clean)
    installed(clean, f"{built['.whl']}[serve]")
    new = packages_of(clean) - before - {"typing_extensions"}  # which Python has since 3.13
    assert new <= {"anyio", "h11", "idna", "starlette", "uvicorn"}  # five must do
    assert said_by(clean, "-P", trial, folder, "--serve", **apart).endswith("It works.\n")
    said_by(clean, "-m", "pip", "check", **apart)


def packages_of(python: Path) -> set[str]:
    listed = said_by(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    return {line.partition("==")[0] for line in listed.splitlines()}


def test_a_release_is_tried_on_every_python_before_it_is_published():
    """The workflow file names the same versions, and publishes what was tried, from a tag alone."""
    flow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    jobs = flow["jobs"]
    assert flow[True] == {"push": {"tags": ["v*"]}}  # YAML takes the word "on" for true
    assert flow["permissions"] == {"contents": "read"}
    assert jobs["try"]["strategy"]["matrix"]["python"] == SUPPORTED
    assert jobs["try"]["needs"] == "build"
    assert set(jobs["publish"]["needs"]) == {"build", "test", "try"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert all("secrets." not in str(step) for step in steps)
