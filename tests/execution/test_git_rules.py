"""A rule on a path holds for `git`, however the path is named."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import ToolFailed
from app.tools.dev.git.git import paths_in_git
from tests.execution.lab import Lab
from tests.support.binaries import require_binary

WHO = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")


def _make_repository(root: Path) -> None:
    (root / "secret").mkdir(parents=True)
    (root / "secret" / "key").write_text("hidden\n", encoding="utf-8")
    (root / "open").write_text("shown\n", encoding="utf-8")
    program = require_binary("git")
    for arguments in (("init", "-q"), ("add", "-A"), (*WHO, "commit", "-qm", "first")):
        subprocess.run([program, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
async def guarded(house: Lab) -> Lab:
    """A repository in the folder `repo`, and a rule that denies its folder `secret`."""
    _make_repository(Path(house.context["project"].root) / "repo")
    await house.runtime.rules.create(
        {
            "tool": "*",
            "decision": "deny",
            "justification": "keys are not for agents",
            "match": {"paths": ["repo/secret/**"]},
        },
        actor="ann",
    )
    return house


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "show", "repo": "repo", "rev": "HEAD:secret/key"},
        {"action": "show", "repo": "repo", "rev": ":0:secret/key"},
        {"action": "show", "repo": "repo/secret", "rev": "HEAD:./key"},
        {"action": "show", "repo": "repo/secret", "rev": "HEAD:secret/key"},
        {"action": "diff", "repo": "repo", "rev": "HEAD:open..HEAD:secret/key"},
        {"action": "diff", "repo": "repo", "path": "secret/key"},
        {"action": "blame", "repo": "repo", "path": "secret/key"},
        {"action": "blame", "repo": "repo/secret", "path": "key"},
        {"action": "log", "repo": "repo/open/../secret"},
    ],
)
async def test_a_denied_path_is_not_read_from_history(guarded: Lab, arguments: dict[str, Any]):
    outcome = await guarded.call("git", **arguments)

    assert (outcome.status, outcome.result.code) == ("denied", "denied_by_rule")
    assert "hidden" not in outcome.text


async def test_other_paths_of_the_repository_are_read(guarded: Lab):
    outcome = await guarded.call("git", action="show", repo="repo", rev="HEAD:open")

    assert (outcome.status, outcome.result.data["content"]) == ("success", "shown\n")


def test_the_paths_of_a_call_are_those_it_names():
    assert paths_in_git({"action": "status"}) == ["."]
    assert paths_in_git({"repo": "a/b", "rev": "x:c"}) == ["a/b", "a/b/c", "a/c", "c"]
    assert paths_in_git({"repo": "/w/a", "rev": "x:../c"}) == ["/w/a", "/w/a/../c"]
    assert paths_in_git({"repo": "a", "rev": ":/fix a bug", "path": "p"}) == ["a", "a/p"]


@pytest.mark.parametrize("arguments", [{"repo": "a/" * 200, "rev": "x:b"}, {"rev": "x:b.." * 90}])
def test_more_paths_than_can_be_looked_at_are_not_known(arguments: dict[str, Any]):
    with pytest.raises(ToolFailed):
        paths_in_git(arguments)
