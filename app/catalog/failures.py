"""Codes of the reasons why a plugin failed to load."""

from __future__ import annotations

from app.core.errors import TollgateError

NOT_LOADED = "plugin_not_loaded"


def code_of(error: BaseException) -> str:
    """Return the code of an error from importing or registering a plugin."""
    if isinstance(error, TollgateError):
        return error.code
    # Before 3.11.4, Python raises this for a NUL in a source file.
    has_nul = type(error) is ValueError and "null bytes" in str(error)
    if isinstance(error, SyntaxError) or has_nul:
        return "plugin_syntax"
    if isinstance(error, ImportError):
        return "plugin_import"
    return "plugin_raised"
