import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from app.agents.session_queries import SessionQueries
from app.api.rest.stream import Feed
from app.config.settings import Settings
from app.core.errors import UnrecoverablePosition
from app.events.log import Frame, SessionLog
from tests.api.rest.client import call, new_session, problem, watching
from tests.support.service import Running, settings_for
from tests.support.stored_events import forget


async def filled(client: httpx2.AsyncClient) -> tuple[str, int]:
    """A session with a few events; its id and its head."""
    session_id = await new_session(client)
    await call(client, "calculator", arguments={"expression": "1"}, session_id=session_id)
    return session_id, (await client.get(f"/sessions/{session_id}/events")).json()["head"]


async def test_events_come_in_pages_without_gap_or_double(client: httpx2.AsyncClient):
    session_id, head = await filled(client)

    seen: list[int] = []
    while len(seen) < head:
        after = seen[-1] if seen else 0
        params = {"after": after, "limit": 2}
        page = (await client.get(f"/sessions/{session_id}/events", params=params)).json()
        assert page["events"]
        seen += [event["seq"] for event in page["events"]]

    assert seen == list(range(1, head + 1))


@pytest.mark.parametrize("after", [0, 1])
async def test_the_newest_events_are_those_that_end_with_the_head(
    client: httpx2.AsyncClient, after: int
):
    session_id, head = await filled(client)
    for limit in (1, 2, head - after, head, head + 10):
        params: dict[str, str | int] = {"newest": "true", "limit": limit, "after": after}
        page = (await client.get(f"/sessions/{session_id}/events", params=params)).json()
        seen = [event["seq"] for event in page["events"]]
        assert (page["head"], seen) == (head, list(range(max(after, head - limit) + 1, head + 1)))


