"""Where a result comes from: the data, the search, the ladder, and how to check all of it."""

from __future__ import annotations

from collections.abc import Iterator

from elfair.certificate import NOT_STATED, Certificate, SearchRecord
from elfair.certificate.behavior import BehaviorRecord
from elfair.certificate.people import LeftOut, UnseenRecord
from elfair.certificate.statement import HOW_TO_VERIFY
from elfair.records.text import count, exact, number, plural, rate, sentence, shown_count
from elfair.report import blocks, charts
from elfair.report.blocks import Block, Code, Line, Paragraph, Table, prose
from elfair.report.by_group import folded, not_all_drawn
from elfair.report.charts import MOST_DRAWN


def data(certificate: Certificate) -> Iterator[Block]:
    """Which rows, which columns, and who was left out."""
    of, roles = certificate.provenance, certificate.roles
    yield Paragraph(prose("splits")[certificate.split])
    yield Table(
        "Rows",
        ("what", "how many"),
        (
            ("rows in the table", count(of.rows_read) if of.rows_read else NOT_STATED),
            ("rows used", count(certificate.n)),
            ("candidate rows, for search and constants", count(certificate.n_candidate)),
            ("held-out rows, for the test", count(certificate.n_held_out)),
        ),
    )
    if of.outside:
        yield Paragraph("Statements are about rows that meet the conditions of the study alone.")
        yield _left_out("Rows outside the study, about whom no statement speaks", of.outside)
    if of.left_out:
        yield _left_out("People left out, and why", of.left_out)
    elif not of.outside:
        yield Paragraph("Nobody was left out.")
    if certificate.people.groups:
        yield _people(certificate)
    if of.changes:
        yield Table(
            "How the table was read",
            ("what was changed",),
            tuple((each,) for each in of.changes),
            words=1,
        )
    yield Table.of_facts(
        "Which column is what",
        [
            ("features, which the model sees", _names(roles.features)),
            ("sensitive features, which name groups", _names(roles.sensitive)),
            ("impacts, measured later", _names(roles.impacts)),
            ("label", _label(certificate)),
            ("propensities", _propensities(certificate)),
            *([("early outcomes", _names(roles.early))] if roles.early else []),
            ("row identifier", "given" if roles.row_id else "none"),
            *([("sample weights", "given")] if roles.sample_weight else []),
            *([("time", "given")] if roles.time else []),
            *_of_costs(certificate),
            *_of_units(certificate),
            ("decisions", _names(certificate.classes) if certificate.classes else "numbers"),
        ],
        ("role", "columns"),
    )
    for each in certificate.terms.unseen:
        yield from _unseen(each)
    if certificate.terms.behavior is not None:
        yield from _estimated(certificate.terms.behavior)
    if chances := certificate.terms.lottery:
        yield Table(
            "The lottery that decided, as declared",
            ("who", "decision", "probability"),
            tuple((each.condition, each.decision, f"{each.probability:.6g}") for each in chances),
            words=2,
        )


def _of_units(certificate: Certificate) -> list[tuple[str, str]]:
    """Whom rows are about, if several may be about one person."""
    units = certificate.terms.units
    if units is None:
        return [("units", "given: each has one row")] if certificate.roles.unit else []
    held_out = f"{count(units.n)}, of which {count(units.n_held_out)} held out"
    return [("units, which all counts are of", held_out), ("statements are about", units.about)]


def _unseen(of: UnseenRecord) -> Iterator[Block]:
    """Of whom an impact is missing, and what stands for it."""
    instead = {
        "": "Instead, whichever end of its declared range is bad for the statement was taken.",
        "estimated": "It was declared to be missing at random; the probability of being seen was "
        "estimated on candidate rows, and so was the impact to expect.",
        "declared": "Whom to follow up was declared to be drawn at random, with known "
        "probabilities.",
    }
    known = f" Early outcomes, known of everyone: {', '.join(of.early)}." if of.early else ""
    missing = f"Impact '{of.impact}' is missing in {count(of.missing)} of {count(of.n)} rows."
    yield Paragraph(f"{missing} {instead[of.follow_up]}{known}")
    yield Table(
        f"Of whom '{of.impact}' is missing",
        ("group", "decision", "rows", "missing", "share"),
        tuple(
            (by.group, by.decision, count(by.n), count(by.missing), rate(by.missing / by.n))
            for by in of.by
        ),
        words=2,
    )


