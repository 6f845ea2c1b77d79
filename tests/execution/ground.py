"""A workspace with a small repository, calls that nobody approves, and a person's own git."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.execution.calls import CallRequest
from app.execution.context import Project
from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab
from tests.support.binaries import require_binary

ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Ann" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ann@example.org" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}
OLD = "old\n"
HOOK = "#!/bin/sh\ntouch ran\n"
SETTING = "[core]\n\tfsmonitor = touch ran;#\n"


def run_git(folder: Path, *words: str) -> str:
    """A person's own git, outside of the sandbox."""
    done = subprocess.run(
        [require_binary("git"), "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env=ENV,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout + done.stderr


@dataclass
class Ground:
    """A workspace and what a test needs in it."""

    house: Lab
    root: Path
    template: Path

    def git(self, *words: str) -> str:
        return run_git(self.root, *words)

    def put(self, path: str, text: str = OLD) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return place

    def again(self, ready: str = "", beside: str = "a") -> None:
        """The workspace as at the start, and what a person set up."""
        for entry in self.root.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        shutil.copytree(self.template, self.root, dirs_exist_ok=True)
        self.put(beside)
        if ready:
            self.git(*shlex.split(ready))

    def live(self) -> None:
        """What a person does with git all day."""
        self.put("a", "more\n")
        for words in ("status", "add a", "commit -qm second", "checkout -qb other"):
            self.git(*words.split())
        if (self.root / "sub").is_dir():
            self.git("-C", "sub", "status")

    async def call(
        self, name: str, /, project: Project | None = None, **arguments: Any
    ) -> CallOutcome:
        """A call that nobody approves."""
        changes: dict[str, Any] = {} if project is None else {"project": project}
        request = CallRequest("c1", name, arguments)
        return (await self.house.run(request, attended=False, **changes))[0]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small one, to copy."""
    root = tmp_path_factory.mktemp("repository")
    (root / "a").write_text(OLD, encoding="utf-8")
    run_git(root, "init", "-q", "-b", "main", "--template=")
    run_git(root, "add", "a")
    run_git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def ground(house: Lab, repository: Path) -> Ground:
    made = Ground(house, Path(house.context["project"].root), repository)
    made.again()
    return made
