"""A table of past decisions as people keep them: awkward names, text, a column too many."""

from __future__ import annotations

import csv

import numpy as np

from elfair.populations import FosterCare

COLUMNS = (
    "person id", "Alter (Jahre)", "work hours/week", "x ≥ 3", "school's score", "skills",
    "housing", "T-group", "found job?", "Approved?", "p(decision)", "savings, 2 yrs on",
)  # fmt: skip


def write_loans(path, *, n=3000, alpha=0.9, seed=0, missing=0):
    """A CSV file of so many people; some of them without impact."""
    draw = FosterCare(alpha=alpha).sample(n, seed=seed)
    rng = np.random.default_rng(seed)
    housing = np.where(draw.features[:, 0] + rng.normal(size=n) > 0, "own", "rent")
    lost = set(rng.choice(n, missing, replace=False).tolist())
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for i in range(n):
            rows.writerow(
                [
                    f"P{i:06d}",
                    *(repr(float(value)) for value in draw.features[i]),
                    housing[i],
                    "AB"[draw.group[i]],
                    ("no", "yes")[draw.label[i]],
                    ("no", "yes")[draw.decision[i]],
                    repr(float(draw.propensity[i])),
                    "" if i in lost else repr(float(draw.impact[i])),
                ]
            )


def write_study(path, source, *, extra="", constraints=None):
    """A study file for such a table."""
    if constraints is None:
        constraints = """
[[constraints]]
no_worse = "T-group"
chosen_by = "the credit board"
why = "nobody is to be worse off"

[[constraints]]
text = "accuracy >= 0.7"
"""
    path.write_text(
        f"""
title = "Loans, as they came"
[data]
source = "{source}"
[columns]
features = ["Alter (Jahre)", "work hours/week", "x ≥ 3", "school's score", "skills", "housing"]
label = "found job?"
sensitive = ["T-group"]
decision = "Approved?"
propensity = "p(decision)"
impact = ["savings, 2 yrs on"]
row_id = "person id"
[columns.categories]
housing = ["own", "rent"]
{extra}
{constraints}
""",
        encoding="utf-8",
    )
