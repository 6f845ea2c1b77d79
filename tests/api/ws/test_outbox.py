"""Back-pressure: live output gives way, facts never do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import websockets

from app.api.ws.outbox import Outbox
from tests.support.service import Running, serving, settings_for


async def test_live_output_is_dropped_oldest_first():
    outbox = Outbox(max_frames=3, max_bytes=10_000)

    for body, droppable in ((b"d1", False), (b"l1", True), (b"l2", True), (b"l3", True)):
        outbox.put(body, droppable=droppable)

    assert await outbox.take() == [b"d1", b"l2", b"l3"]
    assert outbox.dropped == 1


async def test_facts_alone_overflow_and_then_nothing_more_is_taken():
    outbox = Outbox(max_frames=2, max_bytes=10_000)

    for body in (b"d1", b"d2", b"d3"):
        outbox.put(body)
    outbox.put(b"d4")

    assert outbox.overflowed
    assert await outbox.take() == []


async def test_bytes_are_bounded_too():
    outbox = Outbox(max_frames=100, max_bytes=10)

    outbox.put(b"12345678", droppable=True)
    outbox.put(b"12345678")

    assert await outbox.take() == [b"12345678"]


async def test_taking_waits_for_something_to_send():
    outbox = Outbox(max_frames=2, max_bytes=100)
    taking = asyncio.create_task(outbox.take())
    await asyncio.sleep(0)

    outbox.put(b"x")

    assert await taking == [b"x"]


async def _overflow(running: Running, session_id: str) -> None:
    """Append events until the session's only watcher has been dropped."""
    db = running.service.db
    log = running.service.runtime.events.get(session_id)
    assert log is not None
    async with asyncio.timeout(60):
        while not log.subscribers:
            await db.flush()
            await running.service.tokens.refresh()
        while log.subscribers:
            for _ in range(20):
                log.append("process_event", f'"padding":"{"x" * 10_000}"}}')
            await db.flush()


async def _end(socket: websockets.ClientConnection) -> int:
    """Read until the server has closed; the close code, 1006 when there was none."""
    try:
        async for _ in socket:
            pass
    except websockets.ConnectionClosed:
        pass
    return socket.close_code or 1006


async def test_a_client_that_does_not_read_is_cut_off_and_can_resume(tmp_path: Path):
    settings = settings_for(
        tmp_path, outbox_frames=50, outbox_bytes=1 << 16, send_timeout_s=0.2, loop_refuse_after=999
    )
    async with serving(settings) as running:
        session = running.session()
        log = session.log
        # A client whose buffers are as small as they get, and that never reads.
        async with running.socket(max_queue=1) as slow:
            await slow.send('{"type": "hello", "id": "h"}')
            await slow.send(f'{{"type": "subscribe", "id": "s", "session_id": "{session.id}"}}')
            await _overflow(running, session.id)
            code = await _end(slow)
        head = log.committed
        async with running.connect() as again:
            answer = await again.command(type="subscribe", session_id=session.id, after=head - 3)
            await again.command(type="ping")

    assert code in (4003, 1006)
    assert answer["recovered"] is True
    assert [event["seq"] for event in again.durable()] == [head - 2, head - 1, head]
