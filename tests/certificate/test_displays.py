"""Pictures in Python: they draw the numbers of the certificate, and say what they cannot draw."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError

from elfair import (
    ConstraintsDisplay,
    ELFClassifier,
    ImpactDisplay,
    LoggedData,
    TradeOffDisplay,
    WeightsDisplay,
    certify,
    compare,
)
from elfair.errors import InputError, MissingPackageError
from elfair.populations import FosterCare

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def clf():
    population = FosterCare(alpha=0.9)
    log = population.sample(1_500, seed=4)
    return ELFClassifier(population.constraints, candidates=5).fit(
        log.features, log.label, **log.logged
    )


@pytest.fixture(scope="module")
def certificate(clf):
    names = {"people": "young people", "columns": {"impact": "well-being"}}
    return clf.certificate_.stating(names=names)


def marks(container):
    return container.lines[0].get_xydata().tolist()


def test_impacts_are_drawn_where_they_are(certificate):
    shown = certificate.plot_impact()
    old, new = shown.ax_.containers
    pictures = [each.impacts[0] for each in certificate.groups]
    assert [x for x, _ in marks(old)] == [each.logged.estimate for each in pictures]
    assert [x for x, _ in marks(new)] == [each.new.estimate for each in pictures]
    (bars,) = new.lines[2]
    ends = [[x for x, _ in segment] for segment in bars.get_segments()]
    assert ends == [pytest.approx([each.new.low, each.new.high]) for each in pictures]
    labels = [each.get_text() for each in shown.ax_.get_yticklabels()]
    assert labels == ["all young people", *(f"young people whose T is {k}" for k in (0, 1))]
    assert shown.ax_.get_xlabel() == "mean well-being"
    assert shown.ax_.yaxis_inverted()


def test_bounds_are_drawn_where_they_are(certificate):
    ax = ConstraintsDisplay.from_certificate(certificate).ax_
    drawn = {x for line in ax.lines for x, _ in line.get_xydata().tolist()}
    for result in certificate.constraints:
        assert {result.estimate, result.upper} <= drawn
    worst = replace(certificate.constraints[0], upper=float("inf"), passed=False)
    ConstraintsDisplay((worst,)).plot().figure_.draw_without_rendering()


def test_the_ladder_is_drawn_by_fate(certificate):
    ax = certificate.plot_tradeoff(group="T == 1").ax_
    labels = [each.get_text() for each in ax.get_legend().get_texts()]
    fates = dict.fromkeys(model.fate for model in certificate.trade_off.models)
    assert labels == [*fates, "old model"]
    assert ax.get_ylabel() == "well-being, young people whose T is 1"
    (k,) = (k for k, s in enumerate(certificate.trade_off.series) if s.condition == "T == 1")
    drawn = {tuple(xy) for line in ax.lines[:-1] for xy in line.get_xydata().tolist()}
    assert drawn == {(m.loss, m.impacts[k]) for m in certificate.trade_off.models}


def test_every_weight_is_in_a_bar(certificate):
    ax = certificate.plot_weights(group="T == 0").ax_
    (picture,) = (each for each in certificate.groups if each.condition == "T == 0")
    assert sum(bar.get_height() for bar in ax.patches) == picture.n


def test_they_draw_on_axes_of_your_own_and_from_an_estimator(clf):
    figure, axes = pyplot.subplots(2, 2)
    displays = (ImpactDisplay, ConstraintsDisplay, TradeOffDisplay, WeightsDisplay)
    for display, ax in zip(displays, axes.flat, strict=True):
        shown = display.from_estimator(clf, ax=ax)
        assert shown.ax_ is ax
        assert shown.figure_ is figure
        with pytest.raises(NotFittedError):
            display.from_estimator(ELFClassifier("accuracy >= 0.5"))
    assert len(pyplot.get_fignums()) == 1


def test_what_is_not_there_is_said(certificate):
    with pytest.raises(InputError, match=r"impact must be one of 'impact'. Got 'impakt'"):
        certificate.plot_impact(impact="impakt")
    with pytest.raises(InputError, match="group must be one of 'everyone', 'T == 0'"):
        certificate.plot_weights(group="T == 7")
    static = certify(np.full(200, 0.5), LoggedData([[0.0]] * 200, [0, 1] * 100), "PR <= 0.6")
    for plot in (static.plot_impact, static.plot_tradeoff, static.plot_weights):
        with pytest.raises(InputError, match="holds no"):
            plot()
    assert static.plot_constraints().ax_.get_yticklabels()[0].get_text() == "PR <= 0.6"


def test_without_matplotlib_or_pandas_the_extra_is_named(certificate, monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot", "pandas"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match="plots"):
        certificate.plot_impact()
    with pytest.raises(MissingPackageError, match="plots"):
        certificate.to_frame()


def test_a_frame_has_a_row_for_each_statement(certificate):
    frame = certificate.to_frame()
    assert frame["statement"].tolist() == [each.statement for each in certificate.constraints]
    assert frame["upper"].tolist() == [each.upper for each in certificate.constraints]
    assert frame["passed"].all()
    assert replace(certificate, constraints=()).to_frame().columns.tolist() == [*frame.columns]


def test_certificates_side_by_side(certificate):
    worst = certificate.constraints[0]
    failed = replace(worst, passed=False, upper=0.5)
    other = replace(certificate, passed=False, constraints=(failed,))
    both = compare({"new": certificate, "shy": other})
    frame = both.to_frame()
    assert frame["new", "passed"].tolist() == [True] * len(certificate.constraints)
    assert frame.loc[worst.statement, ("shy", "upper")] == 0.5
    assert frame["shy", "upper"].isna().sum() == len(certificate.constraints) - 1
    assert f"{worst.statement}: g at most new " in both.text()
    assert "shy 0.5 (FAILED)" in both.text()
    assert "1 of 2 certificates release a model" in both._repr_html_()
    ax = both.plot()
    assert [each.get_text() for each in ax.get_legend().get_texts()] == ["new", "shy"]
    assert [x for x, _ in ax.lines[-1].get_xydata().tolist()] == [0.5]
    assert list(compare([certificate, other]).certificates) == ["1", "2"]
    for wrong in ([], ["certificate.json"]):
        with pytest.raises(InputError, match="compare takes one or more certificates"):
            compare(wrong)


def test_a_notebook_shows_the_words_and_no_markup_of_others(certificate):
    shown = certificate.stating(names={"people": "<b>pupils</b>"})._repr_html_()
    assert "Solution found" in shown
    assert "&lt;b&gt;pupils&lt;/b&gt;" in shown
    assert "<b>" not in shown
