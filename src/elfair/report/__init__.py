"""Renderings of a certificate. Nothing here computes a result."""

from elfair.report.report import Report
