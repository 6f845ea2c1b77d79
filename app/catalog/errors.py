"""Reasons why a tool cannot join the catalog."""

from __future__ import annotations

from app.core.errors import Conflict, InvalidInput


class DuplicateTool(Conflict, ValueError):
    """The name, or one that differs only in case, belongs to a registered tool or alias."""

    code = "duplicate_tool"


class EmptyPlugin(InvalidInput, ValueError):
    """A plugin provides neither tools nor hooks."""

    code = "plugin_empty"


class InvalidTool(InvalidInput, ValueError):
    """The name, schema or structure of a tool is invalid; the message says what to change."""

    code = "invalid_tool"


class PluginsRefused(Conflict):
    """The plugin folder is invalid as a whole; the service continues with its present plugins."""

    code = "plugins_refused"
