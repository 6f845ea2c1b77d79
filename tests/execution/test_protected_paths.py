"""Files that other programs run or obey later: a tool that writes one asks first."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab

PATCH = """*** Begin Patch
*** Update File: {path}
@@
-one
+two
*** End Patch
"""
# One of each class of programs that run or obey them.
PROTECTED = [
    ".git/config",
    ".git/hooks/pre-commit",
    "sub/.git/config",
    ".GIT/config",
    "x/../.git/config",
    ".husky/pre-commit",
    ".gitmodules",
    ".pre-commit-config.yaml",
    ".envrc",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/runConfigurations/all.xml",
    ".devcontainer/devcontainer.json",
    ".exrc",
    ".claude/settings.json",
    ".codex/config.toml",
    ".cursor/hooks.json",
    ".gemini/settings.json",
    ".mcp.json",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".npmrc",
    "pip.conf",
    "sitecustomize.py",
    ".cargo/config.toml",
    "gradlew",
    "run.desktop",
]
FREE = [
    "README.md",
    "src/main.py",
    "Makefile",
    "package.json",
    "pyproject.toml",
    "conftest.py",
    "model.pth",
    ".gitignore",
    ".editorconfig",
    "docs/git/config",
    ".git/hooks/pre-commit.sample",
    "CLAUDE.md",
    ".gitattributes",
]


@pytest.fixture
def root(house: Lab) -> Path:
    return Path(house.context["project"].root)


def put(root: Path, path: str) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("one\n", encoding="utf-8")
    return place


async def declined(house: Lab, name: str, **arguments: Any) -> tuple[CallOutcome, str]:
    """How a call ended whose question was declined, and what the question said."""
    running = asyncio.create_task(house.run(CallRequest("c1", name, arguments)))
    asked = await house.watcher.until("tool_confirmation_request")
    await house.answer("decline", asked)
    return (await running)[0], str(asked)


@pytest.mark.parametrize("path", PROTECTED)
async def test_a_file_that_runs_later_is_not_written_without_a_question(
    house: Lab, root: Path, path: str
):
    outcome, said = await declined(house, "write_file", path=path, content="two\n")

    assert outcome.status == "declined"
    assert "runs or obeys" in said
    assert not (root / path).exists()


@pytest.mark.parametrize("path", FREE)
async def test_ordinary_files_are_written_without_a_question(house: Lab, root: Path, path: str):
    outcome = await house.call("write_file", path=path, content="two\n")

    assert outcome.status == "success"
    assert (root / path).read_text(encoding="utf-8") == "two\n"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit_file", {"path": ".envrc", "old_text": "one", "new_text": "two"}),
        ("patch", {"patch": PATCH.format(path=".envrc")}),
        ("file_delete", {"path": ".envrc"}),
        ("bash", {"command": "echo two > .envrc"}),
        ("bash", {"command": "echo two | tee .envrc"}),
        ("bash", {"command": "sed -i s/one/two/ .envrc"}),
        ("bash", {"command": "cp README .envrc"}),
        ("bash", {"command": "python3 -c \"open('.envrc','w').write('two')\""}),
        ("bash", {"command": "cd . && mv README ./.envrc"}),
    ],
)
async def test_every_tool_that_writes_asks(
    house: Lab, root: Path, name: str, arguments: dict[str, Any]
):
    place = put(root, ".envrc")
    put(root, "README")

    outcome, _ = await declined(house, name, **arguments)

    assert outcome.status == "declined"
    assert place.read_text(encoding="utf-8") == "one\n"


async def test_once_approved_it_is_written(house: Lab, root: Path):
    running = asyncio.create_task(
        house.run(CallRequest("c1", "write_file", {"path": ".envrc", "content": "two\n"}))
    )
    await house.answer("approve_once")

    assert (await running)[0].status == "success"
    assert (root / ".envrc").read_text(encoding="utf-8") == "two\n"


async def test_a_rule_allows_a_path(house: Lab, root: Path):
    await house.runtime.rules.create(
        {
            "tool": "write_file",
            "decision": "allow",
            "justification": "this project's agents look after its workflows",
            "match": {"paths": [".github/workflows/**"]},
        },
        actor="ann",
    )
    outcome = await house.call("write_file", path=".github/workflows/ci.yml", content="two\n")

    assert outcome.status == "success"
    outcome, _ = await declined(house, "write_file", path=".envrc", content="two\n")
    assert outcome.status == "declined"


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("notes.txt", ".git/config", "notes.txt"),
        ("folder", ".git", "folder/config"),
        ("folder", ".git", "folder/hooks/pre-commit"),
    ],
)
async def test_no_link_leads_to_one_unseen(
    house: Lab, root: Path, link: str, target: str, path: str
):
    place = put(root, ".git/config")
    (root / ".git" / "hooks").mkdir()
    (root / link).symlink_to(target)

    outcome = await house.call("write_file", path=path, content="two\n")

    assert (outcome.status, outcome.result.code) == ("error", "link_to_protected_file")
    assert place.read_text(encoding="utf-8") == "one\n"
    assert not (root / ".git" / "hooks" / "pre-commit").exists()


async def test_a_home_folder_is_not_in_the_workspace(house: Lab, root: Path):
    outcome = await house.call("write_file", path="~/notes.txt", content="two\n")

    assert (outcome.status, outcome.result.code) == ("error", "outside_workspace")
    assert not (root / "~").exists()
