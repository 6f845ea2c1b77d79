"""What runs change with the file tools can be taken back."""

from __future__ import annotations

import asyncio
import os

import pytest

from app.core.errors import Busy, Conflict, InvalidInput, NotFound
from app.execution.checkpoints.store import MAX_KEPT_BYTES
from app.operations.protocols.files import FileState, FileStates
from tests.execution.checkpoints.conftest import Workshop

MANY = """*** Begin Patch
*** Update File: a.txt
-one
+two
*** Add File: new/c.txt
+made
*** Delete File: b.txt
*** Move File: run.sh -> bin/run.sh
*** End Patch"""


async def states(shop: Workshop, run_id: str) -> dict[str, str]:
    changes = await shop.lab.runtime.undo.changes(shop.lab.session.id, run_id)
    return {change.record.path: change.state for change in changes}


async def test_a_run_is_taken_back_whole(shop: Workshop):
    shop.put("a.txt", "one\n")
    shop.put("b.txt", "kept\r\n")
    shop.put("run.sh", "#!/bin/sh\n")
    (shop.root / "run.sh").chmod(0o750)
    before = shop.files()
    await shop.done("r1", "patch", patch=MANY)
    await shop.done("r1", "edit_file", path="a.txt", old_text="two", new_text="three")
    await shop.done("r1", "write_file", path="new/c.txt", content="x", mode="append")
    assert shop.files() == {"a.txt": "three\n", "bin/run.sh": "#!/bin/sh\n", "new/c.txt": "made\nx"}

    restored = await shop.restore("r1")

    assert shop.files() == before
    assert (shop.root / "run.sh").stat().st_mode & 0o777 == 0o750
    assert restored.restored == ("a.txt", "b.txt", "bin/run.sh", "new/c.txt", "run.sh")
    assert (restored.unchanged, restored.left) == ((), {})


async def test_taking_back_can_be_taken_back(shop: Workshop):
    shop.put("a.txt", "one\n")
    await shop.done("r1", "write_file", path="a.txt", content="two\n")
    restored = await shop.restore("r1")

    runs = await shop.lab.runtime.undo.runs(shop.lab.session.id)
    again = await shop.restore(restored.run_id)

    assert [(run.run_id, run.restores) for run in runs] == [(restored.run_id, "r1"), ("r1", "")]
    assert shop.files() == {"a.txt": "two\n"}
    assert again.restored == ("a.txt",)


async def test_only_what_was_before_the_run_counts(shop: Workshop):
    await shop.done("r1", "write_file", path="a.txt", content="first\n")
    await shop.done("r2", "write_file", path="a.txt", content="second\n")
    await shop.done("r2", "write_file", path="a.txt", content="third\n")

    await shop.restore("r2")
    assert shop.files() == {"a.txt": "first\n"}
    await shop.restore("r1")
    assert shop.files() == {}


async def test_what_was_changed_later_needs_force(shop: Workshop):
    shop.put("a.txt", "one\n")
    shop.put("b.txt", "one\n")
    await shop.done("r1", "write_file", path="a.txt", content="two\n")
    await shop.done("r1", "write_file", path="b.txt", content="two\n")
    shop.put("b.txt", "theirs\n")

    with pytest.raises(Conflict) as caught:
        await shop.restore("r1")
    assert caught.value.details == {"files": ["b.txt"], "count": 1}
    assert shop.files() == {"a.txt": "two\n", "b.txt": "theirs\n"}
    assert await states(shop, "r1") == {"a.txt": "restorable", "b.txt": "changed_since"}

    await shop.restore("r1", force=True)
    assert shop.files() == {"a.txt": "one\n", "b.txt": "one\n"}
    assert await states(shop, "r1") == {"a.txt": "as_before", "b.txt": "as_before"}


async def test_some_files_of_a_run_can_be_chosen(shop: Workshop):
    await shop.done("r1", "write_file", path="a.txt", content="x")
    await shop.done("r1", "write_file", path="b.txt", content="x")

    await shop.restore("r1", paths=["b.txt"])

    assert shop.files() == {"a.txt": "x"}
    with pytest.raises(InvalidInput, match=r"'c\.txt'"):
        await shop.restore("r1", paths=["c.txt"])


async def test_nothing_is_taken_back_while_the_session_runs(shop: Workshop):
    await shop.done("r1", "write_file", path="a.txt", content="x")
    shop.is_active = True

    with pytest.raises(Busy):
        await shop.restore("r1")

    assert shop.files() == {"a.txt": "x"}


async def test_a_run_that_starts_meanwhile_stops_the_restore(shop: Workshop):
    await shop.done("r1", "write_file", path="a.txt", content="x")
    asked = iter([False, True])

    with pytest.raises(Busy):
        await shop.lab.runtime.undo.restore(
            shop.lab.session.id, "r1", actor="ann", is_active=lambda: next(asked)
        )

    assert shop.files() == {"a.txt": "x"}


async def test_runs_that_changed_nothing_are_not_found(shop: Workshop):
    await shop.done("r1", "file_exists", path="a.txt")
    await shop.call("r1", "edit_file", path="a.txt", old_text="x", new_text="y")

    with pytest.raises(NotFound):
        await shop.restore("r1")
    assert await shop.lab.runtime.undo.runs(shop.lab.session.id) == []


async def test_other_sessions_do_not_see_it(shop: Workshop):
    await shop.done("r1", "write_file", path="a.txt", content="x")

    assert await shop.lab.runtime.undo.runs("ses_other") == []
    with pytest.raises(NotFound):
        await shop.lab.runtime.undo.restore("ses_other", "r1", actor="bob", is_active=lambda: False)


