"""Tollgate: governed tool use for AI agents."""

__version__ = "0.2.0"
