"""The paper's own data set, for those who have the restricted files.

The National Youth in Transition Database (NYTD, from the National Data Archive on Child Abuse and
Neglect) asks young people in foster care at the ages of 17, 19 and 21: waves 1, 2 and 3. A file of
outcomes has one row for each person (STFCID) and wave. (The paper names a second source, AFCARS,
for demographics; the race it uses is in the file of outcomes as well.)

The paper says: five attributes related to job and education; race, White or Black; the label is a
full-time job after leaving the program, resampled so that it depends on features and race; the
behaviour model is a logistic regression; the impact is a formula with a parameter alpha. It leaves
some choices open. Here they are:

* which five attributes: a full-time job, a part-time job, skills from employment, the highest
  certificate (0 none, 1 a high-school diploma, ..., 6 a higher degree) and being enrolled, all at
  wave 1; EDUCAID can take the place of one of them;
* what "after" means: the answer at wave 3, or at wave 2 if there is none at wave 3;
* race: WHITE and BLKAFRAM at wave 1; people with both or neither are left out;
* missing answers: people without an answer to a question that is used are left out, and counted;
* the law of the resampled labels: a logistic regression on features and race, fitted to the real
  ones. ``steepness`` and ``group_effect`` change it: real answers predict a job far worse than the
  90 % that the paper reports, so its law must have been steeper than the fitted one;
* the training data of the behaviour model: a fifth of the people, who are not used otherwise. It
  sees the features alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from elfair.errors import DataError, InputError, did_you_mean, listed
from elfair.experiments.nytd_codes import ATTRIBUTES, read_answers
from elfair.populations import Draw, LogisticModel
from elfair.populations import foster_care as law
from elfair.populations.base import check_alpha, check_seed
from elfair.types import Floats, Integers

FEATURES = ("CURRFTE", "CURRPTE", "EMPLYSKLLS", "HIGHEDCERT", "CURRENROLL")


@dataclass(frozen=True)
class Account:
    """How many people were kept, and why the others were left out; each counts once.

    Parameters
    ----------
    rows : int
        Rows of the file.
    repeated_rows : int
        How many of them repeat another row.
    people : int
        Different STFCID.
    left_out : mapping of str to int
        How many people were left out for each reason; the first reason counts.

    Examples
    --------
    >>> print(Account(rows=8, repeated_rows=0, people=4, left_out={"no interview at wave 1": 1}))
    8 rows of 4 people, 3 kept.
        1 left out: no interview at wave 1
    """

    rows: int
    repeated_rows: int
    people: int
    left_out: Mapping[str, int]

    @property
    def kept(self) -> int:
        """How many people are in the data set."""
        return self.people - sum(self.left_out.values())

    def __str__(self) -> str:
        repeated = f" ({self.repeated_rows} repeated)" if self.repeated_rows else ""
        lines = [f"{self.rows} rows{repeated} of {self.people} people, {self.kept} kept."]
        lines += [f"    {count} left out: {reason}" for reason, count in self.left_out.items()]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class YouthRecords:
    """People of the NYTD: features at 17, race, and whether they had a full-time job later.

    Attributes
    ----------
    features : array of shape (n, d)
        Answers at wave 1.
    feature_names : tuple of str
        Their NYTD names.
    group : integer array of shape (n,)
        0 White, 1 Black.
    label : integer array of shape (n,)
        1 for a full-time job at wave 3, or at wave 2 if there is no answer at wave 3.
    account : Account
        How many were left out, and why.
    """

    features: Floats
    feature_names: tuple[str, ...]
    group: Integers
    label: Integers
    account: Account

    def draw(
        self,
        alpha: float,
        seed: int,
        *,
        behavior_share: float = 0.2,
        steepness: float = 1.0,
        group_effect: float | None = None,
    ) -> Draw:
        """Draw logged decisions as in the paper's experiments; the module lists the choices.

        Parameters
        ----------
        alpha : float in [0, 1]
            How much the decision matters for the impact.
        seed : int
            Seed of `numpy.random.default_rng`, at least 0. Draws that differ in alpha alone share
            all random numbers.
        behavior_share : float in (0, 1), default=0.2
            The share of people that the behaviour model is fitted to. They are not in the draw.
        steepness : float above 0, default=1.0
            Multiplies the fitted log-odds of the label before labels are resampled.
        group_effect : float, optional
            What being in group 1 adds to the log-odds of the label, before `steepness`. The
            default is the fitted effect.

        Returns
        -------
        Draw
        """
        check_alpha(alpha)
        check_seed(seed)
        if not 0 < behavior_share < 1 or not 0 < steepness < np.inf:
            raise InputError(
                "behavior_share must be in (0, 1) and steepness above 0. Got "
                f"{behavior_share!r} and {steepness!r} instead.",
                hint="omit them to use a fifth of the people and the fitted law.",
            )
        rng, n = np.random.default_rng(seed), len(self.label)
        everything = np.column_stack([self.features, self.group])
        fitted = _logistic(everything, self.label, "all people")
        slopes = np.array(fitted.coefficients)
        if group_effect is not None:
            slopes[-1] = group_effect
        chance = expit(steepness * (everything @ slopes + fitted.intercept))
        label = (rng.random(n) < chance).astype(np.int64)
        order = rng.permutation(n)
        first = round(behavior_share * n)
        teachers, used = order[:first], order[first:]
        behavior = _logistic(
            self.features[teachers], label[teachers], f"the {first} people of the behaviour model"
        )
        chances = behavior.predict_proba(self.features[used])
        decision = (rng.random(len(used)) < chances[:, 1]).astype(np.int64)
        deviation = rng.standard_normal(len(used))
        return Draw(
            features=self.features[used],
            label=label[used],
            group=self.group[used],
            decision=decision,
            propensity=np.where(decision == 1, chances[:, 1], chances[:, 0]),
            impact=law.impact(alpha, decision, self.group[used], deviation),
            feature_names=self.feature_names,
        )


def load_nytd(
    source: str | os.PathLike[str] | Any, *, features: Sequence[str] = FEATURES
) -> YouthRecords:
    """Read a NYTD file of outcomes.

    Parameters
    ----------
    source : path or data frame
        A ``.csv``, ``.tsv``, ``.tab`` or ``.parquet`` file, or a pandas, polars or pyarrow table,
        with a row for each person and wave, and the columns STFCID, WAVE, WHITE, BLKAFRAM, CURRFTE
        and the features, in any case. Cells of a ``.csv`` file are separated by commas, those of
        ``.tsv`` and ``.tab`` by tabs. Codes of yes and no are 1 and 0, with 2 for declined. Those
        of HIGHEDCERT are 1 high school or GED, 2 vocational certificate, 3 vocational licence, 4
        associate, 5 bachelor, 6 higher degree, 7 none of these, 8 declined. In all columns, 77 is
        blank, 78 and 79 are invalid or missing, and so is an empty cell.
    features : sequence of str
        What models see: any of CURRFTE, CURRPTE, EMPLYSKLLS, EDUCAID, HIGHEDCERT, CURRENROLL.

    Returns
    -------
    YouthRecords

    Examples
    --------
    >>> records = load_nytd({
    ...     "STFCID": ["a", "a", "b"], "WAVE": [1, 3, 1], "WHITE": [1, 1, 0], "BLKAFRAM": [0, 0, 1],
    ...     "CURRFTE": [0, 1, 0], "CURRPTE": [1, 0, 77],
    ... }, features=["CURRPTE"])
    >>> records.label, records.group, records.features.ravel()
    (array([1]), array([0]), array([1.]))
    >>> print(records.account)
    3 rows of 2 people, 1 kept.
        1 left out: no interview at wave 2 or 3
    """
    chosen = _chosen(features)
    answers = read_answers(source, ("WHITE", "BLKAFRAM", "CURRFTE", *chosen))
    kept, left_out = np.ones(answers.people, dtype=np.bool_), dict[str, int]()

    def leave_out(where: NDArray[np.bool_], reason: str) -> None:
        """Leave people out, and count those who had no reason before."""
        if count := int((kept & where).sum()):
            left_out[reason] = count
        kept[where] = False

    leave_out(answers.contradicted, "two rows of one wave that differ")
    leave_out(~answers.asked(1), "no interview at wave 1")
    leave_out(~answers.asked(2) & ~answers.asked(3), "no interview at wave 2 or 3")
    white, black = answers.value("WHITE", 1), answers.value("BLKAFRAM", 1)
    leave_out(np.isnan(white) | np.isnan(black), "race not known")
    leave_out((white == 1) & (black == 1), "both White and Black")
    leave_out((white == 0) & (black == 0), "neither White nor Black")
    for name in chosen:
        for silence in answers.silences:
            leave_out(answers.is_silent(name, 1, silence), f"{name} at wave 1: {silence}")
    second, third = answers.value("CURRFTE", 2), answers.value("CURRFTE", 3)
    label = np.where(np.isnan(third), second, third)
    leave_out(np.isnan(label), "no answer to CURRFTE at wave 2 or 3")

    account = Account(answers.rows, answers.repeated_rows, answers.people, left_out)
    if not kept.any():
        raise DataError(
            f"nobody is left. {account}",
            hint="give one row for each person and wave, with answers at wave 1 and later.",
        )
    return YouthRecords(
        features=np.column_stack([answers.value(name, 1)[kept] for name in chosen]),
        feature_names=chosen,
        group=black[kept].astype(np.int64),
        label=label[kept].astype(np.int64),
        account=account,
    )


def _chosen(features: Sequence[str]) -> tuple[str, ...]:
    """The names of features, checked."""
    chosen = (features,) if isinstance(features, str) else tuple(features)
    for name in chosen:
        if name not in ATTRIBUTES:
            raise InputError(
                f"{name!r} cannot be a feature. There are: {', '.join(ATTRIBUTES)}.",
                hint=did_you_mean(name, ATTRIBUTES, "these are related to job and education."),
            )
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(
            f"features must be different names, at least one. Got {listed(chosen)}.",
            hint=f"the default is {', '.join(FEATURES)}.",
        )
    return chosen


def _logistic(features: Floats, label: Integers, who: str) -> LogisticModel:
    """A logistic regression, with scikit-learn's usual penalty."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(label)) < 2:
        raise DataError(
            f"the labels of {who} are all the same: a model cannot be fitted to them.",
            hint="add people until some have a full-time job later and some have not.",
        )
    model = LogisticRegression(max_iter=1000).fit(features, label)
    return LogisticModel(float(model.intercept_[0]), tuple(model.coef_[0].tolist()))
