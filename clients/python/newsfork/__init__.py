"""Scrapes what the Seed Engine's frontier leases; see README.md."""

from .engine import Engine, EngineError
from .frontier import Frontier, Page
from .html import read_page

__all__ = ["Engine", "EngineError", "Frontier", "Page", "read_page"]
