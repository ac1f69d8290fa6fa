"""The JSON schema of a certificate; ``python -m elfair.certificate.schema`` prints it.

The output is kept as docs/certificate.schema.json.
"""

from __future__ import annotations

import json
from typing import Any

from elfair.certificate.record import Certificate
from elfair.certificate.statement import HOW_TO_VERIFY, PREDICATE, STATEMENT
from elfair.records import json_schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def statement_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of what `Certificate.to_json` writes.

    Examples
    --------
    >>> statement_schema()["required"]
    ['_type', 'subject', 'predicateType', 'predicate']
    """
    known = json_schema(Certificate)["$defs"]
    record = known["Certificate"]
    record["properties"] |= {
        "how_to_verify": {"const": HOW_TO_VERIFY, "description": "What checks all this."},
        "digest": {
            **_sha256(),
            "description": "SHA-256 of the statement with this digest left empty, as JSON without "
            "spaces, in the order of its keys.",
        },
    }
    record["required"] = list(record["properties"])
    for name in known["Digests"]["properties"]:
        known["Digests"]["properties"][name]["pattern"] = "^[0-9a-f]{64}$"
    subject = _object({"name": {"const": "model"}, "digest": _sha256()})
    return {
        "$schema": DIALECT,
        "$id": f"{PREDICATE}:schema",
        "title": "elfair certificate",
        **_object(
            {
                "_type": {"const": STATEMENT},
                "subject": {
                    "type": "array",
                    "items": subject,
                    "minItems": 1,
                    "maxItems": 1,
                    "description": "The model that was tested.",
                },
                "predicateType": {"const": PREDICATE},
                "predicate": {"$ref": "#/$defs/Certificate"},
            }
        ),
        "$defs": known,
    }


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _sha256() -> dict[str, Any]:
    return _object({"sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}})


if __name__ == "__main__":
    print(json.dumps(statement_schema(), indent=2, ensure_ascii=False))
