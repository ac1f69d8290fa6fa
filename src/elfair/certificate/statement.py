"""A record as an in-toto Statement v1: which model it is about, and a digest that shows any change.

https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md says what a statement is. The
text has exactly one form and holds a digest of itself, so a changed byte is detected even if it
changes no number. Anyone who can rewrite the whole file can also rewrite the digest. To protect
against that, sign it: see `elfair.certificate.envelope`.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar

from elfair.errors import InputError
from elfair.records.json import from_plain, parse

STATEMENT = "https://in-toto.io/Statement/v1"
#: The type of the predicate; its last part is the version of the record.
PREDICATE = "urn:elfair:certificate:5"
HOW_TO_VERIFY = "elfair verify CERTIFICATE --data TABLE --model MODEL"

Record = TypeVar("Record")


def to_statement(plain: dict[str, Any]) -> str:
    """The text of the statement about the model that a record names.

    Parameters
    ----------
    plain : dict
        The record, as `to_plain` makes it.
    """
    predicate = {**plain, "how_to_verify": HOW_TO_VERIFY, "digest": {"sha256": ""}}
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": "model", "digest": {"sha256": plain["digests"]["model"]}}],
        "predicateType": PREDICATE,
        "predicate": predicate,
    }
    # Without spaces, keys in their order.
    compact = json.dumps(statement, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    predicate["digest"] = {"sha256": hashlib.sha256(compact.encode()).hexdigest()}
    return json.dumps(statement, indent=2, ensure_ascii=False, allow_nan=False)


def from_statement(text: str, kind: type[Record]) -> Record:
    """Read the record of a statement; one that was changed or cut short is an error.

    Parameters
    ----------
    text : str
        What `to_statement` wrote.
    kind : type
        The dataclass of the record.
    """
    parsed = parse(text)
    statement = parsed if isinstance(parsed, dict) else {}
    found = statement.get("predicateType")
    if found != PREDICATE or statement.get("_type") != STATEMENT:
        raise InputError(
            f"this must be an in-toto statement with predicate {PREDICATE!r}. Got {found!r}.",
            hint="read a certificate with the version of elfair that wrote it.",
        )
    plain: Any = statement.get("predicate")
    if isinstance(plain, dict):
        plain = {name: plain[name] for name in plain if name not in ("how_to_verify", "digest")}
    record = from_plain(plain, kind)
    try:
        written = to_statement(plain)
    except ValueError:  # JSON can hold half a character, which elfair never writes
        written = ""
    if text.removesuffix("\n") != written:  # its file ends with a line break
        raise InputError(
            "this certificate was changed after it was written: elfair writes other bytes for "
            "these contents. Spaces, line breaks and the order of keys count, too.",
            hint="ask for the file as elfair wrote it, byte for byte.",
        )
    return record
