"""Hooks that plugins bring; one that should be there and is not keeps the gate shut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.errors import ConfigurationError
from app.execution.hooks.model import HookConfig, HookType
from app.execution.hooks.plugins import hooks_in
from tests.execution.lab import open_lab

PLUGIN = """
from app.execution.hooks.model import HookAction, HookConfig, HookResult, HookType

async def guard(context):
    if "secret" in str(context.arguments):
        return HookResult(HookAction.DENY, "no secrets")

HOOKS = [HookConfig("no_secrets", HookType.PRE_TOOL_USE, guard, builtin=True)]
"""

Write = Callable[[str], Settings]


@pytest.fixture
def plugin(settings: Settings) -> Write:
    """Settings of an installation with one plugin file."""

    def write(text: str) -> Settings:
        settings.plugins_dir.mkdir(parents=True, exist_ok=True)
        (settings.plugins_dir / "guard.py").write_text(text)
        return settings

    return write


async def test_a_file_with_hooks_alone_is_a_plugin(plugin: Write):
    async with open_lab(plugin(PLUGIN)) as lab:
        assert lab.runtime.registry.snapshot().problems == ()
        assert (await lab.call("calculator", expression="1+1")).status == "success"
        outcome = await lab.call("bash", "c2", command="echo secret")
        hook = next(hook for hook in lab.runtime.hooks.list_all() if hook.name == "no_secrets")
    assert (outcome.text, outcome.result.code) == ("no secrets", "hook_denied")
    assert (hook.origin, hook.builtin) == ("plugin guard", False)


BROKEN = {
    "it raises": "raise RuntimeError('boom')\nHOOKS = []",
    "it is no Python": "HOOKS = [",
    "it exits": "import sys\nHOOKS = []\nsys.exit(1)",
    "it holds something else": "HOOKS = ['guard']",
    "it has no handler": PLUGIN.replace("guard, builtin=True", "None"),
    "it never waits": PLUGIN.replace("builtin=True", "timeout_s=0"),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
async def test_a_hook_plugin_that_cannot_be_loaded_shuts_the_gate(plugin: Write, text: str):
    settings = plugin(text)
    async with open_lab(settings) as lab:
        outcome = await lab.call("calculator", expression="1+1")
        problems = lab.runtime.hooks.problems
    assert (outcome.status, outcome.result.code) == ("denied", "hook_failed")
    assert "guard" in outcome.text
    assert [(problem.name, problem.is_shut) for problem in problems] == [("guard", True)]


async def test_an_operator_may_have_it_reported_only(plugin: Write):
    settings = plugin("HOOKS = [").model_copy(update={"broken_hook_plugins": "report"})
    async with open_lab(settings) as lab:
        assert (await lab.call("calculator", expression="1+1")).status == "success"
        assert [problem.is_shut for problem in lab.runtime.hooks.problems] == [False]


async def test_a_broken_plugin_of_tools_shuts_nothing(plugin: Write):
    async with open_lab(plugin("TOOLS = [")) as lab:
        assert (await lab.call("calculator", expression="1+1")).status == "success"
        assert lab.runtime.hooks.problems == []


async def watch(_: Any) -> None:
    return None


def test_what_an_entry_point_may_stand_for(tmp_path: Path):
    hook = HookConfig("watch", HookType.TOOL_ERROR, watch)
    assert hooks_in(hook) == hooks_in([hook]) == hooks_in(lambda: [hook]) == (hook,)
    for nothing in (None, 3, "HOOKS", lambda: None, pytest):
        with pytest.raises(ConfigurationError):
            hooks_in(nothing)
