"""What somebody does first with an installed elfair. Run by its Python, far from the source:

    python -P trial.py FOLDER           # FOLDER is empty, and is written to
    python -P trial.py FOLDER --serve   # with the extra 'serve'

It imports nothing but elfair and what elfair needs.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

COMMAND = Path(sysconfig.get_path("scripts")) / "elfair"


def run(*arguments: str, code: int = 0) -> str:
    """What a command prints, on both streams."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "Traceback" not in said, said
    return said


def try_it(folder: Path) -> None:
    """From a table to a draft; from predictions to a report and a verified certificate."""
    import numpy as np

    import elfair
    from elfair import LoggedData, certify
    from elfair.report import Report

    installed = Path(elfair.__file__).parent
    assert installed.is_relative_to(sys.prefix), installed
    assert (installed / "py.typed").is_file()
    assert elfair.__version__ in run("--version")
    rng = np.random.default_rng(0)
    lines = ["person id,age,sex,approved,prob,repaid,savings later"]
    for k in range(600):
        sex, values = "fm"[k % 2], rng.normal(size=2).round(3)
        lines.append(f"{k},{30 + values[0]},{sex},{k % 3 == 0:d},0.5,{k % 5 > 1:d},{values[1]}")
    (folder / "loans.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    study = str(folder / "study.toml")
    run("init", str(folder / "loans.csv"), "--output", study)
    assert 'decision = "approved"' in Path(study).read_text(encoding="utf-8")
    said = run("check", str(folder / "nowhere.toml"), code=2)
    assert "Hint: " in said

    data = LoggedData([[0.0]] * 240, [0, 1] * 120)
    certificate = certify([0.2, 0.7] * 120, data, "accuracy >= 0.7")
    assert certificate.passed
    certificate.save(folder / "certificate.json")
    Report(certificate).write_html(folder / "report.html")  # with templates and styles
    assert "<style>" in (folder / "report.html").read_text(encoding="utf-8")
    run("explain", str(folder / "certificate.json"))
    run("verify", str(folder / "certificate.json"), "--report", str(folder / "report.html"))
    assert "the extra 'serve'" in run("serve", str(folder), code=2)  # which is not there yet


def try_serving(folder: Path) -> None:
    """A page with what it loads."""
    process = subprocess.Popen([COMMAND, "serve", folder], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("Open ").strip()
        browser = build_opener(HTTPCookieProcessor())
        with browser.open(address, timeout=60) as page:
            assert "loans.csv" in page.read().decode()
        for name in ("workbench.js", "workbench.css", "style.css", "icon.svg"):
            with browser.open(f"{address.partition('?')[0]}static/{name}", timeout=60) as file:
                assert len(file.read()) > 100
    finally:
        process.terminate()
        process.communicate(timeout=60)


if __name__ == "__main__":
    place = Path(sys.argv[1]).resolve()
    try_serving(place) if "--serve" in sys.argv else try_it(place)
    print("It works.")
