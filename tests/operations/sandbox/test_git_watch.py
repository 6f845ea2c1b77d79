"""What a sandboxed program makes git run is put back; what git does every day stays."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessExit, ProcessSpec
from app.operations.sandbox.sandbox import Sandbox
from scripts.parts import SANDBOX
from tests.support.binaries import lacks, require_binary

IDENTITY = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "safe.directory=*")
RAN = "touch ran;#"


def git(folder: Path, *words: str) -> str:
    """A person's own git, outside the sandbox."""
    done = subprocess.run(
        [require_binary("git"), *IDENTITY, *words],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout + done.stderr


async def ended(operations: Operations, script: str, **spec: Any) -> ProcessExit:
    wanted = ProcessSpec(("bash", "-c", script), **spec)
    async with asyncio.timeout(60), operations.processes.open(wanted) as process:
        shown = b"".join([chunk.data async for chunk in process.output()])
        exit_ = await process.wait()
    assert exit_.code == 0, shown
    return exit_


@pytest.fixture
def repository(root: Path) -> Path:
    git(root, "init", "-q", "-b", "main")
    (root / "a").write_text("one\n", encoding="utf-8")
    git(root, "add", "a")
    git(root, "commit", "-qm", "first")
    return root


PLANTED = {
    "redirection": f"printf '[core]\\n fsmonitor = {RAN}\\n' >> .git/config",
    "python": f"python3 -c \"open('.git/config','a').write('[core]\\n fsmonitor = {RAN}\\n')\"",
    "git itself": f"git config core.fsmonitor '{RAN}'",
    "alias": f"git config alias.x '!{RAN}'",
    "include": f"printf '[core]\\n fsmonitor={RAN}\\n' > more; git config include.path ../more",
    "filter": f"git config filter.x.clean '{RAN}'; echo '* filter=x' > .gitattributes",
    "hooks path": "git config core.hooksPath hooks",
    "one line": f"printf '[core] fsmonitor = {RAN}\\n' >> .git/config",
    "continued": "printf '[core]\\n fsmonitor = \\\\\\n touch ran\\n' >> .git/config",
    "in a comment": f"printf '[core]\\n;\\\\\\n fsmonitor = {RAN}\\n' >> .git/config",
    "renamed over": f"cp .git/config c; printf '[core]\\nfsmonitor={RAN}\\n' >> c;"
    " mv c .git/config",
    "archive": f"mkdir -p t/.git; printf '[core]\\nfsmonitor={RAN}\\n' > t/.git/config;"
    " tar cf t.tar -C t .git; tar xf t.tar",
    "link": f"printf '[core]\\nfsmonitor={RAN}\\n' > c; ln -sf ../c .git/config",
    "own folder": f"cp -r .git evil; printf '[core]\\nfsmonitor={RAN}\\n' >> evil/config;"
    " mv .git old; echo 'gitdir: evil' > .git",
    "settings of a worktree": "git config extensions.worktreeConfig true;"
    f" printf '[core]\\nfsmonitor={RAN}\\n' > .git/config.worktree",
    "common folder": f"cp -r .git evil; printf '[core]\\nfsmonitor={RAN}\\n' >> evil/config;"
    " echo ../evil > .git/commondir",
}


@pytest.mark.parametrize("how", PLANTED)
async def test_what_a_program_makes_git_run_is_put_back(
    sandboxed: Operations, repository: Path, how: str
):
    exit_ = await ended(sandboxed, PLANTED[how])
    (repository / "a").write_text("two\n", encoding="utf-8")

    for words in (("status",), ("add", "a"), ("commit", "-qm", "second"), ("x",)):
        git(repository, *words)

    assert exit_.undone != ()
    assert not (repository / "ran").exists()


@pytest.mark.parametrize("hook", ["pre-commit", "post-checkout", "reference-transaction"])
async def test_a_hook_is_not_planted(sandboxed: Operations, repository: Path, hook: str):
    await ended(
        sandboxed,
        f"rm -rf .git/hooks; mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch ran\\n' >"
        f" .git/hooks/{hook}; chmod +x .git/hooks/{hook}; true",
    )
    git(repository, "commit", "--allow-empty", "-qm", "second")
    git(repository, "checkout", "-qb", "other")

    assert not (repository / "ran").exists()


async def test_a_folder_of_hooks_elsewhere_is_not_linked_in(
    sandboxed: Operations, repository: Path
):
    (repository / ".git" / "hooks").rename(repository / ".git" / "unused")
    exit_ = await ended(
        sandboxed,
        "mkdir h; printf '#!/bin/sh\\ntouch ran\\n' > h/pre-commit; chmod +x h/pre-commit;"
        " ln -s ../h .git/hooks",
    )
    git(repository, "commit", "--allow-empty", "-qm", "second")

    assert exit_.undone == (".git/hooks",)
    assert not (repository / "ran").exists()


@pytest.mark.parametrize("folder", ["sub", "a/b"])
async def test_repositories_below_the_root_are_looked_at_too(
    sandboxed: Operations, root: Path, folder: str
):
    place = root / folder
    place.mkdir(parents=True)
    git(place, "init", "-q")
    await ended(sandboxed, f"git -C {folder} config core.fsmonitor '{RAN}'")
    git(place, "status")

    assert not (place / "ran").exists()


async def test_a_folder_that_git_would_take_for_a_repository_is_looked_at(
    sandboxed: Operations, root: Path
):
    await ended(
        sandboxed,
        "mkdir -p d/objects d/refs; echo 'ref: refs/heads/main' > d/HEAD;"
        f" printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=..\\n' > d/config;"
        f" printf 'fsmonitor={RAN}\\n' >> d/config",
    )
    git(root / "d", "status")

    assert not (root / "ran").exists()


WORKFLOWS = {
    "name": "git config user.name Ann; git config user.email ann@example.org",
    "commit": "git -c user.name=A -c user.email=a@b commit -q --allow-empty -m x",
    "branch": "git checkout -qb topic; git branch -u main",
    "remote": "git remote add origin https://example.org/r.git; git remote set-url origin"
    " git@example.org:r.git",
    "fetch": "git clone -q --bare . up.git; git remote add up ./up.git; git fetch -q up;"
    " git branch -qu up/main",
    "push": "git clone -q --bare . up.git; echo x >> a;"
    " git -c user.name=A -c user.email=a@b commit -qam x;"
    " git push -q ./up.git HEAD:other; git -C up.git rev-parse -q --verify other",
    "clone": "git clone -q . copy",
    "worktree": "git worktree add -q tree; git -C tree status",
    "submodule": "git -c protocol.file.allow=always submodule add -q ./. inner || true",
    "rebase": "git -c user.name=A -c user.email=a@b rebase -q main",
    "stash": "echo x >> a; git -c user.name=A -c user.email=a@b stash -q; git stash pop -q",
    "editor": "git config core.editor vim; git config alias.st 'status -sb'",
    "line ends": "git config core.autocrlf input; git config pull.rebase true",
    "ignored": "echo build > .gitignore; git add .gitignore; git gc -q",
}


@pytest.mark.parametrize("what", WORKFLOWS)
async def test_what_git_does_every_day_stays(sandboxed: Operations, repository: Path, what: str):
    exit_ = await ended(sandboxed, f"set -e; git config --get core.bare >&2; {WORKFLOWS[what]}")

    assert (exit_.code, exit_.undone, exit_.left) == (0, (), ())


async def test_what_was_approved_stays(sandboxed: Operations, repository: Path):
    script = "git config core.fsmonitor true; git config alias.x '!true'; touch .git/hooks/x"
    exit_ = await ended(sandboxed, script, may_change=frozenset({"git"}))

    assert (exit_.code, exit_.undone) == (0, ())
    assert "!true" in (repository / ".git" / "config").read_text(encoding="utf-8")


async def test_what_may_be_an_approved_programs_is_reported_and_left(
    sandboxed: Operations, repository: Path
):
    long = ProcessSpec(("cat",), interactive=True)
    async with asyncio.timeout(60), sandboxed.processes.open(long) as running:
        await ended(sandboxed, "git config alias.x '!true'", may_change=frozenset({"git"}))
        await running.close_input()
        exit_ = await running.wait()

    assert (exit_.undone, exit_.left) == ((), (".git/config",))


async def test_what_runs_for_long_does_not_write_to_a_repository(
    sandboxed: Operations, sandbox: Sandbox, repository: Path
):
    if "namespaces" not in (await sandbox.level("bash")).layers:
        lacks(SANDBOX)
    script = f"git config core.fsmonitor '{RAN}'; mv .git old; echo x > .git/x; true"
    before = (repository / ".git" / "config").read_bytes()
    exit_ = await ended(sandboxed, script, long_lived=True)

    assert exit_.code == 0
    assert (repository / ".git" / "config").read_bytes() == before
    assert not (repository / ".git" / "x").exists()


async def test_thousands_of_hooks_hide_none(sandboxed: Operations, repository: Path):
    script = (
        "rm -rf .git/hooks; mv .git/hooks h; mkdir .git/hooks; cd .git/hooks;"
        " touch a{1..3000};"
        " printf '#!/bin/sh\\ntouch ran\\n' > pre-commit; chmod +x pre-commit; true"
    )
    (repository / ".git" / "hooks").rename(repository / ".git" / "unused")
    await ended(sandboxed, script)
    git(repository, "commit", "--allow-empty", "-qm", "second")

    assert not (repository / "ran").exists()


async def test_a_folder_too_deep_to_be_looked_at_is_not_led_to(
    sandboxed: Operations, repository: Path
):
    deep = "a/b/c/d/e/.git/modules/x"
    script = (
        f"mkdir -p {deep}; cp -r .git/. {deep};"
        f" printf '[core]\\nfsmonitor={RAN}\\n' >> {deep}/config;"
        f" mv .git old; echo 'gitdir: {deep}' > .git"
    )
    await ended(sandboxed, script)
    git(repository, "status")

    assert not (repository / "ran").exists()


async def test_a_killed_program_leaves_nothing_behind(sandboxed: Operations, repository: Path):
    script = f"git config core.fsmonitor '{RAN}'; echo done; sleep 600"
    async with (
        asyncio.timeout(60),
        sandboxed.processes.open(ProcessSpec(("bash", "-c", script))) as process,
    ):
        async for _ in process.output():
            break
    git(repository, "status")

    assert not (repository / "ran").exists()
