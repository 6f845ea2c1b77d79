"""Front matter of a SKILL.md: YAML between two lines of dashes, parsed safely.

The text is untrusted: it is bounded, has no aliases (which expand without limit) and no tags (which
trigger unusual failures), creates no objects, and every error names its line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from app.core.text import clean

if TYPE_CHECKING:
    import yaml

MAX_FRONT_CHARS = 32 << 10
_MAX_DEPTH = 16
_MAX_EVENTS = 4000
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
# `description: Use when: …` is invalid YAML, yet common in skills.
_BARE = re.compile(r"^(name|description|license|compatibility):[ \t]+(?![\"'|>&*\[{!#])(.+)$")
_FIRST_LINE = 2  # line of the front matter in its file


class UnreadableFrontMatter(Exception):
    """The front matter is invalid; `line` is that of the file, if known."""

    code = "skill_yaml"

    def __init__(self, message: str, line: int | None = None, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        if code is not None:
            self.code = code


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Parsed front matter.

    Attributes:
        fields: plain JSON values by key.
        lines: line of each top-level key in the file.
        body: the Markdown that follows.
        is_repaired: values with a colon had to be quoted to make it valid YAML.
    """

    fields: dict[str, Any]
    lines: dict[str, int]
    body: str
    is_repaired: bool = False


def read_front_matter(text: str) -> FrontMatter:
    """Split a SKILL.md and parse its front matter.

    Raises:
        UnreadableFrontMatter: it is missing, or not a YAML mapping within the limits.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    opening = _FENCE.match(text)
    if opening is None:
        raise UnreadableFrontMatter(
            "the file must start with a line '---' and YAML front matter",
            1,
            code="skill_no_front_matter",
        )
    closing = _FENCE.search(text, opening.end())
    if closing is None:
        raise UnreadableFrontMatter(
            "the front matter has no closing line '---'", 1, code="skill_no_front_matter"
        )
    front = text[opening.end() + 1 : closing.start()]
    if len(front) > MAX_FRONT_CHARS:
        raise UnreadableFrontMatter(
            f"the front matter is longer than {MAX_FRONT_CHARS} characters",
            1,
            code="skill_too_large",
        )
    lines = {
        found[1]: number
        for number, line in enumerate(front.split("\n"), _FIRST_LINE)
        if (found := re.match(r"([A-Za-z][\w-]*)[ \t]*:", line))
    }
    body = text[closing.end() :].lstrip("\n")
    try:
        return FrontMatter(_mapping(front), lines, body)
    except UnreadableFrontMatter:
        repaired = "\n".join(_BARE.sub(_quoted, line) for line in front.split("\n"))
        if repaired == front:
            raise
        return FrontMatter(_mapping(repaired), lines, body, is_repaired=True)


def _quoted(found: re.Match[str]) -> str:
    return f"{found[1]}: {json.dumps(found[2].strip(), ensure_ascii=False)}"


@cache
def _loader() -> type[yaml.SafeLoader]:
    """Return the loader, created at first use together with the YAML library."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses duplicate keys, which parsers interpret differently."""

        def construct_mapping(
            self,
            node: yaml.MappingNode,
            deep: bool = False,  # noqa: FBT001, FBT002 - theirs
        ) -> dict[Hashable, Any]:
            mapping = super().construct_mapping(node, deep=deep)
            if len(mapping) != len(node.value):
                raise yaml.constructor.ConstructorError(
                    None, None, "duplicate key in a mapping", node.start_mark
                )
            return mapping

    return Loader


def _mapping(front: str) -> dict[str, Any]:
    import yaml

    try:
        _check_shape(front)
        # The loader is a safe one, which creates no objects.
        loaded = yaml.load(front, Loader=_loader())  # noqa: S506
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + _FIRST_LINE if mark is not None else None
        said = getattr(error, "problem", None) or " ".join(str(error).split())
        raise UnreadableFrontMatter(f"not valid YAML: {said}"[:300], line) from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise UnreadableFrontMatter(f"invalid value cannot be read: {error}"[:300]) from None
    if not isinstance(loaded, dict):
        raise UnreadableFrontMatter(
            "the front matter must be a mapping such as 'name: my-skill'", 2
        )
    return {_text(str(key)): _plain(value) for key, value in loaded.items()}


def _check_shape(front: str) -> None:
    """Refuse expanding structures before anything is built. The parser does not recurse."""
    import yaml

    depth = 0
    for count, event in enumerate(yaml.parse(front, Loader=yaml.SafeLoader)):
        mark = event.start_mark
        line = None if mark is None else mark.line + _FIRST_LINE
        if isinstance(event, yaml.AliasEvent):
            raise UnreadableFrontMatter("YAML aliases (*name) are not allowed", line)
        if getattr(event, "tag", None) is not None:
            raise UnreadableFrontMatter("YAML tags (!name) are not allowed", line)
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            depth += 1
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise UnreadableFrontMatter(f"it is nested more than {_MAX_DEPTH} levels", line)
        if count > _MAX_EVENTS:
            raise UnreadableFrontMatter("it contains too many values", line)


def _plain(value: Any) -> Any:
    """Return a value in JSON form."""
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_text(str(key)): _plain(item) for key, item in value.items()}
    raise UnreadableFrontMatter(f"values of type {type(value).__name__} are not allowed")


def _text(text: str) -> str:
    """Return a displayable text. Escapes such as `\\ud800` make some that no encoding holds."""
    if clean(text) != text:
        raise UnreadableFrontMatter("a text contains half of a character (such as \\ud800)")
    return text
