"""`certify` for rows that are read in batches: a model that says its probabilities when asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.data.batches import Divided, LoggedBatches
from elfair.data.behavior import distributions
from elfair.data.repeats import check_not_repeated
from elfair.errors import DataError, InputError
from elfair.estimators.fit import plan_in_batches
from elfair.fairness_test.ladder import Ladder
from elfair.fairness_test.test import FairnessTest
from elfair.policies.models import Model
from elfair.search.threads import one_thread
from elfair.statistics.claims import read_constraints
from elfair.statistics.facts import SplitBatches
from elfair.types import Array, Floats


@dataclass(frozen=True)
class AskedModel:
    """A fitted classifier from elsewhere, asked about each batch of rows.

    Parameters
    ----------
    classifier : object
        It has ``predict_proba`` and ``classes_``.
    classes : ndarray
        The decisions, in the order of the rows' table.
    """

    digest_tag: ClassVar[str] = "asked model"

    classifier: Any
    classes: Array

    @property
    def deployed(self) -> str:
        """Nothing: decisions are drawn from its probabilities."""
        return ""

    def digest_content(self) -> Any:
        """The classifier, and the order of the decisions."""
        return self.classes.tolist(), self.classifier

    def logged(self, rows: LoggedData) -> Floats:
        """Its probabilities of the decisions about some rows, of shape (classes, n)."""
        table = np.asarray(self.classifier.predict_proba(rows.features), dtype=np.float64)
        known = [str(each) for each in np.asarray(self.classifier.classes_).tolist()]
        wanted = [str(each) for each in self.classes.tolist()]
        if sorted(known) != sorted(wanted):
            raise DataError(
                f"the model decides between {', '.join(known)}, and the rows hold "
                f"{', '.join(wanted)}.",
                hint="classes= of LoggedBatches names all decisions.",
            )
        distributions(table, "predict_proba")
        return np.ascontiguousarray(table.T[[known.index(name) for name in wanted]])

    def free(self, theta: Floats, logged: Floats) -> Floats:
        """Its probabilities of all decisions but the first; it has no parameters."""
        return logged[1:]

    def digest(self) -> str:
        """The digest by which a certificate names it."""
        return Model(self, np.empty(0)).digest()


@one_thread()
def certify_batches(model: Any, rows: LoggedBatches, parameters: Mapping[str, Any]) -> Certificate:
    """The fairness test of a fitted classifier, on rows that are read in batches.

    Parameters
    ----------
    model : object
        It has ``predict_proba`` and ``classes_``.
    rows : LoggedBatches
        Logged decisions that had no part in the making of the model.
    parameters : mapping
        Those of `certify`.
    """
    if not (hasattr(model, "predict_proba") and hasattr(model, "classes_")):
        raise InputError(
            "of rows that are read in batches, probabilities= must be a fitted classifier, which "
            f"is asked about each batch. Got {type(model).__name__} instead.",
            hint="pass an object with predict_proba and classes_; or read the rows into memory.",
        )
    share, seed = parameters["nuisance_fraction"], parameters["random_state"]
    split = SplitBatches.read(Divided(rows, share, seed), kind="none")
    aside = split.candidate
    claims = read_constraints(
        parameters["constraints"], parameters["delta"], aside, looks=parameters["looks"]
    )
    if not claims:
        raise InputError(
            "there is nothing to certify: no constraint was given.",
            hint="pass constraint text, such as \"E[impact | race == 'A'] >= 0\".",
        )
    check_not_repeated(aside)
    plan, people = plan_in_batches(split, claims, parameters)
    policy = AskedModel(model, rows.classes)
    test = FairnessTest(
        split,
        (plan,),
        (Ladder(policy, [np.empty(0)], aside),),
        looks=parameters["looks"],
        accept_violated=tuple(parameters["accept_violated"]),
        people=people,
    )
    return test.run()
