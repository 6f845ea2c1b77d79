"""Settings of the tools that make images."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr, field_validator

from app.config.sections import Section

_MAX_SIDE = 8192


class ImageSettings(Section):
    """Image provider of `text_to_image` and `image_to_image`."""

    provider: Literal["off", "openai", "draw"] = Field(
        default="off",
        description="Image provider: `openai` for any server with OpenAI's images API; `draw` "
        "draws shapes offline, marked as simulated.",
    )
    base_url: str = Field(
        default="https://api.openai.com/v1",
        pattern=r"^https?://[^/?#@]+[^?#]*$",
        description="URL of the images API; may be in a private network.",
    )
    api_key: SecretStr | None = Field(default=None, description="API key of the images API.")
    model: str = Field(
        default="gpt-image-1", min_length=1, max_length=200, description="Image model to use."
    )
    sizes: str = Field(
        default="1024x1024,1536x1024,1024x1536",
        description="Image sizes in pixels that the model supports, comma-separated.",
    )
    max_count: int = Field(default=4, ge=1, le=8, description="Maximum number of images per call.")
    timeout_s: float = Field(
        default=180, gt=0, le=3600, description="Timeout of one call in seconds."
    )

    @field_validator("sizes")
    @classmethod
    def _are_sizes(cls, value: str) -> str:
        for size in value.split(","):
            width, _, height = size.strip().partition("x")
            sides = [int(side) if side.isdecimal() else 0 for side in (width, height)]
            if not all(0 < side <= _MAX_SIDE for side in sides):
                raise ValueError(f"invalid size {size!r}: use a size such as 1024x1024")
        return value
