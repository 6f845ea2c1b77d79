"""The programs behind the tools run in the real sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.operations.language_servers.pool import LanguageServerPool
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from app.toolkit.context import ToolContext
from app.tools.dev.git.git import git
from app.tools.dev.lint.lint import lint
from app.tools.dev.lsp.lsp import lsp
from tests.tools.calls import call


@pytest.fixture
async def confined(root: Path, here: ToolContext) -> AsyncIterator[ToolContext]:
    sandbox = Sandbox()
    try:
        async with SandboxedWorkspace(root, sandbox=sandbox) as workspace:
            yield replace(here, bound_operations=workspace.operations)
    finally:
        await sandbox.close()


async def test_a_linter_reads_nothing_outside_even_when_its_configuration_says_so(
    confined: ToolContext, root: Path, tmp_path: Path
):
    (root / "a.py").write_text("import os\n", encoding="utf-8")
    plain = await call(lint, confined, path="a.py")
    assert plain.data["checked"] == {"ruff": 1}
    assert plain.data["sandbox"]["level"] == "bash"
    secret = tmp_path / "secret.toml"
    secret.write_text("token-of-the-service = 1\n", encoding="utf-8")
    (root / "ruff.toml").write_text(f'extend = "{secret}"\n', encoding="utf-8")
    result = await call(lint, confined, path="a.py")
    assert result.data["checked"] == {}
    assert "token-of-the-service" not in result.for_model()
    assert "token-of-the-service" not in str(result.data)


async def test_git_reads_no_repository_outside(confined: ToolContext, root: Path, tmp_path: Path):
    outside = tmp_path / "outside" / ".git"
    for folder in ("objects", "refs"):
        (outside / folder).mkdir(parents=True)
    (outside / "HEAD").write_text("ref: refs/heads/secret\n", encoding="utf-8")
    (root / ".git").write_text(f"gitdir: {outside}\n", encoding="utf-8")
    result = await call(git, confined)
    assert result.success is False
    assert "refs/heads/secret" not in result.for_model()
    (root / ".git").unlink()
    (outside).rename(root / ".git")
    assert (await call(git, confined)).data["branch"] == "secret"


async def test_a_language_server_answers_from_within(
    confined: ToolContext, root: Path, pool: LanguageServerPool
):
    (root / "a.py").write_text("def made() -> int:\n    return 1\n\n\nmade()\n", encoding="utf-8")
    result = await call(lsp, confined, operation="references", path="a.py", symbol="made")
    assert [(item["line"], item["column"]) for item in result.data["results"]] == [(1, 5), (5, 1)]
    await pool.close()  # before its workspace
