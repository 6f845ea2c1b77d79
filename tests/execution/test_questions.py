"""What a person is shown: the truth, all of it, and nothing that hides."""

from __future__ import annotations

import asyncio
from typing import Any

from app.execution.calls import CallRequest
from app.execution.confirmation.request import restored_arguments
from app.toolkit.tool import ToolArgs
from tests.execution.lab import WRITES, Event, Lab, made


class PathArgs(ToolArgs):
    """One text that stands in the title too."""

    path: str


async def question(lab: Lab, name: str, arguments: dict[str, Any], **changes: Any) -> Event:
    """What is asked about a call, which is declined then."""
    before = len(lab.watcher.of("tool_confirmation_request"))
    running = asyncio.create_task(lab.run(CallRequest("c1", name, arguments), **changes))
    asked = await lab.watcher.until("tool_confirmation_request", count=before + 1)
    await lab.answer("decline", asked)
    await running
    return asked


async def test_nothing_is_pushed_out_of_sight(house: Lab):
    asked = await question(house, "bash", {"command": "ls" + " " * 500 + "; rm x"})
    assert asked["subject"]["command"] == "ls⟨500 spaces⟩; rm x"


async def test_each_command_of_a_script_is_listed_with_why_it_asks(house: Lab):
    asked = await question(house, "bash", {"command": "ls && rm x && git push --force"})
    shown = [(s["text"], bool(s["reasons"])) for s in asked["segments"]]
    assert shown == [("ls", False), ("rm x", True), ("git push --force", True)]
    assert {segment["cwd"] for segment in asked["segments"]} == {asked["cwd"]}


async def test_what_would_be_deleted_is_looked_up_and_counted(house: Lab):
    root = house.runtime.settings.workspace_dir
    for name in ("build/a", "build/b/c", "build/.hidden", "one"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x", encoding="utf-8")
    asked = await question(house, "bash", {"command": "rm -r build one gone /srv/other"})
    reported = {target["path"].rpartition("/")[2]: target for target in asked["targets"]}
    assert (reported["build"]["type"], reported["build"]["files"]) == ("directory", 3)
    assert reported["one"]["type"] == "file"
    assert reported["gone"]["type"] == "missing"
    assert reported["other"]["type"] == "unknown"
    assert "files" not in reported["other"]


async def test_who_asks_is_named(house: Lab):
    asked = await question(house, "bash", {"command": "rm x"}, user_id="ann", caller="websocket")
    assert asked["requested_by"] == {"caller": "websocket", "user_id": "ann"}
    assert asked["expires_at"].endswith("Z")


async def test_nothing_hides_in_arguments(lab: Lab):
    async def send(args: PathArgs, ctx: Any) -> str:
        return "x"

    lab.add(made(send, requires_confirmation=True, **WRITES))
    asked = await question(lab, "send", {"path": "a\tb\u200b\u202ec\x1b[2K\nd"})
    assert asked["subject"]["args"] == {"path": "a\\x09b\\u200b\\u202ec\\x1b[2K\nd"}
    assert asked["title"] == "send: a\\x09b\\u200b\\u202ec\\x1b[2K d"


def test_only_what_was_touched_is_taken_from_an_edit():
    original = {"a": "s3cret", "b": ["x\u200b", {"c": 1}], "d": "long"}
    shown = {"a": "•", "b": ["x\\u200b", {"c": 1}], "d": "l…"}
    edited = {"a": "•", "b": ["x\\u200b", {"c": 2}], "d": "l…", "e": "new"}
    assert restored_arguments(edited, shown, original) == {
        "a": "s3cret",
        "b": ["x\u200b", {"c": 2}],
        "d": "long",
        "e": "new",
    }
    assert restored_arguments({"b": ["y"]}, shown, original) == {"b": ["y"]}
