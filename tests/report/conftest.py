"""Certificates of every kind, each made once, for all who render them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

from elfair import Certificate, ELFClassifier, ELFRegressor, LoggedData, certify
from elfair.certificate import Assumption, GroupCount, LeftOut, Provenance, WarningRecord
from elfair.populations import Dosage, FosterCare

#: What a user may write anywhere, and no reader's browser may run.
HOSTILE = """<script>alert("1")</script> & 'so' | `x` <b>*_"""

OBJECTED = {
    "passed": False,
    "assumptions": (Assumption.of("tau_known", "violated", "it is an estimate"),),
}


def _foster_care(alpha=0.9, n=2_000, seed=0, constraints=None, **parameters) -> Certificate:
    population = FosterCare(alpha=alpha)
    log = population.sample(n, seed=seed)
    clf = ELFClassifier(
        population.constraints if constraints is None else constraints,
        **{"delta": 0.1, **parameters},
    )
    clf.fit(
        log.features,
        log.label,
        sensitive_features={"T": log.group},
        decision=log.decision,
        propensity=log.propensity,
        impact=log.impact,
    )
    return clf.certificate_


def _regression() -> Certificate:
    population = Dosage()
    log = population.sample(1_000, seed=11)
    reg = ELFRegressor(population.constraints).fit(
        log.features,
        log.label,
        sensitive_features={"T": log.group},
        decision=log.decision,
        propensity=log.propensity,
        behavior_spread=1.0,
        impact=log.impact,
    )
    return reg.certificate_


def _rows(n=900, groups=3, seed=0) -> LoggedData:
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 3, n)
    return LoggedData(
        rng.normal(size=(n, 2)),
        rng.integers(0, 3, n),
        sensitive_features={"region": rng.integers(0, groups, n)},
        decision=decision,
        behavior=np.full((n, 3), 1 / 3),
        impact={
            "income": 1e4 * (decision + rng.normal(size=n)),
            "health": 0.2 * decision + rng.normal(size=n),
        },
    )


def _certified(constraints, data, model=(0.1, 0.3, 0.6), **given) -> Certificate:
    return certify(np.tile(model, (data.n, 1)), data, constraints, **given)


def _static() -> Certificate:
    rng = np.random.default_rng(3)
    n = 400
    data = LoggedData(
        rng.normal(size=(n, 1)), rng.integers(0, 2, n), sensitive_features={"T": [0, 1] * 200}
    )
    return certify(np.full(n, 0.5), data, "abs(PR[T == 0] - PR[T == 1]) <= 0.1")


def _many(groups=33) -> Certificate:
    texts = [
        f"E[{impact} | region == {group}] >= E_logged[{impact} | region == {group}]"
        for group in range(groups)
        for impact in ("income", "health")
    ]
    return _certified(texts, _rows(n=60 * groups, groups=groups))


def _hostile() -> Certificate:
    rng = np.random.default_rng(5)
    n = 300
    decision = rng.integers(0, 2, n)
    name = HOSTILE.replace("`", "")
    data = LoggedData(
        {f"{name} 2": rng.normal(size=n), "b": rng.normal(size=n)},
        sensitive_features={"who": np.where(rng.random(n) < 0.5, '<u>"A"</u> & co', "B")},
        decision=np.array(["<no>", "'yes'"])[decision],
        propensity=np.full(n, 0.5),
        impact={name: decision + rng.normal(size=n)},
    )
    group = "who == '<u>\"A\"</u> & co'"
    text = f"E[`{name}` | {group}] >= E_logged[`{name}` | {group}]"
    found = certify(np.tile([0.3, 0.7], (n, 1)), data, text)
    return replace(
        found.stating(
            chosen_by=HOSTILE,
            why=HOSTILE,
            provenance=Provenance(
                title=HOSTILE,
                issued="2026-11-15T12:00:00Z",
                source=HOSTILE,
                source_digest="ab" * 32,
                rows_read=320,
                left_out=(LeftOut(HOSTILE, 20, (GroupCount(HOSTILE, 12), GroupCount("B", 8))),),
                study=f'title = "{HOSTILE}"\n',
            ),
        ),
        warnings=(WarningRecord("few_held_out_rows", HOSTILE, HOSTILE),),
    )


def _unbounded() -> Certificate:
    """Numbers that are none: no estimate, no bound, a bound at minus infinity."""
    found = _foster_care(alpha=0.2, n=500, seed=2)
    nan, inf = float("nan"), float("inf")
    first, second, third = found.constraints
    return replace(
        found,
        constraints=(
            replace(first, estimate=nan, upper=inf, spread=nan, rows_needed=None),
            replace(second, upper=inf, passed=False, rows_needed=None),
            replace(third, estimate=-inf, upper=-inf),
        ),
    )


MAKERS: dict[str, Callable[[], Certificate]] = {
    "solution": lambda: _foster_care().stating(
        chosen_by="the credit board",
        why="nobody may fare worse than last year",
        provenance=Provenance(
            title="Support after foster care, 2024",
            issued="2026-11-15T12:00:00Z",
            source="support.csv",
            source_digest="0123456789abcdef" * 4,
            rows_read=2_090,
            left_out=(
                LeftOut("no impact", 90, (GroupCount("T == 0", 30), GroupCount("T == 1", 60))),
            ),
            study='title = "Support after foster care, 2024"\n',
        ),
    ),
    "none": lambda: _foster_care(alpha=0.2, n=500, seed=1),
    "wrong side": lambda: _certified(
        "E[health] >= E_logged[health]", _rows(seed=6), model=(0.8, 0.1, 0.1)
    ),
    "crossfit": lambda: _foster_care(n=600, split="crossfit"),
    "regression": _regression,
    "static": _static,
    "certify": lambda: _certified(
        [
            "E[income | region == 0] >= E_logged[income | region == 0]",
            "E[health | region == 1] >= E_logged[health | region == 1]",
        ],
        _rows(),
        delta=[0.1, 0.05],
    ),
    "finite": lambda: _certified(
        "E[health] >= -8",
        _rows(seed=7),
        bound="hoeffding",
        impact_range={"health": (-8.0, 8.0)},
        propensity_floor=0.3,
    ),
    "nothing tested": lambda: _foster_care(n=300, constraints=()),
    "quantiles": lambda: _certified(
        ["quantile[health, 0.2 | region == 0] >= -2", "CVaR[health, 0.25] >= -3"],
        _rows(seed=8),
    ),
    "many": _many,
    "violated": lambda: _foster_care(
        n=600,
        estimator="is",
        split="stratified",
        accept_violated=["tau_known", "halves_independent"],
    ),
    "objected": lambda: replace(_foster_care(n=2_000), **OBJECTED),
    "hostile": _hostile,
    "unbounded": _unbounded,
}


@cache
def made(kind: str) -> Certificate:
    """The certificate of a kind, made when it is first asked for."""
    return MAKERS[kind]()


@pytest.fixture(params=MAKERS, scope="module")
def certificate(request: pytest.FixtureRequest) -> Certificate:
    """Each kind in turn."""
    return made(request.param)


@pytest.fixture(scope="module")
def of_kind() -> Callable[[str], Certificate]:
    """The certificate of a kind, by its name."""
    return made


VOID = {"meta", "br", "hr", "img", "link", "input"}
#: What holds nothing but text and what runs along with it.
PHRASING = {"p", "h1", "h2", "h3", "span", "dt", "summary", "code", "i", "strong", "a"}
FLOW = {
    *("p", "h1", "h2", "h3", "ul", "ol", "dl", "div", "table", "figure", "section", "pre"),
    *("details", "header", "main", "nav", "footer"),
}
CHILDREN = {
    "ul": {"li"},
    "ol": {"li"},
    "dl": {"div", "dt", "dd"},
    "tr": {"th", "td"},
    "thead": {"tr"},
    "tbody": {"tr"},
    "table": {"caption", "thead", "tbody"},
}


class Page(HTMLParser):
    """A page taken apart, with whatever is wrong in it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[int, str]] = []
        self.tables: list[Table] = []
        self.drawings: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(text)
        self.close()
        if self._open:
            self.faults.append(f"never closed: {[tag for tag, *_ in self._open]}")

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if len(attributes) != len(attrs):
            self.faults.append(f"twice the same attribute in <{tag}>")
        above = self._open[-1][0] if self._open else ""
        if above in PHRASING and tag in FLOW:
            self.faults.append(f"<{tag}> inside <{above}>")
        if above in CHILDREN and tag not in CHILDREN[above]:
            self.faults.append(f"<{tag}> inside <{above}>")
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if "href" in attributes:
            self.links.append(attributes["href"])
        if tag == "table":
            self.tables.append(Table())
        if tag not in VOID:
            self._open.append((tag, attributes, []))

    def handle_startendtag(self, tag, attrs):
        if tag not in VOID and not any(tag == "svg" for tag, *_ in self._open):
            self.faults.append(f"<{tag}/> closes nothing outside a drawing")
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self._open or self._open[-1][0] != tag:
            self.faults.append(f"</{tag}> where {[tag for tag, *_ in self._open]} are open")
            return
        _, attributes, said = self._open.pop()
        words = " ".join("".join(said).split())
        inside = [tag for tag, *_ in self._open]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), words))
        elif tag == "caption":
            self.tables[-1].caption = words
        elif tag in ("th", "td") and "table" in inside:
            self.tables[-1].cells.append((tag, attributes.get("scope"), words))
        elif tag == "title" and "svg" in inside:
            self.drawings.append(words)

    def handle_data(self, data):
        for _, _, said in self._open:
            said.append(data)
        hidden = {tag for tag, *_ in self._open} & {"style", "title", "desc"}
        if not hidden:
            self.text += data


class Table:
    """The caption of a table, and its cells: tag, scope, words."""

    def __init__(self) -> None:
        self.caption = ""
        self.cells: list[tuple[str, str | None, str]] = []


@pytest.fixture(scope="module")
def parsed() -> type[Page]:
    """Takes a page apart."""
    return Page
