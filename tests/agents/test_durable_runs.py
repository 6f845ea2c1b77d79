"""A run outlives its process: it goes on from its last finished step, and repeats nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from pydantic import SecretStr

from app.agents.history import INTERRUPTED, NOT_RUN
from app.agents.progress import RunProgress
from app.agents.restart_policy import MOST_TRIES, ResumeOnRestart
from app.bootstrap.installation import local_runtime
from app.bootstrap.service import open_service
from app.config.settings import Settings
from app.governance.limits import Limits, QuotaSubject
from tests.agents.models.exchange import KEY
from tests.agents.office import open_office
from tests.agents.suspended import Killed, events_of, killed, run_is_over, watched
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Gate, Turn, text, tool_use
from tests.support.stored_events import forget

LONG = {"command": "echo x >> ran; touch begun; sleep 600"}
THREE = Turn(
    tool_use("calculator", {"expression": "6*7"}, id="t1"),
    tool_use("bash", LONG, id="t2"),
    tool_use("bash", {"command": "echo x >> ran"}, id="t3"),
)
DONE = Turn(text("Done."))


def change(settings: Settings, sql: str, *values: Any) -> None:
    """Bring the database of a killed process into a state that a crash may leave."""
    with sqlite3.connect(settings.database_path) as connection:
        connection.execute(sql, values)
    connection.close()


def reported(request: Received) -> dict[str, str]:
    """What the model reads of each call, by its id."""
    return {key: item["content"][0]["text"] for key, item in request.tool_results().items()}


def words(request: Received) -> list[str]:
    """What people said, in order."""
    return [
        block["text"]
        for message in request.messages
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] == "text" and not block["text"].startswith("<reminder>")
    ]


async def cut_in_a_call(settings: Settings, provider: ScriptedAnthropic, **options: Any) -> Killed:
    """A process that died in the second of three calls, of which one ran at a time."""
    ways: dict[str, Any] = {"anthropic_api_key": KEY, "anthropic_base_url": provider.base_url}
    return await killed(
        settings,
        trace=True,
        until={"tool_call_completed": 1},
        tool_max_workers=1,
        **ways,
        **options,
    )


def successor(settings: Settings, provider: ScriptedAnthropic, **changes: Any) -> Settings:
    """Settings of the service that comes next."""
    ways = {"anthropic_api_key": SecretStr(KEY), "anthropic_base_url": provider.base_url}
    return settings.model_copy(update=ways | changes)


async def ended(settings: Settings, left: Killed) -> list[dict[str, Any]]:
    """The events of the session once the next service has brought its run to an end."""
    async with open_service(settings) as service:
        await run_is_over(service, left.session_id)
        return await events_of(service.archive, left.session_id)


async def test_a_run_goes_on_and_each_call_of_its_last_turn_is_reported_as_what_it_came_to(
    settings: Settings,
):
    async with ScriptedAnthropic(THREE, DONE, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider)
        events = await ended(successor(settings, provider), left)
        async with open_service(settings) as service:
            row = await service.archive.run(left.run_id)
        results = reported(provider.requests[1])
        assert provider.refused == []
    assert "42" in results["t1"]
    assert (results["t2"], results["t3"]) == (INTERRUPTED, NOT_RUN)
    calls = [
        (e["type"], e["tool_call_id"], e.get("status"))
        for e in events
        if e["type"].startswith("tool_call_")
    ]
    assert calls == [
        ("tool_call_started", "t1", None),
        ("tool_call_completed", "t1", "success"),
        ("tool_call_started", "t2", None),
        ("tool_call_completed", "t2", "interrupted"),
    ]
    (resumed,) = [e for e in events if e["type"] == "run_resumed"]
    assert (resumed["run_id"], resumed["interrupted"]) == (left.run_id, ["t2"])
    (finished,) = [e for e in events if e["type"] == "run_finished"]
    assert (finished["status"], finished["usage"]["output_tokens"]) == ("success", 30)
    assert left.ran == "x"
    assert row is not None
    assert (row.status, row.progress, row.input) == ("success", None, None)


async def test_runs_end_with_their_process_where_that_is_asked_for(settings: Settings):
    async with ScriptedAnthropic(THREE, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider, durable_runs="close")
        after = successor(settings, provider, durable_runs="close")
        events = await ended(after, left)
        assert len(provider.requests) == 1
    assert [(e["type"], e.get("status")) for e in events[-2:]] == [
        ("tool_call_completed", "interrupted"),
        ("run_finished", "interrupted"),
    ]


async def test_what_kept_nothing_is_closed_also_by_a_service_that_continues(settings: Settings):
    async with ScriptedAnthropic(THREE, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider, durable_runs="close")
        events = await ended(successor(settings, provider), left)
    assert events[-1]["status"] == "interrupted"
    assert "run_resumed" not in [e["type"] for e in events]


@pytest.mark.parametrize("tries", [MOST_TRIES - 1, MOST_TRIES])
async def test_a_run_that_takes_its_service_down_again_and_again_is_given_up(
    settings: Settings, tries: int
):
    async with ScriptedAnthropic(THREE, DONE, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider)
        change(settings, "UPDATE runs SET progress = json_set(progress, '$.tries', ?)", tries)
        events = await ended(successor(settings, provider), left)
    finished = events[-1]
    if tries < MOST_TRIES:
        assert finished["status"] == "success"
        return
    assert finished["status"] == "interrupted"
    assert "4 times" in finished["error"]["message"]
    assert finished["usage"]["output_tokens"] == 15


async def test_a_crash_of_a_step_counts_and_an_orderly_stop_does_not(settings: Settings):
    held = [Gate(), Gate()]
    waits = [Turn(text("", runtime)) for runtime in held]
    async with ScriptedAnthropic(THREE, *waits, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider)
        for runtime in held:
            async with open_service(successor(settings, provider)) as service:
                await runtime.reached.wait()
                row = await service.archive.run(left.run_id)
                assert row is not None
                assert row.progress is not None
                assert RunProgress.read(row.progress).tries == 1


async def test_a_call_that_takes_its_service_down_each_time_is_not_forgiven(settings: Settings):
    again = Turn(tool_use("bash", {"command": "sleep 600"}, id="t4"))
    async with ScriptedAnthropic(THREE, again, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider)
        async with open_service(successor(settings, provider)) as service:
            watcher = await watched(service, left.session_id)
            await watcher.until("tool_call_started", tool_call_id="t4")
            await service.db.flush()
            row = await service.archive.run(left.run_id)
            assert row is not None
            assert row.progress is not None
            # The model has answered, and perhaps with the very call that did it.
            assert RunProgress.read(row.progress).tries == 1


async def test_the_run_of_a_revoked_token_does_not_go_on(settings: Settings):
    async with ScriptedAnthropic(THREE, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider, queued=("and then?",))
        change(
            settings,
            "UPDATE runs SET progress = json_set(progress, '$.payer.token_id', 'tok_gone')"
            " WHERE status = 'running'",
        )
        change(
            settings,
            "UPDATE runs SET input = json_set(input, '$.payer', json('{\"token_id\": \"gone\"}'))"
            " WHERE status = 'queued'",
        )
        events = await ended(successor(settings, provider), left)
        assert len(provider.requests) == 1
    first, queued = (e for e in events if e["type"] == "run_finished")
    assert (first["status"], first["error"]["code"]) == ("interrupted", "unauthenticated")
    assert queued["status"] == "cancelled"


async def test_the_run_of_an_agent_that_is_gone_ends_with_that_error(settings: Settings):
    async with ScriptedAnthropic(THREE, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider)
        change(settings, "UPDATE runs SET agent_id = 'gone'")
        events = await ended(successor(settings, provider), left)
    assert (events[-1]["status"], events[-1]["error"]["code"]) == ("error", "not_found")


async def test_the_run_of_a_project_that_is_gone_ends_with_that_error(settings: Settings):
    async with ScriptedAnthropic(THREE, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider)
        change(settings, "UPDATE sessions SET project_id = 'prj_gone'")
        events = await ended(successor(settings, provider), left)
    assert (events[-1]["status"], events[-1]["error"]["code"]) == ("error", "not_found")


async def test_model_requests_of_the_former_process_count(settings: Settings):
    again = Turn(tool_use("calculator", {"expression": "1"}, id="t9"))
    async with ScriptedAnthropic(THREE, again, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider)
        events = await ended(successor(settings, provider, max_iterations=2), left)
        assert len(provider.requests) == 2
    assert events[-1]["status"] == "max_turns"


async def test_a_request_that_was_under_way_is_asked_again(settings: Settings):
    held = Gate()
    async with ScriptedAnthropic(Turn(text("One mom", held)), DONE, api_key=KEY) as provider:
        ways: dict[str, Any] = {"anthropic_api_key": KEY, "anthropic_base_url": provider.base_url}
        left = await killed(settings, until={"text_delta": 1}, **ways)
        async with open_service(successor(settings, provider)) as service:
            await run_is_over(service, left.session_id)
            events = await events_of(service.archive, left.session_id)
            stored = await service.archive.entries(left.session_id)
    assert [entry.role for entry in stored] == ["user", "assistant"]
    assert events[-1]["status"] == "success"
    (resumed,) = [e for e in events if e["type"] == "run_resumed"]
    assert resumed["interrupted"] == []


async def test_messages_behind_a_run_that_goes_on_are_answered_after_it(settings: Settings):
    async with ScriptedAnthropic(THREE, *[DONE] * 3, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider, queued=("and then?", "and now?"))
        async with open_service(successor(settings, provider)) as service:
            for _ in range(3):
                await run_is_over(service, left.session_id)
            events = await events_of(service.archive, left.session_id)
        said = words(provider.requests[-1])
    assert said[-3:] == ["go on", "and then?", "and now?"]
    kinds = [e["type"] for e in events if e["type"] in ("run_started", "run_finished")]
    assert kinds == ["run_started", "run_finished"] * 3
    assert {e["status"] for e in events if e["type"] == "run_finished"} == {"success"}


async def test_an_orderly_stop_leaves_the_run_what_was_said_to_it_and_what_waits(
    settings: Settings,
):
    held = Gate()
    async with open_office(settings, Turn(text("I am at", held))) as office:
        run_id = await office.say("one")
        await held.reached.wait()
        steered = await office.say("and mind this", when_busy="steer")
        await office.say("two", when_busy="queue")
        session_id = office.session.id
    assert steered == run_id
    assert office.watcher.of("run_finished") == []
    async with open_office(settings, DONE, Turn(text("Two done."))) as office:
        for _ in range(2):
            await run_is_over(office.service, session_id)
        first, second = office.provider.requests
        events = await events_of(office.service.archive, session_id)
    assert words(first) == ["one", "and mind this"]
    assert words(second)[-1] == "two"
    finished = [(e["run_id"], e["status"]) for e in events if e["type"] == "run_finished"]
    assert [status for _, status in finished] == ["success", "success"]
    assert finished[0][0] == run_id


async def test_an_orderly_stop_in_a_call_tells_the_model_what_the_call_came_to(
    settings: Settings,
):
    one_by_one = settings.model_copy(update={"tool_max_workers": 1})
    async with open_office(one_by_one, THREE) as office:
        await office.say("go")
        await office.watcher.until("tool_call_started", tool_call_id="t2")
        session_id = office.session.id
    async with open_office(settings, DONE) as office:
        await run_is_over(office.service, session_id)
        results = reported(office.provider.requests[0])
        events = await events_of(office.service.archive, session_id)
        assert office.provider.refused == []
    assert list(results) == ["t1", "t2", "t3"]
    assert "cancelled" in results["t2"]
    starts = [e["operation_id"] for e in events if e["type"] == "tool_call_started"]
    ends = [e["operation_id"] for e in events if e["type"] == "tool_call_completed"]
    assert sorted(starts) == sorted(ends)


async def _said_its_last(settings: Settings, **progress: Any) -> str:
    """A session whose run was not told as ended after its model's last word."""
    async with open_office(settings, Turn(text("That is all."))) as office:
        await office.ask("one")
        session_id = office.session.id
    kept = RunProgress(turns={"stop_reason": "end_turn", "taken": 1}, **progress).stored()
    change(settings, "UPDATE runs SET status = 'running', owner = NULL, progress = ?", kept)
    with closing(sqlite3.connect(settings.database_path)) as database, database:
        forget(database, lambda event: event.type == "run_finished")
    return session_id


