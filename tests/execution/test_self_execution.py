"""Files that execute themselves: by whatever way one is written, what it says does not run.

Nobody approves anything here. Each class of the table of protected paths is written by each
writer through the executor and the real sandbox; then the person does something harmless. Where
the program that would run the file is git, git is run; for the others, the file is as it was, or
the call's result reports it, as the table says. In CI each class meets each writer; at a desk
each class meets a quarter of them, and each writer a quarter of the classes.
"""

from __future__ import annotations

import base64
import os
import shlex
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app.core.protected_paths import protected
from app.execution.outcome import CallOutcome
from tests.execution.ground import HOOK, OLD, SETTING, Ground, ground, repository
from tests.support.binaries import require_binary
from tests.support.sample import share

__all__ = ["ground", "repository"]


@dataclass(frozen=True)
class Planted:
    """A file of one class.

    Attributes:
        text: what runs a marker, where git obeys the file.
        of_git: git is what obeys it: commits and checkouts bring none, for it is in `.git`.
        ready: what a person had git do before.
        beside: a file that was there before.
    """

    path: str
    text: str = "touch ran\n"
    of_git: bool = False
    ready: str = ""
    beside: str = "a"

    @property
    def runs_by_git(self) -> bool:
        return self.of_git or bool(self.ready)


CLASSES = {
    "git config": Planted(".git/config", SETTING, of_git=True),
    "git hook": Planted(".git/hooks/pre-commit", HOOK, of_git=True),
    "git attributes": Planted(
        ".git/info/attributes",
        "* filter=x\n",
        of_git=True,
        ready="config filter.x.clean 'touch ran; cat'",
    ),
    "worktree config": Planted(
        ".git/config.worktree",
        SETTING,
        of_git=True,
        ready="config extensions.worktreeConfig true",
    ),
    "submodule config": Planted(
        ".git/modules/sub/config", SETTING, of_git=True, ready="submodule -q add ./. sub"
    ),
    "gitmodules": Planted(".gitmodules"),
    "hooks of the project": Planted(
        ".githooks/pre-commit", HOOK, ready="config core.hooksPath .githooks"
    ),
    "husky": Planted(".husky/pre-commit", HOOK),
    "pre-commit": Planted(".pre-commit-config.yaml"),
    "direnv": Planted(".envrc"),
    "mise": Planted("mise.toml"),
    "VS Code tasks": Planted(".vscode/tasks.json"),
    "VS Code settings": Planted(".vscode/settings.json"),
    "a folder of a workspace": Planted(
        "packages/web/.vscode/tasks.json", beside="packages/web/index.js"
    ),
    "JetBrains": Planted(".idea/runConfigurations/all.xml"),
    "Zed": Planted(".zed/tasks.json"),
    "dev container": Planted(".devcontainer/devcontainer.json"),
    "vim": Planted(".exrc"),
    "gdb": Planted(".gdbinit"),
    "Claude Code": Planted(".claude/settings.json"),
    "Codex": Planted(".codex/config.toml"),
    "Cursor": Planted(".cursor/hooks.json"),
    "Gemini": Planted(".gemini/settings.json"),
    "MCP servers": Planted(".mcp.json"),
    "GitHub Actions": Planted(".github/workflows/ci.yml"),
    "GitLab CI": Planted(".gitlab-ci.yml"),
    "npm": Planted(".npmrc"),
    "yarn": Planted(".yarnrc.yml"),
    "pip": Planted("pip.conf"),
    "Python's start": Planted("sitecustomize.py"),
    "a virtual environment": Planted(".venv/lib/python3/site-packages/x.pth"),
    "cargo": Planted(".cargo/config.toml"),
    "Gradle": Planted("gradlew"),
    "Maven": Planted(".mvn/extensions.xml"),
    "Apache": Planted(".htaccess"),
    "desktop": Planted("app.desktop"),
}
# Beyond the workspace: nothing there can be written without an approval, whoever writes it.
OUTSIDE = {
    "shell start-up": "~/.bashrc",
    "login shell": "~/.profile",
    "zsh": "~/.zshenv",
    "fish": "~/.config/fish/config.fish",
    "git of the person": "~/.gitconfig",
    "ssh": "~/.ssh/config",
    "ssh keys": "~/.ssh/authorized_keys",
    "systemd user unit": "~/.config/systemd/user/x.service",
    "autostart": "~/.config/autostart/x.desktop",
    "agents of the person": "~/.claude/settings.json",
    "programs of the person": "~/.local/bin/git",
    "cron": "/etc/cron.d/x",
    "crontab": "/var/spool/cron/crontabs/root",
    "system units": "/etc/systemd/system/x.service",
    "profile of all": "/etc/profile.d/x.sh",
}

