"""What a monitor says: each statement with its state, and an account of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from elfair.records.text import number, plural

State = Literal["holding", "violated", "undecided"]


@dataclass(frozen=True)
class Look:
    """What was known of a statement at one look.

    Parameters
    ----------
    time : str
        When it was, in UTC.
    rows : int
        How many rows took part.
    estimate, lower, upper : float or None
        The estimate of g, and the ends of the confidence sequence; None if there are none.
    """

    time: str
    rows: int
    estimate: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class StatementStatus:
    """A statement that is watched.

    Parameters
    ----------
    statement : str
        The one-sided statement, g <= 0.
    state : {"holding", "violated", "undecided"}
        What rows have shown; "violated" stays.
    since, since_rows : str and int
        The look at which the state was first so, and how many rows there were.
    alpha : float
        The probability of a false alarm about it, over all time.
    kind : {"finite-sample", "asymptotic"}
        What that holds for.
    compared : str
        How it is compared with the old model; empty if it is not.
    rows : int
        How many rows took part.
    more : int or None
        About how many more would decide, if they are like those so far; None if no number would, or
        if it is decided.
    looks : tuple of Look
        All looks.
    """

    statement: str
    state: State
    since: str
    since_rows: int
    alpha: float
    kind: str
    compared: str
    rows: int
    more: int | None
    looks: tuple[Look, ...]


@dataclass(frozen=True)
class NotWatched:
    """A statement that cannot be watched.

    Parameters
    ----------
    statement, why : str
        The statement, and the reason.
    """

    statement: str
    why: str


@dataclass(frozen=True)
class MonitorStatus:
    """What a monitor says after a look.

    Parameters
    ----------
    model : str
        The digest of the model.
    time : str
        When the look was, in UTC.
    alpha : float
        The probability of a false alarm about any statement, over all time; that "holding" is said
        falsely of any has the same.
    counted : int
        The rows that were counted, with or without an impact.
    missing : int
        How many of them had no impact when they were due.
    pending : int
        The rows that are not due yet.
    late : int
        Impacts that came after their row was counted without.
    gone : int
        Rows that were pending at an earlier look and are no longer in the log.
    others : int
        Rows that other models decided about.
    statements : tuple of StatementStatus
        The statements that are watched.
    not_watched : tuple of NotWatched
        The others.
    """

    model: str
    time: str
    alpha: float
    counted: int
    missing: int
    pending: int
    late: int
    gone: int
    others: int
    statements: tuple[StatementStatus, ...]
    not_watched: tuple[NotWatched, ...]

    @property
    def violated(self) -> tuple[StatementStatus, ...]:
        """The statements that are violated."""
        return tuple(each for each in self.statements if each.state == "violated")

    def text(self) -> str:
        """The status for people."""
        lines = [self._headline(), ""]
        for each in self.statements:
            lines += [f"{each.state.upper():9} {each.statement}", f"          {_about(each)}"]
        lines += [f"NOT WATCHED {each.statement}: {each.why}." for each in self.not_watched]
        lines += ["", f"{plural(self.counted, 'row')} counted, {self.missing:,} of them without "
                  f"impact; {self.pending:,} not due yet."]  # fmt: skip
        notes = {
            "came too late: the row was counted without it": self.late,
            "pending at an earlier look and no longer in the log: rows that are taken out after "
            "their impact is known make all of this worthless": self.gone,
            "decided about by other models": self.others,
        }
        lines += [f"Note: {plural(n, 'row')} {what}." for what, n in notes.items() if n]
        lines.append(
            f"The chance that anything is ever called violated falsely is at most {self.alpha:g}, "
            f"however often you look{self._limits()}."
        )
        return "\n".join(lines)

    def _limits(self) -> str:
        some = any(each.kind == "asymptotic" for each in self.statements)
        return " (for asymptotic statements in the limit of many rows)" if some else ""

    def _headline(self) -> str:
        n = len(self.violated)
        if n:
            return f"ALARM: {plural(n, 'statement')} violated."
        holding = sum(each.state == "holding" for each in self.statements)
        return f"No statement is violated; {holding} of {len(self.statements)} hold."


def _about(each: StatementStatus) -> str:
    last = each.looks[-1]
    if last.estimate is None:
        return "no row has counted yet"
    ends = ["?" if end is None else number(end) for end in (last.lower, last.upper)]
    said = f"g = {number(last.estimate)}, between {ends[0]} and {ends[1]}, {each.kind}, "
    said += plural(each.rows, "row")
    if each.state != "undecided":
        return f"{said}; since {each.since}, {plural(each.since_rows, 'row')}"
    return f"{said}; about {each.more:,} more would decide" if each.more else said