async def test_a_deleted_file_comes_back(shop: Workshop):
    shop.put("a.txt", "mine\n")
    await shop.done("r1", "file_delete", path="a.txt")
    assert shop.files() == {}

    await shop.restore("r1")

    assert shop.files() == {"a.txt": "mine\n"}


async def test_what_is_not_kept_is_said(shop: Workshop):
    (shop.root / "big").write_bytes(b"x" * (MAX_KEPT_BYTES + 1))
    shop.put("small", "x")
    (shop.root / "link").symlink_to("small")
    for path in ("big", "link", "small"):
        await shop.done("r1", "file_delete", path=path)

    restored = await shop.restore("r1")

    assert restored.left == {"big": "too_large", "link": "link"}
    assert shop.files() == {"small": "x"}
    with pytest.raises(Conflict, match="was not saved"):
        await shop.restore("r1", paths=["big"])


async def test_a_file_without_a_checkpoint_is_not_written(shop: Workshop):
    shop.put("a.txt", "one\n")
    folder = shop.lab.runtime.settings.data_dir / "checkpoints"
    folder.write_text("a file where the folder of the contents should be")

    outcome = await shop.call("r1", "write_file", path="a.txt", content="two\n")

    assert (outcome.success, outcome.result.code) == (False, "storage_unavailable")
    assert shop.files() == {"a.txt": "one\n"}


async def test_a_name_the_database_cannot_hold_is_not_written(shop: Workshop):
    name = os.fsdecode(b"\xff.txt")
    shop.put(name, "one\n")
    files = shop.lab.runtime.projects.get("default").operations.files
    assert await files.read(name, max_bytes=9) == b"one\n"

    outcome = await shop.call("r1", "file_delete", path=name)

    assert outcome.success is False
    assert (shop.root / name).exists()


async def test_a_write_that_fails_leaves_the_state_before_as_it_was(shop: Workshop):
    shop.put("a.txt", "one\n")
    await shop.done("r1", "write_file", path="a.txt", content="two\n")
    shop.root.chmod(0o755)
    (shop.root / "folder").mkdir()

    outcome = await shop.call(
        "r1",
        "patch",
        patch="*** Begin Patch\n*** Update File: a.txt\n-two\n+three\n"
        "*** Add File: folder\n+x\n*** End Patch",
    )

    assert outcome.success is False
    assert await states(shop, "r1") == {"a.txt": "restorable"}
    await shop.restore("r1")
    assert shop.files() == {"a.txt": "one\n"}


async def test_what_somebody_wrote_between_two_tries_is_what_was_before(shop: Workshop):
    shop.put("a.txt", "one\n")
    files = shop.lab.context["project"].operations.files
    context = shop.lab.call_context(run_id="r1")
    assert context.project is not None
    watched = shop.lab.runtime.undo.watched(shop.lab.session.id, "r1", context.project.id)
    tries: list[int] = []

    async def meddle(_: object) -> None:
        if not tries:
            await asyncio.to_thread(shop.put, "a.txt", "theirs\n")
        tries.append(1)

    def extend(found: FileStates) -> FileStates:
        state = found["a.txt"]
        assert state is not None
        return {"a.txt": FileState(state.data + b"mine\n", state.mode)}

    await watched.apply(["a.txt"], extend, before_write=meddle)

    assert len(tries) == 2
    assert await files.read("a.txt", max_bytes=99) == b"theirs\nmine\n"
    await shop.restore("r1")
    assert shop.files() == {"a.txt": "theirs\n"}


async def test_twenty_edits_at_once_are_all_kept_and_taken_back_together(shop: Workshop):
    lines = [f"line {number}" for number in range(20)]
    shop.put("a.txt", "\n".join(lines) + "\n")
    before = shop.files()

    await asyncio.gather(
        *(
            shop.done("r1", "edit_file", path="a.txt", old_text=f"{line}\n", new_text=f"{line}!\n")
            for line in lines
        )
    )

    assert shop.files() == {"a.txt": "".join(f"{line}!\n" for line in lines)}
    await shop.restore("r1")
    assert shop.files() == before


async def test_a_restored_file_is_news_to_the_session(shop: Workshop):
    await shop.done("r1", "write_file", path="a.txt", content="one\n")
    await shop.done("r2", "write_file", path="a.txt", content="two\n")
    await shop.restore("r2")

    outcome = await shop.call("r3", "write_file", path="a.txt", content="three\n")

    assert outcome.result.code == "changed_since_read"


async def test_who_took_what_back_is_in_the_audit(shop: Workshop):
    await shop.done("r1", "write_file", path="a.txt", content="x")
    await shop.restore("r1")
    await shop.lab.runtime.db.flush()

    rows = await shop.lab.rows(
        "SELECT actor, subject, session_id FROM audit WHERE kind = 'checkpoint.restored'"
    )

    assert rows == [("ann", "r1", shop.lab.session.id)]


@pytest.mark.parametrize("force", [False, True])
async def test_a_path_that_became_a_link_is_not_written_through(shop: Workshop, *, force: bool):
    shop.put("a.txt", "one\n")
    await shop.done("r1", "write_file", path="a.txt", content="two\n")
    shop.put("other.txt", "two\n")
    (shop.root / "a.txt").unlink()
    (shop.root / "a.txt").symlink_to("other.txt")

    with pytest.raises(Conflict, match="through a link") as caught:
        await shop.restore("r1", force=force)

    assert caught.value.details["files"] == ["other.txt"]
    assert (shop.root / "other.txt").read_text() == "two\n"
