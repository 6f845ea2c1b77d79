"""A file that somebody else changed is not overwritten unseen."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import ToolFailed
from app.execution.checkpoints.seen_files import (
    MAX_KEPT_BYTES,
    MAX_KEPT_FILE,
    MAX_PATHS,
    MAX_SESSIONS,
    SeenFiles,
    changed_since_read,
    look_at,
)
from tests.execution.checkpoints.conftest import Workshop

PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n"
OVERWRITES: dict[str, dict[str, Any]] = {
    "write_file": {"path": "a.txt", "content": "mine\n"},
    "edit_file": {"path": "a.txt", "start_line": 1, "new_text": "mine"},
    "patch": {"patch": PATCH},
}


@pytest.mark.parametrize("tool", OVERWRITES)
async def test_what_changed_since_it_was_read_is_refused_with_what_changed(
    shop: Workshop, tool: str
):
    shop.put("a.txt", "one\n")
    await shop.done("r1", "read_file", path="a.txt")
    shop.put("a.txt", "one\ntheirs\n")

    outcome = await shop.call("r1", tool, **OVERWRITES[tool])

    assert (outcome.success, outcome.result.code) == (False, "changed_since_read")
    assert "+theirs" in str(outcome.result.error)
    assert shop.files() == {"a.txt": "one\ntheirs\n"}


@pytest.mark.parametrize("tool", OVERWRITES)
async def test_it_is_overwritten_when_the_caller_says_so(shop: Workshop, tool: str):
    shop.put("a.txt", "one\n")
    await shop.done("r1", "read_file", path="a.txt")
    shop.put("a.txt", "one\ntheirs\n")

    await shop.done("r1", tool, **OVERWRITES[tool], overwrite_changed=True)

    assert shop.files() != {"a.txt": "one\ntheirs\n"}


async def test_it_is_overwritten_once_it_was_read_again(shop: Workshop):
    shop.put("a.txt", "one\n")
    await shop.done("r1", "read_file", path="a.txt")
    shop.put("a.txt", "two\n")
    await shop.done("r1", "read_file", path="./a.txt")

    await shop.done("r1", "write_file", path="a.txt", content="mine\n")

    assert shop.files() == {"a.txt": "mine\n"}


async def test_what_the_session_wrote_itself_it_may_overwrite(shop: Workshop):
    await shop.done("r1", "write_file", path="a.txt", content="one\n")
    await shop.done("r1", "edit_file", path="a.txt", old_text="one", new_text="two")
    await shop.done("r2", "write_file", path="a.txt", content="three\n")

    assert shop.files() == {"a.txt": "three\n"}


async def test_what_differs_from_what_the_session_wrote_is_refused(shop: Workshop):
    await shop.done("r1", "write_file", path="a.txt", content="one\n")
    shop.put("a.txt", "theirs\n")

    outcome = await shop.call("r2", "write_file", path="a.txt", content="mine\n")

    assert outcome.result.code == "changed_since_read"


async def test_a_text_that_still_matches_is_edited(shop: Workshop):
    shop.put("a.txt", "one\n")
    await shop.done("r1", "read_file", path="a.txt")
    shop.put("a.txt", "one\ntheirs\n")

    await shop.done("r1", "edit_file", path="a.txt", old_text="one", new_text="two")
    await shop.done("r1", "write_file", path="a.txt", content=" and more", mode="append")

    assert shop.files() == {"a.txt": "two\ntheirs\n and more"}


async def test_a_file_the_session_never_read_or_that_is_gone_is_written(shop: Workshop):
    shop.put("a.txt", "theirs\n")
    shop.put("b.txt", "read\n")
    await shop.done("r1", "read_file", path="b.txt")
    (shop.root / "b.txt").unlink()

    await shop.done("r1", "write_file", path="a.txt", content="mine\n")
    await shop.done("r1", "write_file", path="b.txt", content="mine\n")

    assert shop.files() == {"a.txt": "mine\n", "b.txt": "mine\n"}


async def test_a_link_that_is_written_through_leads_to_the_file_that_was_read(shop: Workshop):
    shop.put("a.txt", "one\n")
    (shop.root / "link").symlink_to("a.txt")
    await shop.done("r1", "read_file", path="a.txt")
    shop.put("a.txt", "theirs\n")

    outcome = await shop.call("r1", "write_file", path="link", content="mine\n")

    assert outcome.result.code == "changed_since_read"


def test_what_is_remembered_is_bounded():
    seen = SeenFiles()
    for number in range(MAX_SESSIONS + 5):
        seen.note(f"s{number}", ("p", "a"), look_at(b"x"))
    for number in range(MAX_PATHS + 5):
        seen.note("many", ("p", str(number)), look_at(b"x"))
    for number in range(MAX_KEPT_BYTES // MAX_KEPT_FILE + 5):
        seen.note("large", ("p", str(number)), look_at(b"x" * MAX_KEPT_FILE))

    assert seen.last("s0", ("p", "a")) is None
    assert seen.last("many", ("p", "4")) is None
    assert seen.last("many", ("p", "5")) is not None
    oldest = seen.last("large", ("p", "0"))
    assert oldest is not None
    assert (oldest.size, oldest.data) == (MAX_KEPT_FILE, None)


def test_a_refusal_without_the_former_text_tells_the_sizes():
    error = changed_since_read("a", look_at(b"x" * (MAX_KEPT_FILE + 1)), b"y")

    assert isinstance(error, ToolFailed)
    assert f"({MAX_KEPT_FILE + 1} bytes then, 1 now)" in error.message
