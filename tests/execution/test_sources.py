"""Where a tool comes from makes no difference to the gate: hooks, records, switches."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.config.settings import Settings
from app.execution.hooks.model import HookConfig, HookContext, HookType
from tests.execution.lab import open_lab

TOOL = """
from app.catalog.seed_api import PluginApi

def register(api: PluginApi) -> None:
    api.define("{name}", lambda arguments: "done", "Does it.", {{}})
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Settings:
    """An installation with a file in the plugin folder and a package with an entry point."""
    settings.plugins_dir.mkdir(parents=True)
    (settings.plugins_dir / "own.py").write_text(TOOL.format(name="from_folder"))
    site = tmp_path / "site"
    info = site / "pack-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "pack.py").write_text(TOOL.format(name="from_package"))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tollgate.tools]\npack = pack\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "pack", raising=False)
    return settings


@pytest.mark.requirement("REG-23", "D-22")
async def test_tools_of_every_source_pass_hooks_and_are_recorded(installed: Settings):
    seen: list[str] = []

    async def note(context: HookContext) -> None:
        seen.append(context.tool_name)

    async with open_lab(installed) as lab:
        rows = {row["name"]: row["source"] for row in lab.runtime.registry.snapshot().rows()}
        expected = {
            "calculator": "builtin",
            "from_folder": "plugin",
            "from_package": "external",
        }
        assert {name: rows[name] for name in expected} == expected
        lab.runtime.hooks.register(HookConfig("note", HookType.PRE_TOOL_USE, note))
        for at, name in enumerate(expected):
            arguments = {"expression": "1+1"} if name == "calculator" else {}
            assert (await lab.call(name, f"c{at}", **arguments)).status == "success"
            await lab.runtime.governance.set_enabled(name, enabled=False, actor="ann")
            assert (await lab.call(name, f"d{at}", **arguments)).status == "disabled"
        recorded = await lab.rows("SELECT tool_name, status FROM tool_calls ORDER BY rowid")
    assert seen == list(expected)
    assert recorded == [(name, status) for name in expected for status in ("success", "disabled")]
