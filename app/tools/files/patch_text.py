"""Parsing of a patch in either format, with or without a container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.tools.files.patch_extraction import unwrapped
from app.tools.files.patch_model import FilePatch, checked, paths_of
from app.tools.files.patch_names import named_in
from app.tools.files.patch_unified import parse_unified
from app.tools.files.patch_v4a import parse_v4a

READ_WHOLE_CHARS = 32 << 10
"""The policy parses patches on the event loop; in longer ones it only searches for names."""


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    r"""Return the files of a patch. Line endings `\r\n` of the patch itself are normalized.

    Raises:
        ToolFailed: `invalid_patch`: it has neither format, or is malformed; the message names the
            position.
    """
    patch = unwrapped(text)
    return checked(parse_v4a(patch.text) if patch.is_v4a else parse_unified(patch.text))


def paths_in_patch(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return the paths that a call of `patch` would touch, for rules on paths.

    Raises:
        ToolFailed: `invalid_patch`.
    """
    text = str(arguments.get("patch", ""))
    if len(text) > READ_WHOLE_CHARS:
        patch = unwrapped(text)
        return named_in(patch.text, is_v4a=patch.is_v4a)
    return paths_of(parse_patch(text))
