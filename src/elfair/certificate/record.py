"""The record of a result. Everything that elfair shows of a result comes from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from elfair.certificate.codes import (
    Assumption,
    WarningRecord,
    left_out_alike,
)
from elfair.certificate.effects import EffectRecord
from elfair.certificate.envelope import certificate_text
from elfair.certificate.explanation import paragraphs
from elfair.certificate.parts import (
    NOT_STATED,
    ConstraintResult,
    Digests,
    Provenance,
    RolesRecord,
    StageRecord,
    TermsRecord,
    Version,
    WealthRecord,
)
from elfair.certificate.people import PeopleRecord
from elfair.certificate.pictures import GroupPicture, TradeOff
from elfair.certificate.promise import in_words
from elfair.certificate.rules import RuleRecord
from elfair.certificate.statement import from_statement, to_statement
from elfair.errors import InputError, did_you_mean
from elfair.language.naming import Names, read_names
from elfair.records.drawing import paragraphs_html
from elfair.records.files import decoded, read_whole, write_whole
from elfair.records.json import to_plain

if TYPE_CHECKING:
    from elfair.certificate.displays import (
        ConstraintsDisplay,
        ImpactDisplay,
        TradeOffDisplay,
        WeightsDisplay,
    )

SplitKind = Literal["random", "time", "stratified", "crossfit", "continued", "none"]


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
    rows : int
        At how many candidate rows the search stopped: all of them, unless they are many.
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
    rows: int


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
    in_words : tuple of str
        The same for people: what is promised to whom, the risk, and who is not covered.
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
    split : {"random", "time", "stratified", "crossfit", "continued", "none"}
        How the rows were divided; "continued" if all fresh rows were tested.
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
    wealth : tuple of WealthRecord
        The e-value of each statement about each model, of bets for growth; else empty.
    stage : StageRecord or None
        The test that this one continues; None for a first test.
    provenance : Provenance
        Where the rows come from.
    versions : tuple of Version
        The programs that computed it.
    rules : tuple of RuleRecord
        What a tree decides: one rule, or one for each fold; none for other models.
    names : Names
        What the study calls columns, groups, units and decisions; no result depends on it.
    effects : tuple of EffectRecord
        What the model decides on, the feature that changes most first (with cross-fitting, of the
        first fold); none for a model from elsewhere.
    suppressed_below : int
        What is about fewer people than this was left out, for handing over; 0 if nothing was.

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
    in_words: tuple[str, ...]
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
    wealth: tuple[WealthRecord, ...]
    stage: StageRecord | None
    provenance: Provenance
    versions: tuple[Version, ...]
    rules: tuple[RuleRecord, ...] = ()
    names: Names = field(default_factory=Names)
    effects: tuple[EffectRecord, ...] = ()
    suppressed_below: int = 0

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

    def to_frame(self) -> Any:
        """A pandas data frame with a row for each statement, the worst first.

        Examples
        --------
        >>> from elfair import LoggedData, certify
        >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
        >>> certificate = certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")
        >>> certificate.to_frame()[["statement", "passed"]].values.tolist()
        [['accuracy >= 0.7', True]]
        """
        from elfair.certificate.frames import to_frame

        return to_frame(self)

    def plot_impact(self, *, impact: str | None = None, ax: Any = None) -> ImpactDisplay:
        """Draw old and new impact by group: `ImpactDisplay.from_certificate`.

        Parameters
        ----------
        impact : str, optional
            Which impact, if there are several; the first one unless given.
        ax : matplotlib.axes.Axes, optional
            Axes of your own.
        """
        from elfair.certificate.displays import ImpactDisplay

        return ImpactDisplay.from_certificate(self, impact=impact, ax=ax)

    def plot_constraints(self, *, ax: Any = None) -> ConstraintsDisplay:
        """Draw the bound of every statement: `ConstraintsDisplay.from_certificate`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of your own.
        """
        from elfair.certificate.displays import ConstraintsDisplay

        return ConstraintsDisplay.from_certificate(self, ax=ax)

    def plot_tradeoff(
        self, *, impact: str | None = None, group: str = "everyone", ax: Any = None
    ) -> TradeOffDisplay:
        """Draw an impact beside the loss, for each model of the ladder:
        `TradeOffDisplay.from_certificate`.

        Parameters
        ----------
        impact, ax
            See `plot_impact`.
        group : str, default "everyone"
            The condition of the group, as the certificate writes it.
        """
        from elfair.certificate.displays import TradeOffDisplay

        return TradeOffDisplay.from_certificate(self, impact=impact, group=group, ax=ax)

    def plot_weights(self, *, group: str = "everyone", ax: Any = None) -> WeightsDisplay:
        """Draw the importance weights of a group: `WeightsDisplay.from_certificate`.

        Parameters
        ----------
        group, ax
            See `plot_tradeoff`.
        """
        from elfair.certificate.displays import WeightsDisplay

        return WeightsDisplay.from_certificate(self, group=group, ax=ax)

    def save(self, path: str | PathLike[str]) -> None:
        """Write what `to_json` returns to a file, whole or not at all."""
        write_whole(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Certificate:
        """Read a certificate from a file, signed or not; anything else, or a changed byte, is an
        error. Signatures are for `elfair.verify` to check.
        """
        hint = "elfair fit writes certificate.json into the folder of its results."
        return cls.of_file(read_whole(path, hint=hint), path)

    @classmethod
    def of_file(cls, content: bytes, path: str | PathLike[str]) -> Certificate:
        """Read what `load` reads, from bytes that were read already; the path is for messages."""
        text = decoded(content, path, hint="is it a certificate, as it was written?")
        try:
            return cls.from_json(certificate_text(text))
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
        Model passed: the statement passed the test on 320 held-out rows.
        """
        return "\n\n".join(paragraphs(self, details=details))

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        headline, *rest = paragraphs(self)
        return paragraphs_html(headline, rest, good=self.passed)

    def __repr__(self) -> str:
        passed = sum(result.passed for result in self.constraints)
        return (
            f"Certificate(passed={self.passed}, {passed} of {len(self.constraints)} statements "
            f"passed, n={self.n}, model={self.digests.model[:12]!r})"
        )

    def suppressing(self, below: int = 5) -> Certificate:
        """The certificate for other hands: without what is about fewer people than a number.

        Counts, means and pictures of too few people are left out, and so is what would tell them by
        subtraction. Where the promise itself is about too few, that is an error. Verification of
        what is left works as before: with rows and model, it leaves the same out of what it
        computes.

        Parameters
        ----------
        below : int, default 5
            The number of people.

        Examples
        --------
        >>> from elfair import LoggedData, certify
        >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
        >>> certificate = certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")
        >>> certificate.suppressing(below=5).suppressed_below
        5
        """
        from elfair.certificate.suppression import suppressing

        return suppressing(self, below)

    def stating(
        self,
        *,
        chosen_by: Mapping[str, str] | str | None = None,
        why: Mapping[str, str] | str | None = None,
        provenance: Provenance | None = None,
        names: Names | Mapping[str, Any] | None = None,
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
        names : mapping, optional
            What sentences call columns, groups, units and decisions, as ``[names]`` of a study file
            has it.

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
        >>> print(said.stating(names={"people": "applicants"}).in_words[0])
        The share of right decisions about all applicants is expected to be at least 70 % (at \
most 10 % risk of a wrong release).
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
        stated = replace(
            self,
            terms=replace(self.terms, claims=claims),
            provenance=provenance,
            assumptions=tuple(assumptions),
            names=self.names if names is None else read_names(names),
        )
        return replace(stated, in_words=in_words(stated))
