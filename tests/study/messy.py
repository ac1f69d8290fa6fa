"""Tables of loans as people keep them: one clean table, and defects of it whose truth is known.

A defect rewrites the texts of the clean table, and names the keys of a study file that cure it. So
every cured table must give the very rows of the clean one.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

#: A table: the texts of each column.
Table = dict[str, list[str]]

STUDY = """
title = "Loans"
[data]
source = {source}
{data}
[columns]
features = ["age", "income"]
label = "repaid"
sensitive = ["race"]
decision = "decision"
propensity = "p"
impact = ["savings"]
row_id = "customer"
[rows]
{rows}
[model]
positive = "approve"
[test]
delta = 0.1
candidates = 2
{more}
[[constraints]]
no_worse = "race"
groups = ["A", "B"]
"""


def clean_table(n: int = 600, seed: int = 0) -> Table:
    """A complete table: approval helps race A, and B more."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 80, n), rng.integers(1000, 90000, n)
    p_approve = np.round(0.25 + 0.5 * (income > 40000), 2)
    approve = rng.random(n) < p_approve
    repaid = rng.random(n) < np.where(income > 30000, 0.8, 0.4)
    race = np.where(rng.random(n) < 0.5, "A", "B")
    savings = np.round(approve * np.where(race == "B", 1.5, 1.0) + rng.normal(0, 0.5, n), 3)
    words = np.array(["deny", "approve"])
    return {
        "customer": [f"C{k:05d}" for k in range(n)],
        "age": [str(each) for each in age],
        "income": [str(each) for each in income],
        "race": race.tolist(),
        "repaid": words[repaid.astype(int)].tolist(),
        "decision": words[approve.astype(int)].tolist(),
        "p": [str(each) for each in np.where(approve, p_approve, 1 - p_approve).tolist()],
        "savings": [str(each) for each in savings.tolist()],
    }


@dataclass(frozen=True)
class Defect:
    """Something that is wrong with a table, and what cures it.

    Parameters
    ----------
    spoil : callable
        From the clean table to one with the defect.
    column : str
        The column that it is in.
    more : str
        Tables of the study file that cure it.
    data, rows : str
        Keys of ``[data]`` and ``[rows]`` that cure it.
    error : str
        What the error without a cure says; empty if the rows without a cure are other ones that
        are in plain sight: another group, another class.
    """

    spoil: Callable[[Table], Table]
    column: str
    more: str = ""
    data: str = ""
    rows: str = ""
    error: str = ""


def each(column: str, change: Callable[[str], str], every: int = 1) -> Callable[[Table], Table]:
    """Every so many values of a column, written in another way."""

    def spoil(table: Table) -> Table:
        values = [change(v) if k % every == 0 else v for k, v in enumerate(table[column])]
        return {**table, column: values}

    return spoil


def added(values: Mapping[str, str], times: int = 7) -> Callable[[Table], Table]:
    """Rows more, which are those of the first customers but for some values."""

    def spoil(table: Table) -> Table:
        more = {name: column[:times] for name, column in table.items()}
        more |= {name: [value] * times for name, value in values.items()}
        more["customer"] = [f"X{k}" for k in range(times)]
        return {name: [*column, *more[name]] for name, column in table.items()}

    return spoil


def _thousands(sign: str) -> Callable[[str], str]:
    return lambda text: f"{int(text):,}".replace(",", sign)


def _percent(text: str) -> str:
    return f"{100 * float(text):.0f}"


