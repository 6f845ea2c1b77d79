"""A command that runs a file which a session wrote is judged by what the file says."""

from __future__ import annotations

import asyncio
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.execution.calls import CallRequest
from tests.execution.lab import Event, Lab, open_lab

GONE = "rm -rf data\n"
PYTHON_GONE = "import shutil\nshutil.rmtree('data')\n"
PACKAGE = '{"scripts": {"test": "rm -rf data", "lint": "true"}}'


@pytest.fixture
def root(house: Lab) -> Path:
    root = Path(house.context["project"].root)
    (root / "data").mkdir()
    (root / "data" / "kept").write_text("kept", encoding="utf-8")
    return root


async def asked(house: Lab, name: str, **arguments: Any) -> Event | None:
    """The question of a call, which is declined; None when it runs without one."""
    before = len(house.watcher.of("tool_confirmation_request"))
    running = asyncio.create_task(house.run(CallRequest("c1", name, arguments)))
    asking = asyncio.create_task(house.watcher.until("tool_confirmation_request", count=before + 1))
    await asyncio.wait({running, asking}, return_when=asyncio.FIRST_COMPLETED)
    question = asking.result() if asking.done() else None
    if question is not None:
        await house.answer("decline", question)
    asking.cancel()
    status = (await running)[0].status
    assert status == "declined" or question is None
    return question


def said(question: Event | None) -> str:
    return "" if question is None else str(question["risk"]["rules"])


@pytest.mark.parametrize(
    ("path", "text", "command"),
    [
        ("run.sh", GONE, "bash run.sh"),
        ("run.sh", GONE, "sh -eu ./run.sh now"),
        ("run.sh", GONE, "timeout 5 bash -c 'bash run.sh'"),
        ("run.sh", GONE, "source run.sh"),
        ("run.sh", GONE, "bash *.sh"),
        (".env.local", GONE, ". ./.env.local"),
        ("tool", "#!/usr/bin/env python3\n" + PYTHON_GONE, "./tool"),
        ("Makefile", f"all: sub\nsub:\n\t{GONE}", "make"),
        ("Makefile", "X = rm -rf\nclean:\n\t$(X) data\n", "make -s clean"),
        ("justfile", f"go:\n    {GONE}", "just go"),
        ("package.json", PACKAGE, "npm test"),
        ("package.json", PACKAGE, "npm run test -- --watch"),
        ("package.json", PACKAGE, "yarn test"),
        ("t.py", PYTHON_GONE, "python3 t.py"),
        ("t.py", PYTHON_GONE, "python3 -m t"),
        ("t.py", PYTHON_GONE, "python3 -c 'import t'"),
        ("t.py", PYTHON_GONE, "python3 < t.py"),
        ("pkg/__main__.py", PYTHON_GONE, "python3 -m pkg"),
        ("json.py", PYTHON_GONE, "python3 main.py"),
        ("helper.py", PYTHON_GONE, "python3 main.py"),
        ("conftest.py", PYTHON_GONE, "python3 -m pytest -q"),
        ("tests/test_it.py", PYTHON_GONE, "pytest"),
        ("setup.py", PYTHON_GONE, "pip install -e ."),
        ("t.js", "require('fs').rmSync('data', {recursive: true})", "node t.js"),
        ("t.rb", "FileUtils.rm_rf('data')", "ruby t.rb"),
        ("t.pl", "system('rm -rf data');", "perl t.pl"),
        ("build.rs", 'fn main() { Command::new("rm").arg("-rf").arg("data"); }', "cargo build"),
        ("run.sh", "bash inner.sh", "bash run.sh"),
    ],
)
async def test_what_a_written_file_does_is_asked_about_when_it_runs(
    house: Lab, root: Path, path: str, text: str, command: str
):
    (root / "main.py").write_text("import json, helper\n", encoding="utf-8")
    await house.call("write_file", path="inner.sh", content=GONE)
    assert (await house.call("write_file", path=path, content=text)).status == "success"

    question = await asked(house, "bash", command=command)

    where = "inner.sh" if "inner.sh" in text else path
    assert str(root / where) in said(question)
    assert (root / "data" / "kept").exists()


