"""Words of a report, and assumptions, in plain language."""

from __future__ import annotations

#: What each assumption means to somebody who is not a statistician.
IN_PLAIN_WORDS = {
    "held-out rows opened once": "Nobody tried again on the same rows until a model passed.",
    "halves independent": "The rows of the test had no part in the making of the model.",
    "stable search": "One person more or less in the data would hardly change the model.",
    "tau is known": "The data's average is taken for the old model's true impact.",
    "mean weight near 1": "The old model's probabilities are those with which it really decided. "
    "If so, the importance weights of each group average 1.",
    "propensities fit the decisions": "Decisions were drawn with the logged probabilities: how "
    "often each was taken, and for whom, is what these say.",
    "support": "Whatever the new model can decide, the old one could have.",
    "decisions unconfounded": "Nothing that is not in the data swayed both the decision and what "
    "became of the person. If decisions used the group, the propensity must too.",
    "same effect": "A decision does the same whichever model takes it.",
    "no interference": "One person's decision does not change what becomes of another. A fixed "
    "budget breaks this: what one gets, another does not.",
    "label known for everyone": "The label is known also for those who were turned down.",
    "cost matrix": "A decision costs what was declared.",
    "scorer not fitted to held-out rows": "The scorer that came fitted owes nothing to the rows of "
    "the test.",
    "behaviour spread": "The old decisions varied as widely as was declared.",
    "rows independent, one row a person": "Nobody is in the data twice: repeated people make the "
    "data look larger than they are.",
    "same population": "The people to come are like those in the data. Delayed impact takes years "
    "to see: this is the assumption to worry about.",
    "nothing else saw the held-out rows": "No scaler, choice of features or search for parameters "
    "was fitted on all rows before.",
    "decisions are sampled": "Decisions are drawn with the certified probabilities. Always taking "
    "the likeliest decision is another model, and not certified.",
    "rows left out are like the others": "Those who were left out, such as people whose impact was "
    "never seen, fared as the others of their group did.",
    "impact range": "No impact, seen or to come, lies outside the declared range.",
    "propensity floor": "The old model took no decision with less than the declared probability.",
    "normal average": "There are enough rows for their average to follow a bell curve.",
}

#: What each status of an assumption means.
STATUSES = {
    "checked": "the data were seen to agree",
    "declared": "nothing in the data can show it; whoever ran the study answers for it",
    "violated": "it does NOT hold",
}

GLOSSARY = (
    ("assumption", "Something that the stated confidence rests on: checked, declared or violated."),
    (
        "asymptotic / finite-sample",
        "An asymptotic bound holds in the limit of many rows; a finite-sample bound holds for any "
        "number of rows, and asks for declared ranges.",
    ),
    ("candidate rows", "The rows that models are looked for on."),
    (
        "delta",
        "The probability with which the test of a statement may let pass what it should not. A "
        "delta of 0.1 is 90 % confidence.",
    ),
    (
        "effective sample size (ESS)",
        "How many rows the weighted rows are worth. Far below the number of rows, it says that the "
        "new model differs much from the old one.",
    ),
    ("estimate of g", "What the held-out rows say g is, on average."),
    (
        "g",
        'How far a statement is from holding: it holds where g is at most 0. For "no worse than '
        'under the old model" g is how much worse the new model is.',
    ),
    (
        "held-out rows",
        "The rows of the test. They are sealed while models are looked for, and opened once.",
    ),
    ("impact", "What became of a person later, in numbers."),
    (
        "importance weight",
        "How much more often the new model takes a logged decision than the old one did. Weighted "
        "so, rows that the old model made speak for the new one.",
    ),
    (
        "line-up",
        "Models in an order that is fixed before held-out rows are opened: the safest first. They "
        "are tested in turn until one fails; the last that passed is let out.",
    ),
    ("moments", "Number, mean and variance of rows: all that the t bound is computed from."),
    ("old model", "Whatever took the logged decisions; also called the behaviour model."),
    (
        "propensity",
        "The probability with which the old model took the decision that it took.",
    ),
    ("spread", "The standard deviation of a row of g."),
    ("statement", "A one-sided inequality. A constraint may consist of several."),
    (
        "upper bound on g",
        "A number that g exceeds with probability at most delta. The statement passes if even "
        "this number is at most 0.",
    ),
)
