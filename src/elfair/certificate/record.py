"""The record of a result. Everything that elfair shows of a result comes from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Literal

from elfair.certificate.codes import (
    Assumption,
    WarningRecord,
    left_out_alike,
)
from elfair.certificate.explanation import paragraphs
from elfair.certificate.parts import (
    NOT_STATED,
    ConstraintResult,
    Digests,
    Provenance,
    RolesRecord,
    TermsRecord,
    Version,
)
from elfair.certificate.people import PeopleRecord
from elfair.certificate.pictures import GroupPicture, TradeOff
from elfair.certificate.statement import from_statement, to_statement
from elfair.errors import InputError, did_you_mean
from elfair.records.files import decoded, read_whole, write_whole
from elfair.records.json import to_plain

SplitKind = Literal["random", "stratified", "crossfit", "none"]


@dataclass(frozen=True)
class SearchRecord:
    """How the tested model was found; the promise does not depend on it.

    Parameters
    ----------
    method : str
        The method of the search.
    objective : str
        What was maximised.
    models : int
        How many models decide, one of them picked at random for each decision: one, or one for each
        fold. With several, loss is their mean and forecast the smallest.
    loss : float
        The loss on candidate rows; of an expression, the share of its range that is not reached.
    forecast : float
        The probability, as seen from candidate rows, that the first model on the ladder passes
        every test.
    meets_target : bool
        Whether it has the margin that was asked for.
    evaluations : int
        How many policies were tried.
    on_ladder : int
        How many models are on the ladder, in an order that held-out rows had no part in.
    tested : int
        How many of them were tested. Testing stops at the first failure.
    place : int
        The place of the tested model on the ladder, from 1: the last that passed, or the first if
        that one failed.
    """

    method: str
    objective: str
    models: int
    loss: float
    forecast: float
    meets_target: bool
    evaluations: int
    on_ladder: int
    tested: int
    place: int


@dataclass(frozen=True)
class Certificate:
    """The result of a fairness test.

    Parameters
    ----------
    passed : bool
        Whether the model was released: every statement passed, and no assumption is violated that
        was not accepted.
    constraints : tuple of ConstraintResult
        One for each one-sided statement, the worst first.
    joint_delta : float
        The largest delta; under ``split="crossfit"``, the sum of all. For all declared looks.
    joint_statement : str
        The promise about all constraints together.
    assumptions : tuple of Assumption
        The assumptions of this promise.
    warnings : tuple of WarningRecord
        What a reader must not overlook.
    estimator, bound : str
        How impacts were to be estimated and bounded; each linear form names its own bound.
    classes : tuple of str
        The decisions.
    n, n_candidate, n_held_out : int
        The number of all rows, of candidate rows, and of held-out rows.
    split : {"random", "stratified", "crossfit", "none"}
        How the rows were divided.
    seed : int
        The seed of the split.
    openings : int
        Which look at these rows it was, from 1, in this process (with a study file, also before
        it). The same test again is the same look. 0 if nothing was tested.
    terms : TermsRecord
        What was asked for.
    roles : RolesRecord
        What each column was used as.
    people : PeopleRecord
        Whom no statement speaks of.
    digests : Digests
        Digests of rows, split and models.
    search : SearchRecord or None
        How the model was found; None for a model from elsewhere.
    groups : tuple of GroupPicture
        The decisions about each group, and their impacts.
    trade_off : TradeOff or None
        The objective beside the impact of each model; None without a ladder.
    provenance : Provenance
        Where the rows come from.
    versions : tuple of Version
        The programs that computed it.

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

    passed: bool
    constraints: tuple[ConstraintResult, ...]
    joint_delta: float
    joint_statement: str
    assumptions: tuple[Assumption, ...]
    warnings: tuple[WarningRecord, ...]
    estimator: str
    bound: str
    classes: tuple[str, ...]
    n: int
    n_candidate: int
    n_held_out: int
    split: SplitKind
    seed: int
    openings: int
    terms: TermsRecord
    roles: RolesRecord
    people: PeopleRecord
    digests: Digests
    search: SearchRecord | None
    groups: tuple[GroupPicture, ...]
    trade_off: TradeOff | None
    provenance: Provenance
    versions: tuple[Version, ...]

    @property
    def violated(self) -> tuple[Assumption, ...]:
        """The assumptions that do not hold."""
        return tuple(each for each in self.assumptions if each.status == "violated")

    @property
    def accepted(self) -> tuple[Assumption, ...]:
        """The assumptions that do not hold, and that whoever wanted the model accepted."""
        return tuple(each for each in self.violated if each.code in self.terms.accept_violated)

    @property
    def objections(self) -> tuple[Assumption, ...]:
        """The assumptions that do not hold and were not accepted: no model is released."""
        return tuple(each for each in self.violated if each.code not in self.terms.accept_violated)

    @property
    def failed(self) -> tuple[ConstraintResult, ...]:
        """The statements that did not pass, the worst first."""
        return tuple(result for result in self.constraints if not result.passed)

    def to_json(self) -> str:
        """The record as an in-toto statement about the model, in JSON."""
        return to_statement(to_plain(self))

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what `to_json` wrote; anything else, or a changed byte, is an error."""
        return from_statement(text, cls)

    def to_cyclonedx(self) -> str:
        """The model card of a CycloneDX 1.6 bill of materials, in JSON.

        It is an excerpt for tools that do not read certificates. Equal certificates give equal
        cards.

        Examples
        --------
        >>> import json
        >>> from elfair import LoggedData, certify
        >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
        >>> certificate = certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")
        >>> (model,) = json.loads(certificate.to_cyclonedx())["components"]
        >>> model["type"], model["hashes"][0]["content"] == certificate.digests.model
        ('machine-learning-model', True)
        """
        from elfair.certificate.formats import to_cyclonedx

        return to_cyclonedx(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write what `to_json` returns to a file, whole or not at all."""
        write_whole(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Certificate:
        """Read a certificate from a file; anything else, or a changed byte, is an error."""
        hint = "elfair fit writes certificate.json into the folder of its results."
        content = read_whole(path, hint=hint)
        text = decoded(content, path, hint="is it a certificate, as it was written?")
        try:
            return cls.from_json(text)
        except InputError as error:
            raise InputError(f"'{path}' must be a certificate: {error}") from None

    def explain(self, *, details: bool = False) -> str:
        """The result for people: the verdict, what failed, and what to do about it.

        Parameters
        ----------
        details : bool, default False
            Add every statement, all assumptions and warnings, and the promise in full.

        Examples
        --------
        >>> from elfair import LoggedData, certify
        >>> data = LoggedData([[0.0]] * 320, [0, 1] * 160)
        >>> certificate = certify([0.2, 0.7] * 160, data, "accuracy >= 0.7")
        >>> print(certificate.explain().splitlines()[0])
        Solution found: the statement passed the test on 320 held-out rows.
        """
        return "\n\n".join(paragraphs(self, details=details))

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        passed = sum(result.passed for result in self.constraints)
        return (
            f"Certificate(passed={self.passed}, {passed} of {len(self.constraints)} statements "
            f"passed, n={self.n}, model={self.digests.model[:12]!r})"
        )

    def stating(
        self,
        *,
        chosen_by: Mapping[str, str] | str | None = None,
        why: Mapping[str, str] | str | None = None,
        provenance: Provenance | None = None,
    ) -> Certificate:
        """Add what only people can say.

        Parameters
        ----------
        chosen_by, why : str or mapping of str to str
            Who chose tolerances and deltas, and why: for all constraints, or for each by its text.
            What you do not give stays as it is.
        provenance : Provenance, optional
            Where the rows come from. If some were left out, the certificate assumes that they are
            like the others.

        Returns
        -------
        Certificate

        Examples
        --------
        >>> from elfair import LoggedData, certify
        >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
        >>> certificate = certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")
        >>> said = certificate.stating(chosen_by="the credit board", why="last year's level")
        >>> said.terms.claims[0].chosen_by
        'the credit board'
        """
        known = [claim.constraint for claim in self.terms.claims]
        for said in (chosen_by, why):
            for text in said if isinstance(said, Mapping) else []:
                if text not in known:
                    raise InputError(
                        f"no constraint {text!r}; constraints: {', '.join(map(repr, known))}.",
                        hint=did_you_mean(text, known, "write it as the certificate does."),
                    )

        def of(said: Mapping[str, str] | str | None, constraint: str, before: str) -> str:
            text = said.get(constraint, before) if isinstance(said, Mapping) else said
            return before if text is None else text.strip() or NOT_STATED

        claims = tuple(
            replace(
                claim,
                chosen_by=of(chosen_by, claim.constraint, claim.chosen_by),
                why=of(why, claim.constraint, claim.why),
            )
            for claim in self.terms.claims
        )
        provenance = provenance or self.provenance
        assumptions = [each for each in self.assumptions if each.code != "left_out_alike"]
        if provenance.left_out and self.constraints:
            assumptions.append(left_out_alike(provenance))
        return replace(
            self,
            terms=replace(self.terms, claims=claims),
            provenance=provenance,
            assumptions=tuple(assumptions),
        )
