"""A rule on a path holds for a search whose glob names the path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.execution.lab import Lab


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("grep", {"pattern": "hid", "glob": "secret/*", "output_mode": "content"}, "denied"),
        ("grep", {"pattern": "hid", "glob": "./secret/key.txt"}, "denied"),
        ("grep", {"pattern": "hid", "path": "open/..", "glob": "secret/{key,other}*"}, "denied"),
        ("find_files", {"pattern": "secret/**"}, "denied"),
        ("file_search", {"query": "hidden", "pattern": "secret/key.txt"}, "denied"),
        ("grep", {"pattern": "shown", "glob": "open/*"}, "success"),
        ("grep", {"pattern": "shown", "glob": "*.txt", "path": "open"}, "success"),
        ("find_files", {"pattern": "open/secret/*"}, "success"),
    ],
)
async def test_a_denied_folder_is_not_searched_by_naming_it_in_a_glob(
    house: Lab, name: str, arguments: dict[str, Any], status: str
):
    root = Path(house.context["project"].root)
    for path, text in (("secret/key.txt", "hidden\n"), ("open/note.txt", "shown\n")):
        (root / path).parent.mkdir()
        (root / path).write_text(text, encoding="utf-8")
    await house.runtime.rules.create(
        {
            "tool": "*",
            "decision": "deny",
            "justification": "keys are not for agents",
            "match": {"paths": ["secret/**"]},
        },
        actor="ann",
    )

    outcome = await house.call(name, **arguments)

    assert outcome.status == status
    assert "hidden" not in outcome.text
