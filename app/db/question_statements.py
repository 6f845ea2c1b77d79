"""Statements for questions, written together with their events."""

from __future__ import annotations

from app.db.statements import Statement, insert

ADD_QUESTION = insert(
    53,
    "questions",
    "id, session_id, run_id, tool_call_id, operation_id, agent_id, user_id, caller, status,"
    " request, created_at, expires_at",
    barrier=True,
)
CANCEL_QUESTION = Statement(
    54,
    "UPDATE questions SET status = 'cancelled', answered_at = ?, told = 1"
    " WHERE id = ? AND status = 'open'",
)
# In the commit of the event: the next process reports an end that was not reported.
TELL_QUESTION = Statement(57, "UPDATE questions SET told = 1 WHERE id = ?")

ALL = (ADD_QUESTION, CANCEL_QUESTION, TELL_QUESTION)
