"""Configuration of a channel by an administrator."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from app.core.errors import InvalidInput
from app.core.field_problems import FieldError, field_problem
from app.core.text_checks import name_problem, text_problem
from app.domain.channels import Watermark

ChannelKind = Literal["weixin"]


def _is_name(name: str) -> str:
    problem = name_problem(name)
    if problem is not None:
        raise FieldError(problem, code="bad_group_name")
    return name


def _is_text(text: str) -> str:
    problem = text_problem(text)
    if problem is not None:
        raise FieldError(problem, code="control_character")
    return text


GroupName = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_is_name)]
Id = Annotated[str, Field(min_length=1, max_length=128)]
Groups = Annotated[tuple[GroupName, ...], Field(max_length=500), Strict(strict=False)]
Ids = Annotated[tuple[Id, ...], Field(max_length=200), Strict(strict=False)]


class ConfigPart(BaseModel):
    """Base of a configuration: stored as camelCase, without unknown fields and conversion."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=False
    )


class WeixinReply(ConfigPart):
    """Rules for sending to groups.

    Attributes:
        enabled: whether sending is enabled.
        auto_reply: send texts without approval.
        targets: allowed groups, by their names in the application.
        agents: agents that may write; None for all.
        operators: names of tokens whose operators may send; None for all.
        watermark: default watermark of texts.
        force_watermark: calls may not choose the watermark.
        suffix: line below the text for the watermark `suffix`.
        per_minute: texts per minute; None for the service's setting.
    """

    enabled: bool = False
    auto_reply: bool = False
    targets: Groups = ()
    agents: Ids | None = None
    operators: Ids | None = None
    watermark: Watermark = "suffix"
    force_watermark: bool = False
    suffix: Annotated[
        str, Field(min_length=1, max_length=100, pattern=r"\S"), AfterValidator(_is_text)
    ] = "[AI]"
    per_minute: int | None = Field(default=None, ge=1, le=600)

    @model_validator(mode="after")
    def _has_targets(self) -> WeixinReply:
        if self.enabled and not self.targets:
            raise FieldError(
                "targets must name at least one group when replies are enabled",
                code="needs",
                given="enabled",
                needed="targets",
            )
        return self


class ChannelConfig(ConfigPart):
    """Configuration of a channel."""

    weixin_reply: WeixinReply = WeixinReply()

    def to_json(self) -> dict[str, Any]:
        """Return the stored and displayed form."""
        return self.model_dump(mode="json", by_alias=True)


def read_config(value: Any) -> ChannelConfig:
    """Parse a configuration from JSON.

    Raises:
        InvalidInput: it is invalid; the message lists every problem.
    """
    try:
        return ChannelConfig.model_validate(value)
    except ValidationError as error:
        problems = [
            field_problem(".".join(["config", *map(str, item["loc"])]), item)
            for item in error.errors(include_url=False, include_input=False)
        ]
        message = "; ".join(f"{item['path']}: {item['message']}" for item in problems[:5])
        raise InvalidInput(message, errors=problems[:50]) from None
