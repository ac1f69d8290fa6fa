"""What every command prints: text for people, or the same facts as JSON; and exit codes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from elfair.records.progress import Lines, Listener, Nobody, Terminal, listening, logger
from elfair.records.text import visible

if TYPE_CHECKING:
    from elfair.certificate import Certificate

Command = TypeVar("Command", bound=Callable[..., Any])

#: The exit code of `verify` if a check failed, or if one that was asked for could not be made.
NOT_VERIFIED = 1
#: The exit codes of `fit` and `verify` if there is no solution, if an assumption is violated, and
#: if nothing was tested because a model had hardly a chance.
NO_SOLUTION, VIOLATED, NOT_TESTED = 3, 4, 5
#: The exit code of `monitor` if a statement is violated.
ALARM = 6

json_option = click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")
_quiet_option = click.option("--quiet", is_flag=True, help="Show no progress.")
_verbose_option = click.option(
    "--verbose", is_flag=True, help="Say what is done and how long it took: the log of 'elfair'."
)


def tells_progress(command: Command) -> Command:
    """A command that may take long: it says how far it is on standard error.

    On a terminal that is a bar. Elsewhere it is lines of text, or with ``--json`` JSON objects.

    Parameters
    ----------
    command : callable
        The command, without options.
    """

    @wraps(command)
    def told(*given: Any, quiet: bool, verbose: bool, as_json: bool, **options: Any) -> Any:
        with listening(partial(_listener, quiet=quiet, as_json=as_json)), _logged(verbose):
            return command(*given, as_json=as_json, **options)

    return cast(Command, json_option(_quiet_option(_verbose_option(told))))


def _listener(*, quiet: bool, as_json: bool) -> Listener:
    if quiet:
        return Nobody()
    return Lines(as_json=True) if as_json else Terminal() if sys.stderr.isatty() else Lines()


@contextmanager
def _logged(wanted: bool) -> Iterator[None]:
    """Print what is logged, if that is wanted."""
    if not wanted:
        yield
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def tell(text: str, facts: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a command found.

    Parameters
    ----------
    text : str
        For people.
    facts : mapping
        The same for programs.
    as_json : bool
        Which of them is asked for.
    """
    from elfair.records.json import to_json

    click.echo(visible(to_json(facts) if as_json else text))


def verdict_facts(certificate: Certificate) -> dict[str, Any]:
    """What a certificate says of its model, in short.

    Parameters
    ----------
    certificate : Certificate
        The record.
    """
    from elfair.certificate.explanation import verdict
    from elfair.certificate.promise import in_words

    return {
        "verdict": verdict(certificate),
        "in_words": in_words(certificate),
        "passed": certificate.passed,
        "violated": certificate.violated,
        "accepted": [each.code for each in certificate.accepted],
        "model": certificate.digests.model,
    }
