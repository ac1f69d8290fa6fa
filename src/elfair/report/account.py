"""Words of a report, and assumptions, in plain language.

The full account: rows, statements, moments, assumptions, digests.
"""

from __future__ import annotations

from math import isinf

from elfair.certificate import NOT_STATED, Certificate, ConstraintResult, GroupRecord
from elfair.certificate.assumptions import SHOWN_STATUS, AssumptionCode, Status
from elfair.certificate.explanation import numbered, pass_or_fail
from elfair.certificate.statement import HOW_TO_VERIFY
from elfair.records.text import count, exact, number, raised, rate
from elfair.report.blocks import (
    Block,
    Bullets,
    Code,
    Definitions,
    Folded,
    Line,
    Paragraph,
    Part,
    Section,
    Table,
    Verbatim,
)
from elfair.report.strips import group_name

#: What each assumption means to somebody who is not a statistician.
IN_PLAIN_WORDS: dict[AssumptionCode, str] = {
    "opened_once": "Nobody tried again on the same rows until a model passed.",
    "halves_independent": "The rows of the test had no part in the making of the model.",
    "stable_search": "One person more or less in the data would hardly change the model.",
    "tau_known": "The data's average is taken for the old model's true impact.",
    "mean_weight": "The old model's probabilities are those with which it really decided. "
    "If so, the importance weights of each group average 1.",
    "propensities_fit": "Decisions were drawn with the logged probabilities: how "
    "often each was taken, and for whom, is what these say.",
    "support": "Whatever the new model can decide, the old one could have.",
    "unconfounded": "Nothing that is not in the data swayed both the decision and what "
    "became of the person. If decisions used the group, the propensity must too.",
    "same_effect": "A decision does the same whichever model takes it.",
    "no_interference": "One person's decision does not change what becomes of another. A fixed "
    "budget breaks this: what one gets, another does not.",
    "label_known": "The label is known also for those who were turned down.",
    "cost_matrix": "A decision costs what was declared.",
    "scorer_not_fitted": "The scorer that came fitted owes nothing to the rows of the test.",
    "behavior_spread": "The old decisions varied as widely as was declared.",
    "rows_independent": "Nobody is in the data twice: repeated people make the "
    "data look larger than they are.",
    "same_population": "The people to come are like those in the data. Delayed impact takes years "
    "to see: this is the assumption to worry about.",
    "nothing_else": "No scaler, choice of features or search for parameters "
    "was fitted on all rows before.",
    "decisions_sampled": "Decisions are drawn with the certified probabilities. Always taking "
    "the likeliest decision is another model, and not certified.",
    "left_out_alike": "Those who were left out, such as people whose impact was "
    "never seen, fared as the others of their group did.",
    "impact_range": "No impact, seen or to come, lies outside the declared range.",
    "propensity_floor": "The old model took no decision with less than the declared probability.",
    "normal_average": "There are enough rows for their average to follow a bell curve.",
}

#: What each status of an assumption means.
STATUSES: dict[Status, str] = {
    "checked": "the data were seen to agree",
    "assumed": "nothing in the data can show it; the people who ran the study answer for it",
    "violated": "it does NOT hold",
}