# Deeper than is compared, and written by every installer.
UNSEEN = frozenset({".venv/lib/python3/site-packages/x.pth"})
Calls = Iterator[tuple[str, dict[str, Any]]]


# Each gives the calls of one way to write `path`; the files it needs are there before.


def by_write_file(ground: Ground, planted: Planted) -> Calls:
    yield "write_file", {"path": planted.path, "content": planted.text}


def by_edit_file(ground: Ground, planted: Planted) -> Calls:
    if not planted.of_git:
        ground.put(planted.path)
    old = "[core]\n" if planted.path == ".git/config" else OLD
    yield "edit_file", {"path": planted.path, "old_text": old, "new_text": planted.text}


def by_patch(ground: Ground, planted: Planted) -> Calls:
    lines = "".join(f"+{line}\n" for line in planted.text.splitlines())
    patch = f"*** Begin Patch\n*** Add File: {planted.path}\n{lines}*** End Patch\n"
    yield "patch", {"patch": patch}


def by_moving_patch(ground: Ground, planted: Planted) -> Calls:
    ground.put("plain.txt", planted.text)
    first = planted.text.splitlines()[0]
    patch = (
        f"*** Begin Patch\n*** Update File: plain.txt\n*** Move to: {planted.path}\n@@\n"
        f" {first}\n+more\n*** End Patch\n"
    )
    yield "patch", {"patch": patch}


def shell(template: str) -> Callable[[Ground, Planted], Calls]:
    """A command that writes what is in `plain.txt`."""

    def play(ground: Ground, planted: Planted) -> Calls:
        ground.put("plain.txt", planted.text).chmod(0o755)
        folder, name = os.path.split(planted.path)
        command = template.format(path=planted.path, folder=folder or ".", name=name)
        yield "bash", {"command": f"mkdir -p {shlex.quote(folder or '.')}; {command}"}

    return play


def by_program(ground: Ground, planted: Planted) -> Calls:
    """A program that was written before, whose text tells no path."""
    path = base64.b64encode(planted.path.encode()).decode()
    ground.put(
        "t.py",
        "import base64, pathlib, shutil\n"
        f"place = pathlib.Path(base64.b64decode({path!r}).decode())\n"
        "place.parent.mkdir(parents=True, exist_ok=True)\n"
        "shutil.copy('plain.txt', place)\n",
    )
    ground.put("plain.txt", planted.text).chmod(0o755)
    yield "bash", {"command": "python3 t.py"}


def by_make(ground: Ground, planted: Planted) -> Calls:
    for _ in by_program(ground, planted):
        ground.put("Makefile", "all:\n\tpython3 t.py\n")
    yield "bash", {"command": "make"}


def by_python_tool(ground: Ground, planted: Planted) -> Calls:
    code = f"import pathlib; pathlib.Path({str(ground.root / planted.path)!r}).write_text('x')"
    for strictness in ("strict", "standard", "lenient"):
        yield "execute_python", {"code": code, "strictness": strictness}


