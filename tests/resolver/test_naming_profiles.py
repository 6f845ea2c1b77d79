"""Under its naming profile an agent reads the names of its design, as that design wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from app.catalog.builtin import register_all_tools
from app.governance.agents import AgentProfile
from app.resolver.layers import Surroundings, Viewer
from app.resolver.resolver import project
from tests.resolver.test_layers import governance

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
    around = Surroundings(max_visible=1000)
    exposure = project(catalog, governance(), Viewer("a", profile), around).exposure
    return {definition["name"] for definition in exposure.definitions.values()}


@pytest.mark.parametrize("family", DESIGNS)
@pytest.mark.requirement("D-21")
def test_each_design_reads_its_own_names(family: str):
    assert set(DESIGNS[family].split()) - shown(family) == set()


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
