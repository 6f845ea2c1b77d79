"""Notes about pending requests of other sessions, for a terminal that shows one session."""

from __future__ import annotations

from app.cli.client import Event
from app.core.escaping import visible


class OtherRequests:
    """Requests that are pending in other sessions than the one shown."""

    def __init__(self) -> None:
        self._entries: dict[str, Event] = {}

    def start(self, message: Event, session_id: str) -> str | None:
        """Take the whole list; return a line about it, or None if nothing else is pending."""
        self._entries = {entry["id"]: entry for entry in message["entries"]}
        count = sum(entry["session_id"] != session_id for entry in self._entries.values())
        if not count:
            return None
        requests = "1 request is" if count == 1 else f"{count} requests are"
        return f"{requests} pending in other sessions: tollgate approvals list"

    def change(self, event: Event, session_id: str) -> str | None:
        """Take a change; return a line about it if it is new and of another session."""
        entry = event["entry"]
        known = self._entries.pop(entry["id"], None)
        if event["state"] == "closed":
            return None
        self._entries[entry["id"]] = entry
        is_news = known is None or event.get("reason") == "reminder"
        if entry["session_id"] == session_id or not is_news:
            return None
        title = " ".join(visible(str(entry["title"])).split())
        where = f"tollgate approvals show {entry['id']}"
        if entry["kind"] == "question":
            where = f"/sessions {entry['session_id']}"
        return f"Pending in another session: {title} ({where})"