async def test_a_model_that_had_said_its_last_word_is_not_asked_again(settings: Settings):
    session_id = await _said_its_last(settings)
    async with open_office(settings) as office:
        await run_is_over(office.service, session_id)
        assert office.provider.requests == []
        events = await events_of(office.service.archive, session_id)
    assert (events[-1]["status"], events[-1]["stop_reason"]) == ("success", "end_turn")


async def test_a_message_that_the_last_word_did_not_know_is_answered(settings: Settings):
    first, second = Gate(), Gate()
    turns = [Turn(text("That is", first, " all.")), Turn(text("And", second))]
    async with open_office(settings, *turns) as office:
        await office.say("one")
        await first.reached.wait()
        await office.say("and this", when_busy="steer")
        first.open()
        await second.reached.wait()
        session_id = office.session.id
    async with open_office(settings, DONE) as office:
        await run_is_over(office.service, session_id)
        (request,) = office.provider.requests
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    assert words(request) == ["one", "and this"]


async def test_a_run_that_was_asked_to_stop_leaves_nothing_to_go_on_with(settings: Settings):
    held = Gate()
    async with open_office(settings, Turn(text("I", held))) as office:
        run_id = await office.say("one")
        await held.reached.wait()
        written: list[tuple[str | None, str]] = []
        db = office.runtime.db
        append = db.append

        def noted(statement: Any, row: Any) -> int:
            if "progress = ?" in statement.sql:
                written.append((row[0], row[1]))
            return append(statement, row)

        db.append = noted  # type: ignore[method-assign]
        await office.cancel(run_id)
        assert written == [(None, run_id)]
        assert (await office.ended(run_id))["status"] == "cancelled"


