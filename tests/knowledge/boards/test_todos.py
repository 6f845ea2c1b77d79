"""`todo`: one list a session."""

from __future__ import annotations

import asyncio

import pytest

from app.domain.plans import TodoItem
from app.knowledge.boards.todos import MAX_KNOWN, StoredTodoLists
from tests.execution.lab import Lab
from tests.knowledge.boards.conftest import Call

TWO = [
    {"id": "a", "content": "Look", "status": "in_progress"},
    {"id": "b", "content": "Leap", "parent": "a"},
]


@pytest.mark.requirement("TOD-01")
async def test_two_sessions_do_not_share_a_list(lab: Lab, call: Call):
    await call("todo", {"todos": TWO})
    other = lab.sessions.create(user_id="ann", project_id="default")
    assert (await call("todo", {}, log=other.log)).result.data["todos"] == []
    assert len((await call("todo", {})).result.data["todos"]) == 2


async def test_a_list_is_replaced_and_counts_its_revisions(call: Call):
    first = await call("todo", {"todos": TWO})
    second = await call("todo", {"todos": TWO[:1]})
    assert (first.result.data["revision"], second.result.data["revision"]) == (1, 2)
    assert second.result.data["summary"] == {
        "total": 1,
        "pending": 0,
        "in_progress": 1,
        "completed": 0,
        "cancelled": 0,
    }
    assert second.result.text == "Revision 2, 1 items, 1 left\n[>] a: Look"


async def test_merging_changes_items_in_their_place_and_adds_new_ones_at_the_end(call: Call):
    await call("todo", {"todos": TWO})
    changed = [
        {"id": "c", "content": "Land"},
        {"id": "a", "content": "Look", "status": "completed"},
    ]
    merged = await call("todo", {"todos": changed, "merge": True})
    assert [(item["id"], item["status"]) for item in merged.result.data["todos"]] == [
        ("a", "completed"),
        ("b", "pending"),
        ("c", "pending"),
    ]


async def test_parallel_merges_lose_nothing(lab: Lab, call: Call):
    async def add(number: int) -> None:
        item = {"id": str(number), "content": "x"}
        assert (await call("todo", {"todos": [item], "merge": True})).status == "success"

    await asyncio.gather(*map(add, range(20)))
    found = await call("todo", {})
    assert {item["id"] for item in found.result.data["todos"]} == {str(n) for n in range(20)}
    assert found.result.data["revision"] == 20


async def test_a_list_that_somebody_else_changed_is_not_overwritten(call: Call):
    await call("todo", {"todos": TWO})
    refused = await call("todo", {"todos": [], "revision": 0})
    assert (refused.status, refused.result.code) == ("error", "revision_mismatch")
    assert len((await call("todo", {})).result.data["todos"]) == 2
    assert (await call("todo", {"todos": [], "revision": 1})).status == "success"


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([{"id": "a", "content": "x", "parent": "b"}], "unknown_parent"),
        ([{"id": "a", "content": "x", "parent": "a"}], "unknown_parent"),
        (
            [
                {"id": "a", "content": "x", "parent": "b"},
                {"id": "b", "content": "y", "parent": "a"},
            ],
            "unknown_parent",
        ),
    ],
)
async def test_what_an_item_is_a_part_of_must_be_there(call: Call, items, code):
    refused = await call("todo", {"todos": items})
    assert (refused.status, refused.result.code) == ("error", code)
    assert (await call("todo", {})).result.data["revision"] == 0


async def test_merging_cannot_grow_a_list_beyond_its_limit(call: Call):
    full = [{"id": str(n), "content": "x"} for n in range(256)]
    assert (await call("todo", {"todos": full})).status == "success"
    refused = await call("todo", {"todos": [{"id": "one more", "content": "x"}], "merge": True})
    assert refused.result.code == "too_many_items"
    too_long = [{"id": str(n), "content": "x"} for n in range(257)]
    assert (await call("todo", {"todos": too_long})).status == "invalid_arguments"


async def test_two_items_of_one_id_are_refused_before_anything_is_written(call: Call):
    refused = await call("todo", {"todos": [TWO[0], TWO[0]]})
    assert refused.status == "invalid_arguments"
    assert "duplicate id 'a'" in str(refused.result.error)


async def test_the_name_todo_write_takes_items_without_ids(call: Call):
    items = [{"content": "x", "activeForm": "Doing x", "status": "pending"}, {"content": "y"}]
    made = await call("TodoWrite", {"todos": items})
    assert [item["id"] for item in made.result.data["todos"]] == ["1", "2"]
    assert (await call("TodoWrite", {"todos": "x"})).status == "invalid_arguments"


async def test_a_list_is_read_from_the_database_once(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    lists = StoredTodoLists(lab.runtime.db, lab.runtime.clock)
    await lists.write("ses_1", [TodoItem("a", "Look")], merge=False)
    others = StoredTodoLists(lab.runtime.db, lab.runtime.clock)
    first = await others.read("ses_1")

    async def refuse(_: object) -> None:
        raise AssertionError("it reads again")

    monkeypatch.setattr(lab.runtime.db, "transact", refuse)
    assert await others.read("ses_1") is first
    assert first.items == (TodoItem("a", "Look"),)


async def test_a_write_whose_caller_gave_up_is_read(lab: Lab):
    lists = StoredTodoLists(lab.runtime.db, lab.runtime.clock)
    await lists.read("ses_1")
    writing = asyncio.create_task(lists.write("ses_1", [TodoItem("a", "Look")], merge=False))
    reading = asyncio.create_task(lists.read("ses_1"))
    await asyncio.sleep(0)
    writing.cancel()
    assert (await reading).items == (TodoItem("a", "Look"),)
    assert (await lists.read("ses_1")).revision == 1


async def test_a_read_from_before_a_write_is_not_kept(lab: Lab):
    lists = StoredTodoLists(lab.runtime.db, lab.runtime.clock)
    reading = asyncio.create_task(lists.read("ses_1"))
    await asyncio.sleep(0)
    await lists.write("ses_1", [TodoItem("a", "Look")], merge=False)
    assert (await reading).revision == 0
    assert (await lists.read("ses_1")).revision == 1


async def test_more_lists_than_are_kept_are_read_again(lab: Lab):
    lists = StoredTodoLists(lab.runtime.db, lab.runtime.clock)
    await lists.write("ses_1", [TodoItem("a", "Look")], merge=False)
    for number in range(MAX_KNOWN):
        await lists.read(f"other_{number}")
    assert (await lists.read("ses_1")).revision == 1
