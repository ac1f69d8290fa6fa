"""A certificate for other hands: no count in it, and no mean, is about fewer people than a number.

What is about too few people is left out, and so is whatever would tell it by subtraction. Where the
promise itself is about too few, nothing can be left out, and no such certificate is made. A count
that is left out is 0 in the record: such a count is never 0 otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Any

from elfair.certificate.behavior import BehaviorRecord
from elfair.certificate.codes import WarningRecord, left_out_alike
from elfair.certificate.effects import EffectRecord
from elfair.certificate.parts import Provenance, TermsRecord
from elfair.certificate.people import LeftOut, PeopleRecord, UnseenRecord
from elfair.certificate.pictures import GroupPicture
from elfair.certificate.promise import in_words
from elfair.errors import InputError
from elfair.language.conditions import EVERYONE, Condition, columns_used, parts_of
from elfair.language.evaluation import are_disjoint
from elfair.language.parsing import parse_condition
from elfair.records.text import plural

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate, SearchRecord

#: A number of people or rows in a text.
_COUNT = re.compile(r"(?<![\w.,'-])(\d+)(?= (?:\w[\w-]* )?(?:rows?|units?|people|values?)\b)")
_PART = re.compile(r"(?<![\w.,'-])(\d+)(?= of [\d,]+ )")
#: If a total is hidden, candidate rows are rounded to this many times the number.
ROUND = 10


def suppressing(certificate: Certificate, below: int) -> Certificate:
    """The certificate without what is about fewer people than a number; see `Certificate`.

    Parameters
    ----------
    certificate : Certificate
        The whole certificate.
    below : int
        The number, at least 2.
    """
    if isinstance(below, bool) or not isinstance(below, int) or below < 2:
        raise InputError(
            f"the smallest number of people to show must be a whole number of at least 2. Got "
            f"{below!r}.",
            hint="5 is usual.",
        )
    if certificate.suppressed_below:
        if certificate.suppressed_below == below:
            return certificate
        raise InputError(
            "this certificate is for handing over already, without what is about fewer than "
            f"{certificate.suppressed_below} people.",
            hint="begin with the whole certificate.",
        )
    return _Suppression(certificate, below).made()


def without_few(text: str, below: int) -> str:
    """A text without numbers of people below another; 0 leaves it as it is.

    Parameters
    ----------
    text : str
        The text.
    below : int
        The number.

    Examples
    --------
    >>> without_few("3 of 2,000 rows lack it; 4 people, 12 rows", 5)
    'fewer than 5 of 2,000 rows lack it; fewer than 5 people, 12 rows'
    """

    def shown(found: re.Match[str]) -> str:
        return f"fewer than {below}" if 0 < int(found[1]) < below else found[1]

    return _COUNT.sub(shown, _PART.sub(shown, text))


@dataclass(frozen=True)
class _Suppression:
    of: Certificate
    below: int

    def made(self) -> Certificate:
        if found := list(self._told()):
            raise InputError(
                f"what is about fewer than {self.below} people cannot be left out here: "
                f"{'; '.join(found)}.",
                hint="hand over the report's promise in words alone, choose a smaller number, or "
                "leave these people out of the next study (keep in [rows]).",
            )
        of, people = self.of, self._people()
        provenance = self._provenance(of.provenance)
        shown = replace(
            of,
            **self._totals(),
            suppressed_below=self.below,
            people=people,
            provenance=provenance,
            groups=tuple(self._pictures()),
            terms=self._terms(of.terms),
            effects=tuple(map(self._effect, of.effects)),
            search=None if of.search is None else self._search(of.search),
            rules=tuple(
                replace(rule, leaves=tuple(replace(leaf, shares=()) for leaf in rule.leaves))
                for rule in of.rules
            ),
            assumptions=tuple(
                left_out_alike(provenance)
                if each.code == "left_out_alike"
                else replace(each, evidence=self._text(each.evidence))
                for each in of.assumptions
            ),
        )
        others = [each for each in of.warnings if each.code != "people_not_named"]
        place = next((k for k, each in enumerate(of.warnings) if each not in others), len(others))
        told = [replace(each, text=self._text(each.text)) for each in others]
        about = [WarningRecord("people_not_named", text) for text in people.said(shown.n)]
        shown = replace(
            shown,
            warnings=tuple([*told[:place], *about, *told[place:]]),
            constraints=tuple(
                replace(
                    result,
                    warnings=tuple(replace(w, text=self._text(w.text)) for w in result.warnings),
                )
                for result in of.constraints
            ),
        )
        return replace(shown, in_words=in_words(shown))

    def _text(self, text: str) -> str:
        """A text without numbers of a few people, and without totals that tell of them."""
        for name, shown in self._totals().items():
            text = re.sub(
                rf"(?<![\d,.]){getattr(self.of, name):,}(?![\d,.]*\d)", f"{shown:,}", text
            )
        return without_few(text, self.below)

    def _search(self, of: SearchRecord) -> SearchRecord:
        """How the model was found; the number of candidate rows is that of the totals."""
        most = self._totals().get("n_candidate")
        return of if most is None else replace(of, rows=min(of.rows, most))

    def _few(self, n: int) -> bool:
        return 0 < n < self.below

    # -- what cannot be left out -------------------------------------------------------------------

    def _told(self) -> Iterator[str]:
        """What the statements themselves tell of too few people."""
        of = self.of
        for result in of.constraints:
            for group in result.groups:
                if self._few(group.n):
                    yield f"'{result.statement}' is about {plural(group.n, 'held-out row')}"
        sizes = {self._given(each): each.n for each in self._named}
        for inner, outer in permutations(sizes, 2):
            within = set(parts_of(outer)) < set(parts_of(inner))
            if within and self._few(sizes[outer] - sizes[inner]):
                yield f"statements about '{inner}' and about '{outer}' differ by a few rows"
        about_all = [r for r in of.constraints if any(g.condition == EVERYONE for g in r.groups)]
        if self._rest and (about_all or len(self._by_columns) > 1):
            what = f"'{about_all[0].statement}'" if about_all else "other groups"
            yield f"{what} and the groups together tell of a few people outside the groups"
        behavior, units = of.terms.behavior, of.terms.units
        if behavior is not None and self._few(behavior.left):
            yield "few people were left out because some decision is too rare for them"
        if self._rest and (units is not None or (behavior is not None and behavior.trimmed)):
            yield "numbers of units, or of people left out, tell of a few people outside the groups"
        yield from (
            f"few people lack the impact '{each.impact}'"
            for each in of.terms.unseen
            if self._few(each.missing) or self._few(each.n - each.missing)
        )
        seen = of.terms.revealed
        if seen is not None and (self._few(seen.seen) or self._few(seen.n - seen.seen)):
            yield "the label was seen, or not seen, for a few people"

    @cached_property
    def _named(self) -> list[GroupPicture]:
        """The groups that statements are about."""
        return [each for each in self.of.groups if each.condition != EVERYONE]

    def _given(self, of: GroupPicture) -> Condition:
        return parse_condition(of.condition)

    @cached_property
    def _by_columns(self) -> dict[frozenset[str], list[GroupPicture]]:
        """The groups by the columns that define them."""
        found: dict[frozenset[str], list[GroupPicture]] = {}
        for each in self._named:
            found.setdefault(frozenset(columns_used(self._given(each))), []).append(each)
        return found

    @cached_property
    def _rest(self) -> bool:
        """Whether subtraction tells of a few people who are in no group of some columns."""
        everyone = self.of.groups[0].n if self.of.groups else 0
        rests = [everyone - sum(each.n for each in of) for of in self._by_columns.values()]
        alone = [self._apart(of) for of in self._by_columns.values()]
        few = any(self._few(n) for n, apart in zip(rests, alone, strict=True) if apart)
        return few or self._few(self.of.people.unnamed)

    def _apart(self, groups: Sequence[GroupPicture]) -> bool:
        given = [self._given(each) for each in groups]
        return all(are_disjoint(a, b) for k, a in enumerate(given) for b in given[:k])

    # -- what is left out --------------------------------------------------------------------------

    def _totals(self) -> dict[str, Any]:
        """The numbers of rows: if they tell of a few people in no group, of the others alone."""
        of = self.of
        if not self._rest:
            return {}
        tested = sum(each.n for each in self._named)
        if of.split == "crossfit":
            return {
                "n": tested,
                "n_held_out": tested,
                "n_candidate": tested - tested // of.terms.folds,
            }
        # Of a known share of all rows, the number of the others would tell how many these are.
        unit = ROUND * self.below
        candidate = unit * round(of.n_candidate / unit)
        return {"n": candidate + tested, "n_held_out": tested, "n_candidate": candidate}

    def _pictures(self) -> Iterator[GroupPicture]:
        cells = [
            *(round(d.logged * each.n) for each in self.of.groups for d in each.decisions),
            *self._beyond([[d.logged * each.n for d in each.decisions] for each in self.of.groups]),
        ]
        decided = not any(map(self._few, cells))
        for each in self.of.groups:
            if each.condition == EVERYONE and self._rest:
                n = sum(other.n for other in self._named)
                yield GroupPicture(EVERYONE, n, (), (), None, None, None)
                continue
            shown = each if decided else replace(each, decisions=())
            yield (
                shown
                if self._many
                else replace(shown, weights=None, propensities=None, probabilities=None)
            )

    def _effect(self, of: EffectRecord) -> EffectRecord:
        """A feature; without decisions about its bands, if any of them is about a few people."""
        cells = [
            n
            for band in of.bands
            for cell in band.cells
            for n in (cell.n, *(round(share * cell.n) for share in cell.old))
        ]
        cells += [n for band in of.bands for n in self._beyond([[c.n] for c in band.cells])]
        if not (self._rest or self._any(cells)):
            return of
        return replace(of, bands=tuple(replace(band, cells=()) for band in of.bands))

    @cached_property
    def _many(self) -> bool:
        """Whether many rows are in every bin of every histogram that has any."""
        for name in ("weights", "propensities", "probabilities"):
            found = [getattr(each, name) for each in self.of.groups]
            counts = [list(each.counts) for each in found if each is not None]
            if any(map(self._few, (n for of in [*counts, self._beyond(counts)] for n in of))):
                return False
        return True

    def _beyond(self, cells: Sequence[Sequence[float]]) -> list[int]:
        """Everyone's cells without those of each group, and without those of all together."""
        if len(cells) < 2 or not all(len(each) == len(cells[0]) for each in cells):
            return []
        every, *groups = cells
        together = [sum(of) for of in zip(*groups, strict=True)]
        return [
            round(all_ - part)
            for of in (*groups, together)
            for all_, part in zip(every, of, strict=True)
        ]

    def _people(self) -> PeopleRecord:
        people = self.of.people
        hidden = self._hidden([each.n for each in people.groups])
        groups = tuple(
            replace(each, n=0 if k in hidden or self._rest else each.n)
            for k, each in enumerate(people.groups)
        )
        return PeopleRecord(0 if self._rest else people.unnamed, groups)

    def _hidden(self, counts: Sequence[int]) -> set[int]:
        """The places of the counts to hide: those that are small, and enough of the next ones that
        no sum of all tells one of them.
        """
        order = sorted(range(len(counts)), key=lambda k: counts[k])
        hidden = [k for k in order if self._few(counts[k])]
        for k in order:
            if not hidden or (len(hidden) > 1 and sum(counts[j] for j in hidden) >= self.below):
                break
            if k not in hidden:
                hidden.append(k)
        return set(hidden)

    def _provenance(self, of: Provenance) -> Provenance:
        entries = (*of.left_out, *of.outside)
        hidden = any(self._few(each.n) for each in entries) or self._rest
        return replace(
            of,
            rows_read=0 if hidden else of.rows_read,
            left_out=tuple(map(self._entry, of.left_out)),
            outside=tuple(map(self._entry, of.outside)),
            changes=tuple(map(self._text, of.changes)),
        )

    def _entry(self, of: LeftOut) -> LeftOut:
        parts = any(self._few(each.n) or self._few(of.n - each.n) for each in of.groups)
        return replace(of, n=0 if self._few(of.n) else of.n, groups=() if parts else of.groups)

    def _terms(self, of: TermsRecord) -> TermsRecord:
        behavior = None if of.behavior is None else self._behavior(of.behavior)
        n = self._totals().get("n")
        revealed = of.revealed
        return replace(
            of,
            behavior=behavior,
            revealed=revealed if revealed is None or n is None else replace(revealed, n=n),
            unseen=tuple(map(self._unseen, of.unseen)),
            preparation=tuple(map(self._text, of.preparation)),
        )

    def _unseen(self, of: UnseenRecord) -> UnseenRecord:
        cells = (n for each in of.by for n in (each.n, each.missing, each.n - each.missing))
        if self._rest:
            return replace(of, n=self._totals()["n"], by=())
        return replace(of, by=()) if self._any(cells) else of

    def _behavior(self, of: BehaviorRecord) -> BehaviorRecord:
        left = (
            n
            for each in of.trimmed
            for n in (each.trimmed, each.n - each.trimmed, each.candidates_trimmed)
        )
        calibration = of.calibration
        if self._rest or self._any(round(each.n * each.taken) for each in calibration):
            calibration = tuple(each for each in calibration if each.condition == EVERYONE)
            if self._any(round(each.n * each.taken) for each in calibration):
                calibration = ()
            elif self._rest:
                n = self._totals()["n"]
                calibration = tuple(replace(each, n=n) for each in calibration)
        trimmed = of.trimmed[:1] if self._any(left) else of.trimmed
        return replace(of, trimmed=trimmed, calibration=calibration)

    def _any(self, counts: Iterable[int]) -> bool:
        return any(map(self._few, counts))
