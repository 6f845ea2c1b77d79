"""Settings of the tools that make images."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import NoDecode


class ImageSettings(BaseModel):
    """Who makes images for `text_to_image` and `image_to_image`."""

    model_config = ConfigDict(extra="forbid")

    provider: Literal["off", "openai", "draw"] = Field(
        default="off",
        description="`openai` is any server with that images API; `draw` draws shapes offline, "
        "marked as simulated.",
    )
    base_url: str = Field(
        default="https://api.openai.com/v1",
        pattern=r"^https?://[^/?#@]+[^?#]*$",
        description="Where the images API is; also an address in a private network.",
    )
    api_key: SecretStr | None = Field(default=None, description="Its key.")
    model: str = Field(default="gpt-image-1", min_length=1, max_length=200)
    sizes: Annotated[list[str], NoDecode] = Field(
        default_factory=lambda: ["1024x1024", "1536x1024", "1024x1536"],
        description="Sizes in pixels that the model makes, comma-separated.",
    )
    max_count: int = Field(default=4, ge=1, le=8, description="Images of one call.")
    timeout_s: float = Field(default=180, gt=0, le=3600, description="Seconds one call may take.")

    @field_validator("sizes", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("sizes")
    @classmethod
    def _are_sizes(cls, value: list[str]) -> list[str]:
        for size in value:
            width, _, height = size.partition("x")
            if not (width.isdecimal() and height.isdecimal() and 0 < int(width) <= 8192):
                raise ValueError(f"{size!r} is no size such as 1024x1024")
            if not 0 < int(height) <= 8192:
                raise ValueError(f"{size!r} is no size such as 1024x1024")
        if not value:
            raise ValueError("give at least one size")
        return value
