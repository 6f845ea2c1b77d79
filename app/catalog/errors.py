"""Why a tool cannot join the catalog."""

from __future__ import annotations

from app.core.errors import Conflict, InvalidInput


class DuplicateTool(Conflict, ValueError):
    """The name, or one that differs only in case, belongs to a registered tool or alias."""

    code = "duplicate_tool"


class EmptyPlugin(InvalidInput, ValueError):
    """A plugin brings no tools and no hooks."""

    code = "plugin_empty"


class InvalidTool(InvalidInput, ValueError):
    """The name, the schema or the shape of a tool is wrong; the message says what to change."""

    code = "invalid_tool"


class PluginsRefused(Conflict):
    """The plugin folder cannot be taken as it is; the service keeps what it has."""

    code = "plugins_refused"
