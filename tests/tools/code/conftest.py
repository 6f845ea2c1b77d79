from __future__ import annotations

from dataclasses import dataclass, field

from app.core.errors import StorageUnavailable


@dataclass
class Shelf:
    """The service `ARTIFACTS`, in memory; `broken` is what it raises."""

    kept: dict[str, tuple[str, str, bytes, str, str | None]] = field(default_factory=dict)
    broken: StorageUnavailable | None = None

    async def load(self, artifact_id: str, *, session_id: str, max_bytes: int) -> bytes:
        return self.kept[artifact_id][2]

    async def keep(
        self, name: str, media_type: str, data: bytes, *, session_id: str, operation_id: str | None
    ) -> str:
        if self.broken is not None:
            raise self.broken
        artifact_id = f"art_{len(self.kept) + 1}"
        self.kept[artifact_id] = (name, media_type, data, session_id, operation_id)
        return artifact_id
