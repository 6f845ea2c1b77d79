"""Tools that send ask before an argument with a secret in it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from app.toolkit.tool import PermissionClass, SideEffectScope, Tool
from tests.execution.lab import AnyArgs, Lab, made, open_lab, settings_for
from tests.operations.web.site import answer, serving

KEY = "ghp_" + "k3Jd8sLq0Zx7Vb2Nm5Rt9Yw1Pc4Hf6Ga8Eu"
KNOWN = "known-search-provider-key-4711"
COMMIT = "f970310c0ffee5eed1234567890abcdef0123456"


class Sent:
    """What a tool has sent."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def tool(self, permission: PermissionClass = PermissionClass.EXTERNAL) -> Tool:
        async def post(args: AnyArgs, ctx: Any) -> str:
            self.texts.append(args.text)
            return "sent"

        network = SideEffectScope.NETWORK
        return made(post, name="post", permission=permission, side_effect=network)


@pytest.fixture
async def keyed(tmp_path: Path, template: Path) -> AsyncIterator[Lab]:
    web = {"allow_networks": ["127.0.0.0/8"], "host_interval_s": 0, "brave_api_key": KNOWN}
    async with open_lab(settings_for(tmp_path / "data", template, web=web)) as lab:
        yield lab


async def declined(lab: Lab, name: str, **arguments: Any) -> tuple[CallOutcome, str]:
    """How a call ended whose question was declined, and what the question said."""
    running = asyncio.create_task(lab.run(CallRequest("c1", name, arguments)))
    asked = await lab.watcher.until("tool_confirmation_request")
    await lab.answer("decline", asked)
    return (await running)[0], str(asked)


@pytest.mark.parametrize(
    "text", [f"token {KEY}", f"https://ann:{KEY}@x.example/", f"key={KNOWN}", f"?q=x&token={KEY}"]
)
async def test_a_tool_that_sends_asks_before_a_secret_leaves(keyed: Lab, text: str):
    sent = Sent()
    keyed.add(sent.tool())

    outcome, said = await declined(keyed, "post", text=text)

    assert (outcome.status, sent.texts) == ("declined", [])
    assert "post sends what looks like a secret in text" in said
    assert "secret_sent" in said
    assert KEY not in said
    assert KNOWN not in said


@pytest.mark.parametrize(
    "text",
    [
        f"https://x.example/o/r/commit/{COMMIT}",
        "how are tokens and passwords kept?",
        "https://x.example/?id=2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d",
    ],
)
async def test_what_only_looks_random_is_sent_without_a_question(keyed: Lab, text: str):
    sent = Sent()
    keyed.add(sent.tool())

    outcome = await keyed.call("post", text=text)

    assert (outcome.status, sent.texts) == ("success", [text])


async def test_a_tool_that_sends_nothing_gets_secrets_without_a_question(keyed: Lab):
    sent = Sent()
    keyed.add(sent.tool(PermissionClass.WRITE))

    assert (await keyed.call("post", text=KEY)).status == "success"


async def test_an_address_with_a_key_is_not_fetched_without_a_question(keyed: Lab):
    async with serving() as site:
        site.pages["/"] = answer(b"<p>hello</p>")
        outcome, said = await declined(
            keyed, "web_fetch", urls=[f"{site.url}/", f"{site.url}/?k={KEY}"]
        )
        assert outcome.status == "declined"
        assert "urls[1]" in said
        fetched = await keyed.call("web_fetch", "c2", url=f"{site.url}/")
        assert fetched.status == "success"