DEFECTS: dict[str, Defect] = {
    "space behind a group": Defect(
        each("race", lambda v: v + " ", 5), "race",
        '[clean.race]\nvalues = { "A " = "A", "B " = "B" }',
    ),
    "group in lower case": Defect(
        each("race", str.lower, 3), "race", '[clean.race]\nvalues = { a = "A", b = "B" }',
    ),
    "invisible character": Defect(
        each("race", lambda v: v + "\u200b", 9), "race",
        '[clean.race]\nvalues = { "A\u200b" = "A", "B\u200b" = "B" }',
    ),
    "label 0 and 1": Defect(
        each("repaid", lambda v: str(int(v == "approve"))), "repaid",
        '[clean.repaid]\nvalues = { 1 = "approve", 0 = "deny" }', error="label",
    ),
    "label yes and no": Defect(
        each("repaid", lambda v: {"approve": "yes", "deny": "no"}[v]), "repaid",
        '[clean.repaid]\nvalues = { yes = "approve", no = "deny" }',
        error="columns 'decision' and 'repaid' share no value, in 600 rows",
    ),
    "decision in other words": Defect(
        each("decision", lambda v: {"approve": "Approved", "deny": "DENIED"}[v]), "decision",
        '[clean.decision]\nvalues = { Approved = "approve", DENIED = "deny" }',
        error="columns 'decision' and 'repaid' share no value, in 600 rows",
    ),
    "propensity in per cent": Defect(
        each("p", _percent), "p", "[clean.p]\npercent = true", error="propensity must be in (0, 1]",
    ),
    "propensity with a per cent sign": Defect(
        each("p", lambda v: f"{_percent(v)} %"), "p", "[clean.p]\npercent = true", error="numbers",
    ),
    "decimal comma": Defect(
        each("savings", lambda v: v.replace(".", ",")), "savings",
        '[clean.savings]\ndecimal = ","', error='write decimal = "," in [clean."savings"]',
    ),
    "decimal comma in a feature": Defect(
        each("income", lambda v: f"{v},0"), "income", '[clean.income]\ndecimal = ","',
        error='write decimal = "," in [clean."income"]',
    ),
    "thousands with a comma": Defect(
        each("income", _thousands(",")), "income", '[clean.income]\nthousands = ","',
        error="income",
    ),
    "thousands with a hard space": Defect(
        each("income", _thousands("\u00a0")), "income", '[clean.income]\nthousands = " "',
        error="income",
    ),
    "thousands with an apostrophe": Defect(
        each("income", _thousands("'")), "income", "[clean.income]\nthousands = \"'\"",
        error="income",
    ),
    "money": Defect(
        each("income", lambda v: f"${v}", 2), "income", '[clean.income]\nunit = "$"',
        error="income",
    ),
    "a unit": Defect(
        each("income", lambda v: f"{v} EUR"), "income", '[clean.income]\nunit = ["EUR", "$"]',
        error="income",
    ),
    "minus of a typesetter": Defect(
        each("savings", lambda v: v.replace("-", "\u2212")), "savings",
        '[clean.savings]\ndecimal = "."', error="savings",
    ),
    "everything about money": Defect(
        each("income", lambda v: f"{_thousands('.')(v)},00 \u20ac"), "income",
        '[clean.income]\nthousands = "."\ndecimal = ","\nunit = "\u20ac"', error="income",
    ),
    "missing as n/a, and filtered": Defect(
        added({"age": "n/a"}), "age", data='missing = ["n/a"]', rows='keep = ["age >= 0"]',
        error="age",
    ),
    "missing as -999, and filtered": Defect(
        added({"age": "-999"}), "age", "[clean.age]\nmissing = [-999]", rows='keep = ["age >= 0"]',
    ),
    "missing impact as a dash": Defect(
        added({"savings": "-"}), "savings", '[clean.savings]\nmissing = ["-"]',
        rows='missing_impact = "drop"', error="savings",
    ),
    "people who are not of the study": Defect(
        added({"age": "12"}), "age", rows='keep = ["age >= 18"]',
    ),
    "plus signs": Defect(
        each("income", lambda v: f"+{v}"), "income", '[clean.income]\ndecimal = "."',
        error="column 'income' must hold numbers. It does not in 600 of 600 rows",
    ),
    "missing as #N/A, and filtered": Defect(
        added({"age": "#N/A"}), "age", '[clean.age]\nmissing = ["#N/A"]',
        rows='keep = ["age >= 0"]',
        error="column 'age' must hold numbers. It does not in 7 of 607 rows",
    ),
    "missing impact as -999": Defect(
        added({"savings": "-999"}), "savings", "[clean.savings]\nmissing = [-999]",
        rows='missing_impact = "drop"', error="column 'savings' is -999 in 7 of 607 rows",
    ),
    "missing impact as infinity": Defect(
        added({"savings": "inf"}), "savings", '[clean.savings]\nmissing = ["inf"]',
        rows='missing_impact = "drop"',
        error="column 'savings' must hold numbers. It does not in 7 of 607 rows",
    ),
    "decisions in capitals": Defect(
        each("decision", str.upper, 30), "decision",
        '[clean.decision]\nvalues = { APPROVE = "approve", DENY = "deny" }',
        error="column 'decision' has several spellings of one value",
    ),
    "a space behind labels": Defect(
        each("repaid", lambda v: v + " ", 7), "repaid",
        '[clean.repaid]\nvalues = { "approve " = "approve", "deny " = "deny" }',
        error="column 'repaid' has several spellings of one value",
    ),
    "fractions": Defect(
        each("p", lambda v: {"0.25": "1/4", "0.75": "3/4"}[v]), "p",
        '[clean.p]\nvalues = { "1/4" = 0.25, "3/4" = 0.75 }',
        error="column 'p' must hold numbers. It does not in 600 of 600 rows",
    ),
    "income in thousands": Defect(
        each("income", lambda v: f"{int(v) / 1000}k"), "income",
        '[clean.income]\nunit = "k"\nscale = 1000', error="column 'income' must hold numbers",
    ),
    "some propensities with a per cent sign": Defect(
        each("p", lambda v: f"{_percent(v)}.0%", 2), "p", '[clean.p]\nunit = { "%" = 0.01 }',
        error='write unit = { "%" = 0.01 } in [clean."p"]',
    ),
    "some incomes in thousands": Defect(
        each("income", lambda v: f"{int(v) / 1000}k", 3), "income",
        "[clean.income]\nunit = { k = 1000 }",
        error='write unit = { "k" = 1000 } in [clean."income"]',
    ),
    "negatives in brackets": Defect(
        each("savings", lambda v: f"({v[1:]})" if v[0] == "-" else v), "savings",
        '[clean.savings]\nunit = { "()" = -1 }',
        error='write unit = { "()" = -1 } in [clean."savings"]',
    ),
    "some savings with a decimal comma": Defect(
        added({"savings": "0,5"}), "savings", '[clean.savings]\nvalues = { "0,5" = 0.5 }',
        rows="keep = [\"customer not in ['X0', 'X1', 'X2', 'X3', 'X4', 'X5', 'X6']\"]",
        error='values = { "0,5" = 0.5 }',
    ),
    "a slip in a few decisions": Defect(
        each("decision", lambda v: v.replace("approve", "aprove"), 41), "decision",
        '[clean.decision]\nvalues = { aprove = "approve" }',
        error='values = { "aprove" = "approve" } in [clean."decision"]',
    ),
    "a slip in a few labels": Defect(
        each("repaid", lambda v: v.replace("approve", "apporve"), 31), "repaid",
        '[clean.repaid]\nvalues = { apporve = "approve" }', error="spellings",
    ),
    "missing impact as 99": Defect(
        added({"savings": "99"}), "savings", "[clean.savings]\nmissing = [99]",
        rows='missing_impact = "drop"', error="column 'savings' is 99 in 7 of 607 rows",
    ),
    "labels that nobody knows": Defect(
        added({"repaid": "?"}), "repaid", '[clean.repaid]\nmissing = ["?"]',
        rows="keep = [\"customer not in ['X0', 'X1', 'X2', 'X3', 'X4', 'X5', 'X6']\"]",
        error="column 'repaid' is '?' in 7 of 607 rows",
    ),
    "decisions that nobody knows": Defect(
        added({"decision": "n/a"}), "decision", '[clean.decision]\nmissing = ["n/a"]',
        rows="keep = [\"customer not in ['X0', 'X1', 'X2', 'X3', 'X4', 'X5', 'X6']\"]",
        error="column 'decision' is 'n/a' in 7 of 607 rows",
    ),
    "impacts with a comma and a word": Defect(
        lambda table: added({"savings": "lost to follow up"})(
            each("savings", lambda v: v.replace(".", ","))(table)
        ), "savings", '[clean.savings]\ndecimal = ","\nmissing = ["lost to follow up"]',
        rows='missing_impact = "drop"',
        error='write decimal = "," in [clean."savings"]; for \'lost to follow up\'',
    ),
    "ages with a unit and a sign": Defect(
        each("age", lambda v: ">78" if v == "79" else f"{v} yrs" if int(v) % 3 else v), "age",
        '[clean.age]\nunit = "yrs"\nvalues = { ">78" = 79 }',
        error='write unit = "yrs" in [clean."age"]; for \'>78\'',
    ),
    "group of two columns": Defect(
        lambda table: {
            **{k: v for k, v in table.items() if k != "race"},
            "black": [str(int(v == "B")) for v in table["race"]],
        }, "race", '[derived]\nrace = { of = "black", values = { 0 = "A", 1 = "B" } }',
        error="has no column 'race'",
    ),
}  # fmt: skip


def write(table: Table, path) -> None:
    """Write a table as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(table)
        rows.writerows(zip(*table.values(), strict=True))


def study_text(*cures: Defect, source: str = '"loans.csv"', more: str = "") -> str:
    """A study file with what cures some defects."""
    return STUDY.format(
        source=source,
        data="\n".join(filter(None, (cure.data for cure in cures))),
        rows="\n".join(dict.fromkeys(filter(None, (cure.rows for cure in cures)))),
        more="\n".join([*filter(None, (cure.more for cure in cures)), more]),
    )
