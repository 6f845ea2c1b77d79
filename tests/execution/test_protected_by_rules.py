"""The example of rules that protect paths holds for every tool, however a path is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.config.settings import Settings
from app.execution.calls import CallRequest
from tests.execution.lab import Lab, open_lab
from tests.support.source import ROOT

PATCHED = "*** Begin Patch\n*** Add File: {0}\n+x\n*** End Patch"
UNIFIED = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n"
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "written": ("write_file", {"path": ".github/ci.yml", "content": "x"}),
    "written around": ("write_file", {"path": "a/../.github/ci.yml", "content": "x"}),
    "edited": ("edit_file", {"path": ".github/ci.yml", "old_text": "a", "new_text": "b"}),
    "patched": ("patch", {"patch": PATCHED.format(".github/ci.yml")}),
    "patched by a diff": ("patch", {"patch": UNIFIED.format(".github/ci.yml")}),
    "deleted": ("file_delete", {"path": ".github/ci.yml"}),
    "made": ("file_mkdir", {"path": ".github/workflows"}),
    "sent": ("send_media", {"file_paths": [".github/ci.yml"]}),
    "redirected": ("bash", {"command": "echo x > .github/ci.yml"}),
    "appended": ("bash", {"command": "echo x >> ./.github/ci.yml"}),
    "copied": ("bash", {"command": "cp a .github/"}),
    "moved into": ("bash", {"command": "cd .github && touch ci.yml"}),
    "in another shell": ("bash", {"command": "sh -c 'touch .github/ci.yml'"}),
    "by a glob": ("bash", {"command": "rm -rf .gith*/ci.yml"}),
    "by a variable": ("bash", {"command": "d=.github; touch $d/ci.yml"}),
    "under another name": ("apply_patch", {"patch": PATCHED.format(".github/ci.yml")}),
}


@pytest.fixture
async def lab(settings: Settings) -> AsyncIterator[Lab]:
    rules = ROOT / "examples" / "rules" / "protect_paths.yml"
    async with open_lab(settings.model_copy(update={"rules_file": rules})) as house:
        yield house


async def test_no_tool_changes_a_protected_path(lab: Lab):
    for at, (way, (name, arguments)) in enumerate(WAYS.items()):
        [outcome] = await lab.run(CallRequest(f"c{at}", name, arguments), attended=False)
        assert (way, outcome.status) == (way, "denied"), outcome.text


async def test_a_deployment_asks_and_everything_else_runs(lab: Lab):
    asked = CallRequest("c1", "write_file", {"path": "deploy/a.yml", "content": "x"})
    [outcome] = await lab.run(asked, attended=False)
    assert (outcome.status, outcome.result.code) == ("denied", "unattended")
    free = CallRequest("c2", "write_file", {"path": "src/a.txt", "content": ".github/ci.yml"})
    [outcome] = await lab.run(free, attended=False)
    assert outcome.status == "success"
