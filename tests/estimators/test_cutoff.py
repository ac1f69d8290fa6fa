"""Cut-offs: what is tested is what is deployed, and anything unclear about it is an error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from elfair import LoggedData, certify, cutoff, verify
from elfair.errors import ElfairError
from elfair.populations import FosterCare

DRAW = FosterCare().sample(600, seed=8)
SCORES = DRAW.features[:, 0] + 1.0
DATA = LoggedData(None, DRAW.label, sensitive_features={"T": DRAW.group})


def test_a_cut_off_is_the_model_that_is_deployed():
    certificate = certify(cutoff(SCORES, 1.5000001), DATA, "PR >= 0.01")
    (part,) = certificate.constraints[0].tails[0].parts
    assert part.mean == pytest.approx(-(SCORES > 1.5).mean(), abs=0.011)
    assert "1.5000001" in certificate.terms.deployed
    codes = {each.code for each in certificate.assumptions}
    assert "decisions_by_rule" in codes
    assert "decisions_sampled" not in codes
    assert certificate.terms.deployed in certificate.explain(details=True)


def test_probabilities_are_drawn_from():
    certificate = certify(np.clip(SCORES / 4, 0, 1), DATA, "PR >= 0.01")
    assert certificate.terms.deployed == ""
    assert "decisions_sampled" in {each.code for each in certificate.assumptions}


def test_cut_offs_by_group():
    by = np.where(DRAW.group == 1, "one", "other")
    made = cutoff(SCORES, {"one": 1.2, "other": 1.7}, by=by, decision="offer")
    assert np.array_equal(made.chosen, np.where(DRAW.group == 1, 1.2, 1.7) < SCORES)
    assert made.rule.startswith("decision 'offer' if the score is at least 1.2 for one, 1.7 for")
    series = cutoff(pd.Series(SCORES), {"one": 1.2, "other": 1.7}, by=pd.Series(by))
    assert np.array_equal(series.chosen, made.chosen)


def test_a_certificate_of_a_cut_off_is_verified_with_it_and_not_with_another():
    certificate = certify(cutoff(SCORES, 1.5), DATA, "PR >= 0.01")
    assert verify(certificate, data=DATA, model=cutoff(SCORES, 1.5)).passed
    assert verify(certificate, data=DATA, model=(SCORES > 1.5).astype(float)).passed
    assert not verify(certificate, data=DATA, model=cutoff(SCORES, 1.6)).passed


@pytest.mark.parametrize(
    ("scores", "at", "by", "words"),
    [
        ([0.2, 0.5], 0.5, None, "a score is exactly at the cut-off in 1 of 2 rows"),
        ([0.2, 0.4], {"a": 0.1, "b": 0.4}, ["a", "b"], "a score is exactly at the cut-off in 1"),
        ([0.2, np.inf], 0.5, None, "a score is missing or infinite in 1 of 2 rows"),
        ([0.2, None], 0.5, None, "a score is missing or infinite in 1 of 2 rows"),
        (["low", "high"], 0.5, None, "scores"),
        ([0.2, 0.9], float("nan"), None, "a cut-off must be a finite number"),
        ([0.2, 0.9], "0.5", None, "a cut-off must be a finite number"),
        ([0.2, 0.9], True, None, "a cut-off must be a finite number"),
        ([0.2, 0.9], {"a": 0.5}, None, "without the groups"),
        ([0.2, 0.9], 0.5, ["a", "b"], "the cut-off is one number"),
        ([0.2, 0.9], {"a": 0.5}, ["a", "b"], "by is none of 'a' in 1 of 2 rows"),
        ([0.2, 0.9], {"a": 0.5}, ["a", None], "by is none of 'a' in 1 of 2 rows"),
        ([0.2, 0.9], {"a": 0.5}, ["a"], "by"),
    ],
)
def test_what_is_unclear_is_an_error_with_a_hint(scores, at, by, words):
    with pytest.raises(ElfairError, match="Hint: ") as caught:
        cutoff(scores, at, by=by)
    assert words in str(caught.value)


def test_the_fitted_model_itself_is_refused():
    model = LogisticRegression().fit(DRAW.features, DRAW.label)
    with pytest.raises(ElfairError, match=r"elfair\.cutoff"):
        certify(model, DATA, "PR >= 0.01")
