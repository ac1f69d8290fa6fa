"""What can be known of data and assumptions before anything is spent."""

from elfair.checking.check import check
from elfair.checking.record import CheckReport

__all__ = ["CheckReport", "check"]
