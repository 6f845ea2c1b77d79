"""Each recorded history leads to the rule that it should, or to none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.policy.proposals.bodies import described
from app.policy.proposals.corpus import packaged
from app.policy.proposals.generalise import drafts
from app.policy.proposals.opposite import denials
from app.policy.proposals.proof import first_that_hold
from tests.policy.proposals.recorded import NOW, ROOT, call, inputs

pytestmark = pytest.mark.requirement("FTG-2")

_HISTORIES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("histories.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("row", _HISTORIES, ids=lambda row: row["id"])
def test_a_history_leads_to_the_expected_rule(row: dict[str, Any]) -> None:
    calls = [
        call(command, ending, day=day, **(options[0] if options else {}))
        for command, ending, day, *options in row["calls"]
    ]
    given = inputs(calls, corpus=packaged())
    denied = row.get("kind") == "deny"
    found = denials(given.history) if denied else drafts(given.history, NOW)

    held = [draft for draft, _ in first_that_hold(found, given, 10)]

    assert sorted(described(draft.body) for draft in held) == row["expect"], row["title"]
    for draft in held:
        assert draft.body["scope"] == row.get("scope", "agent:coder")
        if not denied:
            assert draft.body["expires_at"].startswith("2027-02-16")
            assert draft.body["match"]["paths"][0] == f"{row.get('base', _base(draft.body))}/**"
            assert draft.body["examples"]["match"]


def test_there_are_histories_for_every_kind() -> None:
    assert len(_HISTORIES) >= 60
    assert len({row["id"] for row in _HISTORIES}) == len(_HISTORIES)


def _base(body: dict[str, Any]) -> str:
    """Return the folder that all examples ran in."""
    folders = {example["working_dir"] for example in body["examples"]["match"]}
    return folders.pop() if len(folders) == 1 else ROOT
