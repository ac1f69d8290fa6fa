"""The record of a result. Everything that is shown of a result is read from here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from elfair.errors import InputError
from elfair.records import from_json, to_json

SCHEMA = "elfair.certificate/1"
#: What stands in the place of a condition where there is none.
EVERYONE = "everyone"

Kind = Literal["finite-sample", "asymptotic"]
Status = Literal["checked", "declared", "violated"]
Split = Literal["random", "stratified", "crossfit", "none"]


@dataclass(frozen=True)
class GroupRecord:
    """The held-out rows inside one condition.

    Parameters
    ----------
    condition : str
        The condition; "everyone" if there is none.
    n : int
        How many held-out rows meet it.
    ess, mean_weight, mean_weight_error, max_weight : float or None
        Effective sample size, mean importance weight with its standard error (that which right
        propensities would lead to, where all of them are known), and largest weight; None where no
        weight enters.
    """

    condition: str
    n: int
    ess: float | None
    mean_weight: float | None
    mean_weight_error: float | None
    max_weight: float | None


@dataclass(frozen=True)
class ConstraintResult:
    """The test of one one-sided statement g <= 0; estimate, upper and spread are on g's scale.

    Parameters
    ----------
    constraint : str
        The constraint as the user wrote it.
    statement : str
        The one-sided statement that is part of it.
    delta : float
        The probability with which the test may let a violated statement pass.
    passed : bool
        Whether ``upper <= 0``.
    estimate : float
        The estimate of g.
    upper : float
        The upper confidence bound on g.
    spread : float
        The standard deviation of a row of g (of the sum, where several conditions take part).
    kind : {"finite-sample", "asymptotic"}
        What kind of bound it is.
    n : int
        Held-out rows that took part.
    ess, mean_weight, max_weight : float or None
        The smallest effective sample size, the mean weight furthest from 1 and the largest weight
        among the groups.
    groups : tuple of GroupRecord
        One for each condition.
    rows_needed : int or None
        About how many rows in all (candidate rows included) would let this statement pass with
        probability 0.95 if estimate and spread stayed as they are; None where none would.
    warnings : tuple of str
        What a reader must not overlook.
    """

    constraint: str
    statement: str
    delta: float
    passed: bool
    estimate: float
    upper: float
    spread: float
    kind: Kind
    n: int
    ess: float | None
    mean_weight: float | None
    max_weight: float | None
    groups: tuple[GroupRecord, ...]
    rows_needed: int | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Assumption:
    """Something that the stated confidence rests on.

    Parameters
    ----------
    name : str
        A short name.
    statement : str
        What is assumed, in a sentence.
    status : {"checked", "declared", "violated"}
        Whether the data were seen to agree, the user answers for it, or it does not hold.
    evidence : str
        What was seen; empty if nothing.
    """

    name: str
    statement: str
    status: Status
    evidence: str


@dataclass(frozen=True)
class CandidateRecord:
    """How the tested model was found; says nothing about validity.

    Parameters
    ----------
    search : str
        The method.
    objective : str
        What was made large.
    models : int
        How many models were found, one of which is picked at random for each decision: one, or one
        for each fold. With several, loss is their mean and predicted_pass the smallest.
    loss : float
        The loss on candidate rows; of an expression, the share of its range that is not reached.
    predicted_pass : float
        The predicted probability that the first model in line passes every test.
    meets_target : bool
        Whether it has the margin that was asked for.
    evaluations : int
        How many policies were looked at.
    lined_up : int
        How many models were lined up for the test, in an order that held-out rows had no part in.
    tested : int
        How many of them were tested, one after the other, until one failed or none was left.
    place : int
        The place in line, from 1, of the model that all this is about: the last that passed, or the
        first if that one failed.
    """

    search: str
    objective: str
    models: int
    loss: float
    predicted_pass: float
    meets_target: bool
    evaluations: int
    lined_up: int
    tested: int
    place: int


@dataclass(frozen=True)
class Certificate:
    """The result of a fairness test.

    Parameters
    ----------
    schema : str
        The version of this record.
    elfair_version : str
        The version that wrote it.
    passed : bool
        Whether every statement passed, so that the model was let out.
    constraints : tuple of ConstraintResult
        One for each one-sided statement, the worst first.
    joint_delta : float
        The largest delta; under ``split="crossfit"``, the sum of all.
    joint_statement : str
        What is promised about all constraints together.
    assumptions : tuple of Assumption
        What the promise rests on.
    warnings : tuple of str
        What a reader must not overlook.
    estimator, bound : str
        How impacts were estimated and bounded.
    classes : tuple of str
        The decisions.
    n, n_candidate, n_fairness : int
        All rows, those of the search (or of constants), those of the test.
    split : {"random", "stratified", "crossfit", "none"}
        How the rows were divided.
    seed : int
        What the division depends on.
    openings : int
        How often these held-out rows had been opened in this process, this time included; 0 where
        nothing was tested.
    candidate : CandidateRecord or None
        How the model was found; None for a model from elsewhere.

    Examples
    --------
    >>> from elfair import LoggedData, certify
    >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    >>> certificate = certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")
    >>> certificate.passed, round(certificate.constraints[0].estimate, 3)
    (True, -0.05)
    >>> Certificate.from_json(certificate.to_json()) == certificate
    True
    """

    schema: str
    elfair_version: str
    passed: bool
    constraints: tuple[ConstraintResult, ...]
    joint_delta: float
    joint_statement: str
    assumptions: tuple[Assumption, ...]
    warnings: tuple[str, ...]
    estimator: str
    bound: str
    classes: tuple[str, ...]
    n: int
    n_candidate: int
    n_fairness: int
    split: Split
    seed: int
    openings: int
    candidate: CandidateRecord | None

    def to_json(self) -> str:
        """The record as JSON text."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """The record from JSON text; what is not a certificate of this schema is refused."""
        return from_json(_of_this_schema(text), cls)

    def explain(self) -> str:
        """The result for people: what failed, by how much, about how many rows it would take."""
        from elfair.report.terminal import explain

        return explain(self)


def _of_this_schema(text: str) -> str:
    try:
        schema = json.loads(text)["schema"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return text  # the strict reader says what is wrong
    if schema != SCHEMA:
        raise InputError(
            f"this certificate has schema {schema!r}; this version of elfair reads {SCHEMA!r}.",
            hint="read it with the version of elfair that wrote it.",
        )
    return text
