"""How the source is cut: files, top-level modules, lines of modules and of functions, code by room.

    python benchmarks/house.py      # prints the numbers, and which limits they exceed

tests/test_house.py holds the source to these limits.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import median, quantiles

SOURCE = Path(__file__).parents[1] / "src" / "elfair"
#: Experiments with methods and simulated populations do not count towards the lines of code.
APART = ("experiments", "populations")
MOST_FILES = 340  # likewise; with what watches, shows and serves results
MOST_TOP_LEVEL = 5
LONGEST_MODULE = 520
MEDIAN_MODULE = (120, 240)
MOST_CODE = 40_000  # real tables, promises in words, monitoring and the workbench
#: The longest body of nine functions in ten.
USUAL_BODY = 20
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def modules() -> dict[Path, str]:
    """The text of each module, by its path inside the package."""
    paths = sorted(SOURCE.rglob("*.py"))
    return {path.relative_to(SOURCE): path.read_text(encoding="utf-8") for path in paths}


@cache
def code_lines(text: str) -> int:
    """How many lines hold code: no docstring, comment or blank line."""
    lines: set[int] = set()
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*silent, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines.difference_update(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines)


@cache
def bodies(text: str) -> list[int]:
    """The lines of each function, from its first statement to its last."""
    lines = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[1:2] if ast.get_docstring(node) is not None else node.body[:1]
            lines += [(node.end_lineno or 0) - each.lineno + 1 for each in first]
    return lines


def usual_body() -> float:
    """How long nine functions in ten are at most."""
    return quantiles((each for text in modules().values() for each in bodies(text)), n=10)[-1]


def room(path: Path) -> str:
    """The folder of a module; a dot for those at the top."""
    return path.parts[0] if len(path.parts) > 1 else "."


def by_room() -> dict[str, tuple[int, int]]:
    """Files and lines of code of each room."""
    files, code = Counter[str](), Counter[str]()
    for path, text in modules().items():
        files[room(path)] += 1
        code[room(path)] += code_lines(text)
    return {name: (files[name], code[name]) for name in sorted(files)}


def beyond() -> list[str]:
    """Each limit that the source exceeds, in words."""
    rooms = by_room()
    lengths = {path: len(text.splitlines()) for path, text in modules().items()}
    middle = median(lengths.values())
    top = [path.name for path in lengths if room(path) == "." and path.name != "__init__.py"]
    code = sum(lines for name, (_, lines) in rooms.items() if name not in APART)
    found = []
    if len(lengths) > MOST_FILES:
        found.append(f"{len(lengths)} files, above {MOST_FILES}")
    if len(top) > MOST_TOP_LEVEL:
        found.append(f"{len(top)} top-level modules, above {MOST_TOP_LEVEL}: {', '.join(top)}")
    found += [
        f"{path} has {length} lines, above {LONGEST_MODULE}"
        for path, length in lengths.items()
        if length > LONGEST_MODULE
    ]
    if not MEDIAN_MODULE[0] <= middle <= MEDIAN_MODULE[1]:
        found.append(f"the median module has {middle:g} lines, outside {MEDIAN_MODULE}")
    if code > MOST_CODE:
        found.append(f"{code:,} lines of code outside {' and '.join(APART)}, above {MOST_CODE:,}")
    if usual_body() > USUAL_BODY:
        found.append(f"one function in ten is longer than {usual_body():g} lines ({USUAL_BODY})")
    return found


def main() -> None:
    """Print the numbers."""
    print(f"{'room':15} {'files':>5} {'code':>7}")
    rooms = by_room()
    for name, (files, code) in rooms.items():
        print(f"{name:15} {files:5} {code:7,}")
    files, code = (sum(each) for each in zip(*rooms.values(), strict=True))
    apart = sum(rooms[name][1] for name in APART)
    print(f"{'all':15} {files:5} {code:7,}   ({code - apart:,} outside {' and '.join(APART)})")
    lengths = [len(text.splitlines()) for text in modules().values()]
    print(f"lines of modules: median {median(lengths):g}, longest {max(lengths)}")
    print(f"lines of functions: nine in ten have at most {usual_body():g}")
    print(*(f"beyond its limit: {each}" for each in beyond()), sep="\n")


if __name__ == "__main__":
    main()
