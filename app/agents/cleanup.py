"""Ending of questions, calls and runs that a process left open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from app.agents.orphaned_runs import Trail
from app.agents.run import error_body
from app.core.clock import Clock, isoformat
from app.core.errors import TollgateError
from app.db.question_statements import CANCEL_QUESTION
from app.db.statements import CANCEL_CONFIRMATION, FINISH_CALL, FINISH_RUN
from app.db.writer import DatabaseWriter
from app.events.durable import (
    QuestionAnswered,
    RunFinished,
    ToolCallCompleted,
    ToolConfirmationResolved,
)
from app.events.log import SessionLog
from app.governance.audit.log import AuditEntry, AuditLog

MESSAGE = "The service stopped during this call; whether it took effect is unknown"


class OrphanCloser:
    """Ends runs, calls and questions of ended processes, with their events and audit entries."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit

    def close_run(
        self,
        log: SessionLog,
        run_id: str,
        trail: Trail,
        *,
        usage: dict[str, Any] | None = None,
        error: TollgateError | None = None,
    ) -> None:
        """End a run that does not continue; `error` is the reason, if it could have."""
        self.close_open(log, trail)
        moment = isoformat(self._clock.now())
        body = None if error is None else error_body(error)
        error_json = None if body is None else orjson.dumps(body).decode()
        used = orjson.dumps(usage or {}).decode()
        self._db.append(FINISH_RUN, ("interrupted", None, error_json, used, moment, run_id))
        log.emit(RunFinished, run_id=run_id, status="interrupted", error=body, usage=usage or {})

    def close_delegated(self, log: SessionLog, run_id: str, trail: Trail) -> None:
        """End a sub-agent's run without `run_finished`: `subagent_finished` reports its end."""
        self.close_open(log, trail)
        moment = isoformat(self._clock.now())
        self._db.append(FINISH_RUN, ("interrupted", None, None, "{}", moment, run_id))

    def close_open(self, log: SessionLog, trail: Trail) -> None:
        """End all open calls and questions of a run."""
        events = trail.events
        answered = {
            e["confirmation_id"] for e in events if e["type"] == "tool_confirmation_resolved"
        }
        moment = isoformat(self._clock.now())
        names = {
            e["operation_id"]: e["tool_name"] for e in events if e["type"] == "tool_call_started"
        }
        for event in events:
            confirmation_id = event.get("confirmation_id")
            is_open = (
                event["type"] == "tool_confirmation_request" and confirmation_id not in answered
            )
            if is_open:
                self._db.append(CANCEL_CONFIRMATION, (moment, confirmation_id))
                log.emit(
                    ToolConfirmationResolved,
                    **_ids(event),
                    confirmation_id=confirmation_id,
                    outcome="cancelled",
                )
            if is_open and confirmation_id in trail.unanswered:
                self._audit.record(
                    AuditEntry(
                        "confirmation.answered",
                        actor="system",
                        subject=confirmation_id,
                        **_about(log, event, names.get(event["operation_id"])),
                        outcome="cancelled",
                    )
                )
        self._close_questions(log, events, moment)
        for event in unended(trail):
            self._close_call(log, event, trail)

    def _close_questions(
        self, log: SessionLog, events: Sequence[dict[str, Any]], moment: str
    ) -> None:
        """Withdraw the questions that the calls of an orphaned run asked the user."""
        over = {e["question_id"] for e in events if e["type"] == "question_answered"}
        for event in events:
            if event["type"] == "question_asked" and event["question_id"] not in over:
                question_id = event["question_id"]
                self._db.append(CANCEL_QUESTION, (moment, question_id))
                log.emit(
                    QuestionAnswered, **_ids(event), question_id=question_id, outcome="cancelled"
                )
                self._audit.record(
                    AuditEntry(
                        "question.answered",
                        actor="system",
                        subject=question_id,
                        **_about(log, event, event.get("tool_name")),
                        outcome="cancelled",
                    )
                )

    def _close_call(self, log: SessionLog, started: dict[str, Any], trail: Trail) -> None:
        detail = {"tool_call_id": started["tool_call_id"], "code": "interrupted"}
        args = self._audit.arguments(started.get("args"))
        if args is not None:
            detail["args"] = orjson.loads(args)
        self._audit.record(
            AuditEntry(
                "call.finished",
                actor=trail.user_id or "system",
                **_about(log, started, started["tool_name"]),
                verdict=trail.verdicts.get(started["operation_id"], "allow"),
                outcome="interrupted",
                detail=detail,
            )
        )
        log.emit(
            ToolCallCompleted,
            **_ids(started),
            tool_name=started["tool_name"],
            status="interrupted",
            content=[{"type": "text", "text": MESSAGE}],
            error={"code": "interrupted", "message": MESSAGE},
        )
        result = orjson.dumps({"success": False, "data": None, "error": MESSAGE}).decode()
        row = (
            started["operation_id"],
            started["tool_call_id"],
            log.session_id,
            started.get("run_id"),
            started.get("agent_id"),
            started["tool_name"],
            orjson.dumps(started.get("args")).decode(),
            "interrupted",
            started["ts"],
            result,
            MESSAGE,
            False,
            False,
            False,
            None,
            None,
            0.0,
            None,
        )
        self._db.append(FINISH_CALL, row)


def unended(trail: Trail) -> list[dict[str, Any]]:
    """Return the start events of calls that have not ended."""
    ended = {e["operation_id"] for e in trail.events if e["type"] == "tool_call_completed"}
    begun = (e for e in trail.events if e["type"] == "tool_call_started")
    return [event for event in begun if event["operation_id"] not in ended]


def _ids(event: dict[str, Any]) -> dict[str, Any]:
    names = ("run_id", "agent_id", "tool_call_id", "operation_id", "parent_tool_call_id")
    return {name: event[name] for name in names if name in event}


def _about(log: SessionLog, event: dict[str, Any], tool_name: str | None) -> dict[str, Any]:
    """Return the fields of an audit entry that identify a call."""
    return {
        "session_id": log.session_id,
        "run_id": event.get("run_id"),
        "agent_id": event.get("agent_id"),
        "tool_name": tool_name,
        "operation_id": event["operation_id"],
    }
