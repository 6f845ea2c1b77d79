"""What models see of the tools for developers, and what the gate is told about them."""

from __future__ import annotations

from app.tools.dev import toolset as dev
from app.tools.media import toolset as media

TOOLS = {tool.name: tool for tool in (*dev.TOOLS, *media.TOOLS)}


def test_what_a_tool_may_do_is_declared():
    declared = {
        name: (tool.permission_class.value, tool.side_effect_scope.value, tool.needs_project)
        for name, tool in TOOLS.items()
    }
    assert declared == {
        "lint": ("READ", "NONE", True),
        "lint_fix": ("WRITE", "LOCAL_STATE", True),
        "lsp": ("READ", "NONE", True),
        "git": ("READ", "NONE", True),
        "screenshot": ("EXTERNAL", "NETWORK", True),
        "send_media": ("WRITE", "LOCAL_STATE", True),
        "text_to_image": ("EXTERNAL", "NETWORK", True),
        "image_to_image": ("EXTERNAL", "NETWORK", True),
    }


def test_descriptions_and_schemas_stay_small_and_every_argument_is_described():
    for tool in TOOLS.values():
        assert len(tool.description) <= 400
        assert len(str(tool.parameters)) <= 2600
        assert tool.parameters["additionalProperties"] is False
        assert all(field["description"] for field in tool.parameters["properties"].values())


def test_a_synonym_of_an_argument_leads_to_an_argument():
    for tool in TOOLS.values():
        assert set(tool.argument_aliases.values()) <= set(tool.parameters["properties"])
        assert set(tool.argument_aliases).isdisjoint(tool.parameters["properties"])


def test_the_names_of_the_seeds_lead_to_the_tools():
    aliases = {alias.name: tool.name for tool in TOOLS.values() for alias in tool.aliases}
    assert {name: aliases[name] for name in ("LintTool", "LSPTool", "git_status", "GitBlame")} == {
        "LintTool": "lint",
        "LSPTool": "lsp",
        "git_status": "git",
        "GitBlame": "git",
    }
