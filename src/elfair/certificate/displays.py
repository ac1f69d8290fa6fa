"""Pictures of a certificate on matplotlib's axes, as scikit-learn's displays are made.

Each display holds numbers of one certificate and draws them. They show what the report shows, and
promise no more: impacts, weights and the ladder only describe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

from elfair.certificate.parts import ConstraintResult
from elfair.certificate.pictures import GroupPicture, ImpactPicture, Interval, TradeOff
from elfair.certificate.promise import group_in_words, speech_of
from elfair.errors import InputError, did_you_mean
from elfair.records.drawing import FAILED, NEW, OLD, axes_for
from elfair.records.text import edge_words, visible

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate

#: What is drawn of a statement.
OF_G = "g: estimate, and bound (at most 0)"
#: How far above and below the middle of a row the two models are.
APART = 0.15
#: A longer name would leave no room for the picture.
LONGEST = 48


@dataclass
class Display(ABC):
    """What all pictures of a certificate share: they are made of one, or of an estimator."""

    @classmethod
    @abstractmethod
    def of(cls, certificate: Certificate, *args: Any, **choice: Any) -> Self:
        """The display of a certificate, not drawn yet."""

    @abstractmethod
    def plot(self, ax: Any = None) -> Self:
        """Draw, on these axes or on new ones, which are then ``ax_``; their figure is ``figure_``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of your own.
        """

    @classmethod
    def from_certificate(cls, certificate: Certificate, *, ax: Any = None, **choice: Any) -> Self:
        """Draw a certificate.

        Parameters
        ----------
        certificate : Certificate
            The result.
        ax : matplotlib.axes.Axes, optional
            Axes of your own.
        **choice
            What the display can choose, such as ``impact``.
        """
        return cls.of(certificate, **choice).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **choice: Any) -> Self:
        """Draw the certificate of a fitted estimator.

        Parameters
        ----------
        estimator : ELFClassifier or ELFRegressor
            The estimator.
        ax, **choice
            See `from_certificate`.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "certificate_")
        return cls.from_certificate(estimator.certificate_, ax=ax, **choice)

    def _on(self, ax: Any, rows: int) -> Any:
        self.ax_ = axes_for(ax, rows=rows)
        self.figure_ = self.ax_.figure
        return self.ax_


@dataclass
class ImpactDisplay(Display):
    """Old and new impact by group, with 90 % intervals of each by itself.

    Parameters
    ----------
    impact : str
        What the impact is called.
    groups : tuple of str
        The groups, in words.
    pictures : tuple of ImpactPicture
        Their impacts.

    Examples
    --------
    >>> from elfair import ELFClassifier
    >>> from elfair.populations import FosterCare
    >>> log = FosterCare().sample(600, seed=1)
    >>> clf = ELFClassifier("E[impact | T == 0] >= -9", candidates=2)
    >>> clf = clf.fit(log.features, log.label, **log.logged)
    >>> ImpactDisplay.from_estimator(clf).ax_.get_xlabel()
    'mean impact'
    """

    impact: str
    groups: tuple[str, ...]
    pictures: tuple[ImpactPicture, ...]

    @classmethod
    def of(cls, certificate: Certificate, *, impact: str | None = None) -> Self:
        """Of the first impact, unless another one is named."""
        names = list(dict.fromkeys(i.impact for g in certificate.groups for i in g.impacts))
        if not names:
            raise _missing("impact", "no impact was estimated")
        chosen = _known(impact, names, "impact")
        speech = speech_of(certificate)
        found = [
            (group_in_words(group.condition, speech), each)
            for group in certificate.groups
            for each in group.impacts
            if each.impact == chosen
        ]
        groups, pictures = zip(*found, strict=True)
        return cls(speech.column(chosen), groups, pictures)

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        ax = self._on(ax, len(self.groups))
        for name, colour, mark, side in (("old", OLD, "o", -APART), ("new", NEW, "D", APART)):
            of = [each.logged if name == "old" else each.new for each in self.pictures]
            places = [k + side for k in range(len(of))]
            ax.errorbar(
                [each.estimate for each in of], places, xerr=_reach(of), fmt=mark, color=colour,
                capsize=3, label=f"{name} model",
            )  # fmt: skip
        _rows(ax, self.groups)
        ax.set_xlabel(f"mean {self.impact}")
        ax.legend(frameon=False)
        return self


@dataclass
class ConstraintsDisplay(Display):
    """The estimate of each statement's g and its upper bound, which must be at most 0.

    Parameters
    ----------
    results : tuple of ConstraintResult
        The statements, the worst first.

    Examples
    --------
    >>> from elfair import LoggedData, certify
    >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    >>> certificate = certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")
    >>> ConstraintsDisplay.from_certificate(certificate).ax_.get_yticklabels()[0].get_text()
    'accuracy >= 0.7'
    """

    results: tuple[ConstraintResult, ...]

    @classmethod
    def of(cls, certificate: Certificate) -> Self:
        """Of all statements."""
        if not certificate.constraints:
            raise _missing("statement", "nothing was tested")
        return cls(certificate.constraints)

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        ax = self._on(ax, len(self.results))
        ax.axvline(0.0, color="black", linewidth=0.8)
        for row, result in enumerate(self.results):
            colour, mark = (NEW, "o") if result.passed else (FAILED, "D")
            ax.plot([result.estimate], [row], mark, color=colour)
            if isfinite(result.upper) and isfinite(result.estimate):
                ax.plot([result.estimate, result.upper], [row, row], color=colour)
                ax.plot([result.upper], [row], "|", color=colour, markersize=10)
        _rows(ax, [result.statement for result in self.results])
        ax.set_xlabel(OF_G)
        return self


