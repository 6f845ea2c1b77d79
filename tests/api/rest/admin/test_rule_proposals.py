"""Proposed rules over REST: computed, shown with their proof, accepted and dismissed."""

from __future__ import annotations

from typing import Any

import httpx2

from tests.api.rest.client import new_session, problem
from tests.support.answered_calls import Answered, record
from tests.support.service import Running

LOGS = [Answered(f"rm tmp/run-{at}.log", day=1 + at % 2) for at in (11, 24, 36, 47, 58, 63)]


async def computed(client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """The open proposals, computed from what is recorded."""
    done = await client.post("/admin/rule-proposals/recompute")
    assert done.status_code == 200, done.text
    page = await client.get("/admin/rule-proposals", params={"state": "open"})
    proposals: list[dict[str, Any]] = page.json()["proposals"]
    return proposals


async def test_repeated_approvals_become_a_rule_with_one_click(
    client: httpx2.AsyncClient, serving: Running
):
    session_id = await new_session(client)
    evidence = await record(serving, session_id, LOGS)

    (proposal,) = await computed(client)
    shown = (await client.get(f"/admin/rule-proposals/{proposal['id']}")).json()
    accepted = await client.post(f"/admin/rule-proposals/{proposal['id']}/accept")

    assert proposal["covers"] == "rm tmp/run-<number>.log"
    assert proposal["why"] == "Approved 6 times on 2 days by ann (6); never declined."
    assert "6 questions would not have been asked" in proposal["summary"]
    assert sorted(shown["evidence"]) == sorted(evidence)
    assert shown["proof"]["holds"] is True
    assert shown["proof"]["let_through_total"] == shown["proof"]["questions"] == 6
    assert shown["proof"]["corpus_judged"] > 15_000
    assert shown["definition"]["examples"]["not_match"]
    assert (accepted.status_code, accepted.json()["state"]) == (200, "accepted")
    assert accepted.json()["decided_by"]
    rule = (await client.get(f"/admin/rules/{accepted.json()['rule_id']}")).json()
    assert (rule["state"], rule["warnings"], rule["problems"]) == ("active", [], [])
    assert rule["definition"]["expires_at"]
    asked = {"tool": "bash", "arguments": {"command": "rm tmp/run-99.log"}}
    assert (await client.post("/admin/can-i", json=asked)).json()["verdict"] == "allow"
    wider = {"tool": "bash", "arguments": {"command": "rm tmp/run-99.txt"}}
    assert (await client.post("/admin/can-i", json=wider)).json()["verdict"] == "ask"
    assert await computed(client) == []
    audit = (await client.get("/admin/audit", params={"kind": "governance.rule_proposal"})).json()
    states = [row["detail"]["after"]["state"] for row in audit["rows"]]
    assert states == ["accepted", "open"]
    again = await client.post(f"/admin/rule-proposals/{proposal['id']}/accept")
    assert (await problem(again))["code"] == "already_finished"


async def test_an_answer_after_the_proof_counts(client: httpx2.AsyncClient, serving: Running):
    session_id = await new_session(client)
    await record(serving, session_id, LOGS)
    (proposal,) = await computed(client)
    await record(serving, session_id, [Answered("rm tmp/run-70.log", "declined", day=3)])

    refused = await client.post(f"/admin/rule-proposals/{proposal['id']}/accept")

    reported = await problem(refused)
    assert (refused.status_code, reported["code"]) == (409, "proof_outdated")
    assert "declined" in reported["detail"]
    now = (await client.get(f"/admin/rule-proposals/{proposal['id']}")).json()
    assert (now["state"], now["proof"]["refused_total"]) == ("stale", 1)
    assert now["decided_by"] is None
    assert (await client.get("/admin/rules")).json()["rules"] == []


async def test_a_pass_withdraws_what_no_longer_holds(client: httpx2.AsyncClient, serving: Running):
    session_id = await new_session(client)
    await record(serving, session_id, LOGS)
    await computed(client)
    await record(serving, session_id, [Answered("rm tmp/run-70.log", "declined", day=3)])

    assert await computed(client) == []
    page = (await client.get("/admin/rule-proposals", params={"state": "stale"})).json()
    assert page["total"] == 1


async def test_a_dismissed_rule_is_not_proposed_again(client: httpx2.AsyncClient, serving: Running):
    session_id = await new_session(client)
    await record(serving, session_id, LOGS)
    (proposal,) = await computed(client)

    done = await client.post(f"/admin/rule-proposals/{proposal['id']}/dismiss")
    await record(serving, session_id, [Answered("rm tmp/run-71.log", day=4)])

    assert done.json()["state"] == "dismissed"
    assert await computed(client) == []


async def test_what_people_always_decline_is_proposed_as_a_denial(
    client: httpx2.AsyncClient, serving: Running
):
    session_id = await new_session(client)
    await record(serving, session_id, [Answered("git push --force", "declined")] * 2)

    (proposal,) = await computed(client)
    accepted = await client.post(f"/admin/rule-proposals/{proposal['id']}/accept")

    assert (proposal["kind"], proposal["covers"]) == ("deny", "git push --force")
    assert accepted.json()["state"] == "accepted"
    asked = {"tool": "bash", "arguments": {"command": "git push --force"}}
    assert (await client.post("/admin/can-i", json=asked)).json()["code"] == "denied_by_rule"


async def test_a_rule_that_another_implies_is_proposed_for_removal(client: httpx2.AsyncClient):
    wide = {"tool": "bash", "match": {"argv": ["rm", "tmp/*"]}, "decision": "allow"}
    await client.post("/admin/rules", json=wide)
    made = (await client.post("/admin/rules", json=wide)).json()

    (proposal,) = await computed(client)
    accepted = await client.post(f"/admin/rule-proposals/{proposal['id']}/accept")

    assert (proposal["kind"], proposal["rule_id"]) == ("remove", made["id"])
    assert accepted.json()["state"] == "accepted"
    assert len((await client.get("/admin/rules")).json()["rules"]) == 1


async def test_a_proposal_that_does_not_exist(client: httpx2.AsyncClient):
    missing = await client.get("/admin/rule-proposals/rpr_none")

    assert (await problem(missing))["code"] == "not_found"


async def test_the_budget_of_questions_is_shown_and_measured(
    client: httpx2.AsyncClient, serving: Running
):
    session_id = await new_session(client)
    calls = [Answered("ls", None)] * 16
    calls += [Answered(f"rm {at}.log", seconds=1 if at < 2 else 20) for at in range(4)]
    await record(serving, session_id, calls)

    budget = (await client.get("/admin/rules/fatigue", params={"days": 365})).json()
    await client.post("/admin/rule-proposals/recompute")
    measured = (await client.get("/metrics")).text

    assert (budget["prompts"], budget["prompts_per_100_calls"]) == (4, 20.0)
    assert (budget["target"], budget["over_target"]) == (3.0, True)
    assert budget["times"] == {"median_s": 1.0, "p90_s": 20.0, "fast_share": 0.5}
    (agent,) = budget["agents"]
    assert (agent["agent_id"], agent["over_target"]) == ("default", True)
    assert "tollgate_prompts_per_100_calls" in measured
