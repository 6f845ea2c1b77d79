"""Definition of one rule by an administrator, with its examples."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

import re2
from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from app.core.field_problems import FieldError
from app.policy.rules.fields import regex, steps
from app.policy.rules.globs import GLOBBED
from app.policy.rules.typed_words import WordType
from app.policy.rules.words import REST

MAX_DEPTH = 32
Text = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Verb = Literal["allow", "ask", "deny"]
_SCOPE = re.compile(r"global|(?:agent|project|session):[A-Za-z0-9_.:\-]{1,128}")
_TOOL = re.compile(r"[A-Za-z0-9_.\-:*?\[\]!/]{1,128}")
_HOST_FIRST = re.compile(r"[a-z][a-z0-9+.\-]*://[A-Za-z0-9.\-]+(?::[0-9]{1,5})?/[^\s@]*")


def _depth(value: Any) -> int:
    """Return the nesting depth of a JSON value, up to the limit."""
    depth, level = 0, [value]
    while depth <= MAX_DEPTH:
        inside = [item for item in level if isinstance(item, dict | list)]
        if not inside:
            break
        depth += 1
        level = [x for item in inside for x in (item.values() if isinstance(item, dict) else item)]
    return depth


class DefinitionPart(BaseModel):
    """Base of all parts of a definition: no unknown keys, no silent conversion."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=True)


class AnyOf(DefinitionPart):
    """Any of these words or globs."""

    any_of: Annotated[list[Text], Field(min_length=1, max_length=100)]


FixedText = Annotated[str, StringConstraints(max_length=500)]


class TypedWord(DefinitionPart):
    """Any word of a kind, between two fixed texts. Only rules that allow may have one."""

    type: WordType = Field(
        description="`path` is relative, without hidden parts; `branch` is none that people share."
    )
    begins: FixedText = Field(
        default="", description="Text before it; for `url` at least the scheme, host and `/`."
    )
    ends: FixedText = Field(default="", description="Text after it.")

    @field_validator("begins", "ends")
    @classmethod
    def _is_plain(cls, text: str) -> str:
        if GLOBBED.search(text) or any(char.isspace() or not char.isprintable() for char in text):
            raise FieldError("is plain text without spaces and globs", code="plain_text")
        return text

    @model_validator(mode="after")
    def _begins_at_a_place(self) -> TypedWord:
        if self.type == "url" and not _HOST_FIRST.fullmatch(self.begins):
            raise FieldError(
                "begins must be an address up to a /, such as https://example.org/",
                code="address_needed",
            )
        whole = f"{self.begins}x{self.ends}"
        if self.type == "path" and (whole.startswith(("/", "~", "-")) or ".." in whole.split("/")):
            raise FieldError(
                "begins must be a path below the working directory, without ..",
                code="path_pattern",
            )
        return self


def _word_kind(value: Any) -> str:
    if isinstance(value, TypedWord) or (isinstance(value, dict) and "type" in value):
        return "~typed"
    return "~any_of" if isinstance(value, dict | AnyOf) else "~word"


WordPattern = Annotated[
    Annotated[Text, Tag("~word")]
    | Annotated[AnyOf, Tag("~any_of")]
    | Annotated[TypedWord, Tag("~typed")],
    Discriminator(_word_kind),
]


class Range(DefinitionPart):
    """Range including both ends."""

    min: int | float | None = None
    max: int | float | None = None

    @model_validator(mode="after")
    def _has_an_end(self) -> Range:
        if self.min is None and self.max is None:
            raise FieldError("give min, max or both", code="some_of", needed="min, max")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise FieldError(
                "min is greater than max", code="wrong_order", given="max", needed="min"
            )
        return self


class Condition(DefinitionPart):
    """One condition on a field: exactly one of these is set."""

    equals: Any = None
    glob: Text | None = None
    regex: Text | None = Field(default=None, description="RE2, found anywhere: anchor it.")
    in_: list[Any] | None = Field(default=None, alias="in", max_length=1000)
    range: Range | None = None
    exists: bool | None = None

    @field_validator("equals", "in_")
    @classmethod
    def _is_shallow(cls, value: Any) -> Any:
        if _depth(value) > MAX_DEPTH:
            raise FieldError(
                f"is nested more than {MAX_DEPTH} levels deep", code="too_deep", le=MAX_DEPTH
            )
        return value

    @field_validator("regex")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                regex(pattern)
            except re2.error as error:
                raise FieldError(f"is no RE2 pattern: {error}", code="no_pattern") from None
        return pattern

    @model_validator(mode="after")
    def _one(self) -> Condition:
        given, fields = self.model_fields_set, type(self).model_fields
        if len(given) != 1 or (given != {"equals"} and self.operand is None):
            kinds = ", ".join(field.alias or name for name, field in fields.items())
            raise FieldError(f"needs exactly one of {kinds}", code="one_of", needed=kinds)
        return self

    @property
    def kind(self) -> str:
        return next(iter(self.model_fields_set), "").rstrip("_")

    @property
    def operand(self) -> Any:
        value = getattr(self, next(iter(self.model_fields_set), "equals"))
        return (value.min, value.max) if isinstance(value, Range) else value


