"""Searching the sessions: titles and what was said, in what one may see."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from app.agents import session_finder
from app.core.clock import isoformat
from tests.api.rest.client import call, new_session, problem
from tests.support.service import Running


async def say(serving: Running, session_id: str, text: str, role: str = "user") -> None:
    """Put a message into a session, as a run would."""
    session = await serving.service.sessions.get(session_id)
    assert session is not None
    blocks = [{"type": "text", "text": text}]
    serving.service.sessions.append(session, role, blocks, run_id=None)  # type: ignore[arg-type]
    await serving.service.db.flush()


async def found(client: httpx2.AsyncClient, q: str, **more: Any) -> dict[str, Any]:
    """The page that a search answers with."""
    answer = await client.get("/sessions", params={"q": q, **more})
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


async def test_words_are_found_in_titles_and_in_what_was_said(
    client: httpx2.AsyncClient, serving: Running
):
    titled = await new_session(client, title="A loaf of bread")
    spoken = await new_session(client, title="Other things")
    await new_session(client, title="Nothing of it")
    await say(serving, spoken, "x" * 300 + ' Bake "BREAD"\nslowly. ' + "y" * 300, "assistant")

    page = await found(client, "bread")

    assert {row["id"] for row in page["sessions"]} == {titled, spoken}
    (hit,) = page["hits"]
    assert (hit["session_id"], hit["role"]) == (spoken, "assistant")
    assert 'Bake "BREAD" slowly.' in hit["excerpt"]
    assert len(hit["excerpt"]) < 250


async def test_all_words_stand_in_one_place(client: httpx2.AsyncClient, serving: Running):
    session_id = await new_session(client, title="Bread")
    await say(serving, session_id, "rye")
    assert (await found(client, "bread rye"))["sessions"] == []
    await say(serving, session_id, "Rye bread, then")
    assert [hit["excerpt"] for hit in (await found(client, "bread rye"))["hits"]] == [
        "Rye bread, then"
    ]


@pytest.mark.parametrize("q", ["面包", '"引号"', "50%", "a_b", "c/d", "e\\f"])
async def test_other_scripts_and_signs_are_words_too(
    client: httpx2.AsyncClient, serving: Running, q: str
):
    session_id = await new_session(client, title="Signs")
    await say(serving, session_id, '怎么做面包 "引号" 50% a_b c/d e\\f')
    await say(serving, await new_session(client, title="Others"), "500 axb cxd exf")
    page = await found(client, q)
    assert [row["id"] for row in page["sessions"]] == [session_id]
    assert q in page["hits"][0]["excerpt"]


async def test_the_words_of_the_stored_form_and_of_calls_are_not_found(
    client: httpx2.AsyncClient, serving: Running
):
    session_id = await new_session(client, title="Plain")
    await say(serving, session_id, "hello")
    await call(client, "calculator", arguments={"expression": "41 + 1"}, session_id=session_id)
    for q in ("type", "text", "tool_use", "expression"):
        assert (await found(client, q))["sessions"] == []


async def test_a_secret_is_not_found_by_guessing_at_it(
    client: httpx2.AsyncClient, serving: Running
):
    secret = "sk-ant-api03-" + "q7" * 40
    session_id = await new_session(client, title="Key")
    await say(serving, session_id, f"the key is {secret} and that is that")
    assert (await found(client, "q7q7"))["sessions"] == []
    (hit,) = (await found(client, "that is that"))["hits"]
    assert "q7q7" not in hit["excerpt"]


async def next_millisecond(serving: Running) -> None:
    """Times are kept to the millisecond, and what is newer is told by them."""
    clock = serving.service.clock
    moment = isoformat(clock.now())
    while isoformat(clock.now()) == moment:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0)


async def test_a_session_tells_its_three_newest_hits(client: httpx2.AsyncClient, serving: Running):
    session_id = await new_session(client, title="Much")
    for number in range(5):
        await say(serving, session_id, f"needle {number}")
        await next_millisecond(serving)
    page = await found(client, "needle")
    assert [hit["excerpt"] for hit in page["hits"]] == ["needle 4", "needle 3", "needle 2"]


async def test_a_hit_tells_whether_it_is_on_the_active_branch(
    client: httpx2.AsyncClient, serving: Running
):
    session_id = await new_session(client, title="Fork")
    await say(serving, session_id, "the stem")
    stem = (await client.get(f"/sessions/{session_id}")).json()["leaf_entry_id"]
    await say(serving, session_id, "a needle on the left")
    left = (await client.get(f"/sessions/{session_id}")).json()["leaf_entry_id"]
    await client.post(f"/sessions/{session_id}/branch", json={"entry_id": stem})
    await next_millisecond(serving)
    await say(serving, session_id, "a needle on the right")

    async def on_branch() -> dict[str, bool]:
        hits = (await found(client, "needle"))["hits"]
        return {hit["excerpt"]: hit["on_branch"] for hit in hits}

    assert await on_branch() == {"a needle on the right": True, "a needle on the left": False}
    await client.post(f"/sessions/{session_id}/branch", json={"entry_id": left})
    assert await on_branch() == {"a needle on the right": False, "a needle on the left": True}
    (stem_hit,) = (await found(client, "stem"))["hits"]
    assert stem_hit["on_branch"] is True


async def test_a_search_comes_in_pages_and_goes_on_where_it_stopped(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session_finder, "_CHUNK", 2)
    monkeypatch.setattr(session_finder, "_LOOKED_AT", 4)
    ids = [await new_session(client, title=f"wanted {number}") for number in range(3)]
    for number in range(5):
        await new_session(client, title=f"other {number}")

    nothing = await found(client, "wanted")
    assert nothing["sessions"] == []
    seen, before = [], nothing["next_before"]
    while before:
        page = await found(client, "wanted", limit=1, before=before)
        seen += [row["id"] for row in page["sessions"]]
        before = page["next_before"]
    assert sorted(seen) == sorted(ids)


async def test_nobody_finds_what_is_another_s(client: httpx2.AsyncClient, serving: Running):
    session_id = await new_session(client, title="Diary")
    await say(serving, session_id, "a secret wish")
    words = ("diary", "wish")
    assert [len((await found(client, q))["sessions"]) for q in words] == [1, 1]
    secret, _ = await serving.service.tokens.create("bob", ("chat",))
    headers = {"authorization": f"Bearer {secret}"}
    for q in words:
        answer = await client.get("/sessions", params={"q": q}, headers=headers)
        assert (answer.status_code, answer.json()["sessions"]) == (200, [])
        assert answer.json()["hits"] == []


@pytest.mark.parametrize("q", ["", "   ", "x" * 201])
async def test_a_search_for_nothing_or_too_much_is_refused(client: httpx2.AsyncClient, q: str):
    reported = await problem(await client.get("/sessions", params={"q": q}))
    assert reported["status"] == 422
    assert "query.q" in str(reported)
