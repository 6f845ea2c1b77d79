"""Rules over REST: made, changed, removed, tried on a call and on what has been."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from app.execution.calls import CallRequest
from tests.api.rest.client import call, problem
from tests.execution.lab import Watcher
from tests.support.service import Running

NO_PUSH: dict[str, Any] = {
    "tool": "bash",
    "match": {"argv": ["git", "push", "..."]},
    "decision": "deny",
    "justification": "open a pull request instead",
    "examples": {"match": ["git -C app push"], "not_match": ["git status"]},
}
NO_SUMS: dict[str, Any] = {
    "tool": "calculator",
    "match": {"fields": {"expression": {"glob": "*+*"}}},
    "decision": "deny",
    "justification": "add by hand",
}


async def make(client: httpx2.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post("/admin/rules", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_rule_is_made_shown_changed_and_removed(client: httpx2.AsyncClient):
    made = await make(client, NO_SUMS)
    assert made["definition"] == NO_SUMS
    assert (made["state"], made["source"], made["version"]) == ("active", "database", 1)

    refused = await call(client, "calculator", arguments={"expression": "1+1"})
    assert refused["status"] == "denied"
    one = await client.get(f"/admin/rules/{made['id']}")
    assert one.headers["ETag"] == '"1"'
    assert one.json()["hits"] == 1

    changed = await client.patch(
        f"/admin/rules/{made['id']}", json={"enabled": False}, headers={"If-Match": '"1"'}
    )
    assert (changed.status_code, changed.json()["state"]) == (200, "disabled")
    after = await call(client, "calculator", arguments={"expression": "1+1"})
    assert after["status"] == "success"
    stale = await client.patch(
        f"/admin/rules/{made['id']}", json={"enabled": True}, headers={"If-Match": '"1"'}
    )
    assert (await problem(stale))["code"] == "version_mismatch"

    gone = await client.delete(f"/admin/rules/{made['id']}", headers={"If-Match": '"2"'})
    assert gone.json()["id"] == made["id"]
    assert (await client.get(f"/admin/rules/{made['id']}")).status_code == 404
    assert (await client.get("/admin/rules")).json()["rules"] == []


async def status_of(client: httpx2.AsyncClient, command: str) -> str:
    status: str = (await call(client, "bash", arguments={"command": command}))["status"]
    return status


@pytest.mark.requirement("D-7")
async def test_operators_write_edit_and_remove_the_patterns_that_ask(client: httpx2.AsyncClient):
    assert await status_of(client, "echo publish") == "success"
    asks = {
        "tool": "bash",
        "match": {"argv": ["echo", "publish", "..."]},
        "decision": "ask",
        "justification": "ask the release team",
    }
    path = f"/admin/rules/{(await make(client, asks))['id']}"
    # Nobody is there to be asked.
    assert await status_of(client, "true && echo publish now") == "denied"
    assert await status_of(client, "echo release") == "success"

    edited = await client.patch(path, json={"match": {"argv": ["echo", "release", "..."]}})
    assert edited.status_code == 200, edited.text
    assert await status_of(client, "echo publish") == "success"
    assert await status_of(client, "echo release") == "denied"

    await client.delete(path)
    assert await status_of(client, "echo release") == "success"


async def test_every_problem_of_a_rule_is_reported_with_its_path(client: httpx2.AsyncClient):
    body = {**NO_PUSH, "justification": "", "scope": "all", "match": {"fields": {"a": {}}}}
    reported = await problem(await client.post("/admin/rules", json=body))
    assert reported["status"] == 422
    paths = {error["path"] for error in reported["details"]["errors"]}
    assert paths == {"body.justification", "body.scope", "body.match.fields.a"}

    wrong = {**NO_PUSH, "examples": {"match": ["ls"]}}
    reported = await problem(await client.post("/admin/rules", json=wrong))
    assert [error["path"] for error in reported["details"]["errors"]] == ["examples.match[0]"]


async def test_a_change_that_breaks_the_examples_changes_nothing(client: httpx2.AsyncClient):
    made = await make(client, NO_PUSH)

    reported = await problem(
        await client.patch(
            f"/admin/rules/{made['id']}", json={"match": {"argv": ["git", "status"]}}
        )
    )

    assert reported["code"] == "validation_failed"
    assert (await client.get(f"/admin/rules/{made['id']}")).json()["version"] == 1


async def test_an_end_is_set_and_taken_away(client: httpx2.AsyncClient):
    made = await make(client, NO_PUSH)
    path = f"/admin/rules/{made['id']}"

    ended = await client.patch(path, json={"expires_at": "2020-01-01T00:00:00Z"})
    assert ended.json()["state"] == "expired"
    assert [warning["code"] for warning in ended.json()["warnings"]] == ["expired"]
    endless = await client.patch(path, json={"expires_at": None})
    assert endless.json()["state"] == "active"
    assert "expires_at" not in endless.json()["definition"]


@pytest.mark.parametrize("moment", [0, 1e9, "1893456000", "2030-01-01T00:00:00", "soon"])
async def test_a_rule_ends_at_a_time_with_a_zone_and_at_no_number(
    client: httpx2.AsyncClient, moment: object
):
    made = await make(client, NO_PUSH)
    for answer in (
        await client.post("/admin/rules", json={**NO_PUSH, "expires_at": moment}),
        await client.patch(f"/admin/rules/{made['id']}", json={"expires_at": moment}),
    ):
        (error,) = (await problem(answer))["details"]["errors"]
        assert error["path"] == "body.expires_at"


async def test_rules_come_in_pages_and_by_state(client: httpx2.AsyncClient):
    ids = [(await make(client, {**NO_PUSH, "scope": f"session:{at}"}))["id"] for at in range(3)]
    await client.patch(f"/admin/rules/{ids[0]}", json={"enabled": False})

    first = (await client.get("/admin/rules", params={"limit": 2})).json()
    rest = (
        await client.get("/admin/rules", params={"limit": 2, "after": first["next_after"]})
    ).json()
    off = (await client.get("/admin/rules", params={"state": "disabled"})).json()

    assert [rule["id"] for rule in first["rules"] + rest["rules"]] == ids
    assert (first["total"], rest["next_after"]) == (3, None)
    assert [rule["id"] for rule in off["rules"]] == [ids[0]]
    where = {"state": "active", "after": ids[0]}
    active = (await client.get("/admin/rules", params=where)).json()
    assert [rule["id"] for rule in active["rules"]] == ids[1:]


async def test_a_page_after_a_rule_that_is_gone_is_refused_and_not_the_first_one(
    client: httpx2.AsyncClient,
):
    gone = await make(client, NO_PUSH)
    await make(client, NO_SUMS)
    await client.delete(f"/admin/rules/{gone['id']}")
    reported = await problem(await client.get("/admin/rules", params={"after": gone["id"]}))
    assert (reported["status"], reported["details"]["errors"][0]["path"]) == (422, "query.after")


async def test_a_call_is_judged_with_and_without_a_rule_and_nothing_runs(
    client: httpx2.AsyncClient,
):
    await client.post("/admin/agents", json={"id": "a"})
    stored = await make(client, {**NO_PUSH, "decision": "ask", "scope": "agent:a"})

    answer = await client.post(
        "/admin/rules/test",
        json={
            "definition": NO_PUSH,
            "tool": "bash",
            "command": "cd x && git push",
            "agent_id": "a",
        },
    )

    reported = answer.json()
    assert (reported["decision"]["verdict"], reported["without"]["verdict"]) == ("deny", "ask")
    assert reported["decision"]["rule_ids"] == ["denied_by_rule", "draft"]
    assert [segment["argv"] for segment in reported["segments"]] == [["cd", "x"], ["git", "push"]]
    assert reported["rules"] == [
        {"id": stored["id"], "decision": "ask", "match": "yes", "segments": [1]},
        {"id": "draft", "decision": "deny", "match": "yes", "segments": [1]},
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"tool": "bash"}, 422),
        ({"tool": "bash", "command": "ls", "arguments": {}}, 422),
        ({"tool": "bash", "arguments": {"command": 7}}, 422),
        ({"tool": "calculator", "command": "ls"}, 422),
        ({"tool": "nope", "command": "ls"}, 404),
        ({"tool": "bash", "command": "ls", "agent_id": "nobody"}, 404),
        ({"tool": "bash", "command": "ls", "definition": {"tool": "bash"}}, 422),
    ],
)
async def test_what_cannot_be_judged_is_refused(
    client: httpx2.AsyncClient, body: dict[str, Any], status: int
):
    assert (await problem(await client.post("/admin/rules/test", json=body)))["status"] == status


async def test_a_dry_run_judges_what_has_been_called(client: httpx2.AsyncClient):
    for expression in ("1+1", "2*2", "3+3"):
        await call(client, "calculator", arguments={"expression": expression})

    reported = (await client.post("/admin/rules/dry-run", json={"definition": NO_SUMS})).json()

    assert reported["summary"] == (
        "Of 3 calls it would have prompted 0, allowed 1, denied 2; 2 would have changed"
    )
    assert (reported["judged"], reported["matched"], reported["not_judged"]) == (3, 2, 0)
    assert [(item["before"], item["after"], item["calls"]) for item in reported["changes"]] == [
        ("allow", "deny", 2)
    ]
    shown = [example["arguments"]["expression"] for example in reported["changes"][0]["examples"]]
    assert shown == ["3+3", "1+1"]
    assert (await client.get("/admin/rules")).json()["rules"] == []


async def test_a_dry_run_may_put_a_rule_in_the_place_of_another(client: httpx2.AsyncClient):
    made = await make(client, NO_SUMS)
    await call(client, "calculator", arguments={"expression": "1+1"})

    reported = (
        await client.post(
            "/admin/rules/dry-run",
            json={"definition": {**NO_SUMS, "decision": "ask"}, "instead_of": made["id"]},
        )
    ).json()

    assert (reported["before"], reported["after"]) == (
        {"allow": 0, "ask": 0, "deny": 1},
        {"allow": 0, "ask": 1, "deny": 0},
    )


async def test_fatigue_counts_questions_per_reason(client: httpx2.AsyncClient, serving: Running):
    await call(client, "calculator", arguments={"expression": "1"})
    empty = (await client.get("/admin/rules/fatigue")).json()
    assert (empty["prompts"], empty["codes"]) == (0, [])
    assert empty["calls"] >= 1

    request = '{"subject":{"command":"rm out"},"risk":{"rules":[{"rule_id":"delete"}]}}'

    def ask(transaction: Any) -> None:
        for at in range(20):
            transaction.execute(
                "INSERT INTO confirmations (id, session_id, tool_call_id, operation_id,"
                " tool_name, digest, status, request, created_at) SELECT ?, id, 'c', 'o', 'bash',"
                " 'd', 'approved', ?, '2999-01-01T00:00:00.000Z' FROM sessions LIMIT 1",
                (f"cnf_{at}", request),
            )

    await serving.service.db.transact(ask)
    reported = (await client.get("/admin/rules/fatigue", params={"days": 1})).json()

    assert reported["prompts"] == 20
    assert reported["codes"][0]["code"] == "delete"
    assert reported["codes"][0]["approve_rate"] == 1.0
    assert reported["codes"][0]["proposals"][0]["match"] == {"argv": ["rm", "out"]}


async def test_a_dry_run_shows_matches_near_misses_and_why_nothing_changes(
    client: httpx2.AsyncClient,
):
    stored = await make(client, NO_PUSH)
    for command in ("git push origin", "git status", "echo push"):
        await status_of(client, command)
    allow = {"tool": "bash", "decision": "allow", "match": {"argv": ["git", "push", "origin"]}}

    reported = (await client.post("/admin/rules/dry-run", json={"definition": allow})).json()

    assert (reported["judged"], reported["matched"], reported["changes"]) == (3, 1, [])
    (matched,) = reported["matches"]
    assert (matched["arguments"]["command"], matched["before"], matched["after"]) == (
        "git push origin",
        "deny",
        "deny",
    )
    assert matched["project_id"] == "default"
    near = [(miss["arguments"]["command"], miss["missed"]) for miss in reported["near_misses"]]
    assert sorted(near) == [("echo push", ["argv"]), ("git status", ["argv"])]
    assert reported["obstacles"] == [
        {"code": "denied_already", "calls": 1, "rule_id": stored["id"]}
    ]
    assert [(item["code"], item["rule_id"]) for item in reported["warnings"]] == [
        ("unreachable", stored["id"])
    ]
    # In the place of the stored rule, it is not compared with it.
    instead = {"definition": allow, "instead_of": stored["id"]}
    reported = (await client.post("/admin/rules/dry-run", json=instead)).json()
    assert reported["warnings"] == []
    assert [(item["before"], item["after"]) for item in reported["changes"]] == [("deny", "allow")]


async def test_a_rule_is_drafted_from_a_call_and_from_a_past_decision(
    client: httpx2.AsyncClient, serving: Running
):
    await status_of(client, "echo drafted")
    (recent,) = (await client.get("/admin/rules/recent-calls")).json()["calls"]
    assert (recent["tool_name"], recent["arguments"]) == ("bash", {"command": "echo drafted"})
    draft = {"operation_id": recent["operation_id"], "decision": "ask"}
    drafted = (await client.post("/admin/rules/draft", json=draft)).json()
    assert drafted["definition"] == {
        "tool": "bash",
        "decision": "ask",
        "match": {"argv": ["echo", "drafted"]},
        "examples": {"match": ["echo drafted"]},
    }
    assert drafted["project_id"] == "default"

    session = serving.session(user_id="local")
    watcher = Watcher()
    session.log.subscribers.add(watcher)
    risky = CallRequest("c1", "bash", {"command": "rm -rf gone"})
    run = await serving.service.runs.call_tools(session, [risky], caller="websocket")
    asked = await watcher.until("tool_confirmation_request")
    path = f"/confirmations/{asked['confirmation_id']}"
    body = {"option_id": "decline", "digest": asked["digest"], "message": "Keep it."}
    assert (await client.post(path, json=body)).status_code == 200
    await run.done
    await serving.service.db.flush()
    drafted = (
        await client.post("/admin/rules/draft", json={"confirmation_id": asked["confirmation_id"]})
    ).json()["definition"]
    assert (drafted["decision"], drafted["justification"]) == ("deny", "Keep it.")
    assert drafted["match"] == {"argv": ["rm", "-rf", "gone"]}
    await make(client, drafted)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"tool": "bash", "operation_id": "op_1"}, 422),
        ({"operation_id": "op_none"}, 404),
        ({"confirmation_id": "cfm_none"}, 404),
        ({"tool": "nope"}, 404),
        ({"tool": "calculator", "arguments": {"wrong": 1}}, 200),
    ],
)
async def test_a_draft_needs_one_call_that_exists(
    client: httpx2.AsyncClient, body: dict[str, Any], status: int
):
    assert (await client.post("/admin/rules/draft", json=body)).status_code == status
