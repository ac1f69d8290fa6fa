"""How often statements at their edge pass: draws that are kept, so that a stopped script goes on.

Each draw is a line of a file in build/levels, by the case and the seed. Remove the file after a
change of elfair that may change what passes. A script told to make 0 draws only writes its page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pages import stamp, write_into

STORE = Path(__file__).parents[1] / "build" / "levels"
DRAWS = 500
SIZES = (1_000, 4_000)
#: A case with fewer draws says too little to be shown.
SHOWN = 100


class Kept:
    """The draws of one script.

    Parameters
    ----------
    name : str
        The name of its file.
    """

    def __init__(self, name: str) -> None:
        self.path = STORE / f"{name}.jsonl"
        self.known: dict[tuple[str, int], list[float]] = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                one = json.loads(line)
                self.known[one["case"], one["seed"]] = one["found"]

    def draw(self, case: str, find: Callable[[int], Sequence[float]], draws: int) -> None:
        """Make the draws of a case that are not there yet."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            for seed in range(draws):
                if (case, seed) in self.known:
                    continue
                found = [float(each) for each in find(seed)]
                self.known[case, seed] = found
                file.write(json.dumps({"case": case, "seed": seed, "found": found}) + "\n")
                file.flush()

    def found(self, case: str) -> np.ndarray:
        """What each draw of a case found, by seed."""
        seeds = sorted(seed for of, seed in self.known if of == case)
        return np.array([self.known[case, seed] for seed in seeds])


def shares(found: np.ndarray) -> list[str]:
    """The share of draws that passed, for each statement; in bold if it is above .1 by more than
    three standard errors. Nothing if there is no draw.
    """
    if not len(found):
        return []
    limit = 0.1 + 3 * np.sqrt(0.09 / len(found))
    every = found.mean(axis=0)
    return [f"**{share:.3f}**" if share > limit else f"{share:.3f}" for share in every]


def write_by_size(
    page: str, section: str, head: str, lines_of: Callable[[int], list[str]], note: str = ""
) -> None:
    """Write one table for each number of rows of which there are draws. The others stay as they
    are, with the date and the machine of their own draws.
    """
    for n in SIZES:
        if lines := lines_of(n):
            columns = "|---" * (head.count("|") - 1) + "|"
            text = [head, columns, *lines, "", f"{note}{stamp()}."]
            write_into(page, f"{section}-{n}", "\n".join(text))
