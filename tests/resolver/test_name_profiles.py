"""Under its naming profile an agent reads the names of its design, as that design wrote them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.catalog.builtin import register_all_tools
from app.governance.agents import AgentProfile
from app.resolver.layers import AccessSubject, HostCapabilities
from app.resolver.resolver import project
from tests.resolver.test_layers import governance
from tests.support.http import HttpClient
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text
from tests.support.service import serving, settings_for

DESIGNS = {
    "nanoclaw": """
        web_search fetch_page crawl_batch calculator text_process json_process execute_python
        file_read file_write file_delete file_list file_exists file_mkdir get_weather multi_agent
    """,
    "netaclaw": """
        read_file write_file list_dir find_files grep bash edit patch
        read_skill read_skill_file skill_manage execute_skill memory_save memory_recall
        text_to_image image_to_image delegate_task delegate_parallel weixin_send_text
        mysql_list_sources mysql_schema mysql_table_sample mysql_query clarify escalate todo
    """,
    "jarvis": """
        GlobTool GrepTool LintTool EditTool LSPTool BashTool PowerShellTool ScheduleCronTool
        ProcessTool TeamAgentTool TaskBroadcastTool RemoteTriggerTool AskUserQuestionTool Git
        task schedule search forum time_reasoning
    """,
    "countbot": """
        read_file write_file edit_file list_dir exec web_search web_fetch spawn file_search
        memory_write memory_search memory_read screenshot send_media
    """,
}


def shown(family: str | None) -> set[str]:
    catalog = register_all_tools(installed_plugins=False).snapshot()
    profile = AgentProfile.model_validate({"id": "a", "aliases": family})
    around = HostCapabilities(max_visible=1000)
    exposure = project(catalog, governance(), AccessSubject("a", profile), around).exposure
    return {definition["name"] for definition in exposure.definitions.values()}


@pytest.mark.parametrize("family", DESIGNS)
@pytest.mark.requirement("D-21")
def test_each_design_reads_its_own_names(family: str):
    assert set(DESIGNS[family].split()) - shown(family) == set()


def is_of(run_id: str, event: dict[str, Any]) -> bool:
    return bool(event["run_id"] == run_id)


@pytest.mark.requirement("D-21")
async def test_a_model_is_sent_the_names_of_its_agents_design(tmp_path: Path):
    catalog = register_all_tools(installed_plugins=False).snapshot()
    async with ScriptedAnthropic(fallback=Turn(text("hello"))) as provider:
        key = {"anthropic_api_key": "test-key", "anthropic_base_url": provider.base_url}
        async with (
            serving(settings_for(tmp_path, **key)) as running,
            HttpClient(base_url=running.api) as client,
            running.connect() as chat,
        ):
            for family, names in DESIGNS.items():
                agent = {"id": family, "aliases": family, "max_visible_tools": 1000}
                assert (await client.post("/admin/agents", json=agent)).status_code == 201
                resolved = (await client.get(f"/toolset?agent_id={family}")).json()
                session = (await client.post("/sessions", json={"agent_id": family})).json()
                await chat.command(type="subscribe", session_id=session["id"])
                said = {"session_id": session["id"], "content": "hello"}
                run_id = (await chat.command(type="user_message", **said))["result"]["run_id"]
                await chat.until("run_finished", partial(is_of, run_id))
                sent = set(provider.requests[-1].tool_names)
                left_out = {
                    entry.tool.name
                    for name in set(names.split()) - sent
                    if (entry := catalog.lookup(name))
                }
                # What is off on this machine, such as a program that is not installed.
                assert left_out <= resolved["disabled_reasons"].keys(), family
                assert sent & set(names.split())


@pytest.mark.parametrize("family", [*DESIGNS, "claude", None])
def test_a_name_that_is_shown_can_be_called_and_stands_for_one_tool(family: Any):
    catalog = register_all_tools(installed_plugins=False).snapshot()
    names = shown(family)
    assert len(names) == len(catalog.tools)
    called = [entry.tool.name for name in names if (entry := catalog.lookup(name))]
    assert sorted(called) == sorted(catalog.tools)


def test_a_tool_may_be_written_in_another_case_by_an_alias_of_its_own():
    catalog = register_all_tools(installed_plugins=False).snapshot()
    entry = catalog.lookup("Git")
    assert entry is not None
    assert entry.tool.name == "git"
    assert {row["name"] for row in catalog.rows() if row["alias_of"] == "git"} >= {"Git"}
