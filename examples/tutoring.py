"""Which tutorial to show, when the one that helps men most leaves women with nothing.

In a trial, 1,796 people were shown one of three tutorials at random and took a quiz later. There
are no labels: nobody knows what the right tutorial would have been. You say what to maximise, and
who must not be worse off than under the random assignment:

    ELFClassifier(
        "E[impact | gender == 1] >= E_logged[impact | gender == 1]",
        objective="E[impact | gender == 0]",
        delta=0.05,
    ).fit(X, decision=tutorial, propensity=1/3 for everyone, impact=score, ...)

The data are mturk/mturk_old.csv under the folder that the environment variable ELFAIR_DATA names.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elfair import ELFClassifier

MEN, WOMEN, EVERYONE = "E[impact | gender == 0]", "E[impact | gender == 1]", "E[impact]"
WORST = f"min({MEN}, {WOMEN})"
WOMEN_NO_WORSE = "E[impact | gender == 1] >= E_logged[impact | gender == 1]"
DELTA = 0.05
SPLITS = 100


class Trial(NamedTuple):
    """One entry for each person; gender is 0 (man), 1 (woman) or NaN (unknown)."""

    gender: Any
    tutorial: Any
    score: Any

    def features(self, *, gender_visible: bool) -> Any:
        """What the policy sees: whether it is a man, whether it is a woman; or nothing at all."""
        if not gender_visible:
            return np.ones((len(self.gender), 1))
        return np.column_stack([self.gender == 0, self.gender == 1]).astype(float)


def read_trial(folder: str) -> Trial:
    """The trial's table."""
    with (Path(folder) / "mturk" / "mturk_old.csv").open(newline="") as file:
        table = np.array([[float(value) for value in row.values()] for row in csv.DictReader(file)])
    gender, tutorial, score = table.T
    return Trial(np.where(gender < 0, np.nan, gender), tutorial.astype(int), score)


def fit(
    trial: Trial, objective: str, constraints: Any, *, gender_visible: bool, seed: int
) -> ELFClassifier:
    """The policy for an objective and constraints."""
    clf = ELFClassifier(constraints, objective=objective, delta=DELTA, random_state=seed)
    return clf.fit(
        trial.features(gender_visible=gender_visible),
        sensitive_features={"gender": trial.gender},
        decision=trial.tutorial,
        propensity=np.full(len(trial.score), 1 / 3),
        impact=trial.score,
    )


def mean_score(trial: Trial, probabilities: Any, gender: int) -> float:
    """The mean score of men or women under a policy, by importance weights on all rows."""
    rows = np.arange(len(trial.score))
    weight = probabilities[rows, trial.tutorial - 1] * 3
    return float((weight * trial.score)[trial.gender == gender].mean())


def main() -> None:
    """Print what each objective and constraint leads to, and how reliably."""
    trial = read_trial(os.environ["ELFAIR_DATA"])
    logged = [float(trial.score[trial.gender == gender].mean()) for gender in (0, 1)]
    print("Mean score of each tutorial:")
    for name, gender in (("men", 0), ("women", 1)):
        inside = trial.gender == gender
        means = [trial.score[inside & (trial.tutorial == a)].mean() for a in (1, 2, 3)]
        print(f"  {name:6}", "  ".join(f"{mean:5.2f}" for mean in means))
    print(f"Random assignment: men {logged[0]:.2f}, women {logged[1]:.2f}\n")
    head = f"{'maximise':56}{'women no worse':16}{'sees gender':13}"
    print(f"{head}{'men get 1/2/3':16}{'women get 1/2/3':17}{'men':6}{'women':7}certified")
    for objective in (EVERYONE, MEN, WORST):
        for constraints in ((), (WOMEN_NO_WORSE,)):
            for visible in (False, True):
                show(trial, objective, constraints, visible)
    print(f"\nOver {SPLITS} splits, maximising {MEN} while women are no worse off:")
    for visible in (False, True):
        found, harmed, gains = over_splits(trial, visible)
        print(
            f"  sees gender: {'yes' if visible else 'no ':3}  returned {found} times, "
            f"women below the logged mean {harmed} times, mean gain of men {np.mean(gains):+.2f}"
        )


def show(trial: Trial, objective: str, constraints: Any, visible: bool) -> None:
    """Print a line of the table."""
    clf = fit(trial, objective, constraints, gender_visible=visible, seed=0)
    line = f"{objective:56}{'yes' if constraints else 'no':16}{'yes' if visible else 'no':13}"
    if not clf.solution_found_:
        print(f"{line}no solution found")
        return
    every = clf.predict_proba(trial.features(gender_visible=visible))
    for width, gender in ((16, 0), (17, 1)):
        shares = every[trial.gender == gender].mean(axis=0)
        line += f"{'/'.join(f'{share:.2f}' for share in shares):{width}}"
    men, women = (mean_score(trial, every, gender) for gender in (0, 1))
    print(f"{line}{men:<6.2f}{women:<7.2f}{'yes' if constraints else 'nothing tested'}")


def over_splits(trial: Trial, visible: bool) -> tuple[int, int, list[float]]:
    """How often a policy is returned, how often women are then worse off, and what men gain."""
    logged = [float(trial.score[trial.gender == gender].mean()) for gender in (0, 1)]
    found, harmed, gains = 0, 0, []
    for seed in range(SPLITS):
        clf = fit(trial, MEN, WOMEN_NO_WORSE, gender_visible=visible, seed=seed)
        if clf.solution_found_:
            every = clf.predict_proba(trial.features(gender_visible=visible))
            found += 1
            harmed += mean_score(trial, every, 1) < logged[1]
            gains.append(mean_score(trial, every, 0) - logged[0])
    return found, harmed, gains


if __name__ == "__main__":
    main()
