"""`weixin_send_text` through the whole gate, with an operator in the same process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.channels.operator_messages import Failed
from app.channels.task_rows import DesktopTask, TaskFilter
from app.channels.texts import hidden_mark
from app.config.channels import ChannelSettings
from app.config.settings import Settings
from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from app.governance.agents import AgentProfile, SubagentScope
from tests.channels.operator_lab import GROUP, channel, claim_of, operator, sitting
from tests.execution.lab import Lab, open_lab

CONTEXT: dict[str, Any] = {"channelId": "shop", "currentAgent": {"modelChannelId": "mc-7"}}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"channels": ChannelSettings(wait_s=0.2)})


async def send(
    lab: Lab, /, business: dict[str, Any] | None = None, **arguments: Any
) -> CallOutcome:
    wanted = {"text": "你好", "target": GROUP, **arguments}
    given = CONTEXT if business is None else business
    request = CallRequest("c1", "weixin_send_text", wanted)
    return (await lab.run(request, business=given, agent_id=None))[0]


async def tasks(lab: Lab, **wanted: Any) -> list[DesktopTask]:
    return await lab.runtime.channels.desktop.page(TaskFilter(**wanted), limit=50, before=None)


@pytest.mark.requirement("WXD-01")
@pytest.mark.requirement("WXD-06")
async def test_a_text_becomes_a_task_that_an_operator_does(house: Lab):
    await channel(house.runtime.channels)
    async with sitting(house.runtime.channels.operators) as desk:
        outcome = await send(house)
    assert (outcome.status, outcome.result.error) == ("success", None)
    [task] = await tasks(house)
    assert (task.app_id, task.action_type, task.status) == ("weixin", "send-text", "succeeded")
    assert (task.target, task.text, task.user_id) == (GROUP, "你好\n[AI]", "ann")
    assert (task.operation_id, task.session_id) == (outcome.operation_id, house.session.id)
    assert [(item.task_id, item.text) for item in desk.got] == [(task.id, "你好\n[AI]")]
    assert outcome.result.data == {
        "task_id": task.id,
        "status": "succeeded",
        "channel_id": "shop",
        "target": GROUP,
        "watermark": "suffix",
        "code": None,
        "error": None,
        "verified": True,
    }
    assert house.runtime.registry.snapshot().tools["weixin_send_text"].toolset == "weixin_desktop"


@pytest.mark.requirement("WXD-06")
async def test_without_an_operator_the_call_times_out_and_the_task_expires(house: Lab):
    await channel(house.runtime.channels)
    outcome = await send(house)
    assert (outcome.status, outcome.result.code) == ("timeout", "timeout")
    [task] = await tasks(house)
    assert (task.status, outcome.result.data["status"]) == ("expired", "expired")
    # Whoever comes now finds nothing: what was given up is never sent.
    assert await house.runtime.channels.operators.claim(operator()) is None


@pytest.mark.requirement("WXD-06")
def test_a_call_waits_a_minute_unless_the_operator_says_otherwise():
    assert ChannelSettings().wait_s == 60


@pytest.mark.requirement("WXD-06")
async def test_what_the_operator_says_is_what_the_call_fails_with(house: Lab):
    await channel(house.runtime.channels)
    failure = Failed(code="window_not_found", detail="No window\x1b[2J is called '微信'")
    async with sitting(house.runtime.channels.operators, failure=failure):
        outcome = await send(house)
    assert (outcome.status, outcome.result.code) == ("error", "window_not_found")
    assert outcome.result.error == "No window\\x1b[2J is called '微信'"
    assert [task.status for task in await tasks(house)] == ["failed"]


@pytest.mark.requirement("WXD-02")
async def test_the_channel_of_the_context_wins_over_the_argument(house: Lab):
    for channel_id in ("shop", "other"):
        await channel(house.runtime.channels, channel_id)
    async with sitting(house.runtime.channels.operators):
        both = await send(house, channelId="other")
        argument = await send(house, {}, channel_id="other")
    assert both.result.data["channel_id"] == "shop"
    assert argument.result.data["channel_id"] == "other"
    neither = await send(house, {})
    assert neither.result.code == "channel_required"


@pytest.mark.requirement("WXD-03")
async def test_the_model_channel_is_that_of_the_running_agent(house: Lab):
    await channel(house.runtime.channels)
    async with sitting(house.runtime.channels.operators):
        await send(house)
        forged = await send(house, modelChannelId="mine")
        alone = await send(house, {"channelId": "shop"})
    assert forged.status == "invalid_arguments"
    assert alone.status == "success"
    found = await tasks(house)
    assert sorted(str(task.model_channel_id) for task in found) == ["None", "mc-7"]


@pytest.mark.requirement("WXD-04")
@pytest.mark.parametrize("reply", [{"enabled": False}, {"enabled": False, "targets": []}])
async def test_a_channel_that_does_not_reply_is_refused(house: Lab, reply: dict[str, Any]):
    await channel(house.runtime.channels, **reply)
    outcome = await send(house)
    assert (outcome.status, outcome.result.code) == ("error", "replies_off")
    assert "config.weixinReply.enabled" in str(outcome.result.error)
    assert await tasks(house) == []


@pytest.mark.requirement("WXD-04")
async def test_a_channel_that_is_off_or_unknown_is_refused(house: Lab):
    # It says no by itself, before a person could be asked.
    store = house.runtime.channels.store
    await channel(house.runtime.channels)
    unknown = await send(house, {"channelId": "nothing"}, channel_id="shop")
    assert unknown.result.code == "channel_not_found"
    await store.change("shop", {"enabled": False}, actor="admin")
    off = await send(house, channel_id="shop")
    assert off.result.code == "channel_off"


@pytest.mark.requirement("WXD-05")
async def test_texts_are_marked_in_three_ways(house: Lab):
    await channel(house.runtime.channels, suffix="—— 机器人")
    async with sitting(house.runtime.channels.operators) as desk:
        for how in ("suffix", "zero-width", "none"):
            assert (await send(house, watermark=how)).status == "success"
    suffix, hidden, none = (item.text for item in desk.got)
    assert (suffix, none) == ("你好\n—— 机器人", "你好")
    assert hidden != "你好"
    assert hidden.startswith("你好")
    assert hidden_mark(hidden) == desk.got[1].task_id.removeprefix("dtk_")


@pytest.mark.requirement("WXD-07")
async def test_sub_agents_send_through_the_main_process(house: Lab):
    for subagent in (None, SubagentScope()):
        resolved = house.runtime.resolver.resolve(None, subagent=subagent)
        assert resolved.routes["weixin_send_text"] == "main-process-proxy"


async def test_a_person_is_asked_unless_the_channel_replies_by_itself(house: Lab):
    await channel(house.runtime.channels, autoReply=False)
    async with sitting(house.runtime.channels.operators) as desk, asyncio.TaskGroup() as group:
        calling = group.create_task(send(house, channel_id="shop"))
        asked = await house.watcher.until("tool_confirmation_request")
        assert desk.got == []
        assert await house.answer("approve_once", asked) == "approved"
        outcome = await calling
    assert outcome.status == "success"


async def test_a_person_who_declines_keeps_the_text_here(house: Lab):
    await channel(house.runtime.channels, autoReply=False)
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(send(house, channel_id="shop"))
        await house.answer("decline")
        outcome = await calling
    assert outcome.status == "declined"
    assert await tasks(house) == []


async def test_naming_a_channel_that_asks_nobody_opens_no_other(house: Lab):
    """The model names a channel that replies by itself; the context is one that asks."""
    await channel(house.runtime.channels, "shop", autoReply=False)
    await channel(house.runtime.channels, "free")
    outcome = await send(house, channel_id="free")
    assert (outcome.status, outcome.result.code) == ("error", "confirmation_required")
    assert await tasks(house) == []


@pytest.mark.parametrize(
    "target",
    ["客户", "客户群 ", " 客户群", "客户群\u200b", "客户\u2060群", "support", "客户群\n", "*"],
)
async def test_only_groups_of_exactly_the_allowed_names_are_written_to(house: Lab, target: str):
    await channel(house.runtime.channels)
    outcome = await send(house, target=target)
    assert outcome.result.code == "target_not_allowed"
    assert await tasks(house) == []


async def test_the_only_group_needs_no_name(house: Lab):
    await channel(house.runtime.channels, targets=["Support"])
    async with sitting(house.runtime.channels.operators) as desk:
        assert (await send(house, target=None)).status == "success"
    assert desk.got[0].target == "Support"
    await channel(house.runtime.channels, "two")
    several = await send(house, {"channelId": "two"}, target=None)
    assert several.result.code == "target_required"


@pytest.mark.parametrize("text", ["\x1b[2Jhi", "a\x00b", "a\rb", "ctrl\x03", "a\u2028b", "\ufdd0"])
async def test_texts_with_hidden_keys_are_refused(house: Lab, text: str):
    await channel(house.runtime.channels)
    outcome = await send(house, text=text)
    assert outcome.result.code == "text_not_sendable"
    assert await tasks(house) == []


async def test_a_channel_can_be_for_some_agents_and_with_one_mark(house: Lab):
    await house.runtime.agents.create(AgentProfile(id="desk"), actor="admin")
    await channel(house.runtime.channels, agents=["desk"], forceWatermark=True)
    other = await send(house)
    assert other.result.code == "agent_not_allowed"
    wanted = {"text": "x", "target": GROUP}
    request = CallRequest("c2", "weixin_send_text", wanted)
    unmarked = CallRequest("c3", "weixin_send_text", {**wanted, "watermark": "none"})
    async with sitting(house.runtime.channels.operators):
        sent, refused = await house.run(request, unmarked, business=CONTEXT, agent_id="desk")
    assert (sent.status, refused.result.code) == ("success", "watermark_fixed")


async def test_a_channel_sends_so_many_texts_a_minute(house: Lab):
    await channel(house.runtime.channels, perMinute=2)
    async with sitting(house.runtime.channels.operators):
        sent = [await send(house, text=f"text {number}") for number in range(3)]
    assert [item.status for item in sent] == ["success", "success", "error"]
    assert sent[2].result.code == "rate_limited"


async def test_a_cancelled_call_takes_its_task_back(house: Lab):
    await channel(house.runtime.channels)
    calling = asyncio.create_task(send(house))
    await house.watcher.until("tool_call_started")
    waiting = house.runtime.channels.operators
    claimed = None
    while claimed is None:
        await asyncio.sleep(0)
        claimed = await waiting.claim(operator())
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    await house.runtime.channels.desktop.close()
    [task] = await tasks(house)
    assert (task.status, task.error) == ("cancelled", "The call was cancelled")
    with pytest.raises(Exception, match="have not claimed"):
        await waiting.start(operator(), claim_of(claimed))


async def test_progress_of_the_operator_reaches_the_session(settings: Settings):
    async with open_lab(settings) as house:
        await channel(house.runtime.channels)
        async with sitting(house.runtime.channels.operators):
            await send(house)
        frames = [event for event in house.watcher.events if "progress" in event["type"]]
        assert any("pasting" in str(event) for event in frames)
