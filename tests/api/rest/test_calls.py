import asyncio
import json
from functools import partial

import httpx2
import pytest

from app.db.writer import Transaction
from tests.api.rest.client import call, new_session, problem, watching
from tests.support.service import Running


async def test_a_direct_call_answers_with_record_text_and_status(client: httpx2.AsyncClient):
    result = await call(client, "calculator", arguments={"expression": "6*7"}, id="mine")

    record = result["record"]
    assert result["status"] == record["status"] == "success"
    assert result["text"] == "42"
    assert record["id"] == "mine"
    assert record["function"] == {"name": "calculator", "arguments": '{"expression":"6*7"}'}
    assert json.loads(record["result"]) == {"success": True, "data": {"result": 42}, "error": None}


FORMS = {
    "text": lambda answer: answer["text"],
    "record": lambda answer: answer["record"]["result"] or "",
    "raw_result": lambda answer: json.dumps(answer["raw_result"] or ""),
}


@pytest.mark.parametrize("wanted", ["all", *FORMS])
async def test_the_output_is_in_the_field_that_was_asked_for_and_in_no_other(
    client: httpx2.AsyncClient, wanted: str
):
    body = {"arguments": {"command": "printf ju%s niper"}}
    answer = await client.post("/tools/bash/call", json=body, params={"result": wanted})

    holding = [name for name, of in FORMS.items() if "juniper" in of(answer.json())]
    assert holding == (list(FORMS) if wanted == "all" else [wanted])
    assert answer.json()["record"].keys() >= {"id", "result", "status"}
    if wanted != "all":
        assert answer.json()["raw_result"] is None or wanted == "raw_result"


async def test_what_draws_nothing_has_its_text_where_a_drawing_was_asked_for(
    client: httpx2.AsyncClient,
):
    body = {"arguments": {"expression": "6*7"}}
    answer = await client.post("/tools/calculator/call?result=raw_result", json=body)

    result = answer.json()
    assert (result["text"], result["raw_result"]) == ("42", None)
    assert result["record"]["result"] is None


@pytest.mark.parametrize("wanted", ["messages", "records"])
async def test_a_batch_has_its_results_in_one_list(client: httpx2.AsyncClient, wanted: str):
    calls = [{"id": "a", "name": "calculator", "arguments": {"expression": "111111*111111"}}]
    answer = await client.post("/tools/calls", json={"calls": calls}, params={"result": wanted})

    assert answer.text.count("12345654321") == 1
    assert [record["id"] for record in answer.json()["records"]] == ["a"]
    assert len(answer.json()["messages"]) == (wanted == "messages")


@pytest.mark.parametrize(("wanted", "other"), [("text", "result"), ("result", "text")])
async def test_the_history_has_each_result_once(
    client: httpx2.AsyncClient, wanted: str, other: str
):
    made = await call(client, "calculator", arguments={"expression": "6*7"})
    address = f"/sessions/{made['session_id']}/calls"
    (stored,) = (await client.get(address, params={"result": wanted})).json()["calls"]

    assert "42" in stored[wanted]
    assert stored[other] is None


async def test_a_form_that_is_not_there_is_refused_with_those_that_are(
    client: httpx2.AsyncClient,
):
    refused = await client.post("/tools/calculator/call?result=drawn", json={})
    (error,) = (await problem(refused))["details"]["errors"]

    assert error["path"] == "query.result"
    assert "'raw_result'" in error["message"]


async def test_each_call_without_a_session_gets_a_direct_session(client: httpx2.AsyncClient):
    first = await call(client, "calculator", arguments={"expression": "1"})
    second = await call(client, "calculator", arguments={"expression": "1"})

    assert first["session_id"] != second["session_id"]
    chats = (await client.get("/sessions")).json()["sessions"]
    direct = (await client.get("/sessions", params={"kind": "direct"})).json()["sessions"]
    assert chats == []
    assert {row["id"] for row in direct} == {first["session_id"], second["session_id"]}


async def test_a_direct_session_leaves_nothing_open(client: httpx2.AsyncClient, serving: Running):
    result = await call(client, "calculator", arguments={"expression": "1"})

    assert serving.service.runtime.events.get(result["session_id"]) is None


@pytest.mark.requirement("REG-06")
async def test_an_unknown_tool_is_an_answer_that_names_it(client: httpx2.AsyncClient):
    result = await call(client, "nope", arguments={})

    assert result["record"]["success"] is False
    assert result["status"] == "error"
    assert "Tool not found: nope" in result["text"]


