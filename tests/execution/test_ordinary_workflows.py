"""Ordinary work asks nothing, and nothing of it is put back, though it writes protected files."""

from __future__ import annotations

import zipfile
from collections.abc import Callable

import pytest

from app.execution.context import Project
from scripts.parts import PIP
from tests.execution.ground import HOOK, Ground, ground, repository
from tests.support.binaries import require_binary, require_part

__all__ = ["ground", "repository"]

ANN = "git config user.name Ann; git config user.email ann@example.org"
PACKAGE = '{"name": "site", "version": "1.0.0"}\n'


def nothing(_: Ground) -> None:
    """The repository is enough."""


def upstream(ground: Ground) -> None:
    ground.git("clone", "-q", "--bare", ".", "up.git")
    ground.git("remote", "add", "origin", "./up.git")
    ground.git("fetch", "-q", "origin")


def with_branch(ground: Ground) -> None:
    """Another branch has what editors and build services obey."""
    ground.git("checkout", "-qb", "topic")
    for path in (".vscode/settings.json", ".github/workflows/ci.yml", ".envrc", "Makefile", "b"):
        ground.put(path, "of the project\n")
        ground.git("add", "-f", path)
    ground.git("commit", "-qm", "topic")
    ground.git("checkout", "-q", "main")
    ground.put("c")
    ground.git("add", "c")
    ground.git("commit", "-qm", "main")


def with_settings(ground: Ground) -> None:
    ground.put(".vscode/settings.json", "{}\n")
    ground.put(".envrc", "export A=1\n")
    ground.git("add", "-f", ".")
    ground.git("commit", "-qm", "settings")
    ground.put(".vscode/settings.json", '{"editor.tabSize": 2}\n')


def with_submodule(ground: Ground) -> None:
    ground.git("clone", "-q", ".", "lib.git")
    ground.git("-C", "lib.git", "checkout", "-q", "--detach")
    ground.git("submodule", "-q", "add", "./lib.git", "lib")
    ground.git("commit", "-qm", "lib")
    ground.git("submodule", "deinit", "-qf", "lib")


def with_hooks(ground: Ground) -> None:
    """What a person has installed runs in the sandbox, as it would outside."""
    ground.put(".husky/pre-commit", HOOK).chmod(0o755)
    ground.git("add", ".husky")
    ground.git("commit", "-qm", "hooks")
    ground.git("config", "core.hooksPath", ".husky")


def with_filter(ground: Ground) -> None:
    """As `git lfs install --local` and `git lfs track` leave it."""
    for name, command in (("clean", "sed s/^/x/"), ("smudge", "sed s/^x//"), ("required", "true")):
        ground.git("config", f"filter.big.{name}", command)
    ground.put(".gitattributes", "*.bin filter=big\n")
    ground.git("add", ".gitattributes")
    ground.git("commit", "-qm", "track")


def with_package(ground: Ground) -> None:
    require_binary("npm")
    ground.put("package.json", PACKAGE)
    ground.git("add", "package.json")
    ground.git("commit", "-qm", "package")


def with_wheel(ground: Ground) -> None:
    wheel = ground.root / "tiny-1.0-py3-none-any.whl"
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("tiny.py", "answer = 42\n")
        packed.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        packed.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        packed.writestr(f"{info}/RECORD", "")


