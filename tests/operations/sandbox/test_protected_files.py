"""What a sandboxed program changes of files that other programs run is put back or reported."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest

from app.operations.protocols.code import CodeExit, CodeSpec
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessSpec
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from tests.operations.conftest import names
from tests.operations.sandbox.test_git_watch import RAN, ended, git, repository

__all__ = ["repository"]

UNDONE = [
    ".envrc",
    "mise.toml",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    "packages/a/.vscode/tasks.json",
    ".idea/runConfigurations/all.xml",
    "x.code-workspace",
    ".devcontainer/devcontainer.json",
    ".claude/settings.json",
    ".CLAUDE/settings.json",
    ".claude/hooks/deep/er/x.sh",
    ".cursor/hooks.json",
    ".mcp.json",
    ".exrc",
    ".gdbinit",
    ".husky/pre-commit",
    ".githooks/pre-push",
    ".gitmodules",
    ".pre-commit-config.yaml",
    "sitecustomize.py",
]
REPORTED = [
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".npmrc",
    "gradlew",
    "gradle/wrapper/gradle-wrapper.jar",
    ".cargo/config.toml",
    "pip.conf",
    "CLAUDE.md",
    ".gitattributes",
    "app.desktop",
    "web.service",
]
FREE = ["Makefile", "package.json", "src/main.py", "conftest.py", ".env", ".github/x.md", "a.pth"]


def writes(*paths: str, text: str = "two") -> str:
    """A command that runs a program which writes files."""
    program = (
        "import pathlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    path = pathlib.Path(name)\n"
        "    path.parent.mkdir(parents=True, exist_ok=True)\n"
        f"    path.write_text({text!r})\n"
    )
    return shlex.join(["python3", "-c", program, *paths])


def put(root: Path, path: str, text: str = "one") -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    return place


async def test_new_ones_are_taken_away_and_their_content_is_kept(sandboxed: Operations, root: Path):
    put(root, "packages/a/x")

    exit_ = await ended(sandboxed, writes(*UNDONE))

    assert sorted(exit_.undone) == sorted(UNDONE)
    assert [path for path in UNDONE if (root / path).exists()] == []
    assert exit_.put_aside is not None
    kept = Path(exit_.put_aside) / "_packages_a_.vscode_tasks.json"
    assert kept.read_text(encoding="utf-8") == "two"
    # A program of the workspace reads it, and may put it in place once that was approved.
    shown = await ended(
        sandboxed,
        f"cat '{exit_.put_aside}/_.envrc' > .envrc",
        may_change=frozenset({"files"}),
    )
    assert shown.undone == ()
    assert (root / ".envrc").read_text(encoding="utf-8") == "two"


async def test_changed_ones_are_as_before(sandboxed: Operations, root: Path):
    for path in UNDONE:
        put(root, path).chmod(0o640)

    exit_ = await ended(sandboxed, writes(*UNDONE) + "; chmod 755 .envrc; rm .mcp.json")

    assert {(root / path).read_text() for path in UNDONE if path != ".mcp.json"} == {"one"}
    assert (root / ".envrc").stat().st_mode & 0o777 == 0o640
    # Nothing runs a file that is gone.
    assert sorted(exit_.undone) == sorted(set(UNDONE) - {".mcp.json"})


@pytest.mark.parametrize(
    "script",
    [
        "printf two > t; mv t .envrc",
        "printf two > t; ln -sf t .envrc",
        "rm .envrc; mkfifo .envrc",
        "mkdir d; printf two > d/.envrc; tar cf d.tar -C d .; tar xf d.tar",
        "printf two > t; ln -f t .envrc",
        "cd ..; printf two > ws/.envrc",
    ],
)
async def test_by_whatever_way_it_came(sandboxed: Operations, root: Path, script: str):
    place = put(root, ".envrc")

    exit_ = await ended(sandboxed, script)

    assert ".envrc" in exit_.undone
    assert not place.is_symlink()
    assert place.read_text(encoding="utf-8") == "one"


async def test_what_programs_write_every_day_is_reported(sandboxed: Operations, root: Path):
    exit_ = await ended(sandboxed, writes(*REPORTED))

    assert (exit_.undone, sorted(exit_.reported)) == ((), sorted(REPORTED))
    assert (root / ".npmrc").read_text(encoding="utf-8") == "two"


async def test_of_ordinary_files_nothing_is_said(sandboxed: Operations, root: Path):
    put(root, ".envrc")
    put(root, ".npmrc")

    exit_ = await ended(sandboxed, writes(*FREE) + "; touch .envrc .npmrc; cat .envrc > x")

    assert (exit_.undone, exit_.reported, exit_.left) == ((), (), ())


async def test_in_a_folder_that_the_program_made_they_stay_and_are_reported(
    sandboxed: Operations, root: Path
):
    (root / "empty").mkdir()

    exit_ = await ended(sandboxed, writes("new/.envrc", "new/gradlew", "empty/.vscode/tasks.json"))

    assert exit_.undone == ()
    assert sorted(exit_.reported) == ["empty/.vscode/tasks.json", "new/.envrc"]


async def test_what_git_brings_stays_and_is_reported(sandboxed: Operations, repository: Path):
    git(repository, "checkout", "-qb", "topic")
    put(repository, ".envrc", "two")
    put(repository, ".husky/pre-commit", "two")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "topic")
    git(repository, "checkout", "-q", "main")

    exit_ = await ended(sandboxed, "git checkout -q topic")

    assert (exit_.undone, exit_.reported) == ((), (".envrc", ".husky/pre-commit"))
    assert (repository / ".envrc").read_text(encoding="utf-8") == "two"


async def test_also_with_the_short_names_of_the_fourth_version(
    sandboxed: Operations, repository: Path
):
    git(repository, "checkout", "-qb", "topic")
    for name in (".vscode/extensions.json", ".vscode/settings.json", ".vscode/tasks.json"):
        put(repository, name, name)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "topic")
    git(repository, "checkout", "-q", "main")

    exit_ = await ended(sandboxed, "git update-index --index-version 4; git checkout -q topic")

    assert exit_.undone == ()
    assert len(exit_.reported) == 3


async def test_a_worktree_has_an_index_of_its_own(sandboxed: Operations, repository: Path):
    put(repository, ".envrc", "two")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "more")
    git(repository, "worktree", "add", "-q", "tree")
    (repository / "tree" / ".envrc").unlink()

    exit_ = await ended(sandboxed, "git -C tree checkout -q -- .envrc")

    assert exit_.undone == ()
    assert (repository / "tree" / ".envrc").read_text(encoding="utf-8") == "two"


async def test_what_was_there_before_may_move_and_come_back(
    sandboxed: Operations, repository: Path
):
    put(repository, ".vscode/settings.json")
    put(repository, "lib/.vscode/tasks.json")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "more")
    put(repository, ".vscode/settings.json", "mine")
    identity = "git -c user.name=A -c user.email=a@b"
    scripts = [
        "mv lib other; mkdir lib; cp -r other/.vscode lib/",
        f"{identity} stash -q",
        f"{identity} stash pop -q",
    ]

    for script in scripts:
        assert (await ended(sandboxed, script)).undone == ()

    assert (repository / "lib/.vscode/tasks.json").read_text(encoding="utf-8") == "one"
    assert (repository / ".vscode/settings.json").read_text(encoding="utf-8") == "mine"


async def test_what_another_program_wrote_is_not_taken_for_old(sandboxed: Operations, root: Path):
    script = f"{writes('.envrc')}; echo written; read -r _"
    spec = ProcessSpec(("bash", "-c", script), interactive=True)
    async with asyncio.timeout(60), sandboxed.processes.open(spec) as running:
        async for _ in running.output():
            break
        await ended(sandboxed, "cat .envrc")
        await running.write(b"\n")
        exit_ = await running.wait()

    assert exit_.undone == (".envrc",)
    assert not (root / ".envrc").exists()


async def test_what_was_approved_stays(sandboxed: Operations, root: Path):
    files, of_git = frozenset({"files"}), frozenset({"git"})
    exit_ = await ended(sandboxed, writes(".envrc"), may_change=files)
    assert (exit_.undone, exit_.reported) == ((), ())
    assert (root / ".envrc").exists()

    exit_ = await ended(sandboxed, writes(".husky/pre-push", ".mcp.json"), may_change=of_git)
    assert exit_.undone == (".mcp.json",)
    assert (root / ".husky/pre-push").exists()


async def test_what_may_be_an_approved_programs_is_left(sandboxed: Operations, root: Path):
    beside = ProcessSpec(("cat",), interactive=True)
    async with asyncio.timeout(60), sandboxed.processes.open(beside) as running:
        await ended(sandboxed, writes(".envrc"), may_change=frozenset({"files"}))
        await running.close_input()
        exit_ = await running.wait()

    assert (exit_.undone, exit_.reported) == ((), (".envrc",))
    assert (root / ".envrc").exists()


async def test_what_the_project_releases_stays(sandbox: Sandbox, root: Path):
    patterns = (".vscode/**", ".envrc")
    put(root, "sub/x")
    async with SandboxedWorkspace(root, sandbox=sandbox, unprotected=patterns) as workspace:
        paths = (".vscode/tasks.json", "sub/.envrc", ".mcp.json")
        exit_ = await ended(workspace.operations, writes(*paths))

    assert (exit_.undone, exit_.reported) == ((".mcp.json",), ())
    assert (root / "sub/.envrc").exists()


@pytest.mark.parametrize(
    "hiding",
    [
        "mkdir -p .claude; cd .claude; touch a{1..2500}; cd ..",
        "mkdir a{1..400}",
        "mkdir -p .aaa/.claude; touch .aaa/.claude/a{1..600}",
    ],
)
async def test_thousands_of_others_hide_none(sandboxed: Operations, root: Path, hiding: str):
    paths = ["sub/.envrc", ".zed/tasks.json", ".claude/settings.json"]
    put(root, "sub/x")
    put(root, ".aaa/x")

    await ended(sandboxed, f"{hiding}; {writes(*paths)}")

    assert [path for path in paths if (root / path).exists()] == []


async def test_where_there_are_more_than_are_looked_at_none_is_lost(
    sandboxed: Operations, root: Path
):
    for number in range(700):
        put(root, f".claude/{number:03}")

    exit_ = await ended(sandboxed, writes(".claude/000", ".claude/699", ".claude/new"))

    assert exit_.undone == (".claude/000",)
    assert exit_.reported == (".claude/699", ".claude/new")
    assert len(list((root / ".claude").iterdir())) == 701


async def test_in_a_home_folder_its_own_files_count(
    sandbox: Sandbox, root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("app.operations.local.protected_files.below_home", lambda *_: "x")
    put(root, "sub/x")
    async with SandboxedWorkspace(root, sandbox=sandbox) as workspace:
        paths = (".bashrc", ".ssh/config", ".config/systemd/user/x.service", "sub/.bashrc")
        exit_ = await ended(workspace.operations, writes(*paths))

    assert sorted(exit_.undone) == [".bashrc", ".config/systemd/user/x.service", ".ssh/config"]


async def test_a_link_that_was_there_is_made_again(sandboxed: Operations, root: Path):
    put(root, "shared/envrc")
    (root / ".envrc").symlink_to("shared/envrc")

    exit_ = await ended(sandboxed, "rm .envrc; printf two > .envrc")

    assert exit_.undone == (".envrc",)
    assert str((root / ".envrc").readlink()) == "shared/envrc"


async def test_what_is_kept_leads_nowhere_else(sandboxed: Operations, root: Path):
    """A program that waits for the folder of kept files finds no moment to bend its way."""
    script = (
        writes(".envrc", ".mcp.json") + '; ln -s /etc "$TMPDIR/put-back-x"; chmod 777 "$TMPDIR"'
    )

    exit_ = await ended(sandboxed, script)

    assert exit_.put_aside is not None
    assert names(Path(exit_.put_aside)) == ["_.envrc", "_.mcp.json"]


async def test_lenient_python_is_watched_as_well(sandboxed: Operations, repository: Path):
    code = (
        "import os\n"
        f"root = {str(repository)!r}\n"
        "open(root + '/.envrc', 'w').write('two')\n"
        "open(root + '/.git/config', 'a').write('[core]\\nfsmonitor = touch ran;#\\n')\n"
    )
    exit_ = await lenient(sandboxed, code)
    git(repository, "status")

    assert exit_.exit.code == 0
    assert sorted(exit_.exit.undone) == [".envrc", ".git/config"]
    assert not (repository / ".envrc").exists()
    assert not (repository / "ran").exists()


async def lenient(operations: Operations, code: str) -> CodeExit:
    async with asyncio.timeout(60), operations.code.open(CodeSpec(code, "lenient", 30)) as run:
        return await run.wait()


class TestWhatGitLeadsTo:
    """Links and settings that were there before lead to files that git obeys as well."""

    async def test_a_link_for_a_configuration(self, sandboxed: Operations, repository: Path):
        config = repository / ".git/config"
        config.rename(repository / "shared.cfg")
        config.symlink_to("../shared.cfg")
        plain = (repository / "shared.cfg").read_bytes()

        first = await ended(
            sandboxed, f"rm .git/config; printf '[core]\\nfsmonitor={RAN}\\n' > .git/config"
        )
        assert first.undone == (".git/config",)
        assert str(config.readlink()) == "../shared.cfg"

        second = await ended(sandboxed, f"printf '[core]\\nfsmonitor={RAN}\\n' >> shared.cfg")
        assert second.undone == ("shared.cfg",)
        assert (repository / "shared.cfg").read_bytes() == plain
        kept = await ended(sandboxed, "printf '[user]\\nname=Ann\\n' >> shared.cfg")
        assert (kept.undone, kept.reported) == ((), ())

    async def test_a_link_for_a_hook(self, sandboxed: Operations, repository: Path):
        put(repository, "tools/check", "#!/bin/sh\n").chmod(0o755)
        hooks = repository / ".git/hooks"
        hooks.mkdir(exist_ok=True)
        (hooks / "pre-commit").symlink_to("../../tools/check")

        exit_ = await ended(sandboxed, "printf '#!/bin/sh\\ntouch ran\\n' > tools/check")
        git(repository, "commit", "--allow-empty", "-qm", "second")

        assert exit_.undone == ("tools/check",)
        assert not (repository / "ran").exists()

    async def test_a_link_for_the_folder_of_hooks(self, sandboxed: Operations, repository: Path):
        hooks = repository / ".git/hooks"
        hooks.rename(repository / "h")
        hooks.symlink_to("../h")

        await ended(
            sandboxed,
            writes("h/pre-commit", text="#!/bin/sh\ntouch ran\n") + "; chmod +x h/*; true",
        )
        git(repository, "commit", "--allow-empty", "-qm", "second")

        assert str(hooks.readlink()) == "../h"
        assert not (repository / "ran").exists()

    async def test_an_included_configuration(self, sandboxed: Operations, repository: Path):
        put(repository, "team.cfg", "[user]\nname=Ann\n")
        git(repository, "config", "include.path", "../team.cfg")

        exit_ = await ended(sandboxed, f"git config -f team.cfg core.fsmonitor '{RAN}'")
        git(repository, "status")

        assert exit_.undone == ("team.cfg",)
        assert not (repository / "ran").exists()

    async def test_a_folder_of_hooks_that_is_configured(
        self, sandboxed: Operations, repository: Path
    ):
        put(repository, "tools/hooks/pre-commit", "#!/bin/sh\n")
        git(repository, "config", "core.hooksPath", "tools/hooks")

        exit_ = await ended(sandboxed, writes("tools/hooks/pre-commit", "tools/x"))

        assert (exit_.undone, exit_.reported) == ((), ("tools/hooks/pre-commit",))

    async def test_a_repository_in_another_folder(self, sandboxed: Operations, repository: Path):
        (repository / "deep/er/and/deeper").mkdir(parents=True)
        git(repository, "init", "-q", "--separate-git-dir", "deep/er/and/deeper/r")

        exit_ = await ended(sandboxed, f"git config core.fsmonitor '{RAN}'")
        git(repository, "status")

        assert exit_.undone == ("deep/er/and/deeper/r/config",)
        assert not (repository / "ran").exists()

    async def test_a_configuration_too_large_to_keep_is_not_lost(
        self, sandboxed: Operations, repository: Path
    ):
        config = repository / ".git/config"
        config.write_text(config.read_text() + "# long\n" * 1_400_000, encoding="utf-8")

        await ended(sandboxed, f"printf '[core]\\nfsmonitor={RAN}\\n' >> .git/config; true")
        git(repository, "status")

        assert config.stat().st_size > 9_000_000
        assert not (repository / "ran").exists()

    async def test_a_large_configuration_is_restored(self, sandboxed: Operations, repository: Path):
        config = repository / ".git/config"
        config.write_text(config.read_text() + "# long\n" * 300_000, encoding="utf-8")
        before = config.read_bytes()

        exit_ = await ended(sandboxed, f"git config core.fsmonitor '{RAN}'")

        assert exit_.undone == (".git/config",)
        assert config.read_bytes() == before
