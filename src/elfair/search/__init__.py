"""Candidate selection: it decides how often a model is found, never whether the test is valid."""

from elfair.search.found import Found
from elfair.search.prediction import Target
from elfair.search.problem import Candidate, Problem, Task
from elfair.search.selection import Selection
