"""How the model was found, what it traded, and what to do where none was."""

from __future__ import annotations

from elfair.certificate import Certificate
from elfair.report import panels
from elfair.report.advice import (
    MORE_FROM_THE_SAME_ROWS,
    WHAT_NOT_TO_DO,
    Advice,
    advise,
    advise_on_all,
)
from elfair.report.blocks import (
    Block,
    Bullets,
    Code,
    Definitions,
    Folded,
    Paragraph,
    Part,
    Section,
    Table,
)
from elfair.report.marks import MOST_DRAWN
from elfair.report.words import count, failed, number, plural, rate, seen, sentence

#: So many failed statements get advice of their own; the worst come first.
MOST_ADVISED = 10


def trade_off(certificate: Certificate) -> Section | None:
    """The objective beside the impact, along the line-up."""
    of, found = certificate.trade_off, certificate.candidate
    if of is None or found is None or not of.models:
        return None
    blocks: list[Block] = []
    series = of.series[:MOST_DRAWN]
    if len(of.series) > MOST_DRAWN:
        said = f"The first {MOST_DRAWN} of {len(of.series)} are shown; the certificate has all."
        blocks.append(Paragraph(said))
    if len(of.models) == 1:
        blocks.append(Paragraph("One model stood in line: there is no other to compare it with."))
    elif series:
        blocks.append(panels.line_up(series, of.models, found.objective))
    table = Table(
        "The models in line, on candidate rows",
        ("place", "fate", "loss", *(f"{each.impact}, {each.condition}" for each in series)),
        (
            *(
                (
                    str(model.place),
                    model.fate,
                    number(model.loss),
                    *map(number, model.impacts[: len(series)]),
                )
                for model in of.models
            ),
            ("old model", "", "", *(number(each.logged) for each in series)),
        ),
        words=2,
    )
    blocks.append(Folded("The numbers", (table,)))
    return Section("trade-off", "Objective and impact along the line-up", tuple(blocks))


def what_next(certificate: Certificate) -> Section | None:
    """After "no solution found"."""
    wrong = failed(certificate)
    if certificate.passed or not wrong:
        return None
    blocks = _advice(advise_on_all(certificate))
    for result in wrong[:MOST_ADVISED]:
        said = Paragraph(f"{seen(result)}.")
        blocks.append(Part(Code(result.statement), (said, *_advice(advise(result)))))
    if more := wrong[MOST_ADVISED:]:
        blocks.append(
            Paragraph(
                f"And {plural(len(more), 'statement')} more that failed, by less; all are in the "
                "table of statements."
            )
        )
    blocks.append(
        Part(
            "More out of the same number of rows",
            (
                Paragraph("To be chosen before the next rows are looked at:"),
                Bullets(MORE_FROM_THE_SAME_ROWS),
                Paragraph(WHAT_NOT_TO_DO),
            ),
        )
    )
    return Section("next", "What to do next", tuple(blocks))


def _advice(found: tuple[Advice, ...]) -> list[Block]:
    return [
        Definitions(
            (
                ("What it says", sentence(each.seen)),
                ("Likely cause", sentence(each.cause)),
                ("What to do", sentence(each.steps)),
            )
        )
        for each in found
    ]


def how_found(certificate: Certificate) -> Section:
    """How the tested model came about."""
    found = certificate.candidate
    if found is None:
        said = (
            "The model is from elsewhere. Nothing here says how it was made; that it owes nothing "
            "to the rows of the test is declared, and not checked."
        )
        return Section("search", "How the model was found", (Paragraph(said),))
    rows = [
        ("search", found.search),
        ("objective (made large)", found.objective),
        ("loss on candidate rows (made small)", number(found.loss)),
        ("policies looked at", count(found.evaluations)),
        ("predicted probability that the first in line passes", rate(found.predicted_pass)),
        ("had the margin that was asked for", "yes" if found.meets_target else "no"),
    ]
    if found.models > 1:
        said = (
            f"{found.models} models were found, one for each fold, on the rows of the other folds. "
            "For each decision one of them is picked at random."
        )
    elif certificate.constraints:
        said = (
            f"Before held-out rows were opened, {plural(found.lined_up, 'model')} stood in line, "
            "from the one most likely to pass to the one with the best objective. They were tested "
            f"in that order as long as none failed: {found.tested} of them. All numbers here are "
            f"about the one at place {found.place}."
        )
        rows += [
            ("models lined up", count(found.lined_up)),
            ("models tested", count(found.tested)),
            ("place of the model in this report", count(found.place)),
        ]
    else:
        said = "One model was looked for, on all rows."
    table = Table("The search", ("what", "value"), tuple(rows), words=2)
    return Section("search", "How the model was found", (Paragraph(said), table))