async def test_an_empty_session_has_no_newest_events(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    page = (await client.get(f"/sessions/{session_id}/events", params={"newest": "true"})).json()
    assert (page["head"], page["events"]) == (0, [])


@pytest.mark.parametrize("where", ["events", "events/stream"])
@pytest.mark.parametrize("params", [{"after": 999}, {"epoch": "ep_other"}])
async def test_a_position_that_the_log_never_had_is_gone(
    client: httpx2.AsyncClient, where: str, params: dict[str, str]
):
    session_id, _ = await filled(client)

    reported = await problem(await client.get(f"/sessions/{session_id}/{where}", params=params))

    assert (reported["status"], reported["code"]) == (410, "unrecoverable_position")


async def test_a_stream_replays_and_goes_on_live(client: httpx2.AsyncClient):
    session_id, head = await filled(client)
    async with watching(client, session_id) as reader:
        replayed = [await reader.next() for _ in range(head)]
        await call(client, "calculator", arguments={"expression": "2"}, session_id=session_id)
        live = [event for event in await reader.until("run_finished") if "seq" in event]

    assert [name for name, _ in replayed] == [str(seq) for seq in range(1, head + 1)]
    assert [event["seq"] for event in live] == list(range(head + 1, head + 1 + len(live)))


async def test_a_stream_goes_on_after_the_last_event_id(client: httpx2.AsyncClient):
    session_id, _ = await filled(client)

    options = {"headers": {"last-event-id": "2"}, "params": {"after": 1}}
    async with watching(client, session_id, **options) as reader:
        name, event = await reader.next()

    assert (name, event["seq"]) == ("3", 3)


async def test_a_last_event_id_that_is_no_seq_is_refused(client: httpx2.AsyncClient):
    session_id, _ = await filled(client)

    reported = await problem(
        await client.get(
            f"/sessions/{session_id}/events/stream", headers={"last-event-id": "yesterday"}
        )
    )

    assert (reported["status"], reported["code"]) == (422, "validation_failed")


async def test_live_output_has_no_id_and_can_be_left_out(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    async with (
        watching(client, session_id) as all_of_it,
        watching(client, session_id, params={"ephemerals": "false"}) as facts,
    ):
        await call(client, "bash", arguments={"command": "echo hi"}, session_id=session_id)
        everything = await all_of_it.until("run_finished")
        durable = await facts.until("run_finished")

    assert any(event["type"] == "tool_result_streamed" for event in everything)
    assert [event for event in everything if "seq" in event] == durable


async def test_a_stream_that_ends_no_longer_watches(client: httpx2.AsyncClient, serving: Running):
    session_id, _ = await filled(client)
    log = serving.service.runtime.events.get(session_id)
    assert log is not None
    async with watching(client, session_id) as reader:
        await reader.next()
        (feed,) = log.subscribers
        assert isinstance(feed, Feed)
        feed.close()
        with pytest.raises(EOFError):
            await reader.until("nothing of this type")

    assert log.subscribers == set()


async def test_a_client_that_leaves_in_the_middle_is_no_failure(
    client: httpx2.AsyncClient, serving: Running, caplog: pytest.LogCaptureFixture
):
    session_id, _ = await filled(client)
    log = serving.service.runtime.events.get(session_id)
    assert log is not None
    for _ in range(20):
        async with watching(client, session_id):
            pass
    async with asyncio.timeout(60):
        while log.subscribers:  # noqa: ASYNC110 - the server notices by itself
            await asyncio.sleep(0)

    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_silent_stream_says_now_and_then_that_it_lives(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("app.api.rest.stream.QUIET_S", 0.05)
    session_id, head = await filled(client)

    async with client.stream(
        "GET", f"/sessions/{session_id}/events/stream?after={head}"
    ) as reported:
        lines = reported.aiter_lines()
        async with asyncio.timeout(60):
            heard = [await anext(lines) for _ in range(4)]

    assert heard == [": ping", "", ": ping", ""]
    assert reported.headers["cache-control"] == "no-cache"


class TestLongLog:
    """What the ring no longer holds comes from the database."""

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Settings:
        return settings_for(tmp_path, anthropic_api_key=None, event_buffer_size=10)

    async def test_a_replay_begins_in_the_database(self, client: httpx2.AsyncClient):
        session_id, _ = await filled(client)
        for number in range(3):
            expression = {"expression": f"{number}+1"}
            await call(client, "calculator", arguments=expression, session_id=session_id)
        head = (await client.get(f"/sessions/{session_id}/events")).json()["head"]

        async with watching(client, session_id) as reader:
            seen = [(await reader.next())[0] for _ in range(head)]

        assert head > 10
        assert seen == [str(seq) for seq in range(1, head + 1)]


@pytest.fixture
async def log(client: httpx2.AsyncClient, serving: Running) -> SessionLog:
    session_id, _ = await filled(client)
    log = serving.service.runtime.events.get(session_id)
    assert log is not None
    return log


def feed_of(log: SessionLog, *, after: int = 0, frames: int = 4) -> Feed:
    return Feed(log, after=after, ephemerals=True, max_frames=frames, max_bytes=1 << 20)


async def drained(feed: Feed, archive: SessionQueries) -> list[int]:
    feed.close()
    return [frame.seq async for frame in feed.frames(archive)]


async def test_a_full_feed_drops_live_output_and_keeps_facts(log: SessionLog, serving: Running):
    feed = feed_of(log, after=log.committed)
    for seq in (0, 101, 0, 102, 0, 103, 104):
        feed.deliver(log.session_id, Frame(seq, b"{}"))

    seen = await drained(feed, serving.service.archive)

    assert seen == [101, 102, 103, 104]


async def test_a_feed_that_overflows_with_facts_ends_without_a_gap(
    log: SessionLog, serving: Running
):
    feed = feed_of(log, after=log.committed)
    for seq in range(101, 110):
        feed.deliver(log.session_id, Frame(seq, b"{}"))

    assert feed not in log.subscribers
    assert await drained(feed, serving.service.archive) == [101, 102, 103, 104]


async def test_what_is_committed_during_the_replay_comes_once_after_it(
    log: SessionLog, serving: Running
):
    head = log.committed
    feed = feed_of(log)
    frames = feed.frames(serving.service.archive)
    first = await anext(frames)
    log.append("process_event", '"op_seq":1,"stage":"x","status":"log"}')
    await serving.service.db.flush()
    feed.close()
    rest = [frame.seq async for frame in frames]

    assert [first.seq, *rest] == list(range(1, head + 2))


async def test_a_replay_that_would_have_a_hole_is_refused(log: SessionLog, serving: Running):
    archive = serving.service.archive
    log.ring.clear()
    db = serving.service.db
    await db.flush()
    with closing(sqlite3.connect(serving.service.settings.database_path)) as database, database:
        forget(database, lambda event: event.seq <= 2)

    with pytest.raises(UnrecoverablePosition):
        await feed_of(log).prepare(archive)


async def test_a_feed_from_beyond_the_end_is_refused_and_not_registered(log: SessionLog):
    with pytest.raises(UnrecoverablePosition):
        feed_of(log, after=log.committed + 1)

    assert log.subscribers == set()