async def test_a_copy_is_judged_as_the_file_itself(house: Lab, root: Path):
    await house.call("write_file", path="run.sh", content=GONE)

    assert "rm deletes" in said(await asked(house, "bash", command="cp run.sh b.sh; bash b.sh"))


@pytest.mark.parametrize(
    ("path", "text", "command"),
    [
        ("run.sh", 'set -e\nmkdir -p out\n"$PYTHON" -V || true\n', "bash run.sh"),
        ("t.py", "print(1)\n", "python3 t.py"),
        (
            "t.py",
            "import subprocess, sys\nfor c in sys.argv[1:]:\n    subprocess.run(c)\n",
            "python3 t.py",
        ),
        (
            "t.py",
            "import os, tempfile\np = tempfile.mktemp()\nopen(p, 'w')\nos.remove(p)\n",
            "python3 t.py",
        ),
        (
            "test_it.py",
            "import subprocess\ndef test_it(tmp_path):\n"
            "    subprocess.run(['echo', str(tmp_path)])\n    (tmp_path / 'a').unlink\n",
            "python3 -m pytest --version",
        ),
        ("t.py", "def broken(:\n", "python3 t.py; true"),
        ("Makefile", "all:\n\t@echo made\nclean:\n\trm -rf build\n", "make"),
        ("package.json", PACKAGE, "npm run lint --silent || true"),
        ("notes.txt", GONE, "cat notes.txt; grep rm notes.txt"),
        ("run.sh", GONE, "cat run.sh; wc -l run.sh; chmod +x run.sh"),
        ("clean.py", PYTHON_GONE, "python3 main.py"),
    ],
)
async def test_harmless_files_run_without_a_question(
    house: Lab, root: Path, path: str, text: str, command: str
):
    (root / "main.py").write_text("print('hello')\n", encoding="utf-8")
    await house.call("write_file", path=path, content=text)

    assert said(await asked(house, "bash", command=command)) == ""


async def test_a_file_that_no_session_wrote_runs_as_ever(
    house: Lab, root: Path, monkeypatch: pytest.MonkeyPatch
):
    (root / "clean.sh").write_text("rm -f nothing\n", encoding="utf-8")
    (root / "Makefile").write_text("all:\n\trm -f nothing\n", encoding="utf-8")
    # As if they had been there for a while.
    monkeypatch.setattr(house.runtime.written, "_now", lambda: time.time() + 1)

    assert await asked(house, "bash", command="bash clean.sh; make --version || true") is None


@pytest.mark.parametrize(
    "writing",
    [
        "printf 'rm -rf data\\n' > run.sh",
        "printf 'rm -rf data\\n' | tee run.sh",
        "python3 -c \"print('rm -rf da' + 'ta')\" > run.sh",
        "python3 write.py",
        "git init -q made && cd made && cp ../old.sh run.sh && mv run.sh ..",
        "tar xf old.tar",
    ],
)
async def test_every_way_to_write_it_counts(house: Lab, root: Path, writing: str):
    (root / "old.sh").write_text(GONE, encoding="utf-8")
    (root / "write.py").write_text(
        "import base64\nopen('run.sh', 'w').write('rm -rf ' + 'data')\n", encoding="utf-8"
    )
    with tarfile.open(root / "old.tar", "w") as packed:
        packed.add(root / "old.sh", "run.sh")
    assert (await house.call("bash", command=writing)).status == "success"

    assert str(root / "run.sh") in said(await asked(house, "bash", command="bash run.sh"))


async def test_another_session_is_asked_too(house: Lab, root: Path):
    await house.call("write_file", path="run.sh", content=GONE)
    other = house.sessions.create(user_id="bob", project_id="default")
    other.log.subscribers.add(house.watcher)
    running = asyncio.create_task(
        house.run(CallRequest("c2", "bash", {"command": "bash run.sh"}), log=other.log)
    )
    await house.answer("decline")

    assert (await running)[0].status == "declined"


