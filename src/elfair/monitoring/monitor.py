"""Watches a released model: look at its log now and then, and each look may be the last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import isfinite, nan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elfair.data.columns import Columns
from elfair.errors import DataError, InputError
from elfair.estimators import load
from elfair.estimators.classifier import ELFClassifier
from elfair.monitoring.evidence import Side
from elfair.monitoring.known import KnownRows
from elfair.monitoring.state import State, pending_from, restored
from elfair.monitoring.statements import DROP, WEIGHTED, NewRows, Watched, watched_statements
from elfair.monitoring.status import Look, MonitorStatus, NotWatched, StatementStatus
from elfair.search.threads import one_thread
from elfair.types import Booleans

if TYPE_CHECKING:
    from elfair.monitoring.log import Part

#: How many rows are there to learn from, at most; and the least, if the chance of being seen is
#: known, and if it is learnt, too.
MOST_LEARNT, FEW, MORE = 2_560, 20, 320
#: The old model is estimated by weighting if the mean square of a weight is at most this; beyond,
#: these rows hardly show what it would have done, and its certified average says more.
MOST_SQUARED = 10.0


class ImpactMonitor:
    """Watches every statement of a certificate as decisions are taken, and impacts come later.

    You may look as often as you like. The chance that a statement is ever called violated although
    it holds is at most ``alpha``, for all statements and looks together; and so is the chance that
    one is ever called holding although it does not.

    Parameters
    ----------
    model : str, Path or ELFClassifier
        The released model, or its file. It must have been made from a study.
    folder : str or Path
        Where the state is kept; made by the first look.
    delay : float
        After how many days an impact is measured. A younger row is pending; an older one counts,
        and its impact is missing if it is not there.
    alpha : float, default 0.1
        The chance of a false alarm.
    missing : {"at random", "worst case", "drop"}, optional
        What a missing impact is taken for; by default as the study says.
    follow_up : float or str, optional
        The probability with which each person is drawn to be followed up, or its column.

    Examples
    --------
    >>> from elfair import ImpactMonitor
    >>> monitor = ImpactMonitor("results/model.elfair", "results-monitor", delay=365)
    ... # doctest: +SKIP
    >>> print(monitor.look("decisions.csv").text())  # doctest: +SKIP
    """

    def __init__(
        self,
        model: str | PathLike[str] | ELFClassifier,
        folder: str | PathLike[str],
        *,
        delay: float,
        alpha: float = 0.1,
        missing: str | None = None,
        follow_up: float | str | None = None,
    ) -> None:
        # Databases and the rest of studies are not needed before.
        from elfair.monitoring.log import Log, study_of

        loaded: Any = model if isinstance(model, ELFClassifier) else load(model)
        study = study_of(loaded)
        loaded.require_solution()
        if not 0 < alpha < 1 or not delay >= 0:
            raise InputError(
                f"alpha must be in (0, 1), and delay a number of days. Got alpha={alpha!r} and "
                f"delay={delay!r}.",
                hint="alpha=0.1, and delay=365 for an impact that is measured after a year.",
            )
        said = study.rows.stands_in or (DROP if study.rows.missing_impact == DROP else None)
        missing = missing or said
        if missing not in (None, "at random", "worst case", DROP):
            raise InputError(
                f"missing must be 'at random', 'worst case' or 'drop'. Got {missing!r}.",
                hint="by default it is as the study says.",
            )
        ranges = {each.impact for each in loaded.certificate_.terms.impact_ranges}
        if missing == "worst case" and not ranges >= set(study.columns.impact):
            raise InputError(
                "missing='worst case' needs the range of every impact; the study declares none.",
                hint="declare missing='at random', if that is so.",
            )
        drawn = follow_up if follow_up is not None else study.columns.follow_up
        self._log = Log(loaded, study, missing, drawn if missing == "at random" else None)
        self._delay, self._alpha, self._folder = timedelta(days=delay), alpha, Path(folder)
        self._settings = {
            "model": loaded.certificate_.digests.model, "delay": delay, "alpha": alpha,
            "missing": missing, "follow_up": self._log.follow_up,
        }  # fmt: skip
        self._watched: list[tuple[Watched, Side, Side]] = []
        self._left: tuple[NotWatched, ...] = ()

    @one_thread()
    def look(
        self, source: str | Path, *, query: str | None = None, now: datetime | None = None
    ) -> MonitorStatus:
        """Read what is new in the log, and say how each statement stands.

        Parameters
        ----------
        source : str or Path
            The log: what `elfair decide` appended, with the measured columns. A file, a pattern of
            files, a folder of Parquet files, or the address of a database.
        query : str, optional
            The query, if it is a database.
        now : datetime, optional
            The time of the look, by which rows are due; the present unless given.

        Returns
        -------
        MonitorStatus
        """
        from elfair.monitoring.reading import parts_of

        now = datetime.now(UTC) if now is None else now.astimezone(UTC)
        with restored(self._folder, self._settings) as state:
            self._begin(state)
            before, left = pending_from(self._folder, state), []
            state.others = state.late = 0
            for table in parts_of(source, query, self._log.columns, self._log.as_written):
                part, others = self._log.part(table, self._delay, now)
                state.others += others
                self._refuse(part, before.changed(part), "was read first")
                left.append(self._count(part, state))
            pending, state.gone = before.replaced(left, KnownRows(self._folder, state.runs))
            self._note(state, now)
            state.save(self._folder, pending=pending)
            return self._status(state)

    def _begin(self, state: State) -> None:
        """Go on from the state."""
        self._watched = []
        if state.learnt is not None:
            self._watch(self._log.rows(state.learnt_columns(self._log), 0), state)

    def _watch(self, rows: NewRows, state: State) -> None:
        """Decide what is watched, and go on from what was kept of it."""
        if state.weighted is None:  # by the features of the first rows; it stays so
            state.weighted = rows.old is not None and rows.overlap <= MOST_SQUARED
        record = self._log.model.certificate_
        watched, left = watched_statements(record, rows.data, self._alpha, old_known=state.weighted)
        self._left = tuple(NotWatched(*each) for each in left)
        random = self._log.missing == "at random"
        for place, each in enumerate(watched):
            learns = random or each.compared == WEIGHTED
            holds = Side(each.form, each.alpha, learns=learns)
            fails = Side(each.opposite, each.alpha, learns=learns)
            if place < len(state.sides):
                for side, kept in zip((holds, fails), state.sides[place], strict=True):
                    side.restore(kept)
            self._watched.append((each, holds, fails))

    def _count(self, part: Part, state: State) -> Part:
        """Count the rows of a part that are due and new; return those that are still to come."""
        part = part.take(_first(part, self._log.row_id))
        known = KnownRows(self._folder, state.runs)
        found = known.find(part.ids)
        changed = found.known & (found.decided != part.decided)
        came = found.known & (found.later != part.later)
        state.late += int((came & (found.later == 0)).sum())
        self._refuse(part, changed | (came & (found.later != 0)), "was counted")
        fresh = part.take(~found.known & part.due)
        if fresh.ids.size:
            self._add(fresh, state)
            known.add(fresh.ids, fresh.decided, fresh.later)
            state.runs = known.runs
            state.sides = [[each.to_list() for each in sides] for _, *sides in self._watched]
            state.save(self._folder)
        return part.take(~found.known & ~part.due)

    def _refuse(self, part: Part, changed: Booleans, when: str) -> None:
        if changed.any():
            who = part.table[self._log.row_id].filter(changed)[0].as_py()
            raise DataError(
                f"the row of '{who}' has changed since it {when} ({int(changed.sum())} rows have).",
                hint="restore it: what was decided, and what was measured, stays as it is. A "
                "corrected log needs a new monitor, in another folder.",
            )

    def _add(self, part: Part, state: State) -> None:
        """Let statements see some rows, and later rows learn from them."""
        read = self._log.read(part)
        seen = self._log.seen(read)
        state.counted += seen.size
        state.missing += int((~seen).sum())
        if self._log.missing is None and not seen.all():
            who = part.table[self._log.row_id].filter(~seen)[0].as_py()
            raise DataError(
                f"the impact of '{who}' is due, and missing ({int((~seen).sum())} rows).",
                hint="declare a longer delay; or what a missing impact is taken for: missing='at "
                "random', 'worst case' or 'drop' (--missing).",
            )
        if self._log.missing == DROP:
            read = {name: column[seen] for name, column in read.items()}
            part = part.take(seen)
        n, start = len(part.ids), 0
        while start < n:
            learnt = self._learnt(state)
            stop = min(n, start + self._until(state))
            some = {name: column[start:stop] for name, column in read.items()}
            if not self._watched:
                self._watch(self._log.rows(some, 0), state)
            self._show(some, state, learnt)
            state.teach(part.table.slice(start, stop - start), part.as_written, MOST_LEARNT)
            start = stop

    def _least(self) -> int:
        estimated = self._log.missing == "at random" and self._log.follow_up is None
        return MORE if estimated else FEW

    def _learnt(self, state: State) -> int:
        """How many rows are learnt from: twice as many each time, so it is rarely done."""
        size, taught = 0, self._least()
        while taught <= min(state.taught, MOST_LEARNT):
            size, taught = taught, 2 * taught
        return size

    def _until(self, state: State) -> int:
        """So many rows may come before it is done again."""
        following = max(2 * self._learnt(state), self._least())
        return following - state.taught if following <= MOST_LEARNT else 1 << 60

    def _show(self, some: Columns, state: State, learnt: int) -> None:
        if learnt:
            earlier = state.learnt_columns(self._log, learnt)
            some = {name: np.concatenate([earlier[name], some[name]]) for name in some}
        rows = self._log.rows(some, learnt)
        for _, *sides in self._watched:
            for side in sides:
                side.add(rows)

    def _note(self, state: State, now: datetime) -> None:
        """Write down what this look shows of each statement."""
        time = now.isoformat(timespec="seconds")
        state.time = time
        for place, (_, holds, fails) in enumerate(self._watched):
            if place == len(state.said):
                state.said.append({"state": "undecided", "since": time, "rows": 0, "looks": []})
            said = state.said[place]
            shown = "violated" if fails.reached else "holding" if holds.reached else "undecided"
            if said["state"] not in (shown, "violated"):
                said |= {"state": shown, "since": time, "rows": holds.rows}
            ends = [-fails.upper, holds.upper]
            estimate = (holds.mean - fails.mean) / 2
            look = [time, holds.rows, *(each if isfinite(each) else None
                                        for each in (estimate, *ends))]  # fmt: skip
            if not said["looks"] or said["looks"][-1][1:] != look[1:]:
                said["looks"].append(look)

    def _status(self, state: State) -> MonitorStatus:
        every = []
        for (watched, holds, fails), said in zip(self._watched, state.said, strict=True):
            more = min(holds.more(), fails.more()) if said["state"] == "undecided" else nan
            every.append(
                StatementStatus(
                    watched.text, said["state"], said["since"], said["rows"], watched.alpha,
                    watched.kind or holds.kind, watched.compared, holds.rows,
                    int(np.ceil(more)) if more < 1e12 else None,
                    tuple(Look(*each) for each in said["looks"]),
                )
            )  # fmt: skip
        return MonitorStatus(
            str(self._settings["model"]), state.time, self._alpha, state.counted, state.missing,
            state.pending, state.late, state.gone, state.others, tuple(every), self._left,
        )  # fmt: skip


def _first(part: Part, row_id: str) -> Booleans:
    """The rows whose identifier is not above them with the same values; raise if it is there with
    others.
    """
    _, first, which = np.unique(part.ids, return_index=True, return_inverse=True)
    keep = np.zeros(part.ids.size, dtype=np.bool_)
    keep[first] = True
    same = first[which]
    differs = (part.decided != part.decided[same]) | (part.later != part.later[same])
    if differs.any():
        who = part.table[row_id].filter(differs)[0].as_py()
        raise DataError(
            f"'{who}' is in the log several times, with different values.",
            hint="each person is decided about once: remove the row that is wrong.",
        )
    return keep
