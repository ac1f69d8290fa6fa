"""What pictures in Python share: matplotlib, loaded when it is needed, and axes to draw on."""

from __future__ import annotations

from html import escape
from typing import Any

from elfair.errors import MissingPackageError, install_extra
from elfair.records.text import visible

#: The old model, the new one, and what failed: told apart in grey, too.
OLD, NEW, FAILED = "#8a939c", "#125a8c", "#a62c17"


def axes_for(ax: Any = None, *, rows: int = 6) -> Any:
    """Axes to draw on: those given, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
        Axes of your own.
    rows : int, default 6
        How many rows the picture has; a new figure is as high as these need.

    Examples
    --------
    >>> type(axes_for()).__name__
    'Axes'
    """
    if ax is not None:
        return ax
    try:  # a notebook shows the figures of pyplot by itself
        from matplotlib import pyplot
    except ImportError:
        raise MissingPackageError(
            "Plots need matplotlib, which is not installed.", hint=install_extra("plots")
        ) from None
    _, ax = pyplot.subplots(figsize=(7, 1.4 + 0.45 * rows), layout="constrained")
    return ax


def paragraphs_html(headline: str, paragraphs: list[str], *, good: bool) -> str:
    """Text as a notebook shows it: a headline in colour, and paragraphs that keep their lines.

    Parameters
    ----------
    headline : str
        The headline.
    paragraphs : list of str
        The rest.
    good : bool
        Whether the headline is good news.

    Examples
    --------
    >>> paragraphs_html("a < b", [], good=True)
    '<div><p style="color:#125a8c"><strong>a &lt; b</strong></p></div>'
    """
    shown = "".join(
        f'<p style="white-space:pre-wrap">{escape(visible(each))}</p>' for each in paragraphs
    )
    colour = NEW if good else FAILED
    title = f'<p style="color:{colour}"><strong>{escape(visible(headline))}</strong></p>'
    return f"<div>{title}{shown}</div>"
