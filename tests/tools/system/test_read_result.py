"""Reading on in what an earlier call came to."""

from __future__ import annotations

import pytest

from app.domain.history import STORED_RESULTS, ResultReader, StoredResult
from app.toolkit.context import ToolContext
from app.toolkit.services import Services
from app.tools.system.read_result import read_result
from tests.tools.calls import call

TEXT = "".join(f"line {number}\n" for number in range(500))


class Kept:
    """Results by heart, of one session."""

    async def find(self, reader: ResultReader, tool_call_id: str) -> StoredResult | None:
        known = reader.session_id == "s1" and tool_call_id == "t1"
        return StoredResult("t1", "bash", TEXT) if known else None

    async def newest(self, reader: ResultReader, *, limit: int) -> list[StoredResult]:
        return [StoredResult("t1", "bash", TEXT)][:limit]


def context(session_id: str | None = "s1") -> ToolContext:
    services = Services(**{STORED_RESULTS: Kept()})
    return ToolContext("c", "o", session_id=session_id, run_id="r", services=services)


async def read(ctx: ToolContext, **arguments: object) -> dict[str, object]:
    result = await call(read_result, ctx, **arguments)
    assert isinstance(result.data, dict)
    return {**result.data, "text": result.text}


async def test_parts_add_up_to_the_whole_result():
    whole, offset = "", 0
    for _ in range(100):
        part = await read(context(), tool_call_id="t1", offset=offset, limit=700)
        whole += str(part["content"])
        if part["next_offset"] is None:
            break
        offset = int(str(part["next_offset"]))
    assert whole == TEXT


async def test_what_is_read_is_marked_as_data():
    part = await read(context(), tool_call_id="t1", offset=10)
    assert '<untrusted source="bash">' in str(part["text"])
    assert f"of {len(TEXT)}" in str(part["text"])


async def test_without_an_id_the_calls_are_listed():
    assert (await read(context()))["calls"] == [
        {"tool_call_id": "t1", "tool_name": "bash", "chars": len(TEXT)}
    ]


@pytest.mark.parametrize(("session_id", "call_id"), [("s1", "t2"), ("s2", "t1")])
async def test_calls_of_other_sessions_and_unknown_ones_are_not_there(
    session_id: str, call_id: str
):
    result = await call(read_result, context(session_id), tool_call_id=call_id)
    assert (result.success, result.code) == (False, "not_found")
    assert "omit tool_call_id" in str(result.error)


async def test_without_a_session_there_is_nothing_to_read():
    result = await call(read_result, context(None), tool_call_id="t1")
    assert (result.success, result.code) == (False, "no_session")
