"""A record as an in-toto Statement v1: which model it is about, and a digest that shows any change.

https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md says what a statement is. The
text has exactly one form and holds a digest of itself, so a changed byte is detected even if it
changes no number. Anyone who can rewrite the whole file can also rewrite the digest. To protect
against that, sign the statement in an envelope (DSSE), with tools made for it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar

from elfair.errors import InputError
from elfair.records.json import from_plain, parse, to_plain

STATEMENT = "https://in-toto.io/Statement/v1"
#: The type of the predicate; its last part is the version of the record.
PREDICATE = "urn:elfair:certificate:3"
HOW_TO_VERIFY = "elfair verify CERTIFICATE --data TABLE --model MODEL"

Record = TypeVar("Record")


def to_statement(record: Any, *, subject: str) -> str:
    """Write a record as the text of a statement about a model.

    Parameters
    ----------
    record : dataclass
        The record.
    subject : str
        The digest of the model, SHA-256.
    """
    predicate = {**to_plain(record), "how_to_verify": HOW_TO_VERIFY, "digest": {"sha256": ""}}
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": "model", "digest": {"sha256": subject}}],
        "predicateType": PREDICATE,
        "predicate": predicate,
    }
    predicate["digest"] = {"sha256": _digest(statement)}
    return _text(statement)


def from_statement(text: str, kind: type[Record]) -> Record:
    """Read the record of a statement; one that was changed or cut short is an error.

    Parameters
    ----------
    text : str
        What `to_statement` wrote.
    kind : type
        The dataclass of the record.
    """
    statement = parse(text)
    predicate = _expected(statement)
    stated = predicate.pop("digest")
    how = predicate.pop("how_to_verify", None)
    record = from_plain(predicate, kind)
    predicate |= {"how_to_verify": how, "digest": {"sha256": ""}}
    _check_writable(statement)
    if stated != {"sha256": _digest(statement)}:
        raise InputError(
            f"this certificate was changed after it was written: its contents have digest "
            f"{_digest(statement)}, and it says {stated!r}.",
            hint="ask for the file as elfair wrote it.",
        )
    predicate["digest"] = stated
    # Its file ends with a line break.
    if text.removesuffix("\n") != _text(statement) or how != HOW_TO_VERIFY:
        raise InputError(
            "this certificate is not in the form that elfair writes: spaces, line breaks, escapes "
            "or the order of keys were changed.",
            hint="ask for the file as elfair wrote it, byte for byte.",
        )
    return record


def _check_writable(statement: dict[str, Any]) -> None:
    """JSON can hold half a character or an infinite number, which elfair never writes."""
    try:
        _digest(statement)
    except ValueError as error:
        raise InputError(
            f"this certificate contains what elfair never writes: {error}.",
            hint="ask for the file as elfair wrote it.",
        ) from None


def _expected(statement: Any) -> dict[str, Any]:
    """The predicate of a statement that elfair may have written."""
    known = isinstance(statement, dict)
    kind = statement.get("predicateType") if known else None
    if kind != PREDICATE or statement.get("_type") != STATEMENT:
        shown = kind or (statement.get("schema") if known else None)
        raise InputError(
            f"this must be an in-toto statement with predicate {PREDICATE!r}. Got {shown!r}.",
            hint="read a certificate with the version of elfair that wrote it.",
        )
    predicate, subject = statement.get("predicate"), statement.get("subject")
    if not isinstance(predicate, dict) or "digest" not in predicate or len(statement) != 4:
        raise InputError(
            "this statement lacks its predicate, or the predicate lacks its digest.",
            hint="the record was changed, cut short, or written by another version.",
        )
    model = predicate.get("digests")
    named = model.get("model") if isinstance(model, dict) else None
    if subject != [{"name": "model", "digest": {"sha256": named}}]:
        raise InputError(
            f"the subject of this statement must be the model that it was made for. Got {subject!r}"
            f", where the record names {named!r}.",
            hint="the record was changed after it was written.",
        )
    return predicate


def _digest(statement: dict[str, Any]) -> str:
    """The digest of a statement whose own digest is empty, without spaces, keys in their order."""
    plain = json.dumps(statement, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(plain.encode()).hexdigest()


def _text(statement: dict[str, Any]) -> str:
    return json.dumps(statement, indent=2, ensure_ascii=False, allow_nan=False)
