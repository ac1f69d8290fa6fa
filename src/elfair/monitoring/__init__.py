"""Watches what a released model does: impacts that come later, against every statement."""

from __future__ import annotations

from elfair.monitoring.monitor import ImpactMonitor

__all__ = ["ImpactMonitor"]