GLOSSARY = (
    ("assumption", "Something that the stated confidence rests on: checked, assumed or violated."),
    (
        "asymptotic / finite-sample",
        "An asymptotic bound holds in the limit of many rows; a finite-sample bound holds for any "
        "number of rows, and asks for declared ranges.",
    ),
    ("candidate rows", "The rows that models are looked for on."),
    (
        "delta",
        "The probability with which the test of a statement may let pass what it should not. A "
        "delta of 0.1 is 90 % confidence.",
    ),
    (
        "effective sample size (ESS)",
        "How many rows the weighted rows are worth. Far below the number of rows, it says that the "
        "new model differs much from the old one.",
    ),
    ("estimate of g", "What the held-out rows say g is, on average."),
    (
        "g",
        'How far a statement is from holding: it holds where g is at most 0. For "no worse than '
        'under the old model" g is how much worse the new model is.',
    ),
    (
        "held-out rows",
        "The rows of the test. They are sealed while models are looked for, and opened once.",
    ),
    ("impact", "What became of a person later, in numbers."),
    (
        "importance weight",
        "How much more often the new model takes a logged decision than the old one did. Weighted "
        "so, rows that the old model made speak for the new one.",
    ),
    (
        "line-up",
        "Models in an order that is fixed before held-out rows are opened: the safest first. They "
        "are tested in turn until one fails; the last that passed is let out.",
    ),
    ("moments", "Number, mean and variance of rows: all that the t bound is computed from."),
    ("old model", "Whatever took the logged decisions; also called the behaviour model."),
    (
        "propensity",
        "The probability with which the old model took the decision that it took.",
    ),
    ("spread", "The standard deviation of a row of g."),
    ("statement", "A one-sided inequality. A constraint may consist of several."),
    (
        "upper bound on g",
        "A number that g exceeds with probability at most delta. The statement passes if even "
        "this number is at most 0.",
    ),
)


RESTS_ON = "What it rests on"
SPLITS = {
    "random": "The rows were divided at random, by seed and row.",
    "stratified": "The rows were divided at random within strata.",
    "crossfit": "The rows were divided into folds: each is tested with a model that was found on "
    "the others.",
    "none": "No model was looked for on some of these rows and tested on others: the model is from "
    "elsewhere, or nothing was tested.",
}


def data(certificate: Certificate) -> Section:
    """Which rows, which columns, and who was left out."""
    of, roles = certificate.provenance, certificate.roles
    rows: list[tuple[Line, ...]] = [
        ("rows in the table", count(of.rows_read)),
        ("rows used", count(certificate.n)),
        ("candidate rows, for search and constants", count(certificate.n_candidate)),
        ("held-out rows, for the test", count(certificate.n_held_out)),
    ]
    blocks: list[Block] = [
        Paragraph(SPLITS[certificate.split]),
        Table("Rows", ("what", "how many"), tuple(rows)),
    ]
    if of.left_out:
        blocks.append(
            Table(
                "People left out, and why",
                ("reason", "group", "how many"),
                tuple(
                    row
                    for each in of.left_out
                    for row in (
                        (each.reason, "all of them", count(each.n)),
                        *((each.reason, by.group, count(by.n)) for by in each.groups),
                    )
                ),
                words=2,
            )
        )
    else:
        blocks.append(Paragraph("Nobody was left out."))
    columns: tuple[tuple[Line, ...], ...] = (
        ("features, which the model sees", _names(roles.features)),
        ("sensitive, which name groups", _names(roles.sensitive)),
        ("impacts, seen later", _names(roles.impacts)),
        ("label", "given" if roles.label else "none"),
        ("propensities", "given" if roles.propensities else "none"),
        ("row identifier", "given" if roles.row_id else "none"),
        ("decisions", _names(certificate.classes) if certificate.classes else "numbers"),
    )
    blocks.append(Table("Which column is what", ("role", "columns"), columns, words=2))
    return Section("data", "Data", tuple(blocks))


def _names(names: tuple[str, ...]) -> Line:
    parts: list[str | Code] = []
    for name in names:
        parts += [", ", Code(name)]
    return tuple(parts[1:]) or "none"


