"""What tools need from rooms above them, as Protocols; the composition root binds them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

ARTIFACTS = "artifacts"


@runtime_checkable
class Artifacts(Protocol):
    """The service `ARTIFACTS`: what calls of a session have left behind."""

    async def load(self, artifact_id: str, *, session_id: str, max_bytes: int) -> bytes:
        """A whole artifact of one session.

        Raises:
            ToolFailed: that session has no such artifact, or it is larger than `max_bytes`.
        """
