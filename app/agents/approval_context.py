"""Last turns of a conversation, for people who decide one of its calls."""

from __future__ import annotations

from dataclasses import dataclass

from app.agents.session_queries import SessionQueries
from app.agents.session_search import said_in
from app.core.escaping import visible
from app.core.redaction import Redactor
from app.core.text import truncate
from app.db.tables import ConfirmationRow

MAX_TEXT = 4_000
_SPOKEN = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class SpokenText:
    """Text of one message, without calls and results.

    Attributes:
        role: `user` or `assistant`.
    """

    role: str
    text: str
    at: str


async def last_turns(
    archive: SessionQueries, redactor: Redactor, row: ConfirmationRow, turns: int
) -> list[SpokenText]:
    """Return what was said in the last turns before a confirmation, oldest first.

    A turn begins with a message of the user. Secrets are masked and long texts truncated.
    """
    session = await archive.session_row(row.session_id)
    if session is None or turns < 1:
        return []
    found: list[SpokenText] = []
    for entry in reversed(await archive.path(session.id, session.leaf_entry_id)):
        if entry.role not in _SPOKEN or entry.created_at > row.created_at:
            continue
        text = said_in(entry.content).strip()
        if text:
            shown = truncate(visible(redactor.text(text)), MAX_TEXT, "…")
            found.append(SpokenText(entry.role, shown, entry.created_at))
            turns -= entry.role == "user"
        if not turns:
            break
    return found[::-1]