def statements(certificate: Certificate) -> Section | None:
    """All that is known of each statement."""
    if not certificate.constraints:
        return None
    results = certificate.constraints
    names = numbered(results)
    tests = Table(
        "The tests, the worst first; estimate, bound and spread are on the scale of g; bounds are "
        + " or ".join(dict.fromkeys(result.kind for result in results)),
        (
            *("number", "statement", "verdict", "rows", "estimate", "bound"),
            *("delta", "spread", "rows needed"),
        ),
        tuple(
            (
                name,
                Code(result.statement),
                pass_or_fail(result),
                count(result.n),
                number(result.estimate),
                number(result.upper),
                f"{result.delta:g}",
                number(result.spread),
                "none is enough" if result.rows_needed is None else _about(result.rows_needed),
            )
            for name, result in zip(names, results, strict=True)
        ),
        words=3,
    )
    weights = Table(
        "Rows and importance weights by condition",
        ("condition", "statements", "rows", "ESS", "mean weight", "+-", "largest weight"),
        _weights(results),
        words=2,
    )
    chosen = Table(
        "Who chose tolerance and delta, and why",
        ("constraint", "delta", "chosen by", "why"),
        tuple(
            dict.fromkeys(
                (Code(claim.constraint), f"{claim.delta:g}", claim.chosen_by, claim.why)
                for claim in certificate.terms.claims
            )
        ),
        words=4,
    )
    blocks: list[Block] = [tests, weights, chosen]
    parts = [(n, r) for n, r in zip(names, results, strict=True) if r.statement != r.constraint]
    if parts:
        blocks.append(
            Table(
                "Statements that are part of a constraint",
                ("statement", "constraint"),
                tuple((name, Code(r.constraint)) for name, r in parts),
                words=2,
            )
        )
    warned: dict[str, list[str]] = {}
    for name, result in zip(names, results, strict=True):
        for warning in result.warnings:
            warned.setdefault(warning.text, []).append(name)
    if warned:
        said = tuple(f"{', '.join(of)}: {warning}." for warning, of in warned.items())
        blocks.append(Part("Warnings", (Bullets(said),)))
    return Section("table", "The statements in numbers", tuple(blocks))


def _about(rows: int) -> str:
    return f"about {raised(rows):,}"


def _weights(results: tuple[ConstraintResult, ...]) -> tuple[tuple[Line, ...], ...]:
    """Statements about the same people share a row."""
    by_group: dict[GroupRecord, list[str]] = {}
    for name, result in zip(numbered(results), results, strict=True):
        for group in result.groups:
            by_group.setdefault(group, []).append(name)
    return tuple(
        (
            group_name(group.condition),
            ", ".join(dict.fromkeys(names)),
            count(group.n),
            *(
                "" if value is None else number(value)
                for value in (
                    group.ess,
                    group.mean_weight,
                    group.mean_weight_error,
                    group.max_weight,
                )
            ),
        )
        for group, names in by_group.items()
    )


def moments(certificate: Certificate) -> Section | None:
    """What an auditor computes the bounds from again."""
    if not certificate.constraints:
        return None
    results = certificate.constraints
    tails = [
        (name, tail)
        for name, result in zip(numbered(results), results, strict=True)
        for tail in result.tails
    ]
    bounds = Table(
        "Bounded forms; all digits are shown",
        ("statement", "form", "delta", "estimate", "standard error", "upper bound"),
        tuple(
            (
                name,
                Code(tail.form),
                *map(exact, (tail.delta, tail.estimate, tail.error, tail.upper)),
            )
            for name, tail in tails
        ),
        words=2,
    )
    parts = Table(
        "Moments of the held-out rows of each form; all digits are shown",
        ("statement", "condition", "rows", "mean", "variance", "lowest", "highest"),
        tuple(
            (
                name,
                group_name(part.condition),
                count(part.n),
                *map(exact, (part.mean, part.variance)),
                *("none" if isinf(end) else exact(end) for end in (part.low, part.high)),
            )
            for name, tail in tails
            for part in tail.parts
        ),
        words=2,
    )
    said = (
        "From these numbers an auditor can compute the t bounds again, without the rows. Lowest "
        "and highest are the ends of a row that hold whatever the rows are, or none."
    )
    shared = [name for name, tail in tails if not tail.disjoint]
    if shared:
        said += (
            " Some people are in two parts at once, so that the standard error is not that of the "
            f"parts alone: {', '.join(dict.fromkeys(shared))}."
        )
    return Section("moments", "Moments", (Paragraph(said), Folded("The moments", (bounds, parts))))


