"""Input files of a skill: copies of workspace files named in its arguments.

An argument with the schema `format: workspace-path` names a file of the workspace, or a list of
them. The program receives the path of a copy instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import basename
from typing import Any

from app.core.errors import InvalidInput, ToolFailed
from app.core.text import dump_json
from app.toolkit.context import ToolContext
from app.tools.skills.ports import INPUT_FOLDER

FORMAT = "workspace-path"
MAX_FILES = 50
MAX_FILE_BYTES = 50 << 20
MAX_TOTAL_BYTES = 100 << 20
MAX_ARGS_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Inputs:
    """Arguments for the program, and files by their name in the input folder."""

    args: dict[str, Any]
    files: Mapping[str, bytes]


async def gather(schema: Mapping[str, Any], args: dict[str, Any], ctx: ToolContext) -> Inputs:
    """Read every file that the arguments name.

    Raises:
        InvalidInput: the arguments are too large.
        ToolFailed: a file is unreadable, or there are too many or too large ones.
        ProjectRequired: a file is named without a project.
    """
    if len(dump_json(args)) > MAX_ARGS_BYTES:
        raise InvalidInput(f"args must be at most {MAX_ARGS_BYTES} bytes of JSON", field="args")
    reader = _InputReader(ctx)
    changed = dict(args)
    properties = schema.get("properties", {})
    for name, value in args.items():
        about = properties.get(name)
        if not isinstance(about, dict):
            continue
        items = about.get("items")
        if about.get("format") == FORMAT and isinstance(value, str):
            changed[name] = await reader.read(value)
        elif isinstance(items, dict) and items.get("format") == FORMAT and isinstance(value, list):
            changed[name] = [await reader.read(str(path)) for path in value]
    return Inputs(changed, reader.files)


class _InputReader:
    """Counts files and bytes of one call."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._room = MAX_TOTAL_BYTES
        self.files: dict[str, bytes] = {}

    async def read(self, path: str) -> str:
        """Return the path of the copy, relative to the program's folder."""
        if len(self.files) == MAX_FILES:
            raise ToolFailed(f"args contain more than {MAX_FILES} files", code="too_many_files")
        limit = min(MAX_FILE_BYTES, self._room)
        data = await self._ctx.operations.files.read(path, max_bytes=limit)
        self._room -= len(data)
        # The number makes names unique; the rest of the name shows the type.
        kind = "".join(c if c.isalnum() or c in "._-" else "_" for c in basename(path))[-100:]
        name = f"{len(self.files)}-{kind}"
        self.files[name] = data
        return f"../{INPUT_FOLDER}/{name}"
