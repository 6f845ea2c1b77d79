"""Webhooks: stored fields, and the prompt of a delivery."""

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
    """Webhook of another system. Times are RFC 3339 in UTC.

    Attributes:
        owner: user who owns the sessions of its runs.
        agent_id: agent of its runs; None for the default.
        token_id: token that its runs are counted for; None without one.
        template: prompt; `{{body}}` is replaced by the delivery, which is otherwise appended.
        per_minute: maximum accepted deliveries per minute, evenly distributed.
        sealed: encrypted secret.
        paused: why it is paused; empty if active.
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
        """Return the fields for the audit log."""
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
    """Return the prompt: the operator's text, with the delivery marked as untrusted.

    Args:
        mask: removes secrets from a text.
        limit: maximum characters of the delivery.
    """
    text = body.decode("utf-8", "replace")
    text = mask("".join(mark for mark in text if mark.isprintable() or mark in _KEPT))
    marked = untrusted(truncate(text, limit), f"webhook {webhook.name}")
    head = f"The webhook {webhook.name!r} received a delivery; this run is unattended."
    if PLACE in webhook.template:
        return f"{head}\n\n{webhook.template.replace(PLACE, marked)}"
    return f"{head}\n\n{webhook.template}\n\n{marked}"
