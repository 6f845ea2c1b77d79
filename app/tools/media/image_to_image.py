"""`image_to_image`: generates images from another image."""

from __future__ import annotations

from pydantic import Field

from app.operations.images.provider import IMAGE_PROVIDER, ImageOrder
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.media.generation import (
    MAX_COUNT,
    AspectRatio,
    ImageSize,
    load_image,
    make,
    paths_among,
    pixels,
    provider_of,
)
from app.tools.media.returns import IMAGES_RESULT


class ImageToImageArgs(ToolArgs):
    prompt: str = Field(
        min_length=1, max_length=4000, pattern=r"\S", description="How to change the image."
    )
    image: PathText = Field(
        description="Source image: a path in the workspace, or an artifact's ID."
    )
    strength: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="How much to change it; the provider's default if unset.",
    )
    aspect_ratio: AspectRatio = Field(default="landscape", description="Aspect ratio.")
    image_size: ImageSize = Field(default="medium", description="Length of the longer side.")
    count: int = Field(default=1, ge=1, le=MAX_COUNT, description="Number of images.")
    output_path: PathText | None = Field(
        default=None,
        description="Also write it to this path in the workspace; further images are numbered.",
    )


@tool(
    category="media",
    toolset="media",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.NETWORK,
    kind="other",
    sandbox="bash",
    needs_project=True,
    requires=(IMAGE_PROVIDER,),
    routing_hint="main-process-proxy",
    timeout_s=600,
    paths_in=paths_among,
    tags=("media", "image"),
    argument_aliases={"n": "count", "size": "image_size"},
    return_schema=IMAGES_RESULT,
)
async def image_to_image(args: ImageToImageArgs, ctx: ToolContext) -> ToolResult:
    """Generate images from an image and a description of the change.

    The image may be sent to an external provider. The new images are stored and shown in the chat.
    Returns the artifact ID, size, digest and provider of each image.
    """
    provider = provider_of(ctx, args.count)
    width, height = pixels(args.aspect_ratio, args.image_size)
    image = await load_image(args.image, ctx)
    order = ImageOrder(args.prompt, width, height, args.count, (image,), args.strength)
    return await make(order, provider, ctx, output_path=args.output_path)