def archive(kind: str, command: str) -> Callable[[Ground, Planted], Calls]:
    def play(ground: Ground, planted: Planted) -> Calls:
        plain = ground.put("plain.txt", planted.text)
        plain.chmod(0o755)
        if kind == "zip":
            with zipfile.ZipFile(ground.root / "x.zip", "w") as packed:
                packed.write(plain, planted.path)
        else:
            with tarfile.open(ground.root / "x.tar", "w") as bundle:
                bundle.add(plain, planted.path)
        yield "bash", {"command": command}

    return play


def by_checkout(ground: Ground, planted: Planted) -> Calls:
    """Git brings it: another branch has it."""
    if planted.of_git:
        return
    ground.git("checkout", "-qb", "topic")
    ground.put(planted.path, planted.text).chmod(0o755)
    ground.git("add", "-f", planted.path)
    ground.git("commit", "-qm", "topic", "--no-verify")
    ground.git("checkout", "-q", "main")
    (ground.root / "ran").unlink(missing_ok=True)
    yield "bash", {"command": "git checkout -q topic"}


def by_merge(ground: Ground, planted: Planted) -> Calls:
    for name, arguments in by_checkout(ground, planted):
        yield name, arguments | {"command": "git merge -q topic"}


def by_stash(ground: Ground, planted: Planted) -> Calls:
    """A person stashed it; nothing has seen it since."""
    if planted.of_git:
        return
    ground.put(planted.path, planted.text)
    ground.git("add", "-f", planted.path)
    ground.git("stash", "-q")
    yield "bash", {"command": "git stash pop -q"}


def by_commit_of_its_own(ground: Ground, planted: Planted) -> Calls:
    """A program lets git bring what it made itself."""
    if planted.of_git:
        return
    for _ in by_program(ground, planted):
        ground.put("t.py", (ground.root / "t.py").read_text() + COMMITTING)
    yield "bash", {"command": "python3 t.py"}


COMMITTING = """
import subprocess
subprocess.run(["git", "add", "-f", str(place)])
"""

# Whatever they write.
ASKS_ANYWAY = frozenset({"execute_python", "dd"})
Writer = Callable[[Ground, Planted], Calls]
# What git brings is what a project's people have committed: it stays, and is reported.
BROUGHT = frozenset({by_checkout, by_merge, by_stash, by_commit_of_its_own})
WRITERS: dict[str, Writer] = {
    "write_file": by_write_file,
    "edit_file": by_edit_file,
    "patch": by_patch,
    "a patch that moves": by_moving_patch,
    "redirection": shell("cat plain.txt > {path}"),
    "appending": shell("cat plain.txt >> {path}"),
    "tee": shell("cat plain.txt | tee {path}"),
    "cp": shell("cp plain.txt {path}"),
    "cp into": shell("mv plain.txt {name}; cp {name} {folder}/"),
    "mv": shell("mv plain.txt {path}"),
    "ln": shell('ln -sf "$PWD/plain.txt" {path}'),
    "install": shell("install -m 755 plain.txt {path}"),
    "sed -i": shell("touch {path}; sed -i 's/^/x/' {path}"),
    "dd": shell("dd if=plain.txt of={path}"),
    "rsync": shell("rsync plain.txt {path}"),
    "python -c": shell("python3 -c \"import shutil; shutil.copy('plain.txt', '{path}')\""),
    "a loop": shell("for f in {path}; do cat plain.txt > $f; done"),
    "a variable": shell("p={folder}; cp plain.txt $p/{name}"),
    "cd": shell('cd {folder} && cp "$OLDPWD/plain.txt" {name}'),
    "a program": by_program,
    "make": by_make,
    "execute_python": by_python_tool,
    "tar": archive("tar", "tar xf x.tar"),
    "tar to a folder": archive("tar", "tar -C . -x -f x.tar"),
    "python -m tarfile": archive("tar", "python3 -m tarfile -e x.tar"),
    "unzip": archive("zip", "unzip -oq x.zip"),
    "python -m zipfile": archive("zip", "python3 -m zipfile -e x.zip ."),
    "git checkout": by_checkout,
    "git merge": by_merge,
    "git stash pop": by_stash,
    "git add of its own": by_commit_of_its_own,
}