def _estimated(of: BehaviorRecord) -> Iterator[Block]:
    """How propensities were estimated: the forms that were tried, overlap and calibration."""
    corrected = ", and corrected by what other folds show" if of.calibrated else ""
    yield Paragraph(
        f"Propensities were not logged. They were estimated from candidate rows by {of.form}"
        f"{corrected}. Each bound allows for how much the result changes if one of {of.groups} "
        "groups of these rows is left out."
    )
    if of.about:
        yield Paragraph(sentence(of.about))
        yield Table(
            "Who was trimmed: about them, no statement speaks",
            ("group", "rows", "trimmed"),
            tuple((each.condition, count(each.n), count(each.trimmed)) for each in of.trimmed),
            words=1,
        )
    yield Table(
        "Forms of the estimated behaviour model",
        ("form", "log-likelihood of decisions, by other folds"),
        tuple((each.form, number(each.likelihood)) for each in of.tried),
        words=1,
    )
    yield Table(
        "Calibration and overlap of estimated propensities",
        ("group", "decision", "rows", "taken", "expected", "smallest", "5 % quantile"),
        tuple(
            (
                *(each.condition, each.decision, count(each.n), rate(each.taken)),
                *(rate(each.expected), number(each.smallest), number(each.low)),
            )
            for each in of.calibration
        ),
        words=2,
    )


def _of_costs(certificate: Certificate) -> list[tuple[str, str]]:
    of = certificate.roles.person_cost
    said = "of every decision" if of == "decision" else "of a wrong decision"
    return [("costs for each person", said)] if of else []


def _label(certificate: Certificate) -> str:
    of = certificate.terms.revealed
    if of is None:
        return "given" if certificate.roles.label else "none"
    return (
        f"seen for {count(of.seen)} of {count(of.n)} rows: only with decision "
        f"{', '.join(of.decisions)}. Statements about labels weigh these rows"
    )


def _propensities(certificate: Certificate) -> str:
    if certificate.terms.behavior is not None:
        return "not logged: estimated"
    if certificate.terms.lottery:
        return "declared: the chances of a lottery"
    return "given" if certificate.roles.propensities else "none"


def _left_out(title: str, left_out: tuple[LeftOut, ...]) -> Table:
    rows: list[tuple[str, str, str]] = []
    for each in left_out:
        rows.append((each.reason, "all of them", shown_count(each.n)))
        rows += [(each.reason, by.group, count(by.n)) for by in each.groups]
    return Table(title, ("reason", "group", "how many"), tuple(rows), words=2)


def _people(certificate: Certificate) -> Table:
    rows = [
        (each.group, "yes" if each.named else "no", each.perhaps and f"perhaps {each.perhaps}")
        for each in certificate.people.groups
    ]
    sizes = [shown_count(each.n) for each in certificate.people.groups]
    return Table(
        "People in no group that a statement names, and groups that may be a mistake",
        ("who", "named by a statement", "likely mistake", "how many"),
        tuple((*row, size) for row, size in zip(rows, sizes, strict=True)),
        words=3,
    )


def _names(names: tuple[str, ...]) -> Line:
    parts: list[str | Code] = []
    for name in names:
        parts += [", ", Code(name)]
    return tuple(parts[1:]) or "none"


def search(certificate: Certificate) -> Iterator[Block]:
    """How the tested model was found."""
    found = certificate.search
    yield Paragraph(_search(found, bool(certificate.constraints)))
    if found is None:
        if certificate.terms.deployed:
            yield Paragraph(f"It draws nothing. It takes {certificate.terms.deployed}.")
        return
    facts: list[tuple[Line, Line]] = [
        ("search", found.method),
        ("objective (maximised)", found.objective),
        ("loss on candidate rows (minimised)", number(found.loss)),
        ("models evaluated", count(found.evaluations)),
        ("candidate rows at which it stopped", count(found.rows)),
        ("forecast chance that the first model passes", rate(found.forecast)),
        ("met the margin that was asked for", "yes" if found.meets_target else "no"),
    ]
    if found.models == 1 and certificate.constraints:
        facts += [
            ("models on the ladder", count(found.on_ladder)),
            ("models tested", count(found.tested)),
            ("place of the model in this report", count(found.place)),
        ]
    yield Table.of_facts("The search", facts)


def _search(found: SearchRecord | None, tested: bool) -> str:
    if found is None:
        return (
            "The model is from elsewhere, and nothing here says how it was made. That it learnt "
            "nothing from the rows of the test is assumed, not checked."
        )
    if found.models > 1:
        return (
            f"{found.models} models were found, one for each fold, on the rows of the other folds. "
            "For each decision, one of them is picked at random."
        )
    if not tested:
        return "The search used all rows, and found one model."
    return (
        f"Before held-out rows were opened, the search put {plural(found.on_ladder, 'model')} on a "
        "ladder, from the one most likely to pass to the one with the best objective. Testing "
        "followed that order and stopped at the first failure, or at the end: after "
        f"{plural(found.tested, 'model')}. All numbers in this report are about the model at place "
        f"{found.place}."
    )


