"""Sources of the bytes to read, with their size limits."""

from __future__ import annotations

from app.core.errors import ToolFailed
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS, Artifacts
from app.tools.files.pdf import MAX_PDF_BYTES
from app.tools.files.text import MAX_FILE_BYTES

ARTIFACT_PATH = "artifact:"
MAX_IMAGE_BYTES = 20 << 20
MAX_ARTIFACT_BYTES = 64 << 20
_LARGER = {
    ".pdf": MAX_PDF_BYTES,
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp"), MAX_IMAGE_BYTES),
}


async def read_bytes(path: str, ctx: ToolContext) -> bytes:
    """Return the bytes of a file in the workspace, or of an artifact of this session.

    Raises:
        ToolFailed: `file_too_large`, or what the operations and the artifacts say.
    """
    if path.startswith(ARTIFACT_PATH):
        store = ctx.services.get(ARTIFACTS)
        if not isinstance(store, Artifacts):
            raise ToolFailed("artifacts not available", service=ARTIFACTS)
        return await store.load(
            path.removeprefix(ARTIFACT_PATH),
            session_id=ctx.session_id or "",
            max_bytes=MAX_ARTIFACT_BYTES,
        )
    suffix = f".{path.lower().rpartition('.')[2]}"
    most = _LARGER.get(suffix, MAX_FILE_BYTES)
    try:
        return await ctx.operations.files.read(path, max_bytes=most)
    except ToolFailed as error:
        if error.details.get("code") != "file_too_large":
            raise
        raise too_large(path, most) from None


def too_large(path: str, most: int) -> ToolFailed:
    return ToolFailed(
        f"{path!r} is larger than {most} bytes; use grep, or sed -n in bash",
        code="file_too_large",
        path=path,
        limit=most,
    )
