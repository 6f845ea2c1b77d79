"""A rule on a path holds for a patch, under each of its names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.execution.lab import Lab

PATCH = """*** Begin Patch
*** Update File: open.txt
-one
+two
*** Update File: secrets/key
-one
+two
*** End Patch"""


@pytest.mark.requirement("FIL-09")
@pytest.mark.parametrize("name", ["patch", "apply_patch"])
async def test_a_denied_path_denies_the_whole_patch(house: Lab, name: str):
    root = Path(house.context["project"].root)
    (root / "secrets").mkdir()
    for path in ("open.txt", "secrets/key"):
        (root / path).write_text("one\n")
    await house.runtime.rules.create(
        {
            "tool": "*",
            "decision": "deny",
            "justification": "keys are not for agents",
            "match": {"paths": ["secrets/**"]},
        },
        actor="ann",
    )

    outcome = await house.call(name, patch=PATCH)

    assert (outcome.status, outcome.result.code) == ("denied", "denied_by_rule")
    assert "keys are not for agents" in outcome.text
    assert (root / "open.txt").read_text() == "one\n"
