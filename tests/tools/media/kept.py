"""Artifacts in memory."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Kept:
    """What was kept, by id: media type and bytes."""

    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    async def load(self, artifact_id: str, *, session_id: str, max_bytes: int) -> bytes:
        assert session_id
        return self.files[artifact_id][1][:max_bytes]

    async def keep(
        self, name: str, media_type: str, data: bytes, *, session_id: str, operation_id: str | None
    ) -> str:
        assert name
        assert session_id
        assert operation_id
        artifact_id = f"art_{len(self.files)}"
        self.files[artifact_id] = (media_type, data)
        return artifact_id
