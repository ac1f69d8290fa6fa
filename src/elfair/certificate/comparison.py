"""Several certificates side by side: what passed, and how near each statement was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from elfair.certificate.displays import OF_G
from elfair.certificate.explanation import verdict
from elfair.errors import InputError
from elfair.records.drawing import FAILED, axes_for, paragraphs_html
from elfair.records.text import number, visible

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate


@dataclass(frozen=True)
class Comparison:
    """Certificates side by side.

    Parameters
    ----------
    certificates : mapping of str to Certificate
        The certificates, by what they are called.

    Examples
    --------
    >>> from elfair import LoggedData, certify
    >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    >>> models = {"bold": [0.2, 0.9] * 200, "shy": [0.4, 0.7] * 200}
    >>> found = {name: certify(of, data, "accuracy >= 0.6", looks=2) for name, of in models.items()}
    >>> print(compare(found).to_frame()["bold"].loc["accuracy >= 0.6", "passed"])
    True
    """

    certificates: Mapping[str, Certificate]

    @property
    def statements(self) -> list[str]:
        """All statements, in the order in which they appear."""
        every = (r.statement for each in self.certificates.values() for r in each.constraints)
        return list(dict.fromkeys(every))

    def to_frame(self) -> Any:
        """A row for each statement; for each certificate, the estimate and bound of g, and whether
        it passed. What a certificate does not test is missing.
        """
        import pandas as pd

        columns = {
            (name, what): {r.statement: getattr(r, what) for r in each.constraints}
            for name, each in self.certificates.items()
            for what in ("estimate", "upper", "passed")
        }
        frame = pd.DataFrame(columns, index=pd.Index(self.statements, name="statement"))
        frame.columns = pd.MultiIndex.from_tuples(columns, names=["certificate", "of g"])
        return frame

    def plot(self, ax: Any = None) -> Any:
        """The estimate and the upper bound of each statement, one colour for each certificate.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of your own.

        Returns
        -------
        matplotlib.axes.Axes
        """
        statements, several = self.statements, len(self.certificates)
        ax = axes_for(ax, rows=len(statements) * several)
        ax.axvline(0.0, color="black", linewidth=0.8)
        for k, (name, each) in enumerate(self.certificates.items()):
            side = 0.6 * ((k + 0.5) / several - 0.5)
            drawn = [r for r in each.constraints if isfinite(r.upper) and isfinite(r.estimate)]
            places = [statements.index(r.statement) + side for r in drawn]
            ends = [r.upper - r.estimate for r in drawn]
            ax.errorbar(
                [r.estimate for r in drawn], places,
                xerr=[[0.0] * len(ends), ends], fmt="o", capsize=3, label=visible(name),
            )  # fmt: skip
            failed = [(r.upper, p) for r, p in zip(drawn, places, strict=True) if not r.passed]
            ax.plot([x for x, _ in failed], [y for _, y in failed], "x", color=FAILED)
        ax.set_yticks(range(len(statements)), [each.replace("$", r"\$") for each in statements])
        ax.set_ylim(len(statements) - 0.5, -0.5)
        ax.set_xlabel(OF_G)
        ax.legend(frameon=False)
        return ax

    def text(self) -> str:
        """The verdicts, and each statement's bound under each certificate."""
        lines = [f"{name}: {verdict(each)}" for name, each in self.certificates.items()]
        for statement in self.statements:
            bounds = [
                f"{name} {number(r.upper)} ({'passed' if r.passed else 'FAILED'})"
                for name, each in self.certificates.items()
                for r in each.constraints
                if r.statement == statement
            ]
            lines.append(f"{statement}: g at most {', '.join(bounds)}")
        return visible("\n".join(lines))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        passed = sum(each.passed for each in self.certificates.values())
        told = f"{passed} of {len(self.certificates)} certificates release a model"
        return paragraphs_html(told, [self.text()], good=passed > 0)


def compare(certificates: Sequence[Certificate] | Mapping[str, Certificate]) -> Comparison:
    """Put certificates side by side, as a table and a picture.

    To compare results and then choose one is a choice after the test: what each certificate
    promises holds for the model that you had fixed to use, or for all looks that were declared.

    Parameters
    ----------
    certificates : sequence or mapping of str to Certificate
        The certificates; by name, if it is a mapping.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from elfair import LoggedData, certify
    >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    >>> one = certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")
    >>> print(compare([one]))
    1: Model passed: the statement passed the test on 400 held-out rows.
    accuracy >= 0.7: g at most ... (passed)
    """
    if not isinstance(certificates, Mapping):
        certificates = {str(k): each for k, each in enumerate(certificates, start=1)}
    wrong = [each for each in certificates.values() if not hasattr(each, "constraints")]
    if wrong or not certificates:
        got = repr(wrong[0])[:80] if wrong else "none"
        raise InputError(
            f"compare takes one or more certificates. Got {got} instead.",
            hint="write compare([first.certificate_, second.certificate_]).",
        )
    return Comparison(dict(certificates))