def trade_off(certificate: Certificate) -> Iterator[Block]:
    """The objective beside the impact, along the ladder."""
    of, found = certificate.trade_off, certificate.search
    if of is None or found is None or not of.models:
        return
    series = of.series[:MOST_DRAWN]
    yield from not_all_drawn(len(of.series), "the certificate", "impacts")
    if len(of.models) == 1:
        yield Paragraph("The ladder has one model, so there is none to compare it with.")
    elif series:
        yield charts.ladder(of, found.objective)
    yield folded(
        Table(
            "The models of the ladder, on candidate rows",
            ("place", "result", "loss", *(f"{each.impact}, {each.condition}" for each in series)),
            (
                *(
                    (str(m.place), m.fate, number(m.loss), *map(number, m.impacts[: len(series)]))
                    for m in of.models
                ),
                ("old model", "", "", *(number(each.logged) for each in series)),
            ),
            words=2,
        )
    )


def glossary(_: Certificate) -> Iterator[Block]:
    """Terms and what they mean."""
    yield blocks.Definitions(tuple(prose("glossary").items()))


def reproduction(certificate: Certificate) -> Iterator[Block]:
    """Digests, versions, settings, and how to check everything."""
    of, digests = certificate.provenance, certificate.digests
    yield Paragraph(
        "Anyone with the certificate, the table and the model can check all of this: the digests, "
        "the arithmetic from the stored moments, and the whole computation. A check that could not "
        "be made is reported as skipped, never as passed."
    )
    yield blocks.Verbatim(HOW_TO_VERIFY)
    yield Paragraph(
        "Neither this report nor the certificate says who wrote it: anybody could have. A signed "
        "certificate (elfair sign) shows who answers for it, if you verify it with the public key "
        "of somebody you trust: --key PUBLIC."
    )
    yield Table.of_facts("Settings", _settings(certificate), ("setting", "value"))
    source = Code(of.source_digest) if of.source_digest else NOT_STATED
    yield Table.of_facts(
        "Source",
        [("source", of.source), ("SHA-256 of the file", source), ("written", of.issued)],
    )
    yield Table.of_facts(
        "Digests (SHA-256)",
        [
            ("all rows", Code(digests.data)),
            ("candidate rows", Code(digests.candidate)),
            ("held-out rows", Code(digests.held_out)),
            ("the split", Code(digests.split)),
            ("the model", Code(digests.model)),
            ("the ladder", Code(digests.ladder)),
        ],
        ("of", "digest"),
    )
    versions = [(each.name, each.version) for each in certificate.versions]
    yield Table.of_facts("Versions", versions, ("program", "version"))
    if of.study:
        again = ("Save this as ", Code("study.toml"), " and run ", Code("elfair fit study.toml"))
        study = (Paragraph((*again, ".")), blocks.Verbatim(of.study))
        yield blocks.Folded("The study file", study)


def _settings(certificate: Certificate) -> list[tuple[Line, Line]]:
    terms = certificate.terms
    settings: list[tuple[Line, Line]] = [
        ("estimator", certificate.estimator),
        ("bound", certificate.bound),
        ("split", certificate.split),
        ("seed", str(certificate.seed)),
        ("candidate share", rate(terms.candidate_share)),
        ("folds", count(terms.folds)),
        ("look at these rows", f"{certificate.openings} of {terms.looks} declared"),
    ]
    if terms.positive is not None:
        settings.append(("positive decision", Code(terms.positive)))
    if terms.accept_violated:
        settings.append(("assumptions that may be violated", ", ".join(terms.accept_violated)))
    settings += [
        (("range of ", Code(each.impact)), f"{exact(each.low)} to {exact(each.high)}")
        for each in terms.impact_ranges
    ]
    if terms.propensity_floor is not None:
        settings.append(("propensity floor", exact(terms.propensity_floor)))
    if terms.preparation:
        settings.append(("preparation of features", "; ".join(terms.preparation)))
    if terms.Lambda > 1:
        settings.append(("odds ratio of confounding (Lambda)", exact(terms.Lambda)))
    if terms.shift > 1:
        settings.append(("likelihood ratio of a change of people (shift)", exact(terms.shift)))
    if terms.outcome_model:
        settings.append(("outcome model", Code(terms.outcome_model)))
    if terms.thresholds:
        settings.append(("thresholds of decisions", ", ".join(map(exact, terms.thresholds))))
    return settings
