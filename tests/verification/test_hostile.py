"""Every value of a record, changed to anything its type allows, with a right digest.

Nothing makes `verify` raise, and what it does not see is what the documentation says it cannot.
"""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from elfair import verify
from elfair.certificate import Certificate
from elfair.errors import InputError
from elfair.records.json import from_plain, to_plain

#: What no level sees without fitting again, or at all; and what may change nothing.
UNSEEN = re.compile(
    r"provenance\.(title|issued|source|source_digest|study)|terms\.claims\[\d+\]\.(chosen_by|why)"
    r"|versions\b.*|search\.(method|objective|loss|forecast|meets_target|evaluations|rows)"
    r"|trade_off\.models\[\d+\]\.loss|provenance\.left_out|provenance\.rows_read"
    r"|terms\.(thresholds|outcome_model|center)(\[\d+\])?"
)
KINDS = [
    "default",
    "lottery",
    "crossfit",
    "products",
    "certify, betting",
    "regression",
    "quantiles",
]


def leaves(value, path=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        yield path, value
        for k, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{k}]")
    elif value is not None:
        yield path, value


def others(value):
    """Values of the same type, most of them absurd."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [-1, 0, value + 1, 2**70, 10**9]
    if isinstance(value, float) or value in ("inf", "-inf", "nan"):
        near = float(value) * (1 + 1e-6) + 1e-6
        return [0.0, -1.0, near, 1e308, "inf", "-inf", "nan"]
    if isinstance(value, str):
        return ["", f"{value} ", "E[", "0" * 64, "everyone", "E[impact] >= 0"]
    return [[], value[:-1], [*value, *value[:1]]]


def put(document, path, new):
    steps = re.findall(r"[^.\[\]]+|\[\d+\]", path)
    for step in steps[:-1]:
        document = document[int(step[1:-1]) if step[0] == "[" else step]
    last = steps[-1]
    document[int(last[1:-1]) if last[0] == "[" else last] = new


def changed_anywhere(certificate, rng):
    """A record with one value changed, where it was, and what it became."""
    while True:
        plain = to_plain(certificate)
        places = list(leaves(plain))
        path, old = places[int(rng.integers(len(places)))]
        choices = others(old)
        new = choices[int(rng.integers(len(choices)))]
        put(plain, path, new)
        try:
            forged = from_plain(plain, Certificate)
        except ValueError:
            continue  # a fixed choice of words: no record
        if forged.to_json() != certificate.to_json():
            return forged, path, f"{path} from {old!r} to {new!r}"


@pytest.mark.parametrize("of_kind", KINDS)
def test_any_value_may_be_anything(case, of_kind):
    certificate, data, model = case(of_kind)
    rng = np.random.default_rng(KINDS.index(of_kind))
    for _ in range(15):
        forged, path, what = changed_anywhere(certificate, rng)
        start = time.perf_counter()
        verification = verify(forged.to_json(), data=data, model=model)
        assert time.perf_counter() - start < 5, what
        assert verification.checks[0].status == "passed", what
        assert UNSEEN.fullmatch(path) or not verification.passed, f"{what} unseen"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"joint_delta": 0.1', '"joint_delta": 1e400', "must be a number. Got inf"),
        ('"title": "not', '"title": "\\ud800not', "changed after it was written"),
    ],
)
def test_what_json_can_say_and_nobody_can_write_is_refused(case, old, new, words):
    text = case("default").certificate.to_json()
    assert old in text
    with pytest.raises(InputError, match=words):
        Certificate.from_json(text.replace(old, new))
