# %% [markdown]
# # The second round: decide, log, wait, fit again
#
# Fit the first model to the log of an old model. Draw its decisions, write their probabilities
# down, and use them as the table of the second round.
#
#     python examples/3_second_round.py

# %%
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import elfair
from elfair.study import StudyFile, fit_study, read_table
from elfair.study.writing import append_decisions, decisions, write_table

sys.path.append("examples")  # for a notebook opened in the repository's root
import loans

folder = Path(tempfile.mkdtemp())
loans.main(folder)

# %% [markdown]
# ## Round one
#
# Besides "no group worse off", one constraint keeps some chance in decisions about people with high
# scores. Without it the model would be all but certain about them, and its log would say nothing
# about the other decision.

# %%
STUDY = """
title = "Round one"
[data]
source = "loans.csv"
[columns]
features = ["Credit score (at application)", "Housing status"]
label = "Repays (bureau)"
sensitive = ["ethnic group"]
decision = "Granted?"
propensity = "Prob. of this decision"
impact = ["score change (2y)"]
row_id = "Applicant no."
categories = { "Housing status" = ["owns", "rents", "with family"] }
[rows]
missing_impact = "drop"
[[constraints]]
no_worse = "ethnic group"
groups = ["A", "B"]
[[constraints]]
text = "P[decision == 'no' | `Credit score (at application)` > 625] >= 0.05"
chosen_by = "the analysts"
why = "to learn from the next round"
"""
first = fit_study(StudyFile.loads(STUDY, folder=folder))
first.write(folder / "first")
print("Round one:", first.certificate.explain().splitlines()[0])

# %% [markdown]
# ## Two years of decisions
#
# Each day the model decides on that day's applicants, and the log grows. (`elfair decide` does the
# same from the command line.)

# %%
model = elfair.load(folder / "first" / "model.elfair")
applicants = pa.table(loans.people(loans.PAST, seed=2026))
for day in range(0, applicants.num_rows, 1500):
    today = applicants.slice(day, 1500)
    append_decisions(decisions(model, today, random_state=day), folder / "decisions.csv")
log = read_table(folder / "decisions.csv").table
print(f"Logged: {log.num_rows:,} decisions, columns {log.column_names[-4:]}")

# %% [markdown]
# ## Their impact
#
# Two years after the last decision the score changes are known, and join the log.

# %%
came = loans.outcomes(2026, log["Granted?"].to_pylist())
for name in ("Repays (bureau)", "score change (2y)"):
    log = log.append_column(name, [pa.array(came[name])])
write_table(log, folder / "round-two.csv")

# %% [markdown]
# ## Round two
#
# The same study, on the new table. "No worse" now means no worse than under the first model,
# because that model took the decisions.

# %%
STUDY = STUDY.replace("Round one", "Round two").replace("loans.csv", "round-two.csv")
study = StudyFile.loads(STUDY, folder=folder)
rows = study.read()
print("Ready:", elfair.check(study.estimator(), rows.data).ok)
second = fit_study(study)
second.write(folder / "second")
print("Round two:", second.certificate.explain().splitlines()[0])

# %% [markdown]
# "No solution found" is a good answer in a second round, too: then no better model could be shown,
# and the first model stays.
