"""Populations with known truth, on which every claim of the library can be checked."""

from __future__ import annotations

from elfair.experiments.foster_care import BehaviorModel, Draw, FosterCare

__all__ = ["BehaviorModel", "Draw", "FosterCare"]
