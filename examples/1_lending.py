# %% [markdown]
# # Lending: from a CSV to a report
#
# The tutorial in Python: draft a study for a table with awkward names, check and plan it, find and
# test a model, and write its report. Cells begin with `# %%`: open the file as a notebook
# (Jupytext, VS Code, Spyder), or run it as a script:
#
#     python examples/1_lending.py

# %%
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import elfair
from elfair.study import StudyFile, draft_study, fit_study

sys.path.append("examples")  # for a notebook opened in the repository's root
import loans

folder = Path(tempfile.mkdtemp())
loans.main(folder)

# %% [markdown]
# ## Draft a study file, and correct it
#
# 2 % of the people could not be found after two years. We leave them out; the certificate will
# count them, by group.

# %%
draft = draft_study(folder / "loans.csv", folder=folder)
draft = draft.replace('missing_impact = "refuse"', 'missing_impact = "drop"')
print("\n".join(line for line in draft.splitlines() if line.endswith("# guess")))

# %% [markdown]
# One guess is wrong. Collection letters were sent after the decision. `check` notices: given the
# propensities, no feature known before the decision can say so much about who got a loan.

# %%
study = StudyFile.loads(draft, folder=folder)
rows = study.read()
report = elfair.check(study.estimator(), rows.data, left_out=rows.without_impact)
print(report)

# %%
study = StudyFile.loads(draft.replace(', "Collection letters"', ""), folder=folder)
rows = study.read()
report = elfair.check(study.estimator(), rows.data, left_out=rows.without_impact)
print(report)

# %% [markdown]
# ## Are there enough rows?

# %%
print(elfair.plan_rows(study.estimator(), rows.data).text().splitlines()[0])

# %% [markdown]
# ## Search, test, report

# %%
outcome = fit_study(study)
print(outcome.certificate.explain().splitlines()[0])
for path in outcome.write(folder / "results"):
    print(path.name, f"{path.stat().st_size / 1000:.0f} kB")

# %% [markdown]
# In a notebook, `outcome.certificate` shows itself as a report. Anyone who has the table and the
# model can compute all of it again:

# %%
verification = elfair.verify(outcome.certificate, data=rows.data, model=outcome.estimator)
print(verification.text().splitlines()[-1])
