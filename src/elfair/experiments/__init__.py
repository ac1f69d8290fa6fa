"""Populations with known truth, on which every claim of the library can be checked."""

from __future__ import annotations

from elfair.experiments.credit_scores import CreditTable, credit_clusters, read_fico
from elfair.experiments.dosage import Dosage, DosageDraw, LinearPolicy
from elfair.experiments.draw import Draw
from elfair.experiments.foster_care import FosterCare
from elfair.experiments.lending import Lending
from elfair.experiments.nytd import YouthRecords, load_nytd
from elfair.experiments.population import Population, Truth
from elfair.experiments.populations import POPULATIONS, make_population
from elfair.experiments.rules import BehaviorModel, LinearRule, Mixture

__all__ = [
    "POPULATIONS",
    "BehaviorModel",
    "CreditTable",
    "Dosage",
    "DosageDraw",
    "Draw",
    "FosterCare",
    "Lending",
    "LinearPolicy",
    "LinearRule",
    "Mixture",
    "Population",
    "Truth",
    "YouthRecords",
    "credit_clusters",
    "load_nytd",
    "make_population",
    "read_fico",
]
