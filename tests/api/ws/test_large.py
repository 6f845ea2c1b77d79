"""Sessions that are larger than any queue, and messages larger than any event."""

from __future__ import annotations

from pathlib import Path

from tests.support.service import Running, serving, settings_for

EVENT_LIMIT = 256 << 10


def fill(running: Running, session_id: str, number: int, size: int) -> None:
    """Append durable events of `size` bytes."""
    log = running.service.runtime.events.get(session_id)
    assert log is not None
    for _ in range(number):
        log.append("process_event", f'"padding":"{"x" * size}"}}')


async def test_a_replay_larger_than_the_outbox_arrives_whole(tmp_path: Path):
    settings = settings_for(tmp_path, outbox_frames=20, outbox_bytes=1 << 16, event_buffer_size=10)
    async with serving(settings) as running:
        session = running.session()
        fill(running, session.id, 300, 5000)
        await running.service.db.flush()
        async with running.connect() as chat:
            await chat.send({"type": "subscribe", "id": "s", "session_id": session.id})
            await chat.until("process_event", lambda event: event["seq"] == 150)
            fill(running, session.id, 5, 5000)
            await running.service.db.flush()
            await chat.until("process_event", lambda event: event["seq"] == 305)

    assert [event["seq"] for event in chat.durable()] == list(range(1, 306))


async def test_a_thousand_missed_events_are_replayed(running: Running):
    session = running.session()
    fill(running, session.id, 1000, 10)
    await running.service.db.flush()
    async with running.connect() as chat:
        answer = await chat.command(type="subscribe", session_id=session.id)
        await chat.until("process_event", lambda event: event["seq"] == 1000)

    assert answer["recovered"] is True
    assert [event["seq"] for event in chat.durable()] == list(range(1, 1001))


async def test_an_event_stays_small_whatever_a_call_carries(tmp_path: Path):
    async with serving(settings_for(tmp_path, max_frame_bytes=8 << 20)) as running:
        session = running.session()
        async with running.connect() as chat:
            await chat.command(type="subscribe", session_id=session.id)
            await chat.command(
                type="tool_call",
                session_id=session.id,
                name="write_file",
                arguments={"path": "big.txt", "content": "x" * 5_000_000},
            )
            finished = await chat.until("run_finished")
        rows = await running.service.archive.events(session.id, session.epoch, after=0)

    assert finished["status"] == "success"
    assert (running.service.settings.workspace_dir / "big.txt").stat().st_size == 5_000_000
    assert max(len(body) for _, body in rows) < EVENT_LIMIT
