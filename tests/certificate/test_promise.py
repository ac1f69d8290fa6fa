"""The promise in words: whom it names, how sure it is, and what it does not hide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair import Certificate, LoggedData, certify
from elfair.certificate import Assumption, LeftOut, Provenance
from elfair.certificate.promise import in_words, not_covered
from elfair.errors import InputError

RACES = ["B", "W", "N"]
NAMES = {
    "people": "applicants",
    "columns": {"dscore": "score change"},
    "groups": {"race": {"B": "Black", "W": "White", "N": "N/A", "P": "Pacific Islander"}},
}


def rows(n=900, seed=0, better=1.0):
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, n)
    race = rng.choice(RACES, n).astype(object)
    race[:25] = "P"
    return LoggedData(
        rng.normal(size=(n, 2)),
        rng.integers(0, 2, n),
        sensitive_features={"race": race},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact={"dscore": better * decision + 0.1 * rng.normal(size=n)},
    )


TEXTS = [f"E[dscore | race == '{race}'] >= E_logged[dscore | race == '{race}']" for race in RACES]


@pytest.fixture(scope="module")
def passed():
    return certify(np.full(900, 0.9), rows(), TEXTS).stating(names=NAMES)


@pytest.fixture(scope="module")
def failed():
    race = rows().column("race")
    record = certify(np.where(race == "W", 0.1, 0.9), rows(), TEXTS)
    assert [each.passed for each in record.constraints] == [False, True, True]
    return record.stating(names=NAMES)


def test_who_may_expect_what_how_sure_and_who_is_left(passed):
    assert passed.in_words == (
        "Compared with today's decisions, the average score change of Black, White and N/A "
        "applicants, each group by itself, is not expected to fall (at most 10 % risk of a wrong "
        "release).",
        "Not covered: Pacific Islander applicants (25).",
    )
    assert passed.explain().split("\n\n")[1] == "\n".join(passed.in_words)


def test_of_several_sentences_the_risk_is_told_once():
    record = certify(np.full(900, 0.9), rows(), [*TEXTS, "PR >= 0.2"], delta=0.05)
    first, second, risk, _ = record.in_words
    assert first.endswith("is not expected to fall.")
    assert second.startswith("The share who get decision 1 among all people is")
    assert risk == "There is at most 5 % risk of a wrong release, for all of this together."


def test_nothing_is_promised_without_a_release(failed):
    assert failed.in_words == (
        "No model is released, and nothing is promised.",
        "Not shown: compared with today's decisions, the average score change of White "
        "applicants is not expected to fall.",
        "Shown, but that is not enough: compared with today's decisions, the average score change "
        "of Black and N/A applicants, each group by itself, is not expected to fall.",
    )


def test_a_violated_assumption_voids_the_promise(passed):
    wrong = (Assumption.of("tau_known", "violated", "it is an estimate"),)
    void = in_words(replace(passed, passed=False, assumptions=wrong))
    assert void[0] == (
        "No model is released, and nothing is promised: an assumption is violated (tau is known)."
    )
    assert void[1].startswith("Asked for: compared with today's decisions, ")
    assert "risk" not in "".join(void)
    accepted = replace(passed.terms, accept_violated=("tau_known",))
    told = in_words(replace(passed, assumptions=wrong, terms=accepted))
    assert told[1] == (
        "This risk is NOT justified: an assumption is violated (tau is known), which was accepted."
    )


def test_what_the_risk_depends_on_is_told(passed):
    wrong = in_words(replace(passed, terms=replace(passed.terms, Lambda=1.5)))
    assert "risk of a wrong release, even if the logged probabilities are wrong by" in wrong[0]
    guessed = (Assumption.of("behavior_estimated", "assumed", ""),)
    (first, *_) = in_words(replace(passed, assumptions=guessed))
    assert first.endswith("(at most 10 % risk of a wrong release, if the estimated behaviour model "
                          "is right).")  # fmt: skip


def test_people_outside_the_study_are_not_covered(passed):
    provenance = Provenance(outside=(LeftOut("age >= 18", 30, ()), LeftOut("age", 2, ())))
    told = not_covered(passed.stating(provenance=provenance))
    assert told == ["Pacific Islander applicants (25)", "applicants outside the study (32)"]


def test_where_nothing_was_tested_nothing_is_promised(passed):
    (told,) = in_words(replace(passed, constraints=()))
    assert told == "Nothing was tested, and nothing is promised about this model."


def test_names_stay_with_the_certificate(passed):
    again = Certificate.from_json(passed.to_json())
    assert again == passed
    assert again.names.people == "applicants"
    # Whoever states something else later need not state them again.
    assert again.stating(chosen_by="the board").in_words == passed.in_words
    with pytest.raises(InputError, match="names"):
        passed.stating(names={"people": ["applicants"]})


def test_a_constraint_that_nobody_can_read_is_quoted(passed):
    claim = replace(passed.terms.claims[0], constraint="nothing [that] is >= text")
    odd = replace(passed, terms=replace(passed.terms, claims=(claim,)))
    assert in_words(odd)[0].startswith('This holds as it is written: "nothing [that] is')
