"""Inputs that a stranger could send: by grammar, and by mutation of genuine files. All are seeded.

Mutations repair digests now and then, so that what is behind them is reached, too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from hashlib import sha256

from elfair.certificate.statement import to_statement
from elfair.persistence.contents import members_of, pack

#: What breaks programs that read text.
ODD = (
    *(
        "",
        " ",
        "\0",
        "\ud800",
        "\u202e",
        "\ufeff",
        "é",
        "𝕏",
        "\x1b[2J",
        "\r",
        "\n",
        "\t",
        "\\",
        "'",
    ),
    *(
        '"',
        "`",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "#",
        "=",
        "==",
        "<=",
        ">=",
        "|",
        "nan",
        "inf",
        "-inf",
    ),
    *("1e308", "1e309", "-1e308", "5e-324", "1e17", "9" * 400, "9" * 5000, "0x" + "f" * 5000, "-0"),
    *("../../etc/passwd", "/dev/zero", "${HOME}", "file:///etc/passwd", "[" * 60, "(" * 3000),
    *("a" * 10_000, "null", "true", "None", "__class__", "{{7*7}}", "%s%n", "1979-05-27T07:32:00Z"),
)
_COLUMNS = ("impact", "race", "label", "decision", "positive", "T", "`savings 2y`", "`\0`", "x")
_RATES = ("PR", "TPR", "FPR", "TNR", "FNR", "PPV", "NPV", "accuracy")
_NUMBERS = ("0", "1", "-1", "0.1", "0.5", "3", "2.5", "1e17", "1e-300", "1e300")
_ODD_NUMBERS = ("1e400", "007", "1_000", "5 %")


def condition(draw: random.Random, depth: int) -> str:
    """What may come behind a bar."""
    if depth <= 0 or draw.random() < 0.5:
        name = draw.choice(("race", "T", "x", "age", "`savings 2y`", draw.choice(_COLUMNS)))
        if draw.random() < 0.1:
            return f"{name} {draw.choice(('=', 'in', '<>'))} {draw.choice(_ODD_NUMBERS)}"
        sign = draw.choice(("==", "!=", "<", "<=", ">=", ">"))
        value = draw.choice((*_NUMBERS, "'A'", '"B"')) if sign in ("==", "!=") else "3"
        many = draw.choice(("['A', 'B']", "[1, 2, 3]"))
        return draw.choice((f"{name} {sign} {value}", f"{name} in {many}"))
    one, other = condition(draw, depth - 1), condition(draw, depth - 1)
    return draw.choice((f"{one} and {other}", f"{one} or {other}", f"not {one}", f"({one})"))


def expression(draw: random.Random, depth: int) -> str:
    """What may stand on one side of an inequality."""
    if depth <= 0 or draw.random() < 0.2:
        bar = f" | {condition(draw, 1)}" if draw.random() < 0.4 else ""
        return draw.choice(
            (
                f"E[impact{bar}]",
                f"E[{draw.choice(_COLUMNS)}{bar}]",
                f"E_logged[impact{bar}]",
                f"P[decision == 1{bar}]",
                draw.choice(_RATES) + (f"[{condition(draw, 1)}]" if bar else ""),
                f"{draw.choice(('CVaR', 'VaR', 'var', 'sd', 'median', 'quantile', 'IQR'))}"
                f"[impact, {draw.choice(_NUMBERS)}{bar}]",
                draw.choice(_NUMBERS),
            )
        )
    parts = [expression(draw, depth - 1) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.3:
        return f"{draw.choice(('min', 'max'))}({', '.join([*parts, 'PR'])})"
    sign = draw.choice((" + ", " - ", " * ", " / "))
    return f"{draw.choice(('', 'abs', '-'))}({sign.join(parts)})"


def constraints(seed: int) -> Iterator[str]:
    """Constraint texts, most of them nearly right."""
    draw = random.Random(seed)
    while True:
        sides = [expression(draw, draw.randint(0, 6)) for _ in range(draw.choice((1, 2, 2, 2, 3)))]
        text = f" {draw.choice(('<=', '>=', '<=', '>=', '<', '=='))} ".join(sides)
        if draw.random() < 0.1:
            text = draw.choice((" * ", " + ", " / ", " and ", " or ")).join(
                [text] * draw.randint(2, 500)
            )
        if draw.random() < 0.1:
            for _ in range(draw.randint(2, 60)):
                text = (
                    f"{draw.choice(('abs', 'min', 'max', '-', ''))}({text} - {draw.random():.2f})"
                )
        yield mutated(draw, text) if draw.random() < 0.3 else text


def mutated(draw: random.Random, text: str) -> str:
    """A text with some pieces cut, doubled, moved or replaced."""
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        a, b = sorted(draw.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + draw.choice((0, 1, 5, 40)))
        piece = draw.choice(("", draw.choice(ODD), text[a:b] * draw.choice((1, 2, 50))))
        c = draw.randrange(len(text) + 1)
        piece = draw.choice((piece, text[c : c + draw.choice((1, 5, 40))]))
        text = text[:a] + piece + text[b:]
    return text


def studies(seed: int, genuine: str) -> Iterator[str]:
    """Study files: lines and pieces of a genuine one, with constraints by grammar."""
    draw, texts = random.Random(seed), constraints(seed + 1)
    lines = genuine.splitlines()
    while True:
        text = genuine
        kind = draw.random()
        if kind < 0.3:
            chosen = [draw.choice(lines) for _ in range(draw.randint(1, 2 * len(lines)))]
            text = "\n".join(chosen if draw.random() < 0.3 else [*lines, *chosen[:3]])
        elif kind < 0.5:
            text += f"\n[[constraints]]\ntext = {json.dumps(next(texts))}\n"
        elif kind < 0.6:
            deep = draw.choice((5, 500, 10_000))
            key = draw.choice(("title", "features", "delta", "x"))
            text += f"\n{key} = " + draw.choice(("[", "{a=")) * deep + "1" + "]" * deep
        elif kind < 0.7:
            text = text.replace(draw.choice(lines), f"{draw.choice(lines)} {draw.choice(ODD)}")
        yield mutated(draw, text) if draw.random() < 0.7 else text


def certificates(seed: int, genuine: str) -> Iterator[str]:
    """Certificates with changed bytes, and with changed values under a repaired digest."""
    draw = random.Random(seed)
    while True:
        if draw.random() < 0.9:
            yield mutated(draw, genuine)
            continue
        predicate = json.loads(genuine)["predicate"]
        del predicate["how_to_verify"], predicate["digest"]
        for _ in range(draw.choice((1, 1, 2, 4))):
            _change(draw, predicate)
        try:
            yield to_statement(predicate)
        except (ValueError, KeyError, TypeError):  # what elfair could not write either
            yield json.dumps(predicate, default=str)


def _change(draw: random.Random, document: object) -> None:
    """Change one value, somewhere in a document."""
    while isinstance(document, dict | list) and document:
        keys = list(document) if isinstance(document, dict) else list(range(len(document)))
        key = draw.choice(keys)
        inside = document[key]
        if isinstance(inside, dict | list) and inside and draw.random() < 0.9:
            document = inside
            continue
        changed = inside * draw.choice((2, 0, -1)) if isinstance(inside, int | float) else [inside]
        document[key] = draw.choice(
            (
                draw.choice(ODD),
                draw.choice((0, 1, -1, 2**63, 1e308, -1e-320, True, None, [], {}, "nan", "inf")),
                changed,
                mutated(draw, inside) if isinstance(inside, str) else inside,
            )
        )
        return


def models(seed: int, genuine: bytes) -> Iterator[bytes]:
    """Model files with changed bytes, and with changed members under a repaired manifest."""
    draw = random.Random(seed)
    while True:
        kind = draw.random()
        if kind < 0.7:
            data = bytearray(genuine)
            for _ in range(draw.choice((1, 1, 4, 50))):
                data[draw.randrange(len(data))] = draw.randrange(256)
            yield bytes(data[: draw.randrange(len(data))] if draw.random() < 0.2 else data)
            continue
        members = members_of(genuine)
        name = draw.choice(list(members))
        if name.endswith(".json") and draw.random() < 0.8:
            document = json.loads(members[name])
            _change(draw, document)
            members[name] = json.dumps(document, indent=2, ensure_ascii=False, default=str).encode(
                errors="surrogatepass"
            )
        else:
            part = bytearray(members[name] or b"0")
            part[draw.randrange(len(part))] = draw.randrange(256)
            members[name] = bytes(part)
        yield pack(_repaired(members))


def _repaired(members: dict[str, bytes]) -> dict[str, bytes]:
    try:
        document = json.loads(members["model.json"])
        document["members"] = {
            name: sha256(data).hexdigest() for name, data in members.items() if name != "model.json"
        }
        text = json.dumps(document, indent=2, ensure_ascii=False).encode()
    except (ValueError, TypeError):
        return members
    return {**members, "model.json": text}
