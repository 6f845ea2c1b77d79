"""Live output, its cap, and the artifact that holds the rest."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.config.settings import Settings
from app.execution.artifacts import Spool
from app.execution.calls import CallRequest
from app.execution.outcome_builder import SHARED
from app.toolkit.context import Output
from app.toolkit.result import ToolResult
from tests.execution.lab import AnyArgs, Lab, made, open_lab


def artifact_of(text: str) -> str:
    return text.split("path=", 1)[1].split(" ", 1)[0].rstrip("]")


@pytest.mark.requirement("D-18")
async def test_a_long_result_is_capped_and_read_on_line_by_line(house: Lab):
    lines = [f"line {number}\n" for number in range(1, 6001)]

    async def talks(args: AnyArgs, ctx: Any) -> str:
        return "".join(lines)

    house.add(made(talks, max_output_chars=2000))
    outcome = await house.call("talks")
    assert outcome.truncated
    assert len(outcome.text) < 2300
    assert outcome.text.startswith("line 1\n")
    assert outcome.text.endswith("line 6000\n")
    path = artifact_of(outcome.text)
    assert path == f"artifact:{outcome.artifact_id}"
    page = await house.call("read_file", "c2", path=path, start_line=3000, limit=2)
    assert page.result.data["content"] == "line 3000\nline 3001\n"
    assert page.result.data["total_lines"] == 6000
    without = await house.run(CallRequest("c3", "read_file", {"path": path}), project=None)
    assert without[0].success
    completed = house.watcher.of("tool_call_completed", tool_call_id="c1")[0]
    assert (completed["truncated"], completed["artifact_id"]) == (True, outcome.artifact_id)


@pytest.mark.requirement("D-18")
@pytest.mark.parametrize("workers", [1, 6])
async def test_the_results_of_one_turn_share_what_a_model_is_given(
    settings: Settings, workers: int
):
    small = settings.model_copy(update={"turn_output_chars": 20_000})

    async def talks(args: AnyArgs, ctx: Any) -> str:
        return f"{args.text} " * 4_000

    async with open_lab(small) as lab:
        lab.add(made(talks, cacheable=True))
        # The last one equals the first, and is not run again.
        requests = [CallRequest(f"c{n}", "talks", {"text": f"n{n % 11}"}) for n in range(12)]
        outcomes = await lab.run(*requests, workers=workers)
        again = await lab.run(*(CallRequest(f"d{r.id}", r.name, r.arguments) for r in requests))
        by_hand = await lab.run(*requests, workers=workers, caller="rest", cacheable=False)
        for reported in (outcomes, again):
            assert sum(len(outcome.text) for outcome in reported) < 20_000 + 12 * 300
            assert all(len(outcome.text) > 900 for outcome in reported)
            assert all(outcome.artifact_id for outcome in reported)
        path = artifact_of(outcomes[5].text)
        page = await lab.call("read_file", "page", path=path)
        assert page.result.data["content"].startswith("n5 n5 ")
    # A program that calls takes everything as it is; the last call has the first one's result.
    *texts, shared = [outcome.text for outcome in by_hand]
    assert {len(text) for text in texts} == {12_000, 16_000}
    assert shared == f"{texts[0]}\n\n{SHARED}"


async def test_what_was_printed_beyond_the_result_is_in_the_artifact(house: Lab):
    async def prints(args: AnyArgs, ctx: Any):
        for number in range(3000):
            yield Output(f"row {number}\n", "stdout")
        yield ToolResult.ok(text="3000 rows")

    house.add(made(prints, max_output_chars=1000))
    outcome = await house.call("prints")
    assert outcome.text.startswith("3000 rows\n[Output truncated: ")
    last = await house.call("read_file", "c2", path=artifact_of(outcome.text), start_line=3000)
    assert last.result.data["content"] == "row 2999\n"


@pytest.mark.parametrize(
    "path",
    [
        "artifact:art_000000000000000000000000",
        "artifact:",
        "artifact:../../tollgate.db",
        "artifact:{other}",
    ],
)
async def test_an_artifact_of_nobody_or_of_another_session_is_not_found(house: Lab, path: str):
    other = house.sessions.create(user_id="bob")
    kept = await house.runtime.artifacts.save(
        other.id, "x", "text/plain", b"private", operation_id=None
    )
    outcome = await house.call("read_file", path=path.format(other=kept.id))
    assert (outcome.status, outcome.result.code) == ("error", "artifact_not_found")
    assert "private" not in str(house.watcher.events)


async def test_artifacts_are_read_beside_files(house: Lab):
    kept = await house.runtime.artifacts.save(
        house.session.id, "x", "text/plain", "grüß\n".encode(), operation_id=None
    )
    await house.context["project"].operations.files.write("a.txt", b"file\n")
    outcome = await house.call("read_file", paths=[f"artifact:{kept.id}", "a.txt"])
    assert [file["content"] for file in outcome.result.data["files"]] == ["grüß\n", "file\n"]


async def test_when_output_cannot_be_kept_the_result_says_so_and_the_call_succeeds(
    house: Lab, monkeypatch
):
    (house.runtime.settings.data_dir / "artifacts").write_text("in the way", encoding="utf-8")

    async def talks(args: AnyArgs, ctx: Any) -> str:
        return "x" * 5000

    house.add(made(talks, max_output_chars=1000))
    outcome = await house.call("talks")
    assert (outcome.status, outcome.artifact_id, outcome.truncated) == ("success", None, True)
    assert "Cannot store the output" in outcome.text


async def test_a_spool_is_gone_after_it_was_discarded_or_finished(tmp_path):
    spool = Spool(tmp_path)
    await asyncio.to_thread(spool.write, b"abc")
    spool.discard()
    spool.discard()
    assert list(tmp_path.iterdir()) == []
    empty = Spool(tmp_path)
    size, digest = await asyncio.to_thread(empty.finish, tmp_path / "x" / "y")
    assert (size, digest[:8]) == (0, "e3b0c442")


@pytest.mark.requirement("STR-06")
async def test_output_is_numbered_without_holes_and_a_late_comer_sees_the_tail(lab: Lab):
    reached, go = asyncio.Event(), asyncio.Event()

    async def prints(args: AnyArgs, ctx: Any):
        yield Output("a", "stdout")
        yield Output("b", "stderr")
        yield Output("c" * 20_000, "stdout")
        reached.set()
        await go.wait()
        yield "end"

    lab.add(made(prints))
    running = asyncio.create_task(lab.call("prints"))
    await reached.wait()
    (live,) = lab.session.log.live.values()
    snapshots = [(fields["stream"], fields["text"][:2]) for _, fields in live.snapshot()]
    assert snapshots == [("stdout", "ac"), ("stderr", "b")]
    go.set()
    await running
    streamed = lab.watcher.of("tool_result_streamed")
    ranges = [(event["stream"], event["chunk_from"], event["chunk_to"]) for event in streamed]
    assert ranges == [
        ("stdout", 0, 1),
        ("stderr", 0, 1),
        ("stdout", 1, 2),
        ("content", 0, 1),
    ]
    assert "".join(event["text"] for event in streamed) == "ab" + "c" * 20_000 + "end"
    assert lab.watcher.of("tool_call_completed")[0]["chunks"] == 4
    assert lab.session.log.live == {}


@pytest.mark.requirement("EVT-04", "EVT-05")
async def test_progress_is_live_sampled_and_complete_in_a_file(lab: Lab):
    async def works(args: AnyArgs, ctx: Any) -> str:
        await ctx.progress("reading", "starts", current=0, total=4)
        for number in range(1, 5):
            await ctx.progress("reading", current=number, total=4, unit="files")
        await ctx.progress("writing", current=float("nan"))
        return "x"

    lab.add(made(works))
    outcome = await lab.call("works")
    path = lab.runtime.settings.data_dir / "operations" / f"{outcome.operation_id}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 6
    live = lab.watcher.of("process_progress")
    assert [event["op_seq"] for event in live] == [1, 2, 3, 4, 5, 6]
    assert live[4]["progress"] == {"current": 4, "total": 4, "unit": "files", "percent": 100.0}
    sampled = [(e["stage"], e["status"]) for e in lab.watcher.of("process_event")]
    assert sampled == [("reading", "started"), ("writing", "started"), ("writing", "completed")]
    assert lab.watcher.about("c1")[-1] == "tool_call_completed"