@pytest.mark.parametrize("kind", CLASSES)
async def test_the_marker_does_not_run(ground: Ground, kind: str):
    planted = CLASSES[kind]
    wrong = []
    writers = share(list(WRITERS.items()), every=4, start=list(CLASSES).index(kind))
    for name, writer in writers:
        ground.again(planted.ready, planted.beside)
        problem = await problem_of(
            ground, replace(planted, text=f"{planted.text}# {name}\n"), writer
        )
        if problem:
            wrong.append((name, problem))

    assert wrong == []


async def problem_of(ground: Ground, planted: Planted, writer: Writer) -> str | None:
    """What became of a file that nobody may write unasked, and should not have."""
    calls = list(writer(ground, planted))
    place = ground.root / planted.path
    before = content(place)
    said: set[str] = set()
    for name, arguments in calls:
        said |= reported(await ground.call(name, **arguments))
    now = content(place)
    if place.is_symlink():
        return "it is a link"
    brought = writer in BROUGHT
    if now != before and planted.path not in said and planted.path not in UNSEEN:
        return f"changed and not reported: {now!r}"
    row = protected(planted.path)
    if now != before and not brought and row is not None and row.by_program == "undo":
        return f"changed: {now!r}"
    if planted.runs_by_git and not brought:
        ground.live()
        if (ground.root / "ran").exists():
            return "the marker ran"
    return None


@pytest.mark.parametrize("name", WRITERS)
async def test_each_writer_does_write(ground: Ground, name: str):
    """Else what is said of protected files would say nothing."""
    if name in ("rsync", "unzip"):
        require_binary(name)
    planted = Planted("docs/page.txt", "words\n")
    for tool, arguments in list(WRITERS[name](ground, planted)):
        await ground.call(tool, **arguments)

    written = (ground.root / planted.path).is_file()
    assert written == (name not in ASKS_ANYWAY)


@pytest.mark.parametrize("kind", OUTSIDE)
async def test_outside_of_the_workspace_nothing_is_written(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    home = tmp_path
    monkeypatch.setenv("HOME", str(home))
    path = OUTSIDE[kind]
    place = Path(path.replace("~", str(home)))
    before = content(place)
    program = ground.put(
        "t.py",
        "import os, pathlib\n"
        f"for name in ({path!r}, {str(place)!r} if {path.startswith('~')} else 'plain'):\n"
        "    place = pathlib.Path(os.path.expanduser(name))\n"
        "    try:\n"
        "        place.parent.mkdir(parents=True, exist_ok=True)\n"
        "        place.write_text('x')\n"
        "    except OSError as error:\n"
        "        print(error)\n",
    )
    asked: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": str(place), "content": "x"}),
        ("bash", {"command": f"echo x >> {path}"}),
        ("bash", {"command": f"cp a {path}"}),
        ("bash", {"command": f'ln -s "$PWD/a" {path}'}),
        ("bash", {"command": f"python3 -c \"open('{place}', 'w').write('x')\""}),
    ]
    if path.startswith("~"):
        asked.append(("bash", {"command": f"tee {path.replace('~', '$HOME')} < a"}))
    statuses = [(await ground.call(name, **arguments)).status for name, arguments in asked]

    # A program has a `/tmp` of its own, in which it may write by a path that is known.
    *others, by_a_program = statuses[:5]
    assert "success" not in [*others, *statuses[5:]]
    assert by_a_program != "success" or str(place).startswith("/tmp/")
    if path.startswith("~"):
        await ground.call("bash", command=f"python3 {program.name}")
    assert content(place) == before


def content(place: Path) -> bytes | None:
    return place.read_bytes() if place.is_file() else None


def reported(outcome: CallOutcome) -> set[str]:
    data = outcome.result.data if outcome.result is not None else None
    return set(data.get("changed_protected", ())) if isinstance(data, dict) else set()