def assumptions(certificate: Certificate) -> Section | None:
    """What the promise rests on, violated ones first."""
    if not certificate.assumptions:
        return None
    order = list(STATUSES)[::-1]
    listed = sorted(certificate.assumptions, key=lambda each: order.index(each.status))
    table = Table(
        "What the stated confidence rests on",
        ("assumption", "status", "in plain words", "as it is stated", "what was seen"),
        tuple(
            (
                each.name,
                SHOWN_STATUS[each.status] if each.status != "violated" else "VIOLATED",
                IN_PLAIN_WORDS[each.code],
                each.statement,
                each.evidence,
            )
            for each in listed
        ),
        words=5,
    )
    known: tuple[tuple[Line, Line], ...] = tuple(
        (SHOWN_STATUS[status], meaning) for status, meaning in STATUSES.items()
    )
    return Section("assumptions", RESTS_ON, (Definitions(known), table))


def multiplicity(certificate: Certificate) -> Section:
    """The promise about all statements together, word by word."""
    return Section(
        "promise", "The promise, word by word", (Paragraph(certificate.joint_statement),)
    )


def glossary(_: Certificate) -> Section:
    """Words and what they mean."""
    return Section("glossary", "Glossary", (Definitions(GLOSSARY),))


def reproduction(certificate: Certificate) -> Section:
    """Digests, versions, settings, and how to check all this."""
    of, terms, digests = certificate.provenance, certificate.terms, certificate.digests
    settings: list[tuple[Line, ...]] = [
        ("estimator", certificate.estimator),
        ("bound", certificate.bound),
        ("split", certificate.split),
        ("seed", str(certificate.seed)),
        ("share of rows that were not tested", rate(terms.candidate_share)),
        ("folds", count(terms.folds)),
        ("center of the paired form", terms.center),
        ("openings of these held-out rows", count(certificate.openings)),
    ]
    settings += [
        (("range of ", Code(each.impact)), f"{exact(each.low)} to {exact(each.high)}")
        for each in terms.impact_ranges
    ]
    if terms.propensity_floor is not None:
        settings.append(("propensity floor", exact(terms.propensity_floor)))
    if terms.outcome_model:
        settings.append(("outcome model", Code(terms.outcome_model)))
    if terms.thresholds:
        settings.append(("thresholds of decisions", ", ".join(map(exact, terms.thresholds))))
    source: tuple[tuple[Line, ...], ...] = (
        ("source", of.source),
        ("SHA-256 of the file", Code(of.source_digest) if of.source_digest else NOT_STATED),
        ("written", of.issued),
    )
    blocks: list[Block] = [
        Paragraph(
            "Who has the certificate, the table and the model can check all of this: the digests, "
            "the arithmetic from the stored moments, and the whole computation. A check that could "
            "not be made is reported as skipped, never as passed."
        ),
        Verbatim(HOW_TO_VERIFY),
        Table("Settings", ("setting", "value"), tuple(settings), words=2),
        Table("Source", ("what", "value"), source, words=2),
        Table(
            "Digests (SHA-256)",
            ("of", "digest"),
            (
                ("all rows", Code(digests.data)),
                ("candidate rows", Code(digests.candidate)),
                ("held-out rows", Code(digests.held_out)),
                ("the split", Code(digests.split)),
                ("the model", Code(digests.model)),
                ("the models in line", Code(digests.ladder)),
            ),
            words=2,
        ),
        Table(
            "Versions",
            ("program", "version"),
            tuple((each.name, each.version) for each in certificate.versions),
            words=2,
        ),
    ]
    if of.study:
        again = ("Save this as ", Code("study.toml"), " and run ", Code("elfair fit study.toml"))
        blocks.append(Folded("The study file", (Paragraph((*again, ".")), Verbatim(of.study))))
    return Section("verify", "How to reproduce and verify", tuple(blocks))
