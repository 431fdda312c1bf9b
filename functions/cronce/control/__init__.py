"""The control plane: what users ask for. Each call answers success once its row is written; what is
due inside the horizon is then dispatched at once, and if that fails the tick does it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cronce.control.backfills import BackfillControl
from cronce.control.calendars import CalendarControl
from cronce.control.groups import GroupControl
from cronce.control.jobs import Parse, Put
from cronce.control.lists import ListControl
from cronce.control.runs import RunControl

__all__ = ["Control", "Parse", "Put"]


@dataclass(frozen=True)
class Control(GroupControl, RunControl, BackfillControl, CalendarControl, ListControl):
    """Every verb of the API."""