class Url(DefinitionPart):
    """Parts of an address; omitted parts match anything."""

    scheme: Text | None = None
    host: Text | None = Field(default=None, description="Glob; `*.x.org` is x.org too.")
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    path: Text | None = Field(default=None, description="Glob; begins with /.")

    @model_validator(mode="after")
    def _says_something(self) -> Url:
        if not self.model_fields_set:
            raise FieldError(
                "needs scheme, host, port or path",
                code="some_of",
                needed="scheme, host, port, path",
            )
        return self


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Conditions(DefinitionPart):
    """Conditions on a call. All given conditions must match; none: every call."""

    argv: Annotated[list[WordPattern], Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="Word patterns of one command; `...` stands for any words."
    )
    command: (
        Annotated[list[Text], Field(min_length=1, max_length=100), BeforeValidator(_as_list)] | None
    ) = Field(default=None, description="Names of programs, whatever their arguments.")
    fields: Annotated[dict[Text, Condition], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Conditions by path into the arguments: `a.b[0]`, `items[*].id`."
    )
    paths: Annotated[list[Text], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Globs on absolute paths; relative ones start in the workspace."
    )
    urls: Annotated[list[Url], Field(min_length=1, max_length=100)] | None = None

    @field_validator("argv")
    @classmethod
    def _begins_with_a_program(cls, given: list[WordPattern] | None) -> list[WordPattern] | None:
        if given and isinstance(given[0], TypedWord):
            raise FieldError(
                "begins with the name of a program, not with a typed word", code="program_first"
            )
        return given

    @field_validator("fields")
    @classmethod
    def _paths_of_fields(cls, given: dict[str, Condition] | None) -> dict[str, Condition] | None:
        for path in given or ():
            try:
                steps(path)
            except ValueError as error:
                raise FieldError(f"{path!r} {error}", code="no_field_path") from None
        return given

    @field_validator("paths")
    @classmethod
    def _globs(cls, given: list[str] | None) -> list[str] | None:
        for pattern in given or ():
            pieces = pattern.split("/")
            if ".." in pieces or (pattern.startswith("~") and not pattern.startswith("~/")):
                raise FieldError(
                    f"{pattern!r}: use /…, ~/… or a path below the workspace, no ..",
                    code="path_pattern",
                )
        return given

    @field_validator("command")
    @classmethod
    def _names(cls, given: list[str] | None) -> list[str] | None:
        for name in given or ():
            if name == REST or any(char.isspace() for char in name):
                raise FieldError(
                    f"{name!r} is no program's name; use argv for its arguments",
                    code="program_name",
                )
        return given

    @property
    def is_empty(self) -> bool:
        return not any((self.argv, self.command, self.fields, self.paths, self.urls))

    @property
    def is_typed(self) -> bool:
        return any(isinstance(word, TypedWord) for word in self.argv or ())


class Examples(DefinitionPart):
    """Calls the rule must and must not match: shell commands, or argument objects."""

    match: Annotated[list[str | dict[str, Any]], Field(max_length=100)] = Field(
        default_factory=list
    )
    not_match: Annotated[list[str | dict[str, Any]], Field(max_length=100)] = Field(
        default_factory=list
    )


def _no_number(value: Any) -> Any:
    """Refuse a number, which would be interpreted as seconds since 1970."""
    if isinstance(value, int | float) or (isinstance(value, str) and "-" not in value[1:]):
        raise FieldError(
            "must be a time of RFC 3339 with a zone, such as 2026-12-01T00:00:00Z",
            code="zone_required",
        )
    return value


Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_no_number)]


class RuleDefinition(DefinitionPart):
    """One rule. deny > ask > allow, regardless of specificity; the floor overrides all."""

    tool: Annotated[str, StringConstraints(min_length=1, max_length=128)] = Field(
        description='A name, a glob, "toolset:x" or "*".'
    )
    match: Conditions = Field(default_factory=Conditions)
    decision: Verb
    justification: Annotated[str, StringConstraints(max_length=2000)] = Field(
        default="",
        validate_default=True,
        description="Why, and what to do instead: the model and the approver read it.",
    )
    examples: Examples = Field(default_factory=Examples)
    scope: str = Field(
        default="global", description="global, agent:<id>, project:<id> or session:<id>."
    )
    expires_at: Moment | None = None
    enabled: bool = True

    @field_validator("tool")
    @classmethod
    def _names_tools(cls, tool: str) -> str:
        if not _TOOL.fullmatch(tool) or tool == "toolset:":
            raise FieldError(
                'must be a tool\'s name, a glob, "toolset:<name>" or "*"', code="tool_pattern"
            )
        return tool

    @field_validator("decision")
    @classmethod
    def _types_only_allow(cls, decision: Verb, info: ValidationInfo) -> Verb:
        match = info.data.get("match")
        if decision != "allow" and isinstance(match, Conditions) and match.is_typed:
            # Other spellings of the same word would pass by a rule that denies or asks.
            raise FieldError(
                "typed words only allow: use globs, paths or urls to ask or deny",
                code="typed_allow_only",
            )
        return decision

    @field_validator("justification")
    @classmethod
    def _justifies(cls, text: str, info: ValidationInfo) -> str:
        if info.data.get("decision") in ("ask", "deny") and not text.strip():
            raise FieldError(
                "is required for ask and deny: say why, and what to do instead",
                code="reason_required",
            )
        return text

    @field_validator("scope")
    @classmethod
    def _is_scope(cls, scope: str) -> str:
        if not _SCOPE.fullmatch(scope):
            raise FieldError(
                "must be global, agent:<id>, project:<id> or session:<id>", code="bad_scope"
            )
        return scope

    @property
    def expires(self) -> float | None:
        moment: datetime | None = self.expires_at
        return None if moment is None else moment.timestamp()

    def to_json(self) -> dict[str, Any]:
        """Return the stored body: only given fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)
