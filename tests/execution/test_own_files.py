"""A session deletes what it has created itself without a question, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.execution.calls import CallRequest
from tests.execution.lab import Lab

PATCH = """*** Begin Patch
*** Add File: made.py
+print(1)
*** End Patch
"""


@pytest.fixture
def root(house: Lab) -> Path:
    return Path(house.context["project"].root)


async def free(house: Lab, command: str) -> bool:
    """Whether a command runs without a question; one that asks is declined."""
    running = asyncio.create_task(house.run(CallRequest("rm", "bash", {"command": command})))
    asking = asyncio.create_task(house.watcher.until("tool_confirmation_request"))
    await asyncio.wait({running, asking}, return_when=asyncio.FIRST_COMPLETED)
    asked = asking.done()
    if asked:
        await house.answer("decline", asking.result())
    asking.cancel()
    status = (await running)[0].status
    assert status == ("declined" if asked else "success")
    return not asked


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "made.py", "content": "print(1)\n"}),
        ("patch", {"patch": PATCH}),
        ("bash", {"command": "cat > made.py <<'A'\nprint(1)\nA"}),
        ("bash", {"command": "echo 'print(1)' | tee made.py"}),
        ("bash", {"command": "seq 9000 > made.py; wc -l made.py"}),
    ],
)
async def test_what_the_session_has_created_it_deletes_freely(
    house: Lab, root: Path, name: str, arguments: dict[str, str]
):
    assert (await house.call(name, **arguments)).status == "success"

    assert await free(house, "cat made.py > /dev/null && rm -f -- made.py")
    assert not (root / "made.py").exists()


async def test_after_its_own_edits_too(house: Lab, root: Path):
    await house.call("write_file", path="made.py", content="one\n")
    await house.call("edit_file", path="made.py", old_text="one", new_text="two")

    assert await free(house, "rm made.py")


@pytest.mark.parametrize(
    "command",
    [
        "rm made.py old.py",
        "rm *.py",
        'rm made.py "$X"',
        "rm -r .",
        "rm made.py; rm -rf src",
        "sudo rm made.py",
        "find . -name made.py -delete",
        "rm link.py",
        "rm made.py; git reset --hard",
        "xargs rm < list",
    ],
)
async def test_a_command_that_deletes_more_asks(house: Lab, root: Path, command: str):
    (root / "old.py").write_text("theirs", encoding="utf-8")
    (root / "link.py").symlink_to("old.py")
    await house.call("write_file", path="made.py", content="one\n")

    assert not await free(house, command)
    assert (root / "made.py").exists()


async def test_what_was_there_before_is_not_the_sessions_own(house: Lab, root: Path):
    (root / "old.py").write_text("theirs", encoding="utf-8")
    await house.call("write_file", path="old.py", content="changed\n", overwrite_changed=True)
    await house.call("bash", command="echo more >> old.py")

    assert not await free(house, "rm old.py")


async def test_what_somebody_else_changed_is_theirs(house: Lab, root: Path):
    await house.call("write_file", path="made.py", content="one\n")
    (root / "made.py").write_text("theirs\n", encoding="utf-8")

    assert not await free(house, "rm made.py")


async def test_another_session_asks(house: Lab, root: Path):
    await house.call("write_file", path="made.py", content="one\n")
    other = house.sessions.create(user_id="ann", project_id="default")
    other.log.subscribers.add(house.watcher)
    running = asyncio.create_task(
        house.run(CallRequest("rm", "bash", {"command": "rm made.py"}), log=other.log)
    )
    await house.watcher.until("tool_confirmation_request")
    await house.answer("decline")

    assert (await running)[0].status == "declined"


async def test_what_a_rule_asks_about_is_asked_all_the_same(house: Lab, root: Path):
    await house.runtime.rules.create(
        {
            "tool": "bash",
            "decision": "ask",
            "justification": "every deletion is looked at",
            "match": {"argv": ["rm", "..."]},
        },
        actor="ann",
    )
    await house.call("write_file", path="made.py", content="one\n")

    assert not await free(house, "rm made.py")


async def test_a_file_with_another_name_is_not_deleted_freely(house: Lab, root: Path):
    await house.call("write_file", path="made.py", content="one\n")
    (root / "other.py").hardlink_to(root / "made.py")

    assert not await free(house, "rm made.py")


async def test_what_it_deleted_is_not_its_own_when_it_comes_back(house: Lab, root: Path):
    await house.call("write_file", path="made.py", content="one\n")
    await house.call("file_delete", path="made.py")
    (root / "made.py").write_text("one\n", encoding="utf-8")

    assert not await free(house, "rm made.py")


LOSSES = [
    ": > {}",
    "> {}",
    "true >{}",
    "cat /dev/null > {}",
    "truncate -s 0 {}",
    "mv new.txt {}",
    "mv -t . sub/{}",
    "cp /dev/null {}",
    "unlink {}",
    "rm {}",
]


@pytest.mark.parametrize("command", LOSSES)
async def test_a_file_of_others_is_lost_by_no_command_without_a_question(
    house: Lab, root: Path, command: str
):
    (root / "sub").mkdir()
    for name in ("theirs.txt", "new.txt", "sub/theirs.txt"):
        (root / name).write_text("one\n", encoding="utf-8")

    assert not await free(house, command.format("theirs.txt"))
    assert (root / "theirs.txt").read_text(encoding="utf-8") == "one\n"


@pytest.mark.parametrize("command", [": > {}", "cat /dev/null > {}", "mv new.txt {}"])
async def test_what_is_new_or_the_sessions_own_is_emptied_freely(
    house: Lab, root: Path, command: str
):
    (root / "new.txt").write_text("one\n", encoding="utf-8")
    assert await free(house, command.format("fresh.txt"))

    (root / "new.txt").write_text("one\n", encoding="utf-8")
    await house.call("write_file", path="made.txt", content="one\n")
    assert await free(house, command.format("made.txt"))


async def test_a_file_of_others_is_overwritten_and_moved_away_freely(house: Lab, root: Path):
    """New content is an edit, and what is moved is still there."""
    (root / "theirs.txt").write_text("one\n", encoding="utf-8")
    assert await free(house, "echo two > theirs.txt && mv theirs.txt kept.txt")
    assert (root / "kept.txt").read_text(encoding="utf-8") == "two\n"