async def test_arguments_that_do_not_fit_are_an_answer_with_every_problem(
    client: httpx2.AsyncClient,
):
    result = await call(client, "read_file", arguments={"path": 3, "start_line": "x"})

    data = json.loads(result["record"]["result"])["data"]
    assert result["status"] == "invalid_arguments"
    assert {item["path"] for item in data["errors"]} >= {"path", "start_line"}


@pytest.mark.requirement("EXE-01")
async def test_a_batch_answers_tool_messages_in_order_with_nothing_escaped(
    client: httpx2.AsyncClient,
):
    calls = [
        {
            "id": "a",
            "type": "function",
            "function": {"name": "bash", "arguments": '{"command":"echo 你好"}'},
        },
        {"type": "tool_use", "id": "b", "name": "calculator", "input": {"expression": "1+1"}},
        {"id": "c", "name": "calculator", "arguments": {"expression": "1+2"}},
    ]

    answer = await client.post("/tools/calls", json={"calls": calls, "max_workers": 2})

    messages = answer.json()["messages"]
    assert [item["tool_call_id"] for item in messages] == ["a", "b", "c"]
    assert {item["role"] for item in messages} == {"tool"}
    assert "你好" in messages[0]["content"]
    assert [json.loads(item["content"])["success"] for item in messages] == [True, True, True]


@pytest.mark.requirement("VAL-08")
async def test_broken_json_arguments_fail_that_call_alone(client: httpx2.AsyncClient):
    calls = [
        {"id": "bad", "function": {"name": "calculator", "arguments": "{"}},
        {"id": "good", "function": {"name": "calculator", "arguments": '{"expression":"2"}'}},
    ]

    answer = await client.post("/tools/calls", json={"calls": calls})

    bad, good = (json.loads(item["content"]) for item in answer.json()["messages"])
    assert "Invalid JSON arguments" in bad["error"]
    assert good["success"] is True


async def test_an_equal_call_of_a_batch_is_skipped_with_the_first_result(
    client: httpx2.AsyncClient,
):
    twin = {"name": "calculator", "arguments": {"expression": "3"}}

    answer = await client.post(
        "/tools/calls", json={"calls": [{"id": "a", **twin}, {"id": "b", **twin}]}
    )

    first, second = answer.json()["records"]
    assert (first["status"], second["status"]) == ("success", "skipped")
    assert second["duplicate_of"] == "a"


async def test_an_id_that_stands_twice_is_refused_before_anything_runs(
    client: httpx2.AsyncClient,
):
    same = {"id": "a", "name": "calculator", "arguments": {"expression": "3"}}

    reported = await problem(await client.post("/tools/calls", json={"calls": [same, same]}))

    assert (reported["status"], reported["code"]) == (422, "validation_failed")
    assert (await client.get("/sessions", params={"kind": "all"})).json()["sessions"] == []


@pytest.mark.requirement("EXE-02")
async def test_the_record_is_the_same_in_the_answer_and_in_the_history(
    client: httpx2.AsyncClient,
):
    result = await call(client, "calculator", arguments={"expression": "6*7"})

    stored = (await client.get(f"/sessions/{result['session_id']}/calls")).json()["calls"]
    assert [{name: item[name] for name in result["record"]} for item in stored] == [
        result["record"]
    ]
    assert stored[0]["function"]["name"] == "calculator"


@pytest.mark.requirement("AUD-03")
async def test_call_and_result_enter_the_session_in_order(client: httpx2.AsyncClient):
    session_id = await new_session(client)

    await call(client, "calculator", arguments={"expression": "2"}, id="c1", session_id=session_id)

    messages = (await client.get(f"/sessions/{session_id}/messages")).json()["messages"]
    assert [item["role"] for item in messages] == ["user", "tool"]
    asked, answered = (item["content"][0] for item in messages)
    assert (asked["type"], asked["id"]) == ("tool_use", "c1")
    assert (answered["type"], answered["tool_use_id"]) == ("tool_result", "c1")
    assert messages[1]["parent_id"] == messages[0]["id"]


@pytest.mark.requirement("GOV-04")
async def test_a_tool_that_is_off_is_refused_with_its_reason(client: httpx2.AsyncClient):
    await client.patch("/tools/calculator", json={"enabled": False})

    result = await call(client, "calculator", arguments={"expression": "1"})

    toolset = (await client.get("/toolset")).json()
    reason = toolset["disabled_reasons"]["calculator"]
    assert result["status"] == "disabled"
    assert result["text"] == reason["message"]
    assert "calculator" not in toolset["tool_names"]
    assert toolset["routes"]["calculator"] == "disabled"


