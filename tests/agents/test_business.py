"""Facts of the channel that a session belongs to reach its calls, and come from nobody else."""

from __future__ import annotations

from typing import Any

from app.config.settings import Settings
from app.execution.calls import CallRequest
from app.toolkit.context import ToolContext
from tests.agents.office import open_office
from tests.execution.lab import AnyArgs, made
from tests.support.scripted_anthropic.turns import Turn, text, tool_use

FACTS = {"channelId": "wx_1", "currentAgent": {"modelChannelId": "m_1"}}


async def test_calls_of_an_agent_and_of_a_client_see_what_the_session_belongs_to(
    settings: Settings,
):
    seen: list[dict[str, Any]] = []

    async def note(args: AnyArgs, ctx: ToolContext) -> str:
        seen.append(dict(ctx.business))
        return "noted"

    turns = (Turn(tool_use("note", {})), Turn(text("Done.")))
    async with open_office(
        settings.model_copy(update={"max_visible_tools": 1000}), *turns
    ) as office:
        office.add(made(note))
        await office.call(CallRequest("c1", "note", {}))
        office.session.meta["business"] = FACTS
        await office.ask()
        await office.call(CallRequest("c2", "note", {"number": 1}))
    assert seen == [{}, FACTS, FACTS]
