"""The table that leads from the seed designs to this house."""

import re
from importlib import import_module

import pytest

from tests.docs.pages import read
from tests.support.source import ROOT

SEEDS = {
    "NanoClaw": """
        backend/tools/__init__.py backend/tools/core.py backend/tools/factory.py
        backend/tools/executor.py backend/tools/services.py backend/tools/builtin/crawler.py
        backend/tools/builtin/data.py backend/tools/builtin/code.py
        backend/tools/builtin/file_ops.py backend/tools/builtin/weather.py
        backend/tools/builtin/agent.py backend/tools/builtin/database.py
        backend/services/chat.py routes/__init__.py
    """,
    "Jarvis": " ".join(
        f"backend/app/agents/tools/{name}.py"
        for name in (
            *("__init__", "registry", "manifest", "hook_executor", "hook_config"),
            *("streaming_executor", "base", "builtins/__init__", "builtins/file_tools"),
            *("builtins/system_tools", "builtins/dev_tools", "builtins/collaboration_tools"),
            *("task", "schedule", "search", "forum", "time_reasoning"),
        )
    ),
    "NetaClaw": """
        netaclaw/tools/ netaclaw/tools/operations/ netaclaw/service/tool_resolver.ts
        netaclaw/service/tool_registry.ts netaclaw/subagent/worker_tools.ts
        netaclaw/gateway/tool_risk.ts renderer-registry.ts runtime-policy.ts
        tool-process-timeline.vue
    """,
}
ROW = re.compile(r"^\|(.+)\| ([^|]+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str]]:
    return [row for row in ROW.findall(read("docs/seed-mapping.md")) if "---" not in row[1]]


@pytest.mark.requirement("FS-01", "FS-02", "FS-03", "MAP-01")
def test_every_part_of_a_seed_has_its_place_here():
    without = [row for row in rows() if not re.search(r"`(?:app|web)/", row[1])]
    assert [row[1] for row in without] == ["here"] * 9


@pytest.mark.requirement("FS-01", "FS-02", "FS-03")
@pytest.mark.parametrize("design", SEEDS)
def test_every_module_that_a_seed_names_has_its_row(design: str):
    reported = {path for cell, _ in rows() for path in re.findall(r"`([^`]+)`", cell)}
    assert set(SEEDS[design].split()) - reported == set()


def test_every_module_that_is_named_exists_and_can_be_imported():
    named = {path for _, here in rows() for path in re.findall(r"`((?:app|web)/[^`]+)`", here)}
    assert len(named) > 40
    for path in sorted(named):
        assert (ROOT / path).is_file(), path
        if path.endswith(".py"):
            import_module(path.removesuffix(".py").replace("/", "."))
