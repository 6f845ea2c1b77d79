"""`text_to_image`: generates images from a description."""

from __future__ import annotations

from typing import Annotated

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


class TextToImageArgs(ToolArgs):
    prompt: str = Field(
        min_length=1, max_length=4000, pattern=r"\S", description="Image description."
    )
    aspect_ratio: AspectRatio = Field(default="landscape", description="Aspect ratio.")
    image_size: ImageSize = Field(default="medium", description="Length of the longer side.")
    count: int = Field(default=1, ge=1, le=MAX_COUNT, description="Number of images.")
    reference_images: Annotated[list[PathText], Field(max_length=4)] = Field(
        default_factory=list,
        description="Reference images: paths in the workspace, or IDs of artifacts.",
    )
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
async def text_to_image(args: TextToImageArgs, ctx: ToolContext) -> ToolResult:
    """Generate images from a description. They are stored and shown in the chat.

    Returns the artifact ID, size, digest and provider of each image.
    """
    provider = provider_of(ctx, args.count)
    width, height = pixels(args.aspect_ratio, args.image_size)
    images = tuple([await load_image(source, ctx) for source in args.reference_images])
    order = ImageOrder(args.prompt, width, height, args.count, images)
    return await make(order, provider, ctx, output_path=args.output_path)