async def test_direct_calls_keep_nothing(settings: Settings):
    left = await killed(settings, ("c1", "bash", LONG), trace=True, until={"tool_call_started": 1})
    async with open_service(settings) as service:
        events = await events_of(service.archive, left.session_id)
        assert service.runs.active(left.session_id) is None
    assert events[-1]["status"] == "interrupted"


def test_progress_reads_what_it_wrote():
    quota_subject = QuotaSubject("tok_1", Limits(calls_per_run=3), "ann")
    progress = RunProgress(
        quota_subject, False, {"taken": 2, "usage": {"input_tokens": 1}}, ("m",), ("t",), 2
    )
    assert RunProgress.read(progress.stored()) == RunProgress(
        quota_subject, False, {"taken": 2, "usage": {"input_tokens": 1}}, ("m",), ("t",), 2
    )
    assert progress.tried_again().tries == 3


async def test_progress_that_cannot_be_read_closes_its_run(settings: Settings):
    async with ScriptedAnthropic(THREE, api_key=KEY) as provider:
        left = await cut_in_a_call(settings, provider)
        change(settings, "UPDATE runs SET progress = '{\"payer\": {}}'")
        events = await ended(successor(settings, provider), left)
    assert events[-1]["status"] == "interrupted"


@pytest.mark.parametrize("stored", ["7", "{}", "not json", '{"payer": {"limits": {"x": 1}}}'])
async def test_what_is_no_progress_is_none(settings: Settings, stored: str):
    async with local_runtime(settings) as runtime:
        assert ResumeOnRestart(runtime.db, runtime.deferred).progress_of(stored) is None