Ready = Callable[[Ground], None]
WORKFLOWS: dict[str, tuple[Ready, str]] = {
    "clone": (upstream, "git clone -q up.git copy && git -C copy log --oneline"),
    "commit": (
        nothing,
        "echo x >> a && git add a && git commit -qm 'Change a' && git log -1 --stat",
    ),
    "amend and tag": (
        nothing,
        "git commit -q --amend -m better && git tag v1 && git tag -a v2 -m two && git tag -l",
    ),
    "rebase": (with_branch, "git checkout -q topic && git rebase -q main && git log --oneline"),
    "merge": (with_branch, "git merge -q --no-edit topic && test -f .envrc"),
    "cherry-pick": (with_branch, "git cherry-pick topic && test -f .vscode/settings.json"),
    "switch branches": (
        with_branch,
        "git switch -q topic && git switch -q main && git switch -q -",
    ),
    "stash": (
        with_settings,
        "git stash -q && git stash list && git stash pop -q"
        " && grep -q tabSize .vscode/settings.json",
    ),
    "fetch, pull and push": (
        upstream,
        "git fetch -q origin && git branch -q -u origin/main && git pull -q --ff-only"
        " && echo x >> a && git commit -qam x && git push -q origin HEAD:refs/heads/next",
    ),
    "settings of the author": (nothing, "git config user.name Bob && git config pull.rebase true"),
    "a work tree": (
        with_branch,
        "git worktree add -q tree topic && git -C tree status && git worktree list",
    ),
    "a submodule": (
        with_submodule,
        "git -c protocol.file.allow=always submodule update --init -q && git -C lib status",
    ),
    "hooks that are installed": (
        with_hooks,
        "echo x >> a && git commit -qam x && test -f ran",
    ),
    "filters that are configured": (
        with_filter,
        "echo data > f.bin && git add f.bin && git commit -qm bin && git checkout -q HEAD~1"
        " && git checkout -q - && cat f.bin",
    ),
    "npm version": (with_package, "npm version patch && git show --stat v1.0.1"),
    "a virtual environment": (
        nothing,
        "python3 -m venv --without-pip .venv && .venv/bin/python -V",
    ),
    "a package of one's own": (
        with_wheel,
        "python3 -m venv --without-pip .venv && python3 -m pip --python .venv/bin/python install -q"
        " --no-index --no-deps ./tiny-1.0-py3-none-any.whl && .venv/bin/python -m tiny",
    ),
    "a source archive": (
        with_branch,
        "git archive --prefix=site-1.0/ topic | tar x && ls -A site-1.0",
    ),
    "moving a folder": (
        with_settings,
        "mkdir packages && mv .vscode packages/.vscode && ls packages/.vscode",
    ),
    "removing what git ignores": (nothing, "echo build > .gitignore && git clean -nX && git gc -q"),
}


@pytest.mark.parametrize("what", WORKFLOWS)
async def test_it_asks_nothing(ground: Ground, what: str):
    ready, command = WORKFLOWS[what]
    if "-m pip" in command:
        require_part(PIP)
    ready(ground)

    outcome = await ground.call("bash", command=f"{ANN}; {command}")

    assert outcome.status == "success", outcome.result and outcome.result.text
    assert outcome.result is not None
    assert "undone" not in outcome.result.data, outcome.result.data
    assert "changed_git" not in outcome.result.data


async def test_a_makefile_is_edited_where_the_owner_allows_it(ground: Ground):
    ground.put("Makefile", "all:\n\techo one\n")
    project = await released(ground, "Makefile", ".github/workflows/**", ".envrc")

    for name, arguments in {
        "edit_file": {"path": "Makefile", "old_text": "one", "new_text": "two"},
        "write_file": {"path": ".github/workflows/ci.yml", "content": "on: push\n"},
    }.items():
        assert (await ground.call(name, project=project, **arguments)).status == "success"
    for command in (
        "sed -i s/two/three/ Makefile",
        "echo 'export A=1' > .envrc",
        "mkdir -p sub && cp .envrc sub/.envrc",
        "python3 -c \"open('.envrc', 'w').write('export B=1')\"",
    ):
        outcome = await ground.call("bash", project=project, command=command)
        assert outcome.status == "success", command
        assert outcome.result is not None
        assert not {"undone", "changed_protected"} & outcome.result.data.keys()
    assert (ground.root / ".envrc").read_text(encoding="utf-8") == "export B=1"


async def test_what_the_owner_does_not_name_asks_as_before(ground: Ground):
    project = await released(ground, ".envrc", "config")

    for name, arguments in {
        "write_file": {"path": ".mcp.json", "content": "{}"},
        "edit_file": {"path": ".git/config", "old_text": "[core]", "new_text": "[x]"},
        "bash": {"command": "echo x > .envrc; echo x > .mcp.json"},
    }.items():
        assert (await ground.call(name, project=project, **arguments)).status != "success"
    assert not (ground.root / ".mcp.json").exists()


async def released(ground: Ground, *patterns: str) -> Project:
    projects = ground.house.runtime.projects
    made = await projects.create(
        "Site", str(ground.root), unprotected_paths=patterns, actor="ann", force=True
    )
    return projects.get(made.id)