@dataclass
class TradeOffDisplay(Display):
    """An impact beside the loss, for each model of the ladder, as candidate rows show them.

    Parameters
    ----------
    trade_off : TradeOff
        The models.
    place : int
        Which series is drawn.
    words : str
        What the series is about.

    Examples
    --------
    >>> from elfair import ELFClassifier
    >>> from elfair.populations import FosterCare
    >>> log = FosterCare().sample(600, seed=1)
    >>> clf = ELFClassifier("E[impact | T == 0] >= -9", candidates=2)
    >>> clf = clf.fit(log.features, log.label, **log.logged)
    >>> TradeOffDisplay.from_estimator(clf).ax_.get_ylabel()
    'impact, all people'
    """

    trade_off: TradeOff
    place: int
    words: str

    @classmethod
    def of(
        cls, certificate: Certificate, *, impact: str | None = None, group: str = "everyone"
    ) -> Self:
        """Of the first impact about everyone, unless others are named."""
        trade_off = certificate.trade_off
        if trade_off is None or not trade_off.series:
            raise _missing("ladder", "the model is from elsewhere, or no impact was estimated")
        impacts = [each.impact for each in trade_off.series]
        chosen = _known(impact, impacts, "impact")
        _known(group, [each.condition for each in trade_off.series], "group")
        place = next(
            k
            for k, each in enumerate(trade_off.series)
            if (each.impact, each.condition) == (chosen, group)
        )
        speech = speech_of(certificate)
        return cls(trade_off, place, f"{speech.column(chosen)}, {group_in_words(group, speech)}")

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        ax = self._on(ax, 6)
        looks = {"released": (NEW, "*"), "passed": (NEW, "o"), "failed": (FAILED, "X")}
        for fate in dict.fromkeys(model.fate for model in self.trade_off.models):
            colour, mark = looks.get(fate, (OLD, "o"))
            of = [model for model in self.trade_off.models if model.fate == fate]
            means = [model.impacts[self.place] for model in of]
            size = 14 if fate == "released" else 6
            ax.plot(
                [model.loss for model in of], means, mark, color=colour, markersize=size, label=fate
            )
        logged = self.trade_off.series[self.place].logged
        ax.axhline(logged, color=OLD, linestyle="--", label="old model")
        ax.set_xlabel("loss, on candidate rows")
        ax.set_ylabel(visible(self.words))
        ax.legend(frameon=False)
        return self


@dataclass
class WeightsDisplay(Display):
    """How often each importance weight occurs among the held-out rows of a group.

    Parameters
    ----------
    group : str
        The group, in words.
    picture : GroupPicture
        Its rows.

    Examples
    --------
    >>> from elfair import ELFClassifier
    >>> from elfair.populations import FosterCare
    >>> log = FosterCare().sample(600, seed=1)
    >>> clf = ELFClassifier("E[impact | T == 0] >= -9", candidates=2)
    >>> clf = clf.fit(log.features, log.label, **log.logged)
    >>> WeightsDisplay.from_estimator(clf, group="T == 0").ax_.get_title()
    'people whose T is 0'
    """

    group: str
    picture: GroupPicture

    @classmethod
    def of(cls, certificate: Certificate, *, group: str = "everyone") -> Self:
        """Of everyone, unless a group is named."""
        weighted = {each.condition: each for each in certificate.groups if each.weights is not None}
        if not weighted:
            raise _missing("importance weight", "no statement needs one")
        chosen = _known(group, list(weighted), "group")
        return cls(group_in_words(chosen, speech_of(certificate)), weighted[chosen])

    def plot(self, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        ax, weights = self._on(ax, 6), self.picture.weights
        assert weights is not None
        full = [k for k, n in enumerate(weights.counts) if n]
        shown = range(min(full, default=0), max(full, default=0) + 1)
        ax.bar(list(shown), [weights.counts[k] for k in shown], width=1.0, align="edge", color=NEW)
        ends = [*shown, shown.stop]
        ax.set_xticks(ends, [edge_words(weights.edges[k]) for k in ends])
        if 1.0 in weights.edges:
            ax.axvline(weights.edges.index(1.0), color="black", linewidth=0.8)
        ax.set_xlabel("importance weight")
        ax.set_ylabel("held-out rows")
        ax.set_title(visible(self.group))
        return self


def _missing(what: str, why: str) -> InputError:
    return InputError(
        f"this certificate holds no {what} to draw: {why}.",
        hint="certificate.plot_constraints() draws what was tested.",
    )


def _known(name: str | None, known: Sequence[str], what: str) -> str:
    """A name that the certificate holds; the first one unless one is given."""
    if name is None:
        return known[0]
    if name not in known:
        raise InputError(
            f"{what} must be one of {', '.join(map(repr, dict.fromkeys(known)))}. Got {name!r}.",
            hint=did_you_mean(name, known, "write it as the certificate does."),
        )
    return name


def _reach(of: Sequence[Interval]) -> list[list[float]]:
    """How far intervals reach to either side."""
    return [[e.estimate - e.low for e in of], [e.high - e.estimate for e in of]]


def _rows(ax: Any, names: Sequence[str]) -> None:
    """Name the rows, the first at the top."""
    short = [n if len(n) <= LONGEST else f"{n[: LONGEST - 1]}…" for n in map(visible, names)]
    # A dollar sign would begin mathematics.
    ax.set_yticks(range(len(short)), [each.replace("$", r"\$") for each in short])
    ax.set_ylim(len(short) - 0.5, -0.5)
