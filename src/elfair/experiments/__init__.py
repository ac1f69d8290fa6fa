"""Populations with known truth, on which every claim of the library can be checked."""

from __future__ import annotations

from elfair.experiments.dosage import Dosage, DosageDraw, LinearPolicy
from elfair.experiments.draw import Draw
from elfair.experiments.foster_care import FosterCare
from elfair.experiments.population import Population, Truth
from elfair.experiments.rules import BehaviorModel, LinearRule, Mixture

__all__ = [
    "BehaviorModel",
    "Dosage",
    "DosageDraw",
    "Draw",
    "FosterCare",
    "LinearPolicy",
    "LinearRule",
    "Mixture",
    "Population",
    "Truth",
]
