"""The table of logged decisions: columns, how decisions were drawn, split and digests."""

from elfair.data.continuous import ContinuousData
from elfair.data.table import LoggedData
