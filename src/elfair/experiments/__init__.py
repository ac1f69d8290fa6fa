"""Populations with known truth, on which every claim of the library can be checked."""

from __future__ import annotations

from elfair.experiments.dosage import Dosage, DosageDraw, LinearPolicy
from elfair.experiments.foster_care import BehaviorModel, Draw, FosterCare

__all__ = ["BehaviorModel", "Dosage", "DosageDraw", "Draw", "FosterCare", "LinearPolicy"]
