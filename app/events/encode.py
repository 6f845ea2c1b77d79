"""Frequent events, encoded without building a model.

A Pydantic event costs 3.1 µs to build and dump; a governed call writes two. Their JSON is
spliced here from pieces that are JSON already (ids once per batch, names once per tool,
arguments as they were validated), which costs 0.8 µs an event. The models stay the
definition: `tests/events/test_encode.py` proves that these bytes load as the model and
that the model, dumped, gives the same bytes.
"""

from __future__ import annotations

from typing import Any

import orjson

from app.core.text import dump_json


def quoted(text: str) -> str:
    """Return `text` as a JSON string."""
    try:
        return orjson.dumps(text).decode()
    except orjson.JSONEncodeError:  # lone surrogates
        return dump_json(text).decode()


def durable_head(kind: str, ts: str, session: str, seq: int) -> str:
    """Return the part before the event's own fields; `session` is `session_part(…)`."""
    return f'{{"v":1,"type":"{kind}","ts":"{ts}",{session}"seq":{seq},'


def ephemeral(kind: str, ts: str, session: str, after_seq: int, fields: dict[str, Any]) -> bytes:
    """Return an ephemeral event; no field may be None."""
    head = f'{{"v":1,"type":"{kind}","ts":"{ts}",{session}"after_seq":{after_seq},'
    return head.encode() + dump_json(fields)[1:]


def session_part(session_id: str, epoch: str) -> str:
    """Return the fields that are constant while a session is open; both are plain identifiers."""
    return f'"session_id":"{session_id}","epoch":"{epoch}",'


def run_part(run_id: str | None, agent_id: str | None) -> str:
    """Return the IDs of every event of a batch."""
    run = f'"run_id":{quoted(run_id)},' if run_id else ""
    return f'{run}"agent_id":{quoted(agent_id)},' if agent_id else run


def call_part(batch: str, tool_call_id: str, operation_id: str, parent: str | None = None) -> str:
    """Return the IDs of every event of a call; `operation_id` is a plain identifier.

    `parent` is the call that delegated to the sub-agent that calls.
    """
    ids = f'{batch}"tool_call_id":{quoted(tool_call_id)},"operation_id":"{operation_id}",'
    return f'{ids}"parent_tool_call_id":{quoted(parent)},' if parent else ids


def call_started(
    ids: str,
    name: str,
    title: str,
    kind: str,
    args: str,
    redacted: str,
    route: str,
    *,
    asks: bool,
    index: int,
    message_id: str | None,
) -> str:
    """Return the fields of `tool_call_started`; `name`, `title`, `args` and `redacted` are JSON."""
    message = f',"message_id":{quoted(message_id)}' if message_id else ""
    return (
        f'{ids}"tool_name":{name},"title":{title},"kind":"{kind}","args":{args},'
        f'"redacted":{redacted},"route":"{route}",'
        f'"awaits_confirmation":{"true" if asks else "false"},"index":{index}{message}}}'
    )


def call_completed(
    ids: str,
    name: str,
    status: str,
    text: str,
    *,
    raw_result: str | None,
    truncated: bool,
    artifact_id: str | None,
    size: int,
    chunks: int,
    error: str | None,
    duration_ms: float,
    cached: bool,
    duplicate_of: str | None,
) -> str:
    """Return the fields of `tool_call_completed`.

    `name`, `text`, `raw_result` and `error` are JSON.
    """
    raw = f',"raw_result":{raw_result}' if raw_result is not None else ""
    artifact = f',"artifact_id":{quoted(artifact_id)}' if artifact_id else ""
    failure = f',"error":{error}' if error is not None else ""
    twin = f',"duplicate_of":{quoted(duplicate_of)}' if duplicate_of else ""
    return (
        f'{ids}"tool_name":{name},"status":"{status}",'
        f'"content":[{{"type":"text","text":{text}}}]{raw},'
        f'"truncated":{"true" if truncated else "false"}{artifact},"bytes":{size},'
        f'"chunks":{chunks}{failure},"duration_ms":{duration_ms!r},'
        f'"cached":{"true" if cached else "false"}{twin}}}'
    )
