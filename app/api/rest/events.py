"""Events of a session, as pages and as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Annotated, Any

from fastapi import Depends, Header, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from app.api.auth import RECHECK_S
from app.api.deps import Chatter, ServiceDep
from app.api.errors import problems
from app.api.principal import Principal
from app.api.rest.body import PathId
from app.api.rest.routing import routes_of
from app.api.rest.stream import SILENCE, Feed
from app.api.service import Service
from app.api.session_deps import ReadableSession
from app.core.errors import (
    InvalidInput,
    NotFound,
    RateLimited,
    StorageUnavailable,
    UnrecoverablePosition,
)

router = routes_of("events")

After = Annotated[
    int, Query(ge=0, le=2**62, description="Last `seq` that the client has received.")
]
Epoch = Annotated[
    str | None, Query(max_length=128, description="Epoch of `after`; 410 if that epoch has ended.")
]
_EVENT: dict[str, Any] = {
    "v": 1,
    "type": "run_started",
    "ts": "2026-11-21T09:30:00.000Z",
    "session_id": "ses_1",
    "epoch": "ep_1",
    "seq": 1,
    "run_id": "run_1",
    "trigger": "rest",
    "tool_names": ["calculator"],
}
_PAGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["epoch", "head", "events"],
    "properties": {
        "epoch": {"type": "string"},
        "head": {"type": "integer", "description": "Last committed `seq`."},
        "events": {"type": "array", "items": {"type": "object"}},
    },
    "examples": [{"epoch": "ep_1", "head": 1, "events": [_EVENT]}],
}
_PAGE = {"description": "Events", "content": {"application/json": {"schema": _PAGE_SCHEMA}}}
_STREAM = {
    "description": "One event per `data:`, with its `seq` as `id:`; live output has no ID.",
    "content": {
        "text/event-stream": {
            "schema": {"type": "string"},
            "example": 'data: {"v":1,"type":"run_started","seq":1}\nid: 1\n\n',
        }
    },
}


@router.get(
    "/sessions/{session_id}/events",
    summary="List durable events of a session",
    response_class=Response,
    responses={**problems(NotFound, UnrecoverablePosition), 200: _PAGE},
)
async def list_events(
    session: ReadableSession,
    service: ServiceDep,
    after: After = 0,
    epoch: Epoch = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    newest: Annotated[bool, Query(description="The last events, not the first ones.")] = False,  # noqa: FBT002 - a query parameter
) -> Response:
    """Scope `chat`. For the next page, set `after` to the last `seq`, until it equals `head`.

    To show the end of a long session first, request it with `newest`, and earlier pages later.
    """
    _check_epoch(epoch, session.epoch)
    stored = await service.archive.load(session.id)
    head = stored[1] if stored else 0
    if after > head:
        raise UnrecoverablePosition(f"The log ends at {head}", head=head)
    if newest:
        # `seq` has no gaps.
        after = max(after, head - limit)
    rows = await service.archive.events(
        session.id, session.epoch, after=after, upto=head, limit=limit
    )
    # Stored events are already JSON; the epoch is a generated identifier.
    events = b",".join(body for _, body in rows)
    body = b'{"epoch":"%b","head":%d,"events":[%b]}' % (session.epoch.encode(), head, events)
    return Response(body, media_type="application/json")


async def open_feed(
    request: Request,
    session_id: PathId,
    service: ServiceDep,
    principal: Chatter,
    after: After = 0,
    epoch: Epoch = None,
    ephemerals: Annotated[bool, Query(description="Include live output.")] = True,  # noqa: FBT002 - a query parameter
    last_event_id: Annotated[
        str | None,
        Header(
            max_length=20,
            description="Set by browsers on reconnect; takes precedence over `after`.",
        ),
    ] = None,
) -> AsyncIterator[Feed]:
    """Subscribe to the session until the request ends."""
    session = await service.session_for(principal, session_id)
    _check_epoch(epoch, session.epoch)
    settings = service.settings
    feeds: dict[Feed, str] = request.app.state.feeds
    if list(feeds.values()).count(principal.user_id) >= settings.max_connections:
        message = f"At most {settings.max_connections} streams can be open per user"
        raise RateLimited(message, retry_after_ms=1000)
    feed = Feed(
        session.log,
        after=_position(last_event_id, after),
        ephemerals=ephemerals,
        max_frames=settings.outbox_frames,
        max_bytes=settings.outbox_bytes,
    )
    feeds[feed] = principal.user_id
    guard = asyncio.create_task(_end_with_rights(feed, service, principal))
    try:
        await feed.prepare(service.archive)
        yield feed
    finally:
        guard.cancel()
        feeds.pop(feed, None)
        feed.close()


@router.get(
    "/sessions/{session_id}/events/stream",
    summary="Stream the events of a session",
    response_class=StreamingResponse,
    responses={**problems(NotFound, UnrecoverablePosition, RateLimited), 200: _STREAM},
)
async def stream_events(
    feed: Annotated[Feed, Depends(open_feed)], service: ServiceDep
) -> StreamingResponse:
    """Scope `chat`. Sends the events after `after`, then all live events, each once.

    The stream ends if the client reads too slowly or its rights end; reconnect with
    `Last-Event-ID` to continue.
    """
    # Not the framework's own stream, which treats a disconnected client as a failure.
    return StreamingResponse(
        _lines(feed, service),
        media_type="text/event-stream",
        # Proxies must not buffer events.
        headers={"cache-control": "no-cache", "x-accel-buffering": "no"},
    )


async def _lines(feed: Feed, service: Service) -> AsyncIterator[bytes]:
    """Yield frames as server-sent events, with comments to keep an idle connection open."""
    async with aclosing(feed.frames(service.archive)) as frames:
        async for frame in frames:
            if frame is SILENCE:
                yield b": ping\n\n"
            elif frame.seq:
                yield b"data: %b\nid: %d\n\n" % (frame.body, frame.seq)
            else:
                yield b"data: %b\n\n" % frame.body


async def _end_with_rights(feed: Feed, service: Service, principal: Principal) -> None:
    """Close the feed when its reader's rights end; an unreadable database does not close it."""
    standing = "holds"
    while standing == "holds":
        await asyncio.sleep(min(RECHECK_S, service.settings.heartbeat_s))
        with suppress(StorageUnavailable):
            standing = await service.authenticator.standing(principal)
    feed.close()


def _check_epoch(asked: str | None, epoch: str) -> None:
    if asked is not None and asked != epoch:
        raise UnrecoverablePosition(
            "The log was reset; load the snapshot and continue from there", epoch=epoch
        )


def _position(last_event_id: str | None, after: int) -> int:
    if last_event_id is None or last_event_id == "":
        return after
    if not (last_event_id.isascii() and last_event_id.isdecimal()):
        raise InvalidInput("Last-Event-ID must be a seq", field="header.last-event-id")
    return int(last_event_id)
