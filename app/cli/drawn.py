"""What the drawn form of a result holds beside the output that was streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MAX_VALUE_LINES = 40


def beside_output(raw_result: Mapping[str, Any] | None) -> list[str]:
    """A line for the value of code, and one for each file or image that was kept."""
    data = _fields(raw_result)
    lines: list[str] = []
    if data.get("value") is not None:
        lines = f"Value: {data['value']}".splitlines()
        if len(lines) > _MAX_VALUE_LINES:
            lines[_MAX_VALUE_LINES:] = [f"… {len(lines) - _MAX_VALUE_LINES} more lines"]
    for file in data.get("files") or data.get("images") or ():
        kept = file.get("artifact_id")
        where = f"artifact {kept}" if kept else f"not kept: {file.get('error')}"
        lines.append(f"File: {file.get('name')} ({file.get('media_type')}, {where})")
    return lines


def goes_on(raw_result: Mapping[str, Any] | None) -> bool:
    """Whether the command runs in the background now."""
    return _fields(raw_result).get("running") is True


def _fields(raw_result: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What a terminal or an image is drawn from; a plugin may have sent anything."""
    if raw_result is None or raw_result["type"] not in ("terminal", "image"):
        return {}
    data = raw_result["data"]
    return data if isinstance(data, Mapping) else {}
