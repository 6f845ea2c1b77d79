"""What kept a plugin from being loaded, for programs."""

from __future__ import annotations

from app.core.errors import TollgateError

NOT_LOADED = "plugin_not_loaded"


def code_of(error: BaseException) -> str:
    """The machine code of what importing or registering a plugin raised."""
    if isinstance(error, TollgateError):
        return error.code
    if isinstance(error, SyntaxError):
        return "plugin_syntax"
    if isinstance(error, ImportError):
        return "plugin_import"
    return "plugin_raised"
