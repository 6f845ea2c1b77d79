"""Business context of a session: facts for its tools that the model never sees."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.core.field_problems import FieldError
from app.core.text import dump_json

MAX_BYTES = 8192
ChannelId = Annotated[str, Field(min_length=1, max_length=128)]


class CurrentAgent(BaseModel):
    """Agent as named by the channel; additional facts are stored unchanged."""

    model_config = ConfigDict(extra="allow", strict=True)

    modelChannelId: ChannelId | None = None  # noqa: N815 - the seeds' name


class BusinessContext(BaseModel):
    """Business context (`bizContext` of the seeds); additional facts are stored unchanged, at most
    8 KiB of JSON in total.
    """

    model_config = ConfigDict(
        extra="allow",
        strict=True,
        json_schema_extra={
            "examples": [{"channelId": "wx_1", "currentAgent": {"modelChannelId": "m_1"}}]
        },
    )

    channelId: ChannelId | None = Field(  # noqa: N815 - the seeds' name
        default=None, description="Takes precedence over the channel named by a call."
    )
    currentAgent: CurrentAgent | None = None  # noqa: N815 - the seeds' name

    @model_validator(mode="after")
    def _is_small(self) -> BusinessContext:
        if len(dump_json(self.facts())) > MAX_BYTES:
            raise FieldError(
                f"must not exceed {MAX_BYTES} bytes as JSON",
                code="too_large",
                max_length=MAX_BYTES,
            )
        return self

    def facts(self) -> dict[str, Any]:
        """Return the submitted facts."""
        return self.model_dump(exclude_unset=True)