async def test_after_a_restart_too(settings: Settings):
    async with open_lab(settings) as before:
        folder = Path(before.context["project"].root)
        await before.call("write_file", path="run.sh", content=GONE)
        await before.call("bash", command="python3 -c \"open('b.sh','w').write('rm -rf data')\"")
    async with open_lab(settings) as after:
        for name in ("run.sh", "b.sh"):
            assert str(folder / name) in said(await asked(after, "bash", command=f"bash {name}"))


async def test_content_that_cannot_be_judged_is_asked_about_once(house: Lab, root: Path):
    async def run(option: str) -> bool:
        running = asyncio.create_task(
            house.run(CallRequest("c1", "bash", {"command": "./tool --version"}))
        )
        asking = asyncio.create_task(house.watcher.until("tool_confirmation_request", count=seen))
        await asyncio.wait({running, asking}, return_when=asyncio.FIRST_COMPLETED)
        was_asked = asking.done()
        if was_asked:
            assert "unread_file" in said(asking.result())
            await house.answer(option, asking.result())
        asking.cancel()
        await running
        return was_asked

    await house.call("bash", command="cp /bin/true tool.bin; cat tool.bin > tool; chmod +x tool")
    seen = len(house.watcher.of("tool_confirmation_request")) + 1
    assert await run("approve_once")
    seen += 1
    assert not await run("approve_once")
    with (root / "tool").open("ab") as file:
        file.write(b"more")
    assert await run("decline")


async def test_an_approval_is_for_the_content_that_was_shown(house: Lab, root: Path):
    await house.call("write_file", path="run.sh", content="rm -f nothing\n")
    running = asyncio.create_task(house.run(CallRequest("c1", "bash", {"command": "bash run.sh"})))
    question = await house.watcher.until("tool_confirmation_request")
    (root / "run.sh").write_text(GONE, encoding="utf-8")
    await house.answer("approve_once", question)
    again = await house.watcher.until("tool_confirmation_request", count=2)
    await house.answer("decline", again)

    assert (await running)[0].status == "declined"
    assert (root / "data" / "kept").exists()


async def test_what_a_call_before_it_wrote_counts_in_a_batch(house: Lab, root: Path):
    calls = [
        CallRequest("w", "write_file", {"path": "run.sh", "content": GONE}),
        CallRequest("b", "bash", {"command": "bash run.sh"}),
    ]
    running = asyncio.create_task(house.run(*calls, workers=1))
    question = await house.watcher.until("tool_confirmation_request")
    await house.answer("decline", question)

    assert [outcome.status for outcome in await running] == ["success", "declined"]
    assert str(root / "run.sh") in said(question)


async def test_what_changes_before_the_start_is_judged_again(
    house: Lab, root: Path, monkeypatch: pytest.MonkeyPatch
):
    await house.call("write_file", path="run.sh", content="true\n")
    known = house.runtime.written.content

    def content(*given: Any) -> Any:
        found = known(*given)
        (root / "run.sh").write_text(GONE, encoding="utf-8")
        return found

    monkeypatch.setattr(house.runtime.written, "content", content)
    outcome = await house.call("bash", command="bash run.sh")

    assert (outcome.status, outcome.result.code) == ("denied", "decision_changed")
    assert (root / "data" / "kept").exists()


async def test_a_lasting_approval_ends_with_the_content(house: Lab, root: Path):
    await house.call("write_file", path="run.sh", content="rm -f nothing\n")
    running = asyncio.create_task(house.run(CallRequest("c1", "bash", {"command": "bash run.sh"})))
    question = await house.watcher.until("tool_confirmation_request")
    await house.answer("approve_session", question)
    assert (await running)[0].status == "success"

    assert await asked(house, "bash", command="bash run.sh") is None
    await house.call("write_file", path="run.sh", content=GONE)
    assert await asked(house, "bash", command="bash run.sh") is not None


async def test_what_a_rule_denies_is_denied_in_a_file_too(house: Lab, root: Path):
    await house.runtime.rules.create(
        {
            "tool": "bash",
            "decision": "deny",
            "justification": "nothing is pushed from here",
            "match": {"argv": ["git", "push", "..."]},
        },
        actor="ann",
    )
    await house.call("write_file", path="run.sh", content="git push origin main\n")

    assert (await house.call("bash", command="bash run.sh")).status == "denied"
