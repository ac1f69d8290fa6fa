"""No group is worse off than before, whatever a policy learns from a contextual bandit's log."""

from __future__ import annotations

import numpy as np

from counting import FULL, check_rare, drawn
from elfair import ELFClassifier

DELTA = 0.1
NO_WORSE = [f"E[health | race == '{r}'] >= E_logged[health | race == '{r}']" for r in "AB"]


def trial(outreach, constraints, n, power, candidates, seed):
    """Whether a policy was returned, whether it harms a group, and its true profit."""
    # The plain t bound: its candidates lie nearer to the edge than those of the guarded one.
    clf = ELFClassifier(
        constraints,
        delta=DELTA,
        bound="ttest",
        objective="E[profit]",
        power=power,
        candidates=candidates,
        random_state=seed,
    ).fit(**outreach.sample(n, seed))
    new, old = clf.fitted_.probabilities(outreach.X, None), outreach.behavior
    groups = [outreach.race == r for r in "AB" if f"race == '{r}'" in "".join(constraints)]
    harms = any(
        outreach.value("health", new, group) < outreach.value("health", old, group)
        for group in groups
    )
    return clf.solution_found_, harms, outreach.value("profit", new)


def found_and_harms(outcome):
    return outcome[0] and outcome[1]


def test_a_policy_that_harms_is_returned_with_at_most_delta(outreach):
    """With this target the candidates lie at the edge, so many of them do harm. (A ladder would
    begin with safer ones.)
    """
    outcomes = check_rare(
        trial, outreach, NO_WORSE[1:], 800, 0.13, 1, allowed=DELTA, full=2_000, bad=found_and_harms,
        at_least=120,
    )  # fmt: skip
    found, harms, _ = np.array(outcomes).T.astype(bool)
    assert 0.2 < harms.mean() < 0.8, "the candidates must lie near the edge"
    assert (found & harms).any(), "the test must not be hopelessly strict"


def test_what_is_returned_earns_more_than_before(outreach):
    draws = 500 if FULL else 40
    found, harms, profit = np.array(drawn(trial, draws, outreach, NO_WORSE, 2_500, 0.95, 20)).T
    assert found.mean() > 0.8
    assert (found * harms).mean() <= DELTA
    earned = profit[found == 1]
    before = outreach.value("profit", outreach.behavior)
    assert np.mean(earned) > before + 0.25
    assert (earned > before).mean() > 0.9
    # Profit alone would have harmed: without the constraint everybody is visited.
    greedy = trial(outreach, [], 2_500, 0.95, 20, 0)
    assert greedy[2] > 0.9