async def test_what_asks_is_denied_while_nobody_watches(client: httpx2.AsyncClient):
    result = await call(client, "bash", arguments={"command": "rm -rf build"})

    assert result["status"] == "denied"
    assert "No one is available" in result["text"]


@pytest.mark.parametrize(
    ("option", "status"), [("approve_once", "success"), ("decline", "declined")]
)
async def test_a_client_that_watches_is_asked_and_its_answer_counts(
    client: httpx2.AsyncClient, option: str, status: str
):
    session_id = await new_session(client)
    body = {"arguments": {"command": "rm -rf build"}, "session_id": session_id}
    async with watching(client, session_id) as reader:
        calling = asyncio.create_task(client.post("/tools/bash/call", json=body))
        asked = (await reader.until("tool_confirmation_request"))[-1]
        listed = (await client.get(f"/sessions/{session_id}/confirmations")).json()
        answer = {"option_id": option, "digest": asked["digest"]}
        path = f"/confirmations/{asked['confirmation_id']}"

        answered = await client.post(path, json=answer)
        result = (await calling).json()

        again = await problem(await client.post(path, json=answer))
    assert [item["confirmation_id"] for item in listed["confirmations"]] == [
        asked["confirmation_id"]
    ]
    assert answered.status_code == 200
    assert result["status"] == status
    assert (again["status"], again["code"]) == (409, "confirmation_already_resolved")


async def test_an_answer_for_another_call_is_refused_and_the_question_stays(
    client: httpx2.AsyncClient,
):
    session_id = await new_session(client)
    body = {"arguments": {"command": "rm -rf build"}, "session_id": session_id}
    async with watching(client, session_id) as reader:
        calling = asyncio.create_task(client.post("/tools/bash/call", json=body))
        asked = (await reader.until("tool_confirmation_request"))[-1]
        path = f"/confirmations/{asked['confirmation_id']}"

        reported = await problem(
            await client.post(path, json={"option_id": "approve_once", "digest": "0" * 64})
        )

        await client.post(path, json={"option_id": "decline", "digest": asked["digest"]})
        await calling
    assert (reported["status"], reported["code"]) == (409, "digest_mismatch")


async def test_a_second_call_while_one_runs_is_busy(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    body = {"arguments": {"command": "rm -rf build"}, "session_id": session_id}
    async with watching(client, session_id) as reader:
        calling = asyncio.create_task(client.post("/tools/bash/call", json=body))
        run_id = (await reader.until("tool_confirmation_request"))[-1]["run_id"]

        reported = await problem(await client.post("/tools/bash/call", json=body))

        await client.post(f"/sessions/{session_id}/runs/{run_id}/cancel")
        cancelled = (await calling).json()
    assert (reported["status"], reported["code"], reported["retryable"]) == (409, "busy", True)
    assert reported["details"] == {"run_id": run_id}
    assert cancelled["status"] == "cancelled"


async def test_a_call_goes_on_when_its_client_is_gone(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    body = {"arguments": {"command": "rm -rf build"}, "session_id": session_id}
    async with watching(client, session_id) as reader:
        calling = asyncio.create_task(client.post("/tools/bash/call", json=body))
        asked = (await reader.until("tool_confirmation_request"))[-1]
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)

        answer = {"option_id": "approve_once", "digest": asked["digest"]}
        await client.post(f"/confirmations/{asked['confirmation_id']}", json=answer)

        finished = (await reader.until("run_finished"))[-1]
    calls = (await client.get(f"/sessions/{session_id}/calls")).json()["calls"]
    assert finished["status"] == "success"
    assert [item["status"] for item in calls] == ["success"]


async def test_no_secret_in_a_rule_or_a_tools_name_is_kept_with_a_call(
    serving: Running, client: httpx2.AsyncClient
):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    body = {"tool": "calculator", "decision": "deny", "justification": f"use {secret}"}
    await serving.service.rules.create(body, actor="root")
    denied = await client.post("/tools/calculator/call", json={"arguments": {"expression": "1"}})
    assert denied.json()["status"] == "denied"
    assert (await client.post(f"/tools/{secret}/call", json={})).json()["status"] == "error"
    db = serving.service.db
    await db.flush()
    held = {
        table: await db.transact(partial(fetch_all, table))
        for table in ("tool_calls", "events", "entries", "sessions", "audit")
    }
    assert all(held.values())
    assert [table for table, rows in held.items() if secret in str(rows)] == []


def fetch_all(table: str, transaction: Transaction) -> list[tuple[object, ...]]:
    return transaction.fetch(f"SELECT * FROM {table}", ())
