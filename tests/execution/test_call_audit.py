"""What the audit says of calls: of every one of them, at the level that was asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import Field, SecretStr

from app.config.settings import Settings
from app.core.redaction import MASK
from app.db.engine import Database
from app.execution.calls import CallRequest
from app.execution.hooks.model import HookAction, HookConfig, HookContext, HookResult, HookType
from app.governance.approvals.approver import Approver
from app.governance.audit.anchor import FILE_NAME, AnchorFile
from app.governance.audit.log import Level
from app.governance.audit.verify import verify
from app.toolkit.tool import ToolArgs
from tests.execution.lab import WRITES, AnyArgs, Lab, bare_lab, counted, made, open_lab

OWN = "own-secret-of-the-service"


class NoteArgs(ToolArgs):
    text: str = ""
    password: str = ""
    more: dict[str, Any] = Field(default_factory=dict)


async def rows(lab: Lab, kind: str = "call.") -> list[dict[str, Any]]:
    """Rows of that kind, their detail read."""
    await lab.runtime.db.flush()
    found = await lab.rows(
        "SELECT kind, actor, session_id, run_id, agent_id, tool_name, operation_id, verdict,"
        " outcome, detail FROM audit WHERE substr(kind, 1, ?) = ? ORDER BY seq",
        len(kind),
        kind,
    )
    names = (
        *("kind", "actor", "session_id", "run_id", "agent_id", "tool_name", "operation_id"),
        *("verdict", "outcome"),
    )
    return [
        {**dict(zip(names, row[:-1], strict=True)), "detail": json.loads(row[-1])} for row in found
    ]


@asynccontextmanager
async def at_level(settings: Settings, level: Level) -> AsyncIterator[Lab]:
    changes = {"audit_detail": level, "token": SecretStr(OWN)}
    async with bare_lab(settings.model_copy(update=changes)) as lab:

        async def note(args: NoteArgs, ctx: Any) -> str:
            return "noted"

        lab.add(made(note))
        yield lab


@pytest.mark.requirement("AUD-01", "AUD-02")
async def test_a_call_that_is_allowed_leaves_one_row(lab: Lab):
    with counted() as (note, _):
        lab.add(made(note))
        outcome = (
            await lab.run(CallRequest("c1", "note", {"text": "hi"}), user_id="ann", caller="rest")
        )[0]
    (row,) = await rows(lab)
    assert row.pop("detail") == {
        "caller": "rest",
        "tool_call_id": "c1",
        "ms": pytest.approx(outcome.execution_time * 1000, abs=0.001),
        "args": {"text": "hi"},
    }
    assert row == {
        "kind": "call.finished",
        "actor": "ann",
        "session_id": lab.session.id,
        "run_id": None,
        "agent_id": None,
        "tool_name": "note",
        "operation_id": outcome.operation_id,
        "verdict": "allow",
        "outcome": "success",
    }


ARGUMENTS: dict[str, Any] = {
    "text": f"with {OWN}",
    "password": "hunter2x",
    "more": {"n": 1, "list": [1, 2]},
}


@pytest.mark.requirement("B-34")
@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("none", None),
        (
            "shape",
            {
                "text": f"string({len(ARGUMENTS['text'])})",
                "password": "string(8)",
                "more": {"n": "number", "list": "list(2)"},
            },
        ),
        ("redacted", {**ARGUMENTS, "text": f"with {MASK}", "password": MASK}),
        ("full", {**ARGUMENTS, "text": f"with {MASK}"}),
    ],
)
async def test_of_the_arguments_only_what_the_level_says_is_kept(
    settings: Settings, level: Level, shown: Any
):
    async with at_level(settings, level) as lab:
        await lab.call("note", **ARGUMENTS)
        (row,) = await rows(lab)
        assert row["detail"].get("args") == shown


@pytest.mark.parametrize("level", ["none", "shape", "redacted", "full"])
async def test_a_secret_of_the_service_is_in_no_row(settings: Settings, level: Level):
    async with at_level(settings, level) as lab:
        await lab.call("note", text=f"a{OWN}b", more={OWN: [OWN]})
        await lab.run(CallRequest("c2", "note", f'{{"text": "{OWN}"'))
        await lab.call(f"no-such-{OWN}", "c3", text=OWN)
        assert OWN not in str(await rows(lab, ""))


async def test_every_way_a_call_may_end_leaves_a_row(house: Lab):
    await house.call("calculator", "ok", expression="6*7")
    await house.call("calculator", "bad")
    await house.call("no_such_tool", "unknown")
    await house.runtime.governance.set_enabled("grep", enabled=False)
    await house.call("grep", "off", pattern="x")
    await house.call("bash", "floor", command="rm -rf /")
    twins = [CallRequest(f"t{n}", "calculator", {"expression": "1+1"}) for n in range(2)]
    await house.run(*twins)
    await house.call("calculator", "cached", expression="6*7")
    reported = {
        row["detail"]["tool_call_id"]: (row["verdict"], row["outcome"])
        for row in await rows(house, "call.finished")
    }
    assert reported == {
        "ok": ("allow", "success"),
        "bad": (None, "invalid_arguments"),
        "unknown": (None, "error"),
        "off": ("deny", "disabled"),
        "floor": ("deny", "denied"),
        "t0": ("allow", "success"),
        "t1": ("allow", "skipped"),
        "cached": ("allow", "success"),
    }
    decided = [row["detail"]["tool_call_id"] for row in await rows(house, "call.decided")]
    assert decided == ["bad", "unknown", "off", "floor"]


async def test_a_question_is_in_the_audit_before_anybody_is_asked(lab: Lab):
    with counted() as (note, ran):
        lab.add(made(note, requires_confirmation=True))
        task = asyncio.ensure_future(lab.call("note", text="x"))
        asked = await lab.watcher.until("tool_confirmation_request")
        # What the client has seen is committed; the database has the decision too.
        (decided,) = await rows(lab)
        assert (decided["kind"], decided["verdict"], ran) == ("call.decided", "ask", [])
        await lab.answer("approve_once", asked, by=Approver("boss", is_admin=True))
        await task
    finished = (await rows(lab))[-1]
    assert (finished["verdict"], finished["outcome"]) == ("ask", "success")
    assert finished["detail"]["approver"] == "boss"
    assert finished["detail"]["confirmation"] == asked["confirmation_id"]


async def test_a_hook_s_no_is_a_denial_with_its_reason(lab: Lab):
    async def refuse(context: HookContext) -> HookResult:
        return HookResult(HookAction.DENY, "not today")

    lab.runtime.hooks.register(HookConfig("no", HookType.PRE_TOOL_USE, refuse))
    with counted() as (note, ran):
        lab.add(made(note, **WRITES))
        await lab.call("note")
    decided, finished = await rows(lab)
    assert ran == []
    assert [row["verdict"] for row in (decided, finished)] == ["deny", "deny"]
    assert "not today" in decided["detail"]["refused"]["message"]


async def test_a_call_that_is_cancelled_leaves_its_end(lab: Lab):
    begun = asyncio.Event()

    async def hangs(args: AnyArgs, ctx: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    lab.add(made(hangs))
    task = asyncio.ensure_future(lab.call("hangs"))
    await begun.wait()
    lab.runtime.executor.cancel(lab.session.id, "c1")
    await task
    assert [row["outcome"] for row in await rows(lab)] == ["cancelled"]


@pytest.mark.requirement("B-34")
async def test_arguments_without_end_are_cut_and_named_by_their_digest(lab: Lab):
    with counted() as (note, _):
        lab.add(made(note))
        await lab.call("note", text="long " * 100_000)
    (row,) = await rows(lab)
    args = row["detail"]["args"]
    assert args["cut"] is True
    assert len(args["sha256"]) == 64
    assert len(json.dumps(row)) < 10_000


async def test_the_chain_of_real_calls_holds_and_its_end_is_noted_at_the_end(settings: Settings):
    async with open_lab(settings) as lab:
        for number in range(20):
            await lab.call("calculator", f"c{number}", expression=f"{number}+1")
    anchors = AnchorFile(settings.data_dir / FILE_NAME).read()
    database = Database(settings.database_path)
    found = await verify(database, anchors)
    await database.close()
    assert found.broken is None
    assert anchors[-1].seq == found.last_seq
    assert anchors[-1].hash == found.head
