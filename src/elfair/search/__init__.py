"""Candidate selection: it decides how often a model is found, never whether the test is valid."""

from elfair.search.problem import Candidate, Problem
from elfair.search.selection import Selection
