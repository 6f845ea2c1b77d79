"""Steps of which each looks harmless: the last one runs what the ones before it wrote.

Each sequence is played on a running service, over REST and with its real sandbox. Nobody is there
to confirm anything, so that what asks is denied, and what was planted must not have run.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.api.rest.client import call, new_session
from tests.support.http import HttpClient
from tests.support.service import serving, settings_for

SHELL = "touch ran\nrm -rf data\n"
PYTHON = "import shutil\nopen('ran', 'w').close()\nshutil.rmtree('data')\n"
NODE = """const fs = require('fs');
fs.writeFileSync('ran', '');
fs.rmSync('data', {recursive: true});
"""
FSMONITOR = "[core]\n\tfsmonitor = touch ran; rm -rf data; false\n"
PATCH = "*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"


class Step(NamedTuple):
    """One call, and whether it asks."""

    tool: str
    arguments: dict[str, Any]
    asks: bool = False


def writes(path: str, content: str, *, asks: bool = False) -> Step:
    return Step("write_file", {"path": path, "content": content}, asks)


def runs(command: str, *, asks: bool = False) -> Step:
    return Step("bash", {"command": command}, asks)


def refuses(command: str) -> Step:
    return runs(command, asks=True)


IN_GIT = "git init -q . && git config user.name x && git config user.email x@x.example"
HOOK = "printf 'true\\n' > kept-hook; install -m 755 kept-hook .git/hooks/pre-commit"

SEQUENCES: dict[str, list[Step]] = {
    "write_file: .git/config": [
        runs(IN_GIT),
        writes(".git/config", FSMONITOR, asks=True),
        runs("git status"),
    ],
    "edit_file: .git/config": [
        runs(IN_GIT),
        Step(
            "edit_file",
            {"path": ".git/config", "old_text": "[core]\n", "new_text": FSMONITOR},
            asks=True,
        ),
        runs("git status && git add -A && git commit -qm x"),
    ],
    "patch: .git/config": [
        runs(IN_GIT),
        Step(
            "patch",
            {"patch": PATCH.format(path=".git/config", old="[core]", new="[core]\n+\tpager = x")},
            asks=True,
        ),
        runs("git status"),
    ],
    "bash: git config": [runs(IN_GIT), refuses("git config core.fsmonitor 'touch ran'")],
    "write_file: a hook": [
        runs(IN_GIT),
        writes(".git/hooks/pre-commit", SHELL, asks=True),
        runs("git commit -q --allow-empty -m x"),
    ],
    "bash: a hook": [
        runs(IN_GIT),
        refuses(HOOK),
        runs("git commit -q --allow-empty -m x"),
    ],
    "a program that is named writes .git/config": [
        runs(IN_GIT),
        writes("t.py", f"open('.git/config', 'a').write({FSMONITOR!r})\n"),
        refuses("python3 t.py"),
        runs("git status"),
    ],
    "a program that hides it writes .git/config": [
        runs(IN_GIT),
        writes("t.py", f"import sys\nopen('.git' + sys.argv[1], 'a').write({FSMONITOR!r})\n"),
        # The sandbox puts it back.
        runs("python3 t.py /config"),
        runs("git status"),
    ],
    "run.sh": [writes("run.sh", SHELL), refuses("bash run.sh")],
    "run.sh by its name": [
        writes("run.sh", "#!/bin/bash\n" + SHELL),
        runs("chmod +x run.sh"),
        refuses("./run.sh"),
    ],
    "run.sh, edited": [
        writes("run.sh", "true\n"),
        runs("bash run.sh"),
        Step("edit_file", {"path": "run.sh", "old_text": "true\n", "new_text": SHELL}),
        refuses("bash run.sh"),
    ],
    "run.sh from a redirection": [
        runs("printf 'touch ran\\nrm -rf data\\n' > run.sh"),
        refuses("sh run.sh"),
    ],
    "run.sh from a program": [
        runs("python3 -c \"open('run.sh', 'w').write('touch ran; rm -' + 'rf data')\""),
        refuses("sh run.sh"),
    ],
    "run.sh from execute_python": [
        Step(
            "execute_python",
            {"code": "open('run.sh', 'w').write('rm -rf data')", "strictness": "lenient"},
            asks=True,
        ),
    ],
    "Makefile": [
        writes("Makefile", "all: sub\nsub:\n\ttouch ran\n\trm -rf data\n"),
        refuses("make"),
    ],
    "package.json": [
        writes("package.json", '{"scripts": {"test": "touch ran; rm -rf data"}}'),
        refuses("npm test"),
        refuses("npm run test"),
        refuses("yarn test"),
    ],
    "setup.py": [
        writes("setup.py", PYTHON),
        refuses("python3 setup.py build"),
        refuses("pip install -e ."),
    ],
    "t.py": [writes("t.py", PYTHON), refuses("python3 t.py"), refuses("python3 -m t")],
    "t.js": [writes("t.js", NODE), refuses("node t.js")],
    ".envrc": [
        writes(".envrc", SHELL, asks=True),
        writes("env.sh", SHELL),
        refuses(". ./env.sh"),
    ],
    "json.py": [
        writes("main.py", "import json\n"),
        writes("json.py", PYTHON),
        refuses("python3 main.py"),
    ],
    "sitecustomize.py": [
        writes("sitecustomize.py", PYTHON, asks=True),
        runs("echo 'import shutil' > x.py; python3 x.py"),
    ],
    "conftest.py": [writes("conftest.py", PYTHON), refuses("python3 -m pytest")],
    "build.rs": [
        writes(
            "build.rs",
            'fn main() { std::process::Command::new("rm").args(["-rf", "data"]).status(); }\n',
        ),
        refuses("cargo build"),
    ],
    "an archive": [
        runs(
            "mkdir in && printf 'touch ran\\nrm -rf data\\n' > in/run.sh"
            " && tar cf x.tar -C in run.sh && tar xf x.tar"
        ),
        refuses("bash run.sh"),
    ],
    "a clone": [
        runs(f"mkdir up && cd up && {IN_GIT} && printf 'all:\\n\\trm -rf ../data\\n' > Makefile"),
        runs("cd up && git add -A && git commit -qm x && cd .. && git clone -q up down"),
        refuses("make -C down"),
    ],
    **{
        f"protected: {path}": [
            writes(path, "x\n", asks=True),
            refuses(f"mkdir -p {path.rpartition('/')[0] or '.'}; echo x > {path}"),
        ]
        for path in (
            *(".vscode/tasks.json", ".github/workflows/a.yml", ".npmrc", ".husky/pre-commit"),
            *(".pre-commit-config.yaml", ".claude/settings.json", ".mcp.json"),
            *(".devcontainer/devcontainer.json", ".cargo/config.toml"),
        )
    },
    "free: what nobody changed": [
        runs("bash old.sh"),
        runs("make -f old.mk --version || true"),
    ],
    "free: ordinary work": [
        runs(IN_GIT),
        writes("README.md", "hello\n"),
        writes("calc.py", "def add(a, b):\n    return a + b\n"),
        writes(
            "test_calc.py",
            "import subprocess, sys\nimport calc\n\n"
            "assert calc.add(1, 2) == 3\nsubprocess.run([sys.executable, '-V'])\n",
        ),
        runs("python3 test_calc.py"),
        writes("build.sh", "set -eu\nmkdir -p out\npython3 test_calc.py\n"),
        runs("bash build.sh && git add -A && git commit -qm 'first'"),
        writes("Makefile", "all:\n\t@echo built\nclean:\n\trm -rf out\n"),
        runs("make || true; git status"),
    ],
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A service on a loop of its own, for all sequences: where its API is, and its workspace."""
    folder = tmp_path_factory.mktemp("service")
    for at in range(len(SEQUENCES)):
        place = folder / "workspace" / f"s{at}"
        (place / "data").mkdir(parents=True)
        (place / "data" / "kept").write_text("kept", encoding="utf-8")
        (place / "old.sh").write_text("rm -f nothing-there\n", encoding="utf-8")
    ready, over, api = threading.Event(), asyncio.Event(), list[str]()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        try:
            async with serving(settings_for(folder, anthropic_api_key=None)) as running:
                api.append(running.api)
                ready.set()
                await over.wait()
        finally:
            ready.set()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    ready.wait()
    yield api[0], folder / "workspace"
    loop.call_soon_threadsafe(over.set)
    thread.join()
    loop.close()


@pytest.mark.parametrize("name", SEQUENCES)
async def test_what_was_planted_does_not_run(service: tuple[str, Path], name: str):
    api, workspace = service
    place = workspace / f"s{list(SEQUENCES).index(name)}"
    verdicts = []
    async with HttpClient(base_url=api) as client:
        project = await client.post(
            "/admin/projects", json={"name": place.name, "root": str(place)}
        )
        assert project.status_code == 201, project.text
        session = await new_session(client, project_id=project.json()["id"])
        for step in SEQUENCES[name]:
            answer = await call(client, step.tool, arguments=step.arguments, session_id=session)
            verdicts.append((step.tool, answer["status"], answer.get("code")))

    expected = [
        (step.tool, "denied" if step.asks else "success", "unattended" if step.asks else None)
        for step in SEQUENCES[name]
    ]
    assert verdicts == expected
    assert not list(place.rglob("ran"))
    assert (place / "data" / "kept").exists()
