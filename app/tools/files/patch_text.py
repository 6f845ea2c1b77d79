"""A patch in whichever of the two forms it comes, and whatever it is wrapped in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.tools.files.patch_extraction import unwrapped
from app.tools.files.patch_model import FilePatch, checked, paths_of
from app.tools.files.patch_names import named_in
from app.tools.files.patch_unified import parse_unified
from app.tools.files.patch_v4a import parse_v4a

READ_WHOLE_CHARS = 32 << 10
"""Policy reads a patch on the event loop; of a longer one it only looks for the names."""


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    r"""The files of a patch. A patch whose own lines end with `\r\n` is read as one without.

    Raises:
        ToolFailed: `invalid_patch`: it is neither form, or broken; the message says where.
    """
    patch = unwrapped(text)
    return checked(parse_v4a(patch.text) if patch.is_v4a else parse_unified(patch.text))


def paths_in_patch(arguments: Mapping[str, Any]) -> Sequence[str]:
    """The paths that a call of `patch` would touch, for rules on paths.

    Raises:
        ToolFailed: `invalid_patch`.
    """
    text = str(arguments.get("patch", ""))
    if len(text) > READ_WHOLE_CHARS:
        patch = unwrapped(text)
        return named_in(patch.text, is_v4a=patch.is_v4a)
    return paths_of(parse_patch(text))
