"""The timeline of a session's tools, from what was stored, also after a restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.agents.timeline import MAX_STAGES, OperationTimeline
from app.execution.calls import CallRequest
from app.execution.context import CallContext
from app.execution.subagent import Subagent
from app.governance.agents import SubagentScope
from tests.api.rest.client import call, new_session, problem
from tests.execution.lab import AnyArgs, made
from tests.execution.test_narrowed_projects import NoProcess
from tests.support.http import HttpClient
from tests.support.service import Running, serving, settings_for

Found = dict[str, Any]


async def works(args: AnyArgs, ctx: Any) -> str:
    """Made for a test."""
    await ctx.progress("reading", "starts", current=0, total=2, unit="files")
    await ctx.progress("reading", "half", current=1, total=2, unit="files")
    await ctx.progress("writing")
    if args.number == 13:
        raise ValueError("broken")
    return "x"


async def timeline(running: Running, session_id: str, **query: Any) -> Found:
    async with HttpClient(base_url=running.api) as client:
        response = await client.get(f"/sessions/{session_id}/timeline", params=query)
    assert response.status_code == 200, response.text
    found: Found = response.json()
    return found


def shown(operation: Found) -> list[tuple[Any, ...]]:
    return [
        (stage["stage"], stage["status"], stage["message"], stage["percent"])
        for stage in operation["stages"]
    ]


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serving(settings_for(tmp_path)) as served:
        served.service.registry.register(made(works))
        yield served


async def do(running: Running, session_id: str, number: int = 0) -> Found:
    async with HttpClient(base_url=running.api) as client:
        done = await call(client, "works", arguments={"number": number}, session_id=session_id)
    record: Found = done["record"]
    return record


@pytest.mark.requirement("EVT-06")
async def test_after_a_restart_the_timeline_is_that_of_before(tmp_path: Path):
    settings = settings_for(tmp_path)
    async with serving(settings) as first:
        first.service.registry.register(made(works))
        async with HttpClient(base_url=first.api) as client:
            session_id = await new_session(client)
        good = await do(first, session_id)
        bad = await do(first, session_id, 13)
        before = await timeline(first, session_id)
        whole = await timeline(first, session_id, operation_id=good["operation_id"])
    async with serving(settings) as second:
        after = await timeline(second, session_id)
        again = await timeline(second, session_id, operation_id=good["operation_id"])

    assert (after, again) == (before, whole)
    one, two = after["operations"]
    assert [one["operation_id"], two["operation_id"]] == [good["operation_id"], bad["operation_id"]]
    assert (one["tool_name"], one["status"], one["source"]) == ("works", "success", "sampled")
    assert shown(one) == [
        ("reading", "completed", "starts", 0.0),
        ("writing", "completed", None, None),
    ]
    assert (two["status"], shown(two)[-1][:2]) == ("error", ("writing", "failed"))
    first_stage, second_stage = one["stages"]
    assert first_stage["started_at"] <= first_stage["ended_at"] == second_stage["started_at"]
    assert second_stage["ended_at"] == one["ended_at"]
    (complete,) = again["operations"]
    assert (complete["source"], complete["ended_at"]) == ("complete", one["ended_at"])
    assert shown(complete)[0] == ("reading", "completed", "half", 50.0)
    assert [stage["reports"] for stage in complete["stages"]] == [2, 1]


async def test_the_snapshot_of_a_session_shows_the_last_state_of_its_calls(running: Running):
    session_id = running.session().id
    record = await do(running, session_id)
    async with HttpClient(base_url=running.api) as client:
        snapshot = (await client.get(f"/sessions/{session_id}/snapshot")).json()
    (one,) = snapshot["processes"]
    reported = (one["operation_id"], one["tool_name"], one["stage"], one["status"])
    assert reported == (record["operation_id"], "works", "writing", "completed")


async def test_a_timeline_is_read_page_by_page(running: Running):
    session_id = running.session().id
    begun = [(await do(running, session_id, number))["operation_id"] for number in range(5)]

    seen: list[str] = []
    after: int | None = 0
    while after is not None:
        page = await timeline(running, session_id, limit=2, after=after)
        seen += [one["operation_id"] for one in page["operations"]]
        assert all(one["ended_at"] for one in page["operations"])
        after = page["next_after"]

    assert seen == begun


async def test_a_call_that_runs_is_running_and_one_that_a_crash_ended_is_interrupted(
    running: Running,
):
    reached, go = asyncio.Event(), asyncio.Event()

    async def waits(args: AnyArgs, ctx: Any) -> str:
        """Made for a test."""
        await ctx.progress("waiting")
        reached.set()
        await go.wait()
        return "x"

    running.service.registry.register(made(waits))
    session_id = running.session().id
    async with HttpClient(base_url=running.api) as client:
        task = asyncio.create_task(call(client, "waits", session_id=session_id))
        await reached.wait()
        await running.service.db.flush()
        (now,) = (await timeline(running, session_id))["operations"]
        go.set()
        await task
    (done,) = (await timeline(running, session_id))["operations"]

    assert (now["status"], now["ended_at"], shown(now)[0][1]) == ("running", None, "running")
    assert (done["status"], shown(done)[0][1]) == ("success", "completed")
    crashed = OperationTimeline("op_1")
    crashed.take({"ts": "2026-01-01T00:00:00.000Z", "op_seq": 1, "stage": "waiting"})
    crashed.settle(None, is_running=False)
    assert (crashed.status, crashed.stages[0].status, crashed.ended_at) == (
        "interrupted",
        "interrupted",
        None,
    )


async def test_calls_of_a_sub_agent_name_its_run_and_the_call_that_delegated(running: Running):
    session = running.session()
    runtime = running.service.runtime
    subagent = Subagent(
        task_id="task_1",
        label="reader",
        parent_tool_call_id="call_parent",
        scope=SubagentScope(),
        depth=1,
        process=NoProcess(),
    )
    context = CallContext(log=session.log, run_id="run_child", caller="subagent", subagent=subagent)
    await runtime.executor.run([CallRequest("c1", "works", {})], context)
    await runtime.db.flush()

    (one,) = (await timeline(running, session.id))["operations"]

    reported = (one["run_id"], one["parent_tool_call_id"], one["tool_call_id"])
    assert reported == ("run_child", "call_parent", "c1")


async def test_every_report_of_a_call_can_be_had_piece_by_piece(running: Running):
    session_id = running.session().id
    operation_id = (await do(running, session_id))["operation_id"]
    path = f"/sessions/{session_id}/operations/{operation_id}/progress"
    async with HttpClient(base_url=running.api) as client:
        whole = await client.get(path)
        size = int(whole.headers["x-log-size"])
        first = await client.get(path, params={"limit": 10})
        rest = await client.get(path, params={"offset": 10})
        beyond = await client.get(path, params={"offset": size + 1})

    assert [json.loads(line)["op_seq"] for line in whole.text.splitlines()] == [1, 2, 3]
    assert first.content + rest.content == whole.content
    assert len(whole.content) == size
    assert (await problem(beyond))["code"] == "validation_failed"


async def test_reports_are_for_their_own_session_alone(running: Running, tmp_path: Path):
    mine, other = running.session().id, running.session().id
    operation_id = (await do(running, mine))["operation_id"]
    (tmp_path / "secret.jsonl").write_text('{"stage":"secret","ts":"x"}\n')
    async with HttpClient(base_url=running.api) as client:
        for session_id, wanted in (
            (other, operation_id),
            (mine, "op_unknown"),
            (mine, "..%2Fsecret"),
            (mine, "../secret"),
        ):
            read = await client.get(f"/sessions/{session_id}/operations/{wanted}/progress")
            shown_ = await client.get(
                f"/sessions/{session_id}/timeline", params={"operation_id": wanted}
            )
            assert (read.status_code, shown_.status_code) == (404, 404)


async def test_without_its_file_a_call_is_distinguished_from_the_samples(running: Running):
    session_id = running.session().id
    operation_id = (await do(running, session_id))["operation_id"]
    folder = running.service.settings.data_dir / "operations"
    (folder / f"{operation_id}.jsonl").unlink()

    (one,) = (await timeline(running, session_id, operation_id=operation_id))["operations"]
    async with HttpClient(base_url=running.api) as client:
        gone = await client.get(f"/sessions/{session_id}/operations/{operation_id}/progress")

    assert (one["source"], one["status"], len(one["stages"])) == ("sampled", "success", 2)
    assert (await problem(gone))["code"] == "not_found"


async def test_a_log_that_a_crash_has_cut_off_is_read_as_far_as_it_goes(running: Running):
    session_id = running.session().id
    operation_id = (await do(running, session_id))["operation_id"]
    path = running.service.settings.data_dir / "operations" / f"{operation_id}.jsonl"
    path.write_bytes(path.read_bytes()[:-20] + b"\n[1]\nnull\n")

    (one,) = (await timeline(running, session_id, operation_id=operation_id))["operations"]

    assert one["source"] == "complete"
    assert [stage["stage"] for stage in one["stages"]] == ["reading"]


def test_stages_beyond_the_most_are_counted():
    call = OperationTimeline("op_1")
    for number in range(MAX_STAGES + 7):
        call.take({"ts": "2026-01-01T00:00:00.000Z", "op_seq": number, "stage": f"s{number}"})
    assert (len(call.stages), call.left_out) == (MAX_STAGES, 7)
