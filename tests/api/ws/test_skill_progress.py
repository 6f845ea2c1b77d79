"""A skill's progress as a client of the real server sees it, with its image in the end."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.support.http import HttpClient
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use
from tests.support.service import Message, serving, settings_for

ARGUMENTS: dict[str, Any] = {"name": "image-statistics", "args": {"image": "a.png"}}
STAGES = ["load", "detect", "locate", "review"]


def picture() -> bytes:
    from PIL import Image

    stored = BytesIO()
    Image.new("RGB", (90, 60), (10, 200, 30)).save(stored, "PNG")
    return stored.getvalue()


@pytest.mark.requirement("EVT-07", "EVT-08", "SKL-04")
async def test_a_model_that_runs_a_skill_shows_its_stages_to_the_client(tmp_path: Path):
    async with ScriptedAnthropic() as provider:
        settings = settings_for(
            tmp_path,
            anthropic_api_key="test-key-of-the-suite",
            anthropic_base_url=provider.base_url,
        )
        settings.workspace_dir.mkdir(parents=True)
        (settings.workspace_dir / "a.png").write_bytes(picture())
        provider.script(Turn(tool_use("execute_skill", ARGUMENTS)), Turn(text("Measured.")))
        async with serving(settings) as running:
            session = running.session(project_id="default")
            async with running.connect() as chat:
                await chat.command(type="subscribe", session_id=session.id)
                await chat.command(type="user_message", session_id=session.id, content="Measure")
                done = await chat.until("tool_call_completed")
                await chat.until("run_finished")
            live = [message for message in chat.seen if message["type"] == "process_progress"]
            assert list(dict.fromkeys(message["stage"] for message in live)) == STAGES
            assert all(_is_whole(message) for message in live)
            assert done["raw_result"]["type"] == "image"
            (shown,) = done["raw_result"]["data"]["images"]
            async with HttpClient(base_url=running.api) as client:
                image = await client.get(f"/artifacts/{shown['artifact_id']}")
            assert image.content.startswith(b"\x89PNG")
        prompt = str(provider.requests[0].body["system"])
    assert "- image-statistics (runs): Measures an image" in prompt


def _is_whole(message: Message) -> bool:
    return bool(message["operation_id"] and message["message"]) and (
        0 <= message["progress"]["percent"] <= 100
    )
