"""`tollgate tools enable|disable` and `tollgate resolve`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from app.bootstrap.installation import local_runtime
from app.config.settings import load_settings
from app.governance.agents import AgentProfile
from tests.cli.program import tollgate
from tests.support.service import serving, settings_for


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """An installation with an agent `writer`."""

    async def furnish() -> None:
        settings = load_settings(data_dir=tmp_path, _env_file=None)
        async with local_runtime(settings) as runtime:
            profile = AgentProfile(id="writer", selection=("toolset:files",))
            await runtime.agents.create(profile, actor="test")

    asyncio.run(furnish())
    return tmp_path


def test_tools_are_switched_for_everybody_and_the_list_tells(house: Path):
    done = tollgate(house, "tools", "disable", "shell", "calculator")
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "bash  off: Tool 'bash' is disabled by an administrator",
            "calculator  off: Tool 'calculator' is disabled by an administrator",
        ],
    )
    document = json.loads(tollgate(house, "tools", "--json").stdout)
    off = {row["name"]: row["disabled_reason"] for row in document["tools"] if not row["enabled"]}
    chosen = [name for name, reason in off.items() if reason["code"] == "disabled_global"]
    assert sorted(chosen) == ["bash", "calculator"]
    assert tollgate(house, "tools", "enable", "bash").stdout == "bash  on\n"


def test_a_toolset_is_switched_as_a_whole(house: Path):
    done = tollgate(house, "tools", "disable", "toolset:shell")
    assert (done.returncode, done.stdout) == (0, "toolset:shell  off\n")
    assert "toolset 'shell' of 'bash' is disabled" in tollgate(house, "resolve").stdout
    assert tollgate(house, "tools", "enable", "toolset:shell").stdout == "toolset:shell  on\n"
    assert "Toolset 'nope' not found" in tollgate(house, "tools", "disable", "toolset:nope").stderr
    assert "--force" in tollgate(house, "tools", "disable", "toolset:system").stderr
    beside = tollgate(house, "tools", "disable", "toolset:shell", "grep")
    for_one = tollgate(house, "tools", "disable", "toolset:shell", "--agent", "writer")
    assert (beside.returncode, for_one.returncode) == (2, 2)


def test_a_name_that_is_no_tool_switches_none(house: Path):
    done = tollgate(house, "tools", "disable", "bash", "nope", "writefile")
    reported = "error: Tool not found: nope, writefile (did you mean write_file?)\n"
    assert (done.returncode, done.stderr) == (1, reported)
    assert "is disabled by an administrator" not in tollgate(house, "tools").stdout


def test_a_core_tool_takes_force(house: Path):
    done = tollgate(house, "tools", "disable", "search_tools")
    assert (done.returncode, "core tool" in done.stderr, "--force" in done.stderr) == (
        1,
        True,
        True,
    )
    assert tollgate(house, "tools", "disable", "search_tools", "--force").returncode == 0


def test_a_tool_is_switched_for_one_agent_only(house: Path):
    done = tollgate(house, "tools", "enable", "bash", "--agent", "writer")
    assert (done.returncode, done.stdout) == (0, "bash  on\n")
    tollgate(house, "tools", "disable", "read_file", "--agent", "writer")
    document = json.loads(tollgate(house, "resolve", "--agent", "writer", "--json").stdout)
    assert "bash" in document["tool_names"]
    assert document["disabled_reasons"]["read_file"]["code"] == "disabled_agent"
    assert document["disabled_reasons"]["grep"]["code"] == "not_selected"
    reasons = json.loads(tollgate(house, "resolve", "--json").stdout)["disabled_reasons"]
    assert {reason["layer"] for reason in reasons.values()} <= {"platform", "configuration"}


def test_what_is_off_for_everybody_stays_off_for_an_agent_and_says_so(house: Path):
    tollgate(house, "tools", "disable", "bash")
    done = tollgate(house, "tools", "enable", "bash", "--agent", "writer")
    assert done.stdout == "bash  off: Tool 'bash' is disabled by an administrator\n"


def test_resolving_tells_people_what_and_why(house: Path):
    done = tollgate(house, "resolve", "--agent", "writer")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    grep = next(line for line in lines if line.startswith("grep "))
    assert "not_selected: Tool 'grep' is not in the selection of agent 'writer'" in grep
    assert "`tollgate tools enable grep --agent writer`" in grep
    assert "tokens per request" in lines[-1]


async def test_the_command_line_tells_what_a_running_service_tells(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running:
        served = running.service.resolver.resolve()
        reported = await asyncio.to_thread(tollgate, tmp_path, "resolve", "--json")
        listed = await asyncio.to_thread(tollgate, tmp_path, "tools", "--json")
    assert json.loads(reported.stdout)["tool_names"] == list(served.tool_names)
    on = {row["name"] for row in json.loads(listed.stdout)["tools"] if row["enabled"]}
    assert on == set(served.tool_names)


def test_an_unknown_agent_is_reported_with_those_that_there_are(house: Path):
    for words in (("resolve",), ("tools", "enable", "bash")):
        done = tollgate(house, *words, "--agent", "ghost")
        assert (done.returncode, done.stderr) == (
            1,
            "error: Agent 'ghost' not found. Existing agents: writer\n",
        )


async def test_a_running_service_uses_what_the_command_line_switched(tmp_path: Path):
    async with serving(settings_for(tmp_path, anthropic_api_key=None)) as running:
        done = await asyncio.to_thread(tollgate, tmp_path, "tools", "disable", "bash")
        assert done.returncode == 0
        runtime = running.service.runtime
        await runtime.changes.poll()
        assert runtime.resolver.resolve().disabled_reasons["bash"].code == "disabled_global"
