# %% [markdown]
# # Lending: from a CSV to a report
#
# The tutorial's way in Python: a table with awkward names becomes a study, the study is checked and
# planned, a model is found and tested, and its report is written. Cells begin with `# %%`: open the
# file as a notebook (Jupytext, VS Code, Spyder), or run it as a script:
#
#     python examples/1_lending.py

# %%
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import elfair
from elfair.study import StudyFile, draft_study, fit_study

sys.path.append("examples")  # for a notebook that is opened in the repository's root
import loans

folder = Path(tempfile.mkdtemp())
loans.main(folder)

# %% [markdown]
# ## A study file is drafted, and corrected
#
# 2 % of the people could not be found after two years. We leave them out; the certificate will
# count them, by group.

# %%
draft = draft_study(folder / "loans.csv", folder=folder)
draft = draft.replace('missing_impact = "refuse"', 'missing_impact = "drop"')
print("\n".join(line for line in draft.splitlines() if line.endswith("# guess")))

# %% [markdown]
# One guess is wrong. Collection letters were sent after the decision. `check` notices: no feature
# that was known before can say so much about who got a loan, given the propensities.

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
# In a notebook, `outcome.certificate` shows itself as a report. Whoever has table and model can
# compute all of it again:

# %%
verification = elfair.verify(outcome.certificate, data=rows.data, model=outcome.estimator)
print(verification.text().splitlines()[-1])
