"""Constraints in words: each kind of statement, and what must not be said of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elfair import (
    decline,
    disparate_impact,
    equal_opportunity,
    equalized_odds,
    improvement,
    no_worse,
    parity,
    stagnation,
)
from elfair.language.naming import Names
from elfair.language.parsing import parse
from elfair.language.people import Speech
from elfair.language.sentences import sentences

sys.path.insert(0, str(Path(__file__).parent))

from test_round_trip import means

NAMES = Names(
    people="applicants",
    columns={"dscore": "score change", "eth": "ethnicity"},
    units={"dscore": "points"},
    decisions={"1": "a loan"},
    labels={"1": "who repay", "0": "who default"},
    groups={"eth": {"B": "Black", "W": "White", "N": "N/A"}, "sex": {"F": "female"}},
)
SPEECH = Speech(NAMES, ("0", "1"), "1", ("dscore",))
PLAIN = Speech(Names(), ("0", "1"), "1")
TODAY = "Compared with today's decisions, the average score change of"


def said(*texts, speech=SPEECH):
    return sentences(map(parse, texts), speech)


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (
            no_worse("eth", ["B", "N", "W"], impact="dscore"),
            f"{TODAY} Black, N/A and White applicants, each group by itself, is not expected to "
            "fall",
        ),
        (
            no_worse("eth", ["B"], impact="dscore", slack=0.5),
            f"{TODAY} Black applicants is not expected to fall by more than 0.5 points",
        ),
        (
            decline("eth", ["B"], impact="dscore", at_most=2),
            f"{TODAY} Black applicants is not expected to fall by more than 2 points",
        ),
        (
            improvement("eth", ["B"], impact="dscore", margin=2),
            f"{TODAY} Black applicants is expected to rise by at least 2 points",
        ),
        (
            stagnation("eth", ["B"], impact="dscore", tolerance=2),
            f"{TODAY} Black applicants is not expected to change by more than 2 points",
        ),
        (
            no_worse(["eth", "sex"], [("B", "F"), ("W", "F")], impact="dscore"),
            f"{TODAY} Black female and White female applicants, each group by itself, is not "
            "expected to fall",
        ),
        (
            parity("eth", ["B", "W"], tolerance=0.01),
            "The share who get a loan among Black applicants is expected to differ by at most 1 "
            "percentage point from that among White applicants",
        ),
        (
            equal_opportunity("eth", ["B", "N", "W"], tolerance=0.1),
            "The share who get a loan among Black, N/A and White applicants who repay is expected "
            "to differ by at most 10 percentage points between any two of these groups",
        ),
        (
            disparate_impact("eth", ["B", "N", "W"]),
            "The share who get a loan among each of these groups (Black, N/A and White "
            "applicants) is expected to be at least 80 % of that among any other",
        ),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_what_a_constraint_by_name_says(recipe, words):
    assert said(*recipe.expand()) == [words]


def test_equalized_odds_are_about_each_label():
    repay, default = said(*equalized_odds("eth", ["B", "W"], tolerance=0.1).expand())
    assert "Black applicants who repay is expected to differ by at most 10" in repay
    assert "Black applicants who default is expected" in default


IMPACT = "the average score change of all applicants is"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("E[dscore] >= 0.5", f"The{IMPACT[3:]} expected to be at least 0.5 points"),
        ("E[impact] <= 3", f"The{IMPACT[3:]} expected to be at most 3 points"),
        ("E[dscore] <= E_logged[dscore]", f"{TODAY} all applicants is not expected to rise"),
        (
            "E[dscore] + 1 <= E_logged[dscore]",
            f"{TODAY} all applicants is expected to fall by at least 1 points",
        ),
        (
            "E[dscore] <= E_logged[dscore] + 1",
            f"{TODAY} all applicants is not expected to rise by more than 1 points",
        ),
        (
            "E[dscore] >= 0.9 * E_logged[dscore]",
            "The average score change of all applicants is expected to be at least 90 % of the "
            "average score change of the same applicants under today's decisions",
        ),
        (
            "E[benefit] >= 2 * E[cost] - 1",
            "The average benefit of all applicants is expected to be at least 2 times the average "
            "cost of the same applicants, minus 1",
        ),
        (
            "E[dscore | eth == 'B'] >= E[dscore | eth == 'W'] - 1",
            "The average score change of Black applicants is expected to be at most 1 points "
            "below that of White applicants",
        ),
        (
            "abs(E[dscore | eth == 'B'] - E[dscore | eth == 'W']) <= 1",
            "The average score change of Black applicants is expected to differ by at most 1 "
            "points from that of White applicants",
        ),
        (
            "max(PR[eth == 'B'], PR[eth == 'W']) - min(PR[eth == 'B'], PR[eth == 'W']) <= 0.1",
            "The share who get a loan among Black applicants is expected to differ by at most 10 "
            "percentage points from that among White applicants",
        ),
        (
            "accuracy >= 0.75",
            "The share of right decisions about all applicants is expected to be at least 75 %",
        ),
        (
            "FPR[18 <= age < 30] <= 0.1",
            "The share who get a loan among applicants whose age is at least 18 and below 30 "
            "who default is expected to be at most 10 %",
        ),
        (
            "TNR >= 0.5",
            "The share who get decision 0 among all applicants who default is expected to be at "
            "least 50 %",
        ),
        (
            "PPV[eth == 'B'] >= 0.6",
            "The share who repay among Black applicants who get a loan is expected to be at least "
            "60 %",
        ),
        (
            "TPR - FPR >= 0.2",
            "The share who get a loan among all applicants who repay is expected to be at least "
            "20 percentage points above the share who get a loan among all applicants who default",
        ),
        ("abs(PR - 0.3) <= 0.1", "The share who get a loan among all applicants is expected to be "
         "between 20 % and 40 %"),
        ("mse <= 0.2", "The mean squared error of decisions about all applicants is expected to be "
         "at most 0.2"),
        ("E[decision] <= 4", "The average decision of all applicants is expected to be at most 4"),
        (
            "P[decision >= 3] <= 0.1",
            "The share whose decision is at least 3 among all applicants is expected to be at most "
            "10 %",
        ),
        (
            "quantile[dscore, 0.1 | eth == 'B'] >= 2",
            "The 10th percentile of the score change of Black applicants is expected to be at "
            "least 2 points",
        ),
        (
            "median[dscore] <= 2",
            "The median of the score change of all applicants is expected to be at most 2 points",
        ),
        (
            "CVaR[dscore, 0.05] >= 1",
            "The average score change of the worst-off 5 % of all applicants is expected to be at "
            "least 1 points",
        ),
        ("var[dscore] <= 4", "The variance of the score change of all applicants is expected to be "
         "at most 4"),
        (
            "IQR[dscore] <= 3",
            "The distance between the 25th percentile and the 75th percentile of the score change "
            "of all applicants is expected to be at most 3 points",
        ),
        (
            "PR >= 0.2 or (accuracy >= 0.7 and E[dscore] >= 0)",
            "At least one of these is true: (1) the share who get a loan among all applicants is "
            "expected to be at least 20 %, or (2) the share of right decisions about all "
            "applicants is expected to be at least 70 %; and the average score change of all "
            "applicants is expected to be at least 0 points",
        ),
        (
            "min(E[dscore], accuracy) <= 1",
            f"At least one of these is true: (1) {IMPACT} expected to be at most 1 points, or (2) "
            "the share of right decisions about all applicants is expected to be at most 100 %",
        ),
        ("E[a] * E[b] <= 3", 'This holds as it is written: "E[a] * E[b] <= 3"'),
        ("TPR / PR <= 2", 'This holds as it is written: "TPR / PR <= 2"'),
    ],
)  # fmt: skip
def test_what_a_text_says(text, words):
    assert said(text) == [words]


def test_all_parts_of_a_constraint_are_said():
    assert len(said("accuracy >= 0.7 and PR >= 0.2")) == 2
    assert len(said("max(E[dscore], E[income]) <= 1")) == 2


def test_only_statements_of_one_form_are_merged():
    texts = [f"E[dscore | eth == '{k}'] >= E_logged[dscore | eth == '{k}'] - 1" for k in "BW"]
    (one,) = said(*texts)
    assert "Black and White applicants, each group by itself, " in one
    two = said(texts[0], texts[1].replace("- 1", "- 2"))
    assert [each.partition("more than ")[2] for each in two] == ["1 points", "2 points"]
    assert "each group" not in "".join(two)


def test_pairs_are_told_one_by_one_unless_all_are_asked_for():
    texts = parity("eth", ["B", "N", "W"], tolerance=0.1).expand()
    assert "between any two of these groups" in said(*texts)[0]
    two = said(*texts[:2])
    assert [each[-16:] for each in two] == ["g N/A applicants", "White applicants"]
    assert len(said(*disparate_impact("eth", ["B", "N", "W"]).expand()[:5])) == 5


def test_without_names_the_columns_and_their_values_are_said():
    (text,) = said(*no_worse(["race", "sex"], [("A", "F")]).expand(), speech=PLAIN)
    assert "the average impact of people whose race is A and whose sex is F is not" in text
    (text,) = said("E[impact | race in ['A', 'B'] and not age >= 3] >= 0", speech=PLAIN)
    assert "people whose race is A or B and whose age is below 3 is" in text
    (text,) = said("E[impact | race not in ['A', 'b ']] >= 0", speech=PLAIN)
    assert "people whose race is neither A nor 'b ' is" in text
    (text,) = said("E[impact | age < 30 or age > 60] >= 0", speech=PLAIN)
    assert "people whose age is below 30 or whose age is above 60 is" in text


def test_the_same_group_is_not_called_the_same_if_labels_differ():
    (text,) = said("TPR >= 2 * FPR")
    assert "the same" not in text


def test_a_lottery_is_not_todays_decisions():
    text = "E[dscore] >= E_logged[dscore]"
    assert said(text, speech=Speech(Names(), drawn=True))[0].startswith(
        "Compared with the lottery's decisions, "
    )
    (own,) = said(text, speech=Speech(Names(before="the decisions of 2024"), drawn=True))
    assert own.startswith("Compared with the decisions of 2024, ")


small = st.integers(-3, 3)
plain_statements = st.one_of(
    st.builds(lambda a, k: a >= k, means, small),
    st.builds(lambda a, b, k: a - 2 * b <= k, means, means, small),
    st.builds(lambda a, b, k: (abs(a) <= k) | (a + b <= k), means, means, small),
    st.builds(lambda a, b, k: a / b <= k, means, means, small),
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(plain_statements)
def test_every_statement_has_words(statement):
    found = sentences([statement], SPEECH)
    assert found
    assert all(isinstance(each, str) and each for each in found)
