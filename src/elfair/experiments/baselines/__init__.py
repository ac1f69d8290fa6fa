"""The methods that the paper compares with, and ELF itself, behind one small protocol."""

from __future__ import annotations

from elfair.experiments.baselines.methods import Method
from elfair.experiments.baselines.registry import METHODS, get_method
