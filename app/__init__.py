"""Tollgate: governed tool use for AI agents."""

__version__ = "0.1.0"
