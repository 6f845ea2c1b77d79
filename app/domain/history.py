"""Earlier sessions and results of calls, and the services that find them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

SESSION_SEARCH = "session_search"
STORED_RESULTS = "stored_results"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Subject of a search: sessions of this user with this agent in this project.

    Attributes:
        agent_id: None for the default agent.
        project_id: None for sessions without a project.
        session_id: session of the call, which is excluded.
    """

    user_id: str
    agent_id: str | None = None
    project_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """Title or message that contains all words.

    Attributes:
        entry_id, role: those of the message; None for a title.
        excerpt: text around the first word.
        created_at: time of the message, or of the session's last change; RFC 3339.
    """

    session_id: str
    title: str
    entry_id: str | None
    role: str | None
    excerpt: str
    created_at: str


@runtime_checkable
class SessionSearch(Protocol):
    """Service `SESSION_SEARCH`."""

    async def search(
        self, words: Sequence[str], visitor: Visitor, *, limit: int
    ) -> Sequence[FoundMessage]:
        """Return case-insensitive matches of all `words`: titles first, then the newest
        messages.
        """


@dataclass(frozen=True, slots=True)
class ResultReader:
    """Reader of a stored result: a run of a session. A sub-agent's run reads only its own calls."""

    session_id: str
    run_id: str | None


@dataclass(frozen=True, slots=True)
class StoredResult:
    """Result of a call, as sent to its model."""

    tool_call_id: str
    tool_name: str
    text: str

    @property
    def chars(self) -> int:
        return len(self.text)


@runtime_checkable
class StoredResults(Protocol):
    """Service `STORED_RESULTS`: results of the ended calls of a session."""

    async def find(self, reader: ResultReader, tool_call_id: str) -> StoredResult | None:
        """Return the newest call with the ID."""

    async def newest(self, reader: ResultReader, *, limit: int) -> Sequence[StoredResult]:
        """Return the last calls, newest first."""
