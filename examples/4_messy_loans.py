# %% [markdown]
# # A messy table: from the file to a certified model by commands alone
#
# A bank's table of loans as people keep it (`messy_loans.py` says what is wrong with it). Nothing
# is done to the table. All of it is said in the study file, mostly by `elfair init`:
#
#     python examples/4_messy_loans.py

# %%
from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter

from click.testing import CliRunner

from elfair.cli import main

sys.path.append("examples")  # for a notebook opened in the repository's root
import messy_loans

folder = Path(tempfile.mkdtemp())
table = messy_loans.main(folder)
study, began = folder / "study.toml", perf_counter()


def elfair(*arguments: object) -> int:
    """Run a command as a shell would."""
    print("$ elfair", *(Path(str(each)).name for each in arguments))
    done = CliRunner().invoke(main, [str(each) for each in arguments])
    print(done.output)
    return done.exit_code


# %% [markdown]
# ## Draft the study file
#
# The draft reads the table as it is probably meant, and marks every guess for you to check.

# %%
elfair("init", table, "--output", study)
draft = study.read_text(encoding="utf-8")
print("\n".join(line for line in draft.splitlines() if line.startswith(("[clean.", "unit ="))))

# %% [markdown]
# ## Check it, and do what the messages say
#
# Of 2 % of the customers nobody knows what they saved. `check` does not guess: it says what can be
# declared.

# %%
elfair("check", study)
draft = draft.replace('missing_impact = "refuse"', 'missing_impact = "at random"')
study.write_text(draft, encoding="utf-8")
elfair("check", study)

# %% [markdown]
# ## Find, test and verify a model

# %%
results = folder / "results"
code = elfair("fit", study)
elfair("verify", results / "certificate.json", "--data", table, "--model", results / "model.elfair")
print(f"exit code of fit: {code}; {perf_counter() - began:.0f} seconds for all commands")
