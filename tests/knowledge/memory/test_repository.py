"""Saving, recalling, reading by line, forgetting."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.core.errors import ToolFailed
from app.domain.memory import MemoryScope, RecallQuery
from tests.knowledge.memory.conftest import ANN, Kept, keeping

BEN = MemoryScope("user", "ben")
DAY_S = 86_400
# The parts of a key are joined here, so that no file holds one.
KEYS = ("sk-ant-" + "api03-abcdefgh12345678", "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2")


async def test_what_is_saved_is_recalled_with_its_line(kept: Kept):
    first = await kept.save("Ann prefers Vim", tags=("tools",))
    await kept.save("用户喜欢喝龙井茶")

    found = await kept.store.recall([ANN], RecallQuery("龙井"))

    assert [(line.number, line.memory.content) for line in found.lines] == [(2, "用户喜欢喝龙井茶")]
    assert (first.ending, first.memory.key, first.memory.tags) == ("created", "m1", ("tools",))


async def test_places_see_nothing_of_each_other(kept: Kept):
    await kept.save("the code word is marmalade", place=BEN, tags=("code",))
    await kept.save("something else")

    assert await kept.recalled("marmalade") == []
    assert await kept.recalled(None, tags=("code",)) == []
    assert (await kept.store.read([ANN], 1, 100)).total == 1
    for hostile in ('marmalade" OR place : "2', "marmalade OR something", "*"):
        assert "marmalade" not in str(await kept.recalled(hostile))


async def test_a_place_is_not_another_of_the_same_owner(kept: Kept):
    await kept.save("kept by the agent", place=MemoryScope("agent", "ann"))

    assert await kept.recalled("kept") == []


async def test_the_index_is_not_believed_about_places(kept_in_sqlite: Kept, folder: Path):
    await kept_in_sqlite.save("mine")
    other = await kept_in_sqlite.save("marmalade", place=BEN)
    with closing(sqlite3.connect(folder / "tollgate.db")) as raw:
        raw.execute("UPDATE memory_words SET place = '1' WHERE rowid = ?", (other.memory.number,))
        raw.commit()

    assert await kept_in_sqlite.recalled("marmalade") == []


async def test_a_key_is_changed_with_its_version_only(kept: Kept):
    first = (await kept.save("Vim", "editor")).memory

    taken = await kept.save("Emacs", "editor")
    outdated = await kept.save("Emacs", "editor", expected=first.version + 7)
    assert (taken.ending, outdated.ending) == ("conflict", "conflict")
    assert taken.memory.content == outdated.memory.content == "Vim"
    assert await kept.recalled("emacs") == []

    changed = await kept.save("Emacs", "editor", expected=first.version)
    assert (changed.ending, changed.memory.id) == ("changed", first.id)
    assert (await kept.recalled("emacs"), await kept.recalled("vim")) == (["Emacs"], [])


async def test_saving_the_same_again_changes_nothing(kept: Kept):
    first = await kept.save("Vim", "editor")
    again = await kept.save("Vim", "editor")

    assert (again.ending, again.memory) == ("unchanged", first.memory)


async def test_of_two_who_change_at_once_one_is_reported(kept: Kept):
    version = (await kept.save("one", "k")).memory.version

    ended = await asyncio.gather(
        kept.save("two", "k", expected=version), kept.save("three", "k", expected=version)
    )

    assert sorted(saved.ending for saved in ended) == ["changed", "conflict"]


async def test_a_version_of_a_forgotten_memory_fits_no_later_one(kept: Kept):
    old = (await kept.save("old", "k")).memory
    await kept.store.forget(ANN, "k", expected=None)
    await kept.save("new", "k")

    assert (await kept.save("older", "k", expected=old.version)).ending == "conflict"


async def test_an_expected_version_of_nothing_is_an_error(kept: Kept):
    with pytest.raises(ToolFailed, match="no memory with the key 'k'") as failed:
        await kept.save("new", "k", expected=1)
    assert failed.value.details["code"] == "not_found"


async def test_a_given_key_is_never_the_next_name_of_a_memory_without_one(kept: Kept):
    await kept.save("mine", "m2")

    assert (await kept.save("other")).memory.key == "m3"


async def test_a_forgotten_memory_is_gone_from_lines_and_index(kept_in_sqlite: Kept, folder: Path):
    await kept_in_sqlite.save("first")
    await kept_in_sqlite.save("secondly", "k")
    await kept_in_sqlite.save("third")
    with pytest.raises(ToolFailed) as failed:
        await kept_in_sqlite.store.forget(ANN, "k", expected=99)
    assert failed.value.details["code"] == "memory_conflict"

    await kept_in_sqlite.store.forget(ANN, "k", expected=None)

    page = await kept_in_sqlite.store.read([ANN], 1, 10)
    assert [(line.number, line.memory.content) for line in page.lines] == [
        (1, "first"),
        (2, "third"),
    ]
    with closing(sqlite3.connect(folder / "tollgate.db")) as raw:
        assert raw.execute("SELECT COUNT(*) FROM memory_words").fetchone() == (2,)
    with pytest.raises(ToolFailed, match="no memory with the key"):
        await kept_in_sqlite.store.forget(ANN, "k", expected=None)


async def test_lines_are_read_from_both_ends_and_over_places(kept: Kept):
    project = MemoryScope("project", "p")
    for number in range(6):
        await kept.save(f"line {number}", place=ANN if number % 2 else project)

    both = await kept.store.read([ANN, project], 2, 3)
    newest = await kept.store.read([ANN, project], -2, -1)
    assert [(line.number, line.memory.content) for line in both.lines] == [
        (2, "line 1"),
        (3, "line 2"),
    ]
    assert [line.number for line in newest.lines] == [5, 6]
    assert [line.number for line in (await kept.store.read([ANN], 1, 9)).lines] == [1, 2, 3]
    assert (await kept.store.read([ANN], 4, 9)).lines == ()
    assert (await kept.store.read([BEN], -5, -1)).total == 0


async def test_any_or_all_words_and_all_tags(kept: Kept):
    await kept.save("red apple", tags=("fruit",))
    await kept.save("red car", tags=("Fast", "loud"))

    assert sorted(await kept.recalled("red apple")) == ["red apple", "red car"]
    assert await kept.recalled("red apple", mode="and") == ["red apple"]
    assert await kept.recalled("red", tags=("fast",)) == ["red car"]
    assert await kept.recalled(None, tags=("fast", "loud")) == ["red car"]
    assert await kept.recalled("apple", tags=("fast",)) == []


async def test_of_what_fits_as_well_the_newer_stands_first(kept: Kept):
    await kept.save("the server is called oslo")
    kept.clock.advance(180 * DAY_S)
    await kept.save("the server is called bergen")

    assert await kept.recalled("server") == [
        "the server is called bergen",
        "the server is called oslo",
    ]


async def test_what_fits_much_better_stands_first_however_old(kept: Kept):
    await kept.save("the zebra server")
    for number in range(20):
        await kept.save(f"a server of another kind, number {number}, with many more words in it")
    kept.clock.advance(3650 * DAY_S)
    await kept.save("a server that was bought lately and stands in a corner")

    assert (await kept.recalled("zebra server"))[0] == "the zebra server"


async def test_more_than_are_shown_are_counted(kept: Kept):
    for number in range(5):
        await kept.save(f"server {number}")

    found = await kept.store.recall([ANN], RecallQuery("server", limit=2))
    assert (len(found.lines), found.matched) == (2, 5)


async def test_a_question_without_words_finds_nothing_and_says_so(kept: Kept):
    await kept.save("server")

    found = await kept.store.recall([ANN], RecallQuery('"*" (OR) - ?!', mode="and"))
    assert (found.lines, found.no_words) == ([], False)
    found = await kept.store.recall([ANN], RecallQuery("?!"))
    assert (found.lines, found.no_words) == ((), True)


@pytest.mark.parametrize("secret", KEYS)
@pytest.mark.parametrize("field", ["content", "key", "tags"])
async def test_a_secret_is_refused_and_not_reported(kept: Kept, secret: str, field: str):
    content = f"use {secret} there" if field == "content" else "harmless"
    key = secret if field == "key" else None
    tags = (secret,) if field == "tags" else ()
    with pytest.raises(ToolFailed) as failed:
        await kept.save(content, key, tags=tags)
    assert failed.value.details["code"] == "secret_refused"
    assert secret not in str(failed.value.message)
    assert (await kept.store.read([ANN], 1, 1)).total == 0


async def test_a_password_under_its_name_is_refused(kept: Kept):
    with pytest.raises(ToolFailed, match="looks like a secret"):
        await kept.save('{"user": "ann", "password": "horse-battery"}')


async def test_a_full_place_is_an_error_that_names_the_way_out(folder: Path):
    async with keeping(folder, max_memories=2, warn_percent=100) as kept:
        saved = [(await kept.save(str(number))).warns for number in range(2)]
        assert saved == [False, True]
        with pytest.raises(ToolFailed, match="TOLLGATE_MEMORY__MAX_MEMORIES") as failed:
            await kept.save("one more")
        assert failed.value.details["code"] == "memory_full"
        assert (await kept.save("another", place=BEN)).ending == "created"
        await kept.store.forget(ANN, "m1", expected=None)
        assert (await kept.save("one more")).ending == "created"


async def test_two_runtimes_on_one_file_see_each_other_at_once(folder: Path):
    async with keeping(folder) as here, keeping(folder) as there:
        saved = await here.save("from here", "k")
        assert await there.recalled("here") == ["from here"]
        assert (await there.save("x", "k")).ending == "conflict"
        await there.save("from there", "k", expected=saved.memory.version)
        assert await here.recalled("there") == ["from there"]


async def test_what_was_answered_survives_the_death_of_its_process(folder: Path):
    program = """
import asyncio, os, sys
from pathlib import Path
from tests.knowledge.memory.conftest import keeping

async def main() -> None:
    async with keeping(Path(sys.argv[1])) as kept:
        await kept.save("written just before the end")
        os._exit(9)

asyncio.run(main())
"""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program, str(folder)], check=False
    )
    assert done.returncode == 9
    async with keeping(folder) as kept:
        assert await kept.recalled("written") == ["written just before the end"]


async def test_what_sqlite_cannot_hold_is_shown_not_lost(kept: Kept):
    await kept.save("before\0after \ud800")

    assert await kept.recalled("before after") == ["before\ufffdafter ?"]
