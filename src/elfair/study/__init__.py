"""A study file: which table, which column is what, what must hold, and how it is tested."""

from elfair.certificate import LeftOut
from elfair.study.batches import Batch, read_batch
from elfair.study.data import StudyData
from elfair.study.drafting import draft_study
from elfair.study.encoding import Feature, TableEncoding
from elfair.study.file import StatedConstraint, StudyFile
from elfair.study.outcome import StudyOutcome, continue_study, fit_study
from elfair.study.sources import SourceTable, read_table
