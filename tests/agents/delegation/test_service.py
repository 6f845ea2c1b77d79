"""Batches: order, rights, duplicates, failures, cancelling, and what is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.errors import BudgetExceeded, InvalidInput, NotFound, ToolFailed
from app.db.writer import Transaction
from app.domain.delegation import TaskSpec
from app.governance.agents import AgentProfile, SubagentLimits
from app.governance.limits import Limits, QuotaSubject
from tests.agents.delegation.department import Department, open_department, spec
from tests.agents.delegation.doubles import Double, Doubles
from tests.execution.lab import PATIENCE_S, AnyArgs, made
from tests.support.scripted_anthropic.turns import Gate, Turn, http_error, text, tool_use


@pytest.mark.requirement("SUB-01", "SUB-09")
async def test_every_task_is_answered_in_the_order_they_were_given(department: Department):
    report = await department.delegate(spec("one"), spec("two"), spec("three"))
    assert report.status == "success"
    assert [(task.label, task.response) for task in report.tasks] == [
        ("one", "answer to one"),
        ("two", "answer to two"),
        ("three", "answer to three"),
    ]
    started = department.office.watcher.of("subagent_started")
    ended = department.office.watcher.of("subagent_finished")
    assert {event["child_run_id"] for event in started} == {t.run_id for t in report.tasks}
    assert sorted(event["summary"] for event in ended) == sorted(t.response for t in report.tasks)
    assert {(e["run_id"], e["parent_tool_call_id"]) for e in (*started, *ended)} == {
        ("run_parent", "c0")
    }


@pytest.mark.requirement("SUB-05")
async def test_one_that_fails_fails_alone(department: Department):
    department.goals.script("bad", http_error(400, "invalid_request_error", "no"))
    report = await department.delegate(spec("bad"), spec("good"))
    bad, good = report.tasks
    assert (report.status, bad.status, good.status) == ("partial", "error", "success")
    assert bad.error is not None
    assert bad.error["code"] == "model_failed"
    assert good.response == "answer to good"


@pytest.mark.requirement("SUB-06")
async def test_no_more_work_at_once_than_allowed(department: Department):
    assert isinstance(department.doubles, Doubles)
    gate = Gate()
    for number in range(5):
        department.goals.script(f"g{number}", Turn(gate, text("done")))
    working = asyncio.create_task(department.delegate(*(spec(f"g{n}") for n in range(5))))
    async with asyncio.timeout(PATIENCE_S):
        await department.office.watcher.until("subagent_started", 3)
        gate.open()
        report = await working
    assert (report.status, department.doubles.most) == ("success", 3)


async def test_too_many_tasks_and_none_at_all_are_refused(department: Department):
    with pytest.raises(InvalidInput, match="Maximum 5 concurrent agents allowed"):
        await department.delegate(*(spec(str(number)) for number in range(6)))
    with pytest.raises(InvalidInput, match="at least one"):
        await department.delegate()


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        ([spec("a"), spec("a")], "its own label"),
        ([spec("a", after=("b",))], "not in this batch"),
        ([spec("a", after=("b",)), spec("b", after=("a",))], "in a cycle"),
        ([spec("a", after=("a",))], "in a cycle"),
        ([spec("a", tools=("red_file",))], "did you mean read_file"),
        ([spec("a", agent_id="other")], "not allowed to delegate to the agent 'other'"),
        ([spec("a", model="gpt-99")], "not configured"),
        ([spec("a", workspace_roots=("nowhere",))], "nowhere"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anything_begins(
    department: Department, specs: list[TaskSpec], words: str
):
    with pytest.raises((InvalidInput, NotFound), match=words):
        await department.delegate(*specs)
    assert department.office.watcher.of("subagent_started") == []
    assert await department.delegation.reports(session_id=department.session.id) == []


@pytest.mark.requirement("SUB-13")
async def test_a_tool_that_is_switched_on_and_not_for_sub_agents_is_blocked_with_its_reason(
    department: Department,
):
    async def at_home(args: AnyArgs, ctx: Any) -> str:
        return "done"

    department.office.add(made(at_home, subagent_allowed=False, routing_hint="worker-local"))
    runtime = department.office.runtime
    assert "at_home" in runtime.resolver.resolve(department.session.agent_id).tool_names
    diagnostic = runtime.resolver.resolve(department.session.agent_id).runtime_diagnostic
    row = next(row for row in diagnostic["tools"] if row["name"] == "at_home")
    assert (row["state"], row["effective_subagent_allowed"]) == ("on", False)
    assert row["worker_routing_hint"] == "worker-local"
    assert row["runtime_blocked_reason"]["code"] == "subagent_not_allowed"
    department.goals.script("go", Turn(tool_use("at_home", {}, id="t1")), Turn(text("could not")))
    task = (await department.delegate(spec("go"))).tasks[0]
    assert task.routes["at_home"] == "disabled"
    assert task.blocked["at_home"]["code"] == "subagent_not_allowed"
    assert [(call["status"], call["route"]) for call in task.calls] == [("disabled", "disabled")]
    assert "at_home" not in department.goals.asked["go"][0].tool_names


@pytest.mark.requirement("SUB-03", "SUB-11", "SUB-13")
async def test_a_sub_agent_is_offered_what_it_was_given_and_shown_why_not_the_rest(
    department: Department,
):
    report = await department.delegate(spec("narrow", tools=("read_file",)), spec("wide"))
    narrow, wide = report.tasks
    names = department.goals.asked["narrow"][0].tool_names
    # Core tools too: what is not given is not there.
    assert names == ["read_file"]
    assert narrow.routes["read_file"] == "worker-local"
    assert narrow.routes["write_file"] == "disabled"
    assert narrow.blocked["write_file"]["code"] == "subagent_not_given"
    assert wide.routes["write_file"] == "main-process-proxy"
    assert set(names) < set(department.goals.asked["wide"][0].tool_names)


@pytest.mark.requirement("SUB-11")
async def test_a_reader_may_not_write(department: Department):
    use = tool_use("write_file", {"path": "a.txt", "content": "x"}, id="t1")
    department.goals.script("look", Turn(use), Turn(text("could not")))
    report = await department.delegate(spec("look", read_only=True))
    task = report.tasks[0]
    assert task.blocked["write_file"]["code"] == "subagent_read_only"
    assert [(call["tool"], call["status"], call["route"]) for call in task.calls] == [
        ("write_file", "disabled", "disabled")
    ]
    started = department.office.watcher.of("tool_call_started", tool_name="write_file")
    assert [event["route"] for event in started] == ["disabled"]


@pytest.mark.requirement("SUB-10", "GOV-11")
async def test_a_read_runs_in_the_worker_and_a_write_here(department: Department):
    uses = [
        tool_use("read_file", {"path": "a.txt"}, id="t1"),
        tool_use("todo", {"items": [{"id": "1", "content": "x"}]}, id="t2"),
    ]
    department.goals.script("both", Turn(*uses), Turn(text("seen")))
    report = await department.delegate(spec("both"))
    assert report.status == "success"
    routes = {e["tool_name"]: e["route"] for e in department.office.watcher.of("tool_call_started")}
    assert routes == {"read_file": "worker-local", "todo": "main-process-proxy"}
    results = department.goals.asked["both"][1].tool_results()
    assert "ran in the worker" in str(results["t1"]["content"])
    assert "ran in the worker" not in str(results["t2"]["content"])
    for event in department.office.watcher.of("tool_call_completed"):
        assert event["run_id"] == report.tasks[0].run_id
        assert event["parent_tool_call_id"] == "c0"


@pytest.mark.requirement("SUB-02")
async def test_a_sub_agent_may_not_delegate(department: Department):
    report = await department.delegate(spec("deep"))
    blocked = report.tasks[0].blocked
    delegating = [
        name
        for name, tool in department.office.runtime.registry.snapshot().tools.items()
        if tool.delegates
    ]
    assert set(delegating) <= set(blocked)
    context = department.context(run_id=report.tasks[0].run_id)
    with pytest.raises(ToolFailed, match="cannot start sub-agents") as refused:
        await department.delegate(spec("deeper"), context=context)
    assert refused.value.details["code"] == "delegation_depth"


@pytest.mark.requirement("D-9")
async def test_where_it_is_allowed_a_sub_agent_gives_no_more_than_it_has(settings: Settings):
    deep = settings.sub_agent.model_copy(update={"max_depth": 2})
    async with open_department(settings.model_copy(update={"sub_agent": deep})) as department:
        gate = Gate()
        department.goals.script("outer", Turn(gate, text("done")))
        outer = asyncio.create_task(
            department.delegate(spec("outer", tools=("read_file", "todo"), read_only=True))
        )
        event = await department.office.watcher.until("subagent_started")
        context = department.context(run_id=event["child_run_id"], tool_call_id="c1")
        inner = await department.delegate(
            spec("inner", tools=("todo", "bash", "read_file")), context=context
        )
        task = inner.tasks[0]
        assert task.blocked["bash"]["code"] == "subagent_not_given"
        assert task.blocked["todo"]["code"] == "subagent_read_only"
        with pytest.raises(ToolFailed, match="cannot start sub-agents"):
            await department.delegate(spec("third"), context=department.context(run_id=task.run_id))
        gate.open()
        assert (await outer).status == "success"


@pytest.mark.requirement("D-14")
async def test_the_same_batch_is_not_started_twice(department: Department):
    gate = Gate()
    department.goals.script("once", Turn(gate, text("done")))
    first = asyncio.create_task(department.delegate(spec("once")))
    await department.office.watcher.until("subagent_started")
    second = asyncio.create_task(department.delegate(spec("once")))
    other = await department.delegate(spec("another"))
    gate.open()
    reports = await first, await second
    assert [report.duplicate for report in reports] == [False, True]
    assert reports[0].batch_id == reports[1].batch_id != other.batch_id
    assert len(department.goals.asked["once"]) == 1


async def test_what_has_failed_may_be_tried_again_at_once(department: Department):
    department.goals.script("again", http_error(400, "invalid_request_error", "no"))
    first = await department.delegate(spec("again"))
    second = await department.delegate(spec("again"))
    assert (first.status, second.status, second.duplicate) == ("error", "success", False)


@pytest.mark.requirement("SUB-08")
async def test_in_the_background_it_returns_at_once_and_reports_later(department: Department):
    gate = Gate()
    department.goals.script("later", Turn(gate, text("at last")))
    report = await department.delegate(spec("later"), background=True)
    assert (report.status, report.background) == ("running", True)
    gate.open()
    ended = await department.office.watcher.until("subagent_finished")
    assert (ended["status"], ended["summary"]) == ("success", "at last")
    whole = await department.delegation.wait(
        report.batch_id, session_id=department.session.id, timeout_s=PATIENCE_S
    )
    assert (whole.status, whole.tasks[0].response) == ("success", "at last")


async def test_a_session_has_only_so_many_in_the_background(settings: Settings):
    few = settings.sub_agent.model_copy(update={"background_max": 2})
    async with open_department(settings.model_copy(update={"sub_agent": few})) as department:
        gate = Gate()
        for goal in ("a", "b"):
            department.goals.script(goal, Turn(gate, text("done")))
        await department.delegate(spec("a"), spec("b"), background=True)
        with pytest.raises(ToolFailed, match="2 of 2") as refused:
            await department.delegate(spec("c"), background=True)
        assert refused.value.details["code"] == "too_many_subagents"
        gate.open()
        await department.office.watcher.until("subagent_finished", 2)
        await department.delegation.close()


async def test_whoever_stops_waiting_stops_the_batch(department: Department):
    gate = Gate()
    department.goals.script("long", Turn(text("half"), gate, text(" whole")))
    working = asyncio.create_task(department.delegate(spec("long")))
    await department.office.watcher.until("subagent_started")
    await department.office.watcher.until("text_delta")
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    ended = await department.office.watcher.until("subagent_finished")
    assert (ended["status"], ended["summary"]) == ("cancelled", "half")
    stored = (await department.delegation.reports(session_id=department.session.id))[0]
    assert (stored.status, stored.tasks[0].response, stored.tasks[0].partial) == (
        "cancelled",
        "half",
        True,
    )


@pytest.mark.requirement("D-11")
async def test_one_task_is_cancelled_alone(department: Department):
    gate = Gate()
    department.goals.script("a", Turn(gate, text("a")))
    department.goals.script("b", Turn(gate, text("b")))
    working = asyncio.create_task(department.delegate(spec("a"), spec("b")))
    await department.office.watcher.until("subagent_started", 2)
    running = (await department.delegation.reports(session_id=None, running=True))[0]
    first = running.tasks[0].task_id
    alone = await department.delegation.cancel(first, session_id=department.session.id)
    assert [task.status for task in alone.tasks] == ["cancelled"]
    gate.open()
    assert [task.status for task in (await working).tasks] == ["cancelled", "success"]
    again = await department.delegation.cancel(first, session_id=department.session.id)
    assert [task.status for task in again.tasks] == ["cancelled"]


async def test_nobody_looks_into_another_session(department: Department):
    report = await department.delegate(spec("mine"))
    with pytest.raises(NotFound):
        await department.delegation.report(report.batch_id, session_id="ses_other")
    with pytest.raises(NotFound):
        await department.delegation.cancel(report.tasks[0].task_id, session_id="ses_other")
    assert await department.delegation.reports(session_id="ses_other") == []


@pytest.mark.requirement("COL-02")
async def test_a_broadcast_reaches_everybody_who_works_once(department: Department):
    gate = Gate()
    for goal in ("a", "b"):
        department.goals.script(goal, Turn(gate, text("first")), Turn(text("second")))
    working = asyncio.create_task(department.delegate(spec("a"), spec("b")))
    await department.office.watcher.until("subagent_started", 2)
    async with asyncio.timeout(PATIENCE_S):
        await department.office.provider.received(2)
    reported = await department.delegation.broadcast(
        "stop at noon", session_id=department.session.id
    )
    assert len(reported) == 2
    assert await department.delegation.broadcast("x", session_id="ses_other") == []
    gate.open()
    report = await working
    assert [task.response for task in report.tasks] == ["second", "second"]
    for goal in ("a", "b"):
        texts = [str(request.messages) for request in department.goals.asked[goal]]
        assert [reported.count("stop at noon") for reported in texts] == [0, 1]


@pytest.mark.requirement("COL-01", "SUB-14")
async def test_a_task_builds_on_the_answers_before_it(department: Department):
    report = await department.delegate(
        spec("draft"), spec("check", after=("draft",)), kind="team", name="writers"
    )
    assert (report.status, report.name) == ("success", "writers")
    given = department.goals.asked["check"][0].messages[0]["content"][0]["text"]
    assert "answer to draft" in given
    assert "untrusted" in given


async def test_what_builds_on_a_failure_is_not_begun(department: Department):
    department.goals.script("draft", http_error(400, "invalid_request_error", "no"))
    report = await department.delegate(spec("draft"), spec("check", after=("draft",)))
    assert [task.status for task in report.tasks] == ["error", "skipped"]
    assert report.tasks[1].error is not None
    assert report.tasks[1].error["code"] == "dependency_failed"
    assert "check" not in department.goals.asked


@pytest.mark.requirement("D-10")
async def test_a_sub_agent_that_may_use_none_of_its_tools_is_not_started(department: Department):
    with pytest.raises(InvalidInput, match=r"write_file.*may only read") as refused:
        await department.delegate(spec("write", tools=("write_file",), read_only=True))
    assert refused.value.details["field"] == "tasks[0].tools"
    assert department.goals.asked == {}


async def test_another_agents_profile_only_where_the_operator_names_it(department: Department):
    agents = department.office.runtime.agents
    await agents.create(AgentProfile(id="expert", system_prompt="You know it all."), actor="ann")
    await agents.create(
        AgentProfile(id="lead", subagents=SubagentLimits(agents=("expert",))), actor="ann"
    )
    context = department.context(agent_id="lead")
    report = await department.delegate(spec("ask", agent_id="expert"), context=context)
    assert report.status == "success"
    assert "You know it all." in str(department.goals.asked["ask"][0].body["system"])
    with pytest.raises(InvalidInput, match="it may use expert"):
        await department.delegate(spec("no", agent_id="lead2"), context=context)


async def test_tokens_are_counted_for_the_session_and_its_budget_holds(department: Department):
    quota_subject = QuotaSubject("tok_1", Limits(tokens_per_session=1))
    department.payers[department.session.id] = (quota_subject, True)
    first = await department.delegate(spec("one"))
    assert first.status == "success"
    assert department.session.usage["output_tokens"] > 0
    second = await department.delegate(spec("two"))
    assert second.tasks[0].error is not None
    assert second.tasks[0].error["code"] == BudgetExceeded.code


async def test_what_a_dead_process_left_is_closed_with_its_partial_work(settings: Settings):
    async with open_department(settings) as department:
        await department.delegate(spec("done"))

        def as_if_it_ran(transaction: Transaction) -> None:
            transaction.execute(
                "UPDATE delegation_batches SET status = 'running', owner = '1-gone'"
            )
            transaction.execute("UPDATE delegated_tasks SET status = 'running', finished_at = NULL")

        await department.office.runtime.db.transact(as_if_it_ran)
        session_id = department.session.id
    async with open_department(settings) as department:
        report = (await department.delegation.reports(session_id=session_id))[0]
    task = report.tasks[0]
    assert (report.status, task.status, task.response) == ("error", "interrupted", "answer to done")
    assert task.error is not None
    assert task.error["code"] == "interrupted"


@pytest.mark.parametrize("chosen", ["close", "continue"])
async def test_a_closing_service_interrupts_what_does_not_go_on(settings: Settings, chosen: str):
    async with open_department(settings.model_copy(update={"durable_runs": chosen})) as department:
        department.goals.script("open", Turn(text("half"), Gate()))
        starting = asyncio.create_task(
            department.delegate(spec("open"), background=chosen == "close")
        )
        await department.office.watcher.until("text_delta")
        await department.delegation.close()
        ended = await department.office.watcher.until("subagent_finished")
        assert (ended["status"], ended["summary"]) == ("interrupted", "half")
        await starting


@pytest.mark.requirement("D-11")
async def test_a_lost_worker_ends_its_task_and_keeps_what_was_done(settings: Settings):
    async def dies(worker: Double) -> None:
        from app.agents.delegation.frames import AskModel

        await worker.next()
        worker.say(AskModel(round=1))
        await worker.next()
        worker.die()

    async with open_department(settings, Doubles(dies)) as department:
        report = await department.delegate(spec("lost"))
    task = report.tasks[0]
    assert (task.status, task.response, task.partial) == ("error", "answer to lost", True)
    assert task.error is not None
    assert task.error["code"] == "worker_lost"
    assert "signal 9" in task.error["message"]
