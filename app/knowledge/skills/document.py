"""SKILL.md according to the open standard: lenient in reading, strict in writing.

`errors` prevent the use of a skill; `warnings` are tolerable violations of the standard. Written
skills must have neither.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from app.catalog.errors import InvalidTool
from app.core.errors import InvalidArguments
from app.core.text import dump_json
from app.domain.skills import ComputeEntry, SkillProblem
from app.knowledge.skills.front_matter import FrontMatter, UnreadableFrontMatter, read_front_matter

MAX_NAME, MAX_DESCRIPTION, MAX_COMPATIBILITY = 64, 1024, 500
MAX_DOCUMENT_BYTES = 256 << 10
MAX_TIMEOUT_S, DEFAULT_TIMEOUT_S = 3600, 300
_MAX_COMMAND, _MAX_WORDS, _MAX_LISTED = 1000, 50, 50
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_KNOWN = frozenset(
    {"name", "description", "license", "compatibility", "metadata", "allowed-tools", "entry"}
)
_ENTRY = frozenset({"type", "command", "timeout", "input_schema", "output_schema"})


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """Content of a SKILL.md; missing or unusable values are empty."""

    description: str = ""
    body: str = ""
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: tuple[str, ...] = ()
    always: bool = False
    programs: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    entry: ComputeEntry | None = None
    errors: tuple[SkillProblem, ...] = ()
    warnings: tuple[SkillProblem, ...] = ()


def is_name(name: str) -> bool:
    """Return whether a skill may have the name."""
    return len(name) <= MAX_NAME and NAME.fullmatch(name) is not None


def read_document(data: bytes, folder: str) -> SkillDocument:
    """Parse the SKILL.md of the named folder; never raises."""
    if len(data) > MAX_DOCUMENT_BYTES:
        return _broken("skill_too_large", f"SKILL.md exceeds {MAX_DOCUMENT_BYTES} bytes")
    try:
        front = read_front_matter(data.decode())
    except UnicodeDecodeError:
        return _broken("skill_no_utf8", "SKILL.md is not UTF-8 text")
    except UnreadableFrontMatter as error:
        return _broken(error.code, error.message, error.line)
    return _DocumentReader(front, folder).read()


def check_value(schema: Mapping[str, Any], value: Any, what: str) -> None:
    """Validate a value against a schema, in linear time for any patterns.

    Raises:
        InvalidArguments: it is invalid; the message starts with `what`.
    """
    if not schema:
        return
    validate = _validator(orjson.dumps(dict(schema), option=orjson.OPT_SORT_KEYS))
    try:
        validate(dump_json(value))
    except InvalidArguments as error:
        text = error.message.removeprefix("Invalid arguments: ")
        raise InvalidArguments(f"{what}: {text}"[:4000], errors=error.details["errors"]) from None


@lru_cache(maxsize=200)
def _validator(schema: bytes) -> Any:
    from app.catalog.json_schema import compile_schema

    return compile_schema(orjson.loads(schema), closed=False)[1]


def _broken(code: str, message: str, line: int | None = None) -> SkillDocument:
    return SkillDocument(errors=(SkillProblem(code, message, line),))


class _DocumentReader:
    """Parser of one front matter."""

    def __init__(self, front: FrontMatter, folder: str) -> None:
        self._front = front
        self._folder = folder
        self._errors: list[SkillProblem] = []
        self._warnings: list[SkillProblem] = []

    def read(self) -> SkillDocument:
        front = self._front
        self._check_name()
        if front.is_repaired:
            self._warn(None, "skill_quotes", "a value with a colon must be quoted")
        for key in front.fields.keys() - _KNOWN:
            self._warn(
                key,
                "skill_unknown_key",
                f"unknown key {key[:80]!r}: move it to metadata",
            )
        metadata = self._metadata()
        requires = metadata.get("requires", {})
        if not isinstance(requires, dict):
            self._warn(
                "metadata",
                "skill_metadata",
                "metadata.requires must be a mapping with bins and env",
            )
            requires = {}
        return SkillDocument(
            description=self._description(),
            body=front.body,
            license=self._text("license", 1000),
            compatibility=self._text("compatibility", MAX_COMPATIBILITY),
            allowed_tools=self._allowed_tools(),
            always=self._always(metadata),
            programs=self._names(requires, "bins", _PROGRAM),
            variables=self._names(requires, "env", _VARIABLE),
            entry=self._entry(),
            errors=tuple(self._errors),
            warnings=tuple(self._warnings),
        )

    def _check_name(self) -> None:
        name = self._front.fields.get("name")
        if not is_name(self._folder):
            self._fail(
                None,
                "skill_folder_name",
                f"the folder name must be a valid skill name: at most {MAX_NAME} of "
                "a-z, 0-9 and single hyphens, not at the start or end",
            )
        if not isinstance(name, str) or not name:
            self._warn("name", "skill_name", "name is missing")
        elif name != self._folder:
            self._warn(
                "name",
                "skill_name",
                f"name {name[:80]!r} must equal the folder {self._folder[:80]!r}",
            )

    def _description(self) -> str:
        value = self._front.fields.get("description")
        if not isinstance(value, str) or not value.strip():
            self._fail(
                "description",
                "skill_no_description",
                "description is missing: state what the skill does and when to use it",
            )
            return ""
        if len(value) > MAX_DESCRIPTION:
            self._warn(
                "description",
                "skill_description_long",
                f"description exceeds {MAX_DESCRIPTION} characters",
            )
        return value.strip()[:MAX_DESCRIPTION]

    def _text(self, key: str, limit: int) -> str | None:
        value = self._front.fields.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not 0 < len(value) <= limit:
            self._warn(key, "skill_text", f"{key} must be a text of 1 to {limit} characters")
        return str(value)[:limit]

    def _metadata(self) -> dict[str, Any]:
        value = self._front.fields.get("metadata", {})
        if isinstance(value, dict):
            return value
        self._warn("metadata", "skill_metadata", "metadata must be a mapping")
        return {}

    def _allowed_tools(self) -> tuple[str, ...]:
        value = self._front.fields.get("allowed-tools")
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            self._warn(
                "allowed-tools",
                "skill_allowed_tools",
                "allowed-tools must be one text of names separated by spaces",
            )
            return tuple(value[:_MAX_LISTED])
        if not isinstance(value, str):
            self._warn("allowed-tools", "skill_allowed_tools", "allowed-tools must be text")
            return ()
        return tuple(value.split()[:_MAX_LISTED])

    def _always(self, metadata: dict[str, Any]) -> bool:
        value = metadata.get("always", False)
        if value not in (True, False, "true", "false"):
            self._warn("metadata", "skill_metadata", "metadata.always must be true or false")
        return value is True or value == "true"

    def _names(
        self, requires: dict[str, Any], key: str, allowed: re.Pattern[str]
    ) -> tuple[str, ...]:
        value = requires.get(key, [])
        names = value if isinstance(value, list) else [value]
        fits = [name for name in names if isinstance(name, str) and allowed.fullmatch(name)]
        if len(fits) != len(names) or len(names) > _MAX_LISTED:
            # A requirement that cannot be checked counts as not met.
            self._fail(
                "metadata", "skill_requires", f"metadata.requires.{key} must be a list of names"
            )
        return tuple(fits[:_MAX_LISTED])

    def _entry(self) -> ComputeEntry | None:
        value = self._front.fields.get("entry")
        if value is None:
            return None
        if not isinstance(value, dict) or value.get("type") != "compute":
            self._fail("entry", "skill_entry", "entry must be a mapping with `type: compute`")
            return None
        if unknown := sorted(value.keys() - _ENTRY):
            self._warn("entry", "skill_unknown_key", f"entry has unknown key {unknown[0][:80]!r}")
        timeout = value.get("timeout", DEFAULT_TIMEOUT_S)
        if type(timeout) is not int or not 1 <= timeout <= MAX_TIMEOUT_S:
            self._fail(
                "entry",
                "skill_entry_timeout",
                f"entry.timeout must be 1 to {MAX_TIMEOUT_S} whole seconds",
            )
            return None
        command = self._command(value.get("command"))
        schemas = [self._schema(value, key) for key in ("input_schema", "output_schema")]
        return ComputeEntry(command, timeout, *schemas) if command else None

    def _command(self, value: Any) -> tuple[str, ...]:
        words: list[str] = []
        if isinstance(value, str) and 0 < len(value) <= _MAX_COMMAND and value.isprintable():
            try:
                words = shlex.split(value)
            except ValueError:
                words = []
        if not words or len(words) > _MAX_WORDS or not words[0]:
            self._fail(
                "entry",
                "skill_entry_command",
                "entry.command must be a command such as 'python scripts/main.py'",
            )
            return ()
        return tuple(words)

    def _schema(self, entry: dict[str, Any], key: str) -> Mapping[str, Any]:
        value = entry.get(key)
        if value is None:
            return {}
        from app.catalog.json_schema import compile_schema

        if not isinstance(value, dict):
            self._fail("entry", "skill_entry_schema", f"entry.{key} must be a mapping")
            return {}
        try:
            return compile_schema(value, closed=key == "input_schema")[0]
        except InvalidTool as error:
            text = error.message.replace("parameters", f"entry.{key}", 1)
            self._fail("entry", "skill_entry_schema", text[:500])
            return {}

    def _fail(self, key: str | None, code: str, message: str) -> None:
        self._errors.append(SkillProblem(code, message, self._line(key)))

    def _warn(self, key: str | None, code: str, message: str) -> None:
        self._warnings.append(SkillProblem(code, message, self._line(key)))

    def _line(self, key: str | None) -> int | None:
        return None if key is None else self._front.lines.get(key)
