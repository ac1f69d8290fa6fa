"""Three published trials, from the file to certificate and report by commands alone.

Stroke: 19,435 people got aspirin or none, and no, low or medium heparin, by lottery: six decisions.
Is there a way to choose the treatment by what is known on arrival, so that the share of people who
are alive and independent after six months is no lower for women and men, and at any age?

HIV: 2,139 people got one of four treatments. The CD4 count after 96 weeks is missing for 37 %; the
count after 20 weeks is known of all. Is there a choice with which no race and no gender fares
worse?

Job Corps: 9,240 young people were assigned to a training programme or not, at random, but with
chances that differed by sex and are not in the file: they are estimated. Is there a way to assign
by what was known before, with which earnings in the fourth year are no lower for women, and for
Black, Hispanic and white people?

    ELFAIR_DATA=... python examples/trials.py

The data are stroke/ist.csv, actg175/actg175.csv and jobcorps/jobcorps.csv under the folder that
ELFAIR_DATA names.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from click.testing import CliRunner

from elfair.cli import main as elfair

STROKE = """
title = "Aspirin and heparin after a stroke"

[data]
source = "{data}/stroke/ist.csv"

[clean.RXHEP]
values = {{ H = "M" }}  # what the pilot called high is what the trial called medium

[clean.OCCODE]
missing = [0, 9]  # not known at six months

[derived]
treatment = {{ join = ["RXASP", "RXHEP"] }}
independent = "OCCODE in [3, 4]"  # neither dead nor dependent after six months
age_band = {{ of = "AGE", bins = [65, 80] }}

[columns]
features = ["AGE", "RDELAY", "RSBP", "RCONSC", "STYPE", "RVISINF"]
sensitive = ["SEX", "age_band"]
decision = "treatment"
impact = ["independent"]

[columns.propensity]  # heparin by lottery: none 1/2, low 1/4, medium 1/4; aspirin 1/2
"N, N" = 0.25
"N, L" = 0.125
"N, M" = 0.125
"Y, N" = 0.25
"Y, L" = 0.125
"Y, M" = 0.125

[columns.categories]
RCONSC = ["D", "F", "U"]
STYPE = ["LACS", "OTH", "PACS", "POCS", "TACS"]
RVISINF = ["N", "Y"]

[rows]
missing_impact = "drop"

[model]
objective = "E[independent]"

[test]
impact_range = [0, 1]

[[constraints]]
no_worse = "SEX"
slack = {slack}

[[constraints]]
no_worse = "age_band"
slack = {slack}
"""

HIV = """
title = "Four treatments of HIV"

[data]
source = "{data}/actg175/actg175.csv"

[columns]
features = ["age", "wtkg", "karnof", "cd40", "cd80", "hemo", "homo", "drugs", "symptom", "str2"]
sensitive = ["race", "gender"]
decision = "arms"
propensity = {{ 0 = 0.25, 1 = 0.25, 2 = 0.25, 3 = 0.25 }}
impact = ["cd496"]
early = ["cd420"]
row_id = "pidnum"

[rows]
missing_impact = "at random"

[model]
objective = "E[cd496]"

[[constraints]]
no_worse = "race"

[[constraints]]
no_worse = "gender"
"""


JOBS = """
title = "Who is assigned to Job Corps"

[data]
source = "{data}/jobcorps/jobcorps.csv"

[columns]
features = [
  "age", "educ", "geddegree", "hsdegree", "english", "cohabmarried", "haschild", "everwkd",
  "mwearn", "hhsize", "welfarechild", "health", "smoke",
]
sensitive = ["female", "black", "hispanic", "white"]
decision = "assignment"
propensity = "estimated"  # at random, by chances that are not in the file
impact = ["earny4"]

[model]
objective = "E[earny4]"

[[constraints]]
no_worse = "female"
groups = [1]
slack = {slack}

[[constraints]]
no_worse = "black"
groups = [1]
slack = {slack}

[[constraints]]
no_worse = "hispanic"
groups = [1]
slack = {slack}

[[constraints]]
no_worse = "white"
groups = [1]
slack = {slack}
"""


def run(text: str, folder: Path, data: str, **settings: object) -> tuple[int, str]:
    """Fit a study as a shell would; return the exit code, and what was printed.

    Parameters
    ----------
    text : str
        The study file.
    folder : Path
        Where it and its results go.
    data : str
        The folder of the tables.
    **settings : object
        What to fill in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    study = folder / "study.toml"
    study.write_text(text.format(data=data, **settings), encoding="utf-8")
    done = CliRunner().invoke(elfair, ["fit", str(study), "--within", data])
    return done.exit_code, done.output


def main() -> None:
    """All trials."""
    data, folder = os.environ["ELFAIR_DATA"], Path(tempfile.mkdtemp())
    for name, text, settings in (
        ("stroke, no worse at all", STROKE, {"slack": 0.0}),
        ("stroke, at most 2 in 100 worse", STROKE, {"slack": 0.02}),
        ("HIV", HIV, {}),
        ("Job Corps, no worse at all", JOBS, {"slack": 0.0}),
        ("Job Corps, at most 8 dollars a week worse", JOBS, {"slack": 8.0}),
    ):
        code, printed = run(text, folder / name.replace(" ", "-"), data, **settings)
        print(f"== {name} (exit code {code})\n{printed}")


if __name__ == "__main__":
    main()
