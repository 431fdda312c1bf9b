"""What an operator looks at: nothing here writes."""

from __future__ import annotations
