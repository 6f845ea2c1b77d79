"""What doctor says about hooks and limits before anybody is denied."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from app.config.sections import HookSettings, LimitSettings, ModelPrice
from app.config.settings import Settings, load_settings
from app.execution.doctor.check import Check
from app.execution.doctor.hook_checks import hook_checks, load_hooks, missing_hooks
from app.execution.hooks.model import HookProblem


def checks(settings: Settings) -> dict[str, Check]:
    return {check.name: check for check in hook_checks(settings, lambda: load_hooks(settings))}


def installation(folder: Path, **fields: Any) -> Settings:
    return load_settings(data_dir=folder, anthropic_api_key=None, _env_file=None, **fields)


def hook(command: Any, **fields: Any) -> HookSettings:
    chosen = {"name": "guard", "event": "pre_tool_use", "command": command, **fields}
    return HookSettings.model_validate(chosen)


def test_a_hook_that_can_do_its_work_is_fine(tmp_path: Path):
    for command in ([sys.executable, "x.py"], "LEVEL=1 sh check.sh"):
        found = checks(installation(tmp_path, hooks=[hook(command)]))["hook guard"]
        assert found.state == "ok"


def test_a_program_that_is_missing_is_broken(tmp_path: Path):
    for command in (["no-such-program"], ["./guard"], "no-such-program --x"):
        found = checks(installation(tmp_path, hooks=[hook(command)]))["hook guard"]
        assert (found.state, "not found" in found.found) == ("broken", True)


def test_a_matcher_without_a_tool_is_a_warning_and_an_alias_is_a_match(tmp_path: Path):
    lost = checks(installation(tmp_path, hooks=[hook("true", matcher="Bish")]))["hook guard"]
    assert (lost.state, "matches no tool" in lost.found) == ("warning", True)
    known = checks(installation(tmp_path, hooks=[hook("true", matcher="BashTool")]))["hook guard"]
    assert known.state == "ok"


def test_a_program_that_agents_can_write_is_a_warning(tmp_path: Path):
    program = tmp_path / "workspace" / "guard"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = checks(installation(tmp_path, hooks=[hook([str(program)])]))["hook guard"]
    assert (found.state, "workspace" in found.found) == ("warning", True)
    whole = checks(installation(tmp_path, workspace=tmp_path, hooks=[hook("true")]))
    assert whole["hook folder"].state == "warning"


def test_a_plugin_without_its_hooks_is_shown_with_what_it_means(tmp_path: Path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "guard.py").write_text("HOOKS = [")
    found = checks(installation(tmp_path))["hook plugin guard"]
    assert (found.state, "EVERY CALL IS DENIED" in found.meaning) == ("broken", True)
    spared = checks(installation(tmp_path, broken_hook_plugins="report"))["hook plugin guard"]
    assert spared.state == "warning"
    line = missing_hooks(
        [HookProblem("guard", "plugins/guard.py", "boom", "plugin_raised", is_shut=True)]
    )
    assert "EVERY CALL IS DENIED" in line[0]


def test_a_cost_limit_without_a_price_is_broken(tmp_path: Path):
    limits = LimitSettings(cost_per_session=1)
    assert checks(installation(tmp_path, limits=limits))["cost limit"].state == "broken"
    prices = {"m": ModelPrice(input=1, output=1)}
    priced = installation(tmp_path, limits=limits, model="m", model_prices=prices)
    assert "cost limit" not in checks(priced)
