"""A local web page over one deployment's API: ``cronce console``."""

from __future__ import annotations
