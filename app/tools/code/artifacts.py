"""Files produced by code: stored as artifacts of the session, with images shown."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.core.errors import TollgateError
from app.core.file_signatures import image_type
from app.operations.protocols.code import ProducedFile
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS, Artifacts
from app.toolkit.result import RawResult
from app.tools.images import shown_images

_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class KeptFile:
    """File of a result.

    Attributes:
        artifact_id: ID of the stored artifact; None if it could not be stored, with the reason in
            `error`.
        size: in bytes.
    """

    name: str
    media_type: str
    size: int
    artifact_id: str | None
    error: str | None = None

    def __str__(self) -> str:
        where = f"artifact:{self.artifact_id}" if self.artifact_id else f"not saved: {self.error}"
        return f"File: {self.name} ({self.media_type}, {self.size} bytes, {where})"

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not None}


async def keep_files(files: Sequence[ProducedFile], ctx: ToolContext) -> list[KeptFile]:
    """Store each file; report those that cannot be stored."""
    store = ctx.services.get(ARTIFACTS)
    return [await _keep(file, store, ctx) for file in files]


async def _keep(file: ProducedFile, store: object, ctx: ToolContext) -> KeptFile:
    # The code chose the name.
    name = "".join(letter if letter.isprintable() else "_" for letter in file.path)[-_MAX_NAME:]
    kind = image_type(file.data) or _guessed(name)
    size = len(file.data)
    if not isinstance(store, Artifacts) or ctx.session_id is None:
        return KeptFile(name, kind, size, None, "the call has no session")
    try:
        artifact = await store.keep(
            name, kind, file.data, session_id=ctx.session_id, operation_id=ctx.operation_id
        )
    except TollgateError as error:
        return KeptFile(name, kind, size, None, error.message)
    return KeptFile(name, kind, size, artifact)


def shown(files: Sequence[KeptFile]) -> RawResult | None:
    """Return the images among the files; None if there are none."""
    images = [file for file in files if file.artifact_id and file.media_type.startswith("image/")]
    return shown_images([image.to_dict() for image in images]) if images else None


def _guessed(name: str) -> str:
    """Return the type by file name; an image by name only does not count as one."""
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return "application/octet-stream" if kind.startswith("image/") else kind
