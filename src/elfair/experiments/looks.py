"""How each method is drawn: told apart by dashes and markers, not by colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

#: A dash pattern as matplotlib takes it: an offset, and lengths in line widths.
Dashes = tuple[float, tuple[float, ...]]

_SOLID: Dashes = (0.0, ())
_DASHED: Dashes = (0.0, (4.0, 1.6))
_DOTTED: Dashes = (0.0, (1.0, 1.4))
_DASH_DOT: Dashes = (0.0, (5.0, 1.5, 1.0, 1.5))
_LONG: Dashes = (0.0, (8.0, 2.0))
_DASH_DOT_DOT: Dashes = (0.0, (5.0, 1.4, 1.0, 1.4, 1.0, 1.4))


@dataclass(frozen=True)
class Look:
    """Colour, dashes and marker of a line.

    Families share a colour, and colours differ in luminance too: from dark to light ELF, logistic
    regression, Fairlearn, the paper's ELF, quasi-Seldonian, fairness constraints.
    """

    color: str
    dashes: Dashes
    marker: str
    width: float = 1.3
    hollow: bool = True
    size: float = 6.0
    #: Markers stand at every `every`-th size from `start` on, and are the smaller (and above the
    #: others) the later a line comes, so that lines which coincide each show theirs.
    start: int = 0
    every: int = 1
    #: Whether the line lies above those of other families.
    on_top: bool = False

    def line(self) -> dict[str, Any]:
        """Arguments of ``Axes.plot`` for the line; wide ones of a family lie below thin ones."""
        return {
            "color": self.color,
            "linestyle": self.dashes,
            "linewidth": self.width,
            "dash_capstyle": "butt",
            "zorder": (4.0 if self.on_top else 3.0) - self.width / 10,
        }

    def markers(self) -> dict[str, Any]:
        """Arguments of ``Axes.plot`` for the markers; large ones lie below small ones."""
        return {
            "marker": self.marker,
            "markersize": self.size,
            "markerfacecolor": "white" if self.hollow else self.color,
            "markeredgecolor": self.color,
            "markeredgewidth": 1.2,
            "zorder": 5.0 - self.size / 10,
        }


_ELF, _PAPER = "#0a2f6b", "#d1590f"
_QSA, _FAIRLEARN = "#3fa58a", "#7a4fa3"
_KNOWN = {
    "elfair": Look(_ELF, _SOLID, "o", width=2.4, hollow=False, on_top=True),
    "elfair-dr": Look("#2f6fc4", _SOLID, "v", width=1.9, on_top=True),
    "elfair-crossfit": Look("#6fa8e8", _SOLID, "^", width=1.4, hollow=False, on_top=True),
    # The widest, so that it shows below elfair where both are the same.
    "elf-paper": Look(_PAPER, _SOLID, "s", width=3.5, on_top=True),
    "logistic-regression": Look("#4a4a4a", _DOTTED, "x", width=1.6),
    "qsa-demographic-parity": Look(_QSA, _DASHED, "D"),
    "qsa-equalized-odds": Look(_QSA, _LONG, "D", hollow=False),
    "qsa-equal-opportunity": Look(_QSA, _DOTTED, "<"),
    "qsa-predictive-equality": Look(_QSA, _DASH_DOT, ">", hollow=False),
    "qsa-disparate-impact": Look(_QSA, _DASH_DOT_DOT, "p"),
    "fairlearn-demographic-parity": Look(_FAIRLEARN, _DASHED, "h", hollow=False),
    "fairlearn-equalized-odds": Look(_FAIRLEARN, _DASH_DOT, "h"),
    "fairness-constraints": Look("#c79a1e", _LONG, "+", width=1.6),
}
#: Of a user's own methods.
_OTHERS = (
    Look("#000000", _DASH_DOT, "*", hollow=False),
    Look("#8a1538", _DASHED, "P"),
    Look("#7f7f7f", _LONG, "X", hollow=False),
    Look("#b03a8c", _DOTTED, "*"),
)
#: Of markers that meet at one point, the largest and the smallest.
_LARGEST, _SMALLEST = 8.4, 4.2
#: With up to so many sizes every point has its marker: in turn, many a line would have none.
FEW_SIZES = 4


def method_looks(methods: Sequence[str], sizes: int) -> dict[str, Look]:
    """A look for each method of a figure with so many sizes.

    Examples
    --------
    >>> looks = method_looks(["elfair", "elf-paper", "mine:method"], sizes=8)
    >>> looks["elfair"].marker, looks["elf-paper"].marker, looks["mine:method"].marker
    ('o', 's', '*')
    """
    others = [method for method in methods if method not in _KNOWN]
    own = {method: _OTHERS[index % len(_OTHERS)] for index, method in enumerate(others)}
    looks = [_KNOWN.get(method) or own[method] for method in methods]
    return dict(zip(methods, _staggered(looks, sizes), strict=True))


def _staggered(looks: Sequence[Look], sizes: int) -> list[Look]:
    every = 1 if sizes <= FEW_SIZES else min(4, -(-len(looks) // 3))
    meeting = -(-len(looks) // every)
    step = min(1.4, (_LARGEST - _SMALLEST) / max(1, meeting - 1))
    return [
        replace(
            look,
            start=index % every,
            every=every,
            # Crosses hide nothing, and need not shrink.
            size=8.0 if look.marker in "x+" else _LARGEST - step * (index // every),
        )
        for index, look in enumerate(looks)
    ]


_MARKERS = ("o", "s", "D", "^", "v", "<", ">", "p", "h", "P", "X")
_PATTERNS = (_SOLID, _DASHED, _DASH_DOT, _DOTTED, _LONG)


def setting_looks(count: int, sizes: int) -> list[Look]:
    """A look for each of a row of settings, from light to dark, in a figure with so many sizes.

    Examples
    --------
    >>> [look.marker for look in setting_looks(3, sizes=8)]
    ['o', 's', 'D']
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    shades = colormaps["viridis_r"]
    return _staggered(
        [
            Look(
                # The lightest part of the map is too pale for a line on white.
                color=to_hex(shades(0.15 + 0.85 * (index / max(1, count - 1)))),
                dashes=_PATTERNS[index % len(_PATTERNS)],
                marker=_MARKERS[index % len(_MARKERS)],
                width=1.7,
                hollow=index % 2 == 1,
            )
            for index in range(count)
        ],
        sizes,
    )
