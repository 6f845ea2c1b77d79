"""What git itself writes, also from a script, is not run by the person's next git command."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.execution.ground import ENV, HOOK, SETTING, Ground, ground, repository

__all__ = ["ground", "repository"]


def templates(ground: Ground) -> None:
    ground.put("t/hooks/pre-commit", HOOK).chmod(0o755)
    ground.put("t/config", SETTING)


def bare_layout(ground: Ground) -> None:
    """A folder that git takes for a repository comes with a branch."""
    ground.git("checkout", "-qb", "topic")
    for name in ("d/objects/x", "d/refs/x"):
        ground.put(name)
    ground.put("d/HEAD", "ref: refs/heads/main\n")
    ground.put(
        "d/config",
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n"
        "\tfsmonitor = touch ran;#\n",
    )
    ground.git("add", "-f", "d")
    ground.git("commit", "-qm", "topic")
    ground.git("checkout", "-q", "main")


def submodule_that_runs(ground: Ground) -> None:
    ground.git("submodule", "-q", "add", "./.", "sub")
    ground.git("commit", "-qm", "sub")


GIT_WAYS: dict[str, tuple[Callable[[Ground], None], str, tuple[str, ...]]] = {
    "init with a template": (
        templates,
        "git init -q --template=t new",
        ("-C new status", "-C new commit -q --allow-empty -m x"),
    ),
    "init again with a template": (
        templates,
        "git init -q --template=t",
        ("status", "commit -q --allow-empty -m x"),
    ),
    "clone with a template": (
        templates,
        "git clone -q --template=t . copy",
        ("-C copy status", "-C copy commit -q --allow-empty -m x"),
    ),
    "clone with a setting": (
        templates,
        "git clone -q -c core.fsmonitor='touch ran;#' . copy",
        ("-C copy status",),
    ),
    "a template of the environment": (
        templates,
        "GIT_TEMPLATE_DIR=$PWD/t git init -q new",
        ("-C new status", "-C new commit -q --allow-empty -m x"),
    ),
    "a folder that looks like a repository": (
        bare_layout,
        "git checkout -q topic",
        ("-C d status",),
    ),
    "settings of a submodule": (
        submodule_that_runs,
        "git -C sub config core.fsmonitor 'touch ../ran;#'",
        ("-C sub status", "status"),
    ),
    "an update that is configured": (
        submodule_that_runs,
        "git config submodule.sub.update '!touch ran;#'",
        ("submodule update --force",),
    ),
    "an alias": (templates, "git config alias.x '!touch ran'", ("x",)),
    "a program to connect": (
        templates,
        "git config core.sshCommand 'touch ran;#'",
        ("fetch ssh://x.example/y",),
    ),
    "an editor": (templates, "git config core.editor 'touch ran;#'", ("commit --amend",)),
    "a filter": (
        templates,
        "git config filter.x.clean 'touch ran; cat'; echo '* filter=x' > .gitattributes",
        ("add a",),
    ),
    "text conversion": (
        templates,
        "git config diff.x.textconv 'touch ran; cat'; mkdir -p .git/info;"
        " echo '* diff=x' > .git/info/attributes",
        ("diff --textconv HEAD",),
    ),
    "a program for signatures": (
        templates,
        "git config gpg.program $PWD/t/hooks/pre-commit; git config commit.gpgSign true",
        ("commit -q --allow-empty -m x",),
    ),
    "a program for differences": (
        templates,
        "git config diff.external 'touch ran;#'",
        ("diff",),
    ),
    "an include": (
        templates,
        "git config include.path ../t/config",
        ("status",),
    ),
    "a work tree whose .git leads elsewhere": (
        templates,
        "cp -r .git evil; cp t/config evil/config; mv .git old; echo 'gitdir: evil' > .git",
        ("status",),
    ),
}


@pytest.mark.parametrize("way", GIT_WAYS)
@pytest.mark.parametrize("hidden", [False, True], ids=["named", "in a script"])
async def test_what_git_writes_itself_does_not_run(ground: Ground, way: str, *, hidden: bool):
    ready, command, victim = GIT_WAYS[way]
    ready(ground)
    forget(ground)
    if hidden:
        ground.put("t.py", f"import subprocess\nsubprocess.run(['bash', '-c', {command!r}])\n")
        command = "python3 t.py"

    await ground.call("bash", command=command)
    # What ran in the sandbox meanwhile is not what this is about.
    forget(ground)
    live(ground, victim)

    assert marks(ground) == []


def by_hand(ground: Ground, command: str) -> None:
    subprocess.run(["bash", "-c", command], cwd=ground.root, env=ENV, check=True)


def forget(ground: Ground) -> None:
    for mark in marks(ground):
        mark.unlink()


def marks(ground: Ground) -> list[Path]:
    return list(ground.root.rglob("ran"))


def live(ground: Ground, commands: tuple[str, ...]) -> None:
    """What a person does."""
    ground.put("a", "more\n")
    for words in commands:
        ground.git(*words.split())


@pytest.mark.parametrize("way", GIT_WAYS)
async def test_it_would_run_without_a_sandbox(ground: Ground, way: str):
    """Else the tests above would say nothing."""
    ready, command, victim = GIT_WAYS[way]
    ready(ground)
    by_hand(ground, command)
    forget(ground)
    live(ground, victim)

    assert marks(ground) != []
