"""Extraction of a patch from its container: a code block, a shell command, JSON, indentation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

from app.tools.files.patch_model import invalid_patch

_BEGIN = re.compile(r"([ \t]*)\*\*\* ?Begin Patch(?: ?\*\*\*)?[ \t]*\r?")
_UNIFIED = re.compile(r"diff --git |--- |@@")
_HEREDOC = re.compile(r"(.*?)<<-? ?(['\"]?)([^\s'\"<>|;&()]+)\2(.*)")
# After these commands the paths of the patch would refer to other files.
_ELSEWHERE = re.compile(r"(?:^|[\s;&|(])(?:cd|pushd)\s|\s(?:-d|-C|--directory)")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[\w+-]*[ \t]*")
_KEYS = ("patch", "input", "diff", "patch_text")
_BLANK = "\ufeff \t\r\n"


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """Extracted patch.

    Attributes:
        is_v4a: it has the format that starts with `*** Begin Patch`.
    """

    text: str
    is_v4a: bool


def unwrapped(text: str) -> Unwrapped:
    """Extract the patch from `text`.

    Raises:
        ToolFailed: `invalid_patch`: the surrounding command would apply it elsewhere.
    """
    text = _from_json(text).lstrip("\ufeff")
    lines = text.split("\n")
    begin = _beginning(lines)
    word = _heredoc_word(lines[:begin])
    if begin is None:
        return Unwrapped(text, is_v4a=False)
    body = _without_end(lines[begin:], word)
    if all(line.endswith("\r") for line in body[:-1]):
        lines = [line.removesuffix("\r") for line in lines]
        body = [line.removesuffix("\r") for line in body]
    found = _BEGIN.fullmatch(lines[begin])
    if found is None:
        return Unwrapped("\n".join(lines), is_v4a=False)
    return Unwrapped("\n".join(_dedented(body, found[1])), is_v4a=True)


def _from_json(text: str) -> str:
    """Return the patch in a call's arguments, or in a command given as a list of words."""
    for _ in range(3):
        if text.strip(_BLANK)[:1] not in ("{", "[", '"'):
            break
        try:
            value: Any = orjson.loads(text.strip(_BLANK))
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            break
        if isinstance(value, dict):
            value = next((value[key] for key in _KEYS if key in value), None)
        elif isinstance(value, list):
            value = value[-1] if value and len(value) <= 3 else None
        if not isinstance(value, str):
            break
        text = value
    return text


def _beginning(lines: list[str]) -> int | None:
    """Return the first line of a patch of either format."""
    for number, line in enumerate(lines):
        if _BEGIN.fullmatch(line) or _UNIFIED.match(line):
            return number
    return None


def _heredoc_word(above: list[str]) -> str | None:
    """Return the end word of a here-document opened above the patch."""
    word = None
    for number, line in enumerate(above, 1):
        found = _HEREDOC.fullmatch(line.rstrip())
        if found is None:
            continue
        if _ELSEWHERE.search(f"{found[1]} {found[4]}"):
            raise invalid_patch(
                "The command around the patch runs in another folder; send only the "
                "patch, with paths from the root of the project",
                number,
            )
        word = found[3]
    return word


def _without_end(lines: list[str], word: str | None) -> list[str]:
    """Remove the end of a code block, of a here-document and of a quoted command."""
    ends = {f"{word}{quote}" for quote in ("", '"', "'", ")")} if word else set()
    while lines and (
        not lines[-1].strip() or lines[-1].strip() in ends or _FENCE.fullmatch(lines[-1])
    ):
        lines = lines[:-1]
    return lines


def _dedented(lines: list[str], indent: str) -> list[str]:
    """Remove the first line's indentation from all lines, if all have it."""
    if not indent or any(line.strip() and not line.startswith(indent) for line in lines):
        return [lines[0].lstrip(), *lines[1:]]
    return [line.removeprefix(indent) for line in lines]
