"""Result schemas of the interaction tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, TEXT, either, listed, maybe, record

_CHOSEN = either(TEXT, listed(TEXT))
_ANSWER = record(id=TEXT, question=TEXT, choices_offered=listed(TEXT), user_response=_CHOSEN)
ASK_USER_RESULT = record(
    {
        "question": TEXT,
        "choices_offered": listed(TEXT),
        "user_response": _CHOSEN,
        "responses": listed(_ANSWER),
        "timed_out": FLAG,
    }
)
ESCALATE_RESULT = record(
    {
        "supervisor": TEXT,
        "task_id": TEXT,
        "status": TEXT,
        "answer": maybe(TEXT),
        "ticket_id": TEXT,
        "duplicate": FLAG,
        "timed_out": FLAG,
        "model": TEXT,
        "requests": INTEGER,
    },
    to=TEXT,
)
REQUEST_RULE_RESULT = record(
    proposal_id=TEXT, state=TEXT, covers=TEXT, overridden_by=listed(TEXT), duplicate=FLAG
)
