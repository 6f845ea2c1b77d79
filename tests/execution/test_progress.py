"""What is kept of the reports of running tools: bounded files, bounded samples."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.config.sections import ProgressSettings
from app.config.settings import Settings
from app.core.clock import ManualClock
from app.db.process_samples import MAX_KEPT
from app.execution.calls import CallRequest
from app.execution.operation_logs import OperationLogs
from app.execution.progress import MAX_STAGES
from tests.execution.lab import AnyArgs, Lab, bare_lab, made


async def _meta(lab: Lab) -> dict[str, Any]:
    (row,) = await lab.rows("SELECT meta FROM sessions WHERE id = ?", lab.session.id)
    return dict(json.loads(row[0]))


@pytest.mark.requirement("EVT-05")
async def test_the_metadata_of_a_session_holds_the_last_state_of_its_last_calls(lab: Lab):
    async def works(args: AnyArgs, ctx: Any) -> str:
        await ctx.progress("reading", "m" * 5000, current=1, total=4)
        await ctx.progress("writing", current=4, total=4)
        if args.number % 2:
            raise ValueError("broken")
        return "x"

    lab.add(made(works))
    for number in range(MAX_KEPT + 5):
        await lab.call("works", f"c{number}", number=number)

    kept = (await _meta(lab))["processes"]
    assert [one["tool_call_id"] for one in kept] == [f"c{n}" for n in range(5, MAX_KEPT + 5)]
    assert {one["stage"] for one in kept} == {"writing"}
    assert [one["status"] for one in kept[:2]] == ["failed", "completed"]
    assert (kept[0]["percent"], kept[0]["tool_name"]) == (100.0, "works")
    assert len(json.dumps(kept)) < MAX_KEPT * 800


async def test_samples_leave_the_rest_of_the_metadata_alone(lab: Lab):
    async def works(args: AnyArgs, ctx: Any) -> str:
        await ctx.progress("reading", "é" * 300)
        return "x"

    lab.session = lab.sessions.create(user_id="ann", meta={"business": {"channelId": "c 说明"}})
    lab.add(made(works))
    await lab.call("works")
    meta = await _meta(lab)
    assert meta["business"] == {"channelId": "c 说明"}
    assert len(meta["processes"][0]["message"]) == 200


async def test_a_tool_that_changes_its_stage_all_the_time_does_not_flood_the_log(
    settings: Settings,
):
    async def jumps(args: AnyArgs, ctx: Any) -> str:
        for number in range(MAX_STAGES * 3):
            await ctx.progress(f"stage {number}")
        return "x"

    async with bare_lab(settings, clock=ManualClock()) as lab:
        lab.add(made(jumps))
        outcome = await lab.call("jumps")
        await lab.runtime.db.flush()
        sampled = lab.watcher.of("process_event")
    path = settings.data_dir / "operations" / f"{outcome.operation_id}.jsonl"
    assert len(sampled) == MAX_STAGES + 1
    assert (sampled[-1]["stage"], sampled[-1]["status"]) == (
        f"stage {MAX_STAGES * 3 - 1}",
        "completed",
    )
    assert len(path.read_bytes().splitlines()) == MAX_STAGES * 3


async def test_the_log_of_one_call_ends_where_its_room_does_and_says_so(settings: Settings):
    small = settings.model_copy(update={"progress": ProgressSettings(log_mb=1)})

    async def talks(args: AnyArgs, ctx: Any) -> str:
        for _ in range(300):
            await ctx.progress("talking", "m" * 5000)
        return "x"

    async with bare_lab(small) as lab:
        lab.add(made(talks))
        outcome = await lab.call("talks")
    data = (settings.data_dir / "operations" / f"{outcome.operation_id}.jsonl").read_bytes()
    lines = [orjson.loads(line) for line in data.splitlines()]
    assert len(data) <= (1 << 20) + 100
    assert lines[-1].keys() == {"ts", "truncated"}
    assert all("truncated" not in line for line in lines[:-1])


async def test_a_log_that_cannot_be_written_fails_no_call(settings: Settings, caplog: Any):
    async def works(args: AnyArgs, ctx: Any) -> str:
        await ctx.progress("reading")
        await ctx.progress("reading")
        return "done"

    (settings.data_dir / "operations").write_text("a file where the folder should be")
    async with bare_lab(settings) as lab:
        lab.add(made(works))
        outcome = await lab.call("works")
        assert lab.watcher.of("process_event", status="completed")
    assert outcome.status == "success"
    assert caplog.text.count("cannot store the progress") == 1


def _fill(folder: Path, *ages_s: float, size: int = 10) -> None:
    """Logs `op_0`, `op_1`, … of that age."""
    for number, age in enumerate(ages_s):
        path = folder / f"op_{number}.jsonl"
        path.write_bytes(b"x" * size)
        os.utime(path, (time.time() - age, time.time() - age))


def _left(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.iterdir())


DAY = 86_400.0


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        (ProgressSettings(), ["op_0", "op_1", "op_2", "other"]),
        (ProgressSettings(log_days=0), ["op_0", "op_1", "op_2", "op_3", "other"]),
        (ProgressSettings(log_days=2), ["op_0", "op_1", "other"]),
        (ProgressSettings(log_files=1), ["op_0", "other"]),
    ],
)
def test_old_logs_go_first(tmp_path: Path, settings: ProgressSettings, left: list[str]):
    _fill(tmp_path, 1, DAY, 10 * DAY, 40 * DAY)
    (tmp_path / "other").write_text("not ours")
    OperationLogs(tmp_path, settings).prune()
    assert _left(tmp_path) == left


def test_logs_are_bounded_together(tmp_path: Path):
    _fill(tmp_path, 3, 2, 1, size=700 << 10)
    gone = OperationLogs(tmp_path, ProgressSettings(total_mb=1)).prune()
    assert (gone, _left(tmp_path)) == (2, ["op_2"])


async def test_room_is_made_when_a_call_begins_to_report(settings: Settings):
    folder = settings.data_dir / "operations"
    folder.mkdir()
    _fill(folder, 40 * DAY)

    async def works(args: AnyArgs, ctx: Any) -> str:
        await ctx.progress("reading")
        return "x"

    async with bare_lab(settings) as lab:
        lab.add(made(works))
        (outcome,) = await lab.run(CallRequest("c1", "works", {}))
    assert _left(folder) == [outcome.operation_id]
