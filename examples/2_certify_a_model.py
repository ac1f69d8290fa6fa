# %% [markdown]
# # A model from elsewhere: may you use it?
#
# Somebody trained a logistic regression to predict who repays. It is accurate. Does it make a group
# worse off than the lender's old model? `certify` runs the fairness test alone, on people who were
# not in the training data.
#
#     python examples/2_certify_a_model.py

# %%
from __future__ import annotations

from sklearn.linear_model import LogisticRegression

import elfair
from elfair import LoggedData, certify
from elfair.populations import Lending

lending = Lending()
past, log = lending.sample(5000, seed=1), lending.sample(12_000, seed=2)  # different people
model = LogisticRegression().fit(past.features, past.label)
print(f"accuracy on new people: {model.score(log.features, log.label):.2f}")

# %%
constraints = [
    "E[impact | T == 0] >= E_logged[impact | T == 0]",
    "E[impact | T == 1] >= E_logged[impact | T == 1]",
]
data = LoggedData(log.features, log.label, **log.logged)

# %% [markdown]
# `predict` takes the more likely class, so its probabilities are 0 and 1.

# %%
decides = model.predict(log.features).astype(float)
harsh = certify(decides, data, constraints)
print(harsh.explain())

# %% [markdown]
# It lends to everyone more likely than not to repay. That is accurate, and it lowers scores: a
# default costs twice what repayment brings. So lend only if repayment is more likely still. But you
# have looked at these rows, and chose the new threshold after that: it needs new rows, or there is
# no promise. (On the same rows, the certificate would say that they were opened twice.)

# %%
new = lending.sample(12_000, seed=3)
other = LoggedData(new.features, new.label, **new.logged)
sure = (model.predict_proba(new.features)[:, 1] > 0.63).astype(float)
certificate = certify(sure, other, constraints).stating(
    chosen_by="credit board", why="no group's scores may suffer"
)
print(certificate.explain().splitlines()[0])

# %% [markdown]
# ## For the reviewer
#
# Hand over the record, the report, and what it takes to compute them again: the rows and the
# probabilities.

# %%
page = elfair.Report(certificate).html()
print(f"report: {len(page) / 1000:.0f} kB, certificate: {len(certificate.to_json()) / 1000:.0f} kB")
verification = elfair.verify(certificate.to_json(), data=other, model=sure)
print(verification.text().splitlines()[-1])
