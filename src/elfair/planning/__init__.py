"""Before anything is spent: what a log can show, and how many rows a fit would need."""

from elfair.planning.check import check
from elfair.planning.check_report import CheckReport
from elfair.planning.follow_up import FollowUpPlan, plan_follow_up
from elfair.planning.plan_rows import plan_rows
from elfair.planning.row_plan import CurvePoint, RowPlan
