"""A run goes on while the database of the memory is away, and its model is told."""

from __future__ import annotations

from pydantic import SecretStr

from app.config.settings import Settings
from tests.agents.office import open_office
from tests.execution.conftest import settings, template
from tests.support.scripted_anthropic.turns import Turn, text, tool_use

__all__ = ["settings", "template"]


async def test_a_run_goes_on_without_its_memory(settings: Settings):
    away = SecretStr("postgresql://reader:very-secret-7Qx@127.0.0.1:1/memory")
    memory = settings.memory.model_copy(update={"postgres": away})
    chosen = settings.model_copy(update={"memory": memory, "max_visible_tools": 1000})
    turns = (Turn(tool_use("memory_recall", {"query": "tea"})), Turn(text("Done.")))
    async with open_office(chosen, *turns) as office:
        assert (await office.ask("What do I like?"))["status"] == "success"
        asked = await office.provider.received(1)
        assert "Memory is currently unavailable" in str(asked.body)
        (ended,) = office.watcher.of("tool_call_completed")
        assert ended["error"]["code"] == "storage_unavailable"
        assert "very-secret-7Qx" not in str(office.watcher.events)
