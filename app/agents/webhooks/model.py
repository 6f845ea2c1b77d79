"""Webhooks: what is stored of them, and what an agent reads of a delivery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.core.text import truncate
from app.tools.untrusted import untrusted

PLACE = "{{body}}"
PAUSED = "paused"
_KEPT = "\t\n\r"


@dataclass(frozen=True, slots=True)
class Webhook:
    """What another system may begin. Times are RFC 3339 in UTC.

    Attributes:
        owner: the user whose sessions its runs are in.
        agent_id: as whom it runs; None for no agent of its own.
        token_id: the token its runs are counted for; None without one.
        template: what the agent reads; `{{body}}` in it stands for the delivery, which comes
            at the end otherwise.
        per_minute: deliveries that are accepted, evenly.
        sealed: its secret.
        paused: why it stands still; empty while it runs.
    """

    id: str
    name: str = ""
    owner: str = ""
    agent_id: str | None = None
    project_id: str | None = None
    token_id: str | None = None
    template: str = ""
    per_minute: int = 10
    sealed: str = ""
    paused: str = ""
    version: int = 1
    created_at: str = ""
    updated_at: str = ""

    def shown(self) -> dict[str, Any]:
        """What the audit keeps."""
        return {
            "name": self.name,
            "owner": self.owner,
            "agent_id": self.agent_id,
            "project_id": self.project_id,
            "template": self.template,
            "per_minute": self.per_minute,
            "paused": self.paused,
        }


def words(webhook: Webhook, body: bytes, mask: Callable[[str], str], limit: int) -> str:
    """What the agent reads: the operator's words, and the delivery marked as not to be trusted.

    Args:
        mask: takes secrets out of a text.
        limit: characters of the delivery.
    """
    text = body.decode("utf-8", "replace")
    text = mask("".join(mark for mark in text if mark.isprintable() or mark in _KEPT))
    marked = untrusted(truncate(text, limit), f"webhook {webhook.name}")
    head = f"A delivery to the webhook {webhook.name!r} has come; nobody is watching."
    if PLACE in webhook.template:
        return f"{head}\n\n{webhook.template.replace(PLACE, marked)}"
    return f"{head}\n\n{webhook.template}\n\n{marked}"
