"""What the system tools need from rooms above, as Protocols; the composition root binds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

SESSION_SEARCH = "session_search"
STORED_RESULTS = "stored_results"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whose sessions are searched: those of this user with this agent in this project.

    Attributes:
        agent_id: None for the default agent.
        project_id: None for sessions without a project.
        session_id: the session of the call, which is left out.
    """

    user_id: str
    agent_id: str | None = None
    project_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A title or a message in which all words stand.

    Attributes:
        entry_id, role: of the message; None for a title.
        excerpt: what stands around the first word.
        created_at: of the message, or of the session's last change; RFC 3339.
    """

    session_id: str
    title: str
    entry_id: str | None
    role: str | None
    excerpt: str
    created_at: str


@runtime_checkable
class SessionSearch(Protocol):
    """The service `SESSION_SEARCH`."""

    async def search(
        self, words: Sequence[str], visitor: Visitor, *, limit: int
    ) -> Sequence[FoundMessage]:
        """What holds all `words`, in any case: titles first, then the newest messages."""


@dataclass(frozen=True, slots=True)
class ResultReader:
    """Who reads a stored result: a run of a session. A sub-agent's reads only its own calls."""

    session_id: str
    run_id: str | None


@dataclass(frozen=True, slots=True)
class StoredResult:
    """What a call came to, as its model was told."""

    tool_call_id: str
    tool_name: str
    text: str

    @property
    def chars(self) -> int:
        return len(self.text)


@runtime_checkable
class StoredResults(Protocol):
    """The service `STORED_RESULTS`: results of the calls of a session that have ended."""

    async def find(self, reader: ResultReader, tool_call_id: str) -> StoredResult | None:
        """The newest call of that id."""

    async def newest(self, reader: ResultReader, *, limit: int) -> Sequence[StoredResult]:
        """The last calls, the newest first."""
