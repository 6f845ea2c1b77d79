"""What would be decided about one call: by rules, switches and risk, without making it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2

from app.execution.calls import CallRequest
from tests.api.people import user
from tests.execution.lab import Watcher
from tests.support.database import new_database
from tests.support.service import serving, settings_for

RULE = {
    "tool": "bash",
    "decision": "deny",
    "justification": "not from here",
    "match": {"argv": ["git", "push", "..."]},
}


async def ask(client: httpx2.AsyncClient, tool: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/admin/can-i", json={"tool": tool, **fields})
    assert answer.status_code == 200, answer.text
    reported: dict[str, Any] = answer.json()
    return reported


async def test_a_running_service_says_what_it_would_decide(tmp_path: Path) -> None:
    push = {"command": "git push origin main"}
    async with serving(settings_for(tmp_path)) as running, user(running, "root", "admin") as root:
        assert (await ask(root, "bash", arguments=push))["verdict"] == "allow"
        rule = (await root.post("/admin/rules", json=RULE)).json()
        denied = await ask(root, "bash", arguments=push)
        assert (denied["verdict"], denied["status"]) == ("deny", "denied")
        assert denied["rules"][:2] == ["denied_by_rule", rule["id"]]
        assert "not from here" in denied["reason"]

        risky = await ask(root, "bash", arguments={"command": "rm -rf build"})
        assert (risky["verdict"], risky["rules"]) == ("ask", ["delete"])
        assert [Path(target).name for target in risky["targets"]] == ["build"]

        wrong = await ask(root, "bash", arguments={"comand": "ls"})
        assert (wrong["verdict"], wrong["status"]) == ("deny", "invalid_arguments")
        unknown = await ask(root, "no_such_tool")
        assert (unknown["verdict"], unknown["code"]) == ("deny", "tool_not_found")

        await root.patch("/admin/tools/bash", json={"enabled": False})
        off = await ask(root, "bash", arguments={"command": "ls"})
        assert (off["verdict"], off["status"]) == ("deny", "disabled")

        missing = await root.post("/admin/can-i", json={"tool": "bash", "agent_id": "nobody"})
        assert missing.status_code == 404
        listed = (await root.get("/admin/rules")).json()["rules"]
        assert [row["hits"] for row in listed if row["id"] == rule["id"]] == [0]
        # Nothing was made, and nothing recorded of it.
        assert not (tmp_path / "workspace" / "build").exists()


async def test_only_administrators_may_ask(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path)) as running, user(running, "ann") as ann:
        answer = await ann.post("/admin/can-i", json={"tool": "bash"})

        assert answer.status_code == 403


def tollgate(data: Path, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    settings = {"TOLLGATE_DATA_DIR": str(data), "TOLLGATE_WORKSPACE": str(data / "workspace")}
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *words],
        env={**os.environ, **settings, **extra},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_terminal_says_it_with_an_exit_code(tmp_path: Path) -> None:
    new_database(tmp_path / "tollgate.db")
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(RULE), encoding="utf-8")
    added = tollgate(tmp_path, "rules", "add", str(rules))
    assert added.returncode == 0, added.stderr

    denied = tollgate(tmp_path, "can-i", "bash", "command=git push origin main")
    assert denied.returncode == 3
    assert denied.stdout.startswith("deny")
    assert "not from here" in denied.stdout
    asks = tollgate(tmp_path, "can-i", "bash", "command=rm -rf build", "--json")
    assert asks.returncode == 4
    assert json.loads(asks.stdout)["verdict"] == "ask"
    assert json.loads(asks.stdout)["unchecked"] == ["limits"]


def test_the_terminal_says_that_limits_are_not_looked_at(tmp_path: Path) -> None:
    new_database(tmp_path / "tollgate.db")
    limited = {"TOLLGATE_LIMITS__CALLS_PER_MINUTE": "0"}

    allowed = tollgate(tmp_path, "can-i", "calculator", "expression=1", **limited)
    called = tollgate(tmp_path, "call", "calculator", "expression=1", **limited)

    assert (allowed.returncode, called.returncode) == (0, 3)
    assert "limits are not checked" in allowed.stdout


async def test_the_stored_rules_that_match_are_named_with_why_some_do_not_apply(
    tmp_path: Path,
) -> None:
    allow: dict[str, Any] = {
        "tool": "bash",
        "decision": "allow",
        "match": {"argv": ["rm", "-rf", "build"]},
        "expires_at": "2999-01-01T00:00:00Z",
    }
    build = {"command": "rm -rf build"}
    for name in ("data", "web"):
        (tmp_path / name).mkdir()
    settings = settings_for(tmp_path / "data")
    async with serving(settings) as running, user(running, "root", "admin") as root:
        made = await root.post(
            "/admin/projects", json={"name": "web", "root": str(tmp_path / "web")}
        )
        assert made.status_code == 201, made.text
        project = made.json()["id"]
        allow["scope"] = f"project:{project}"
        rule = (await root.post("/admin/rules", json=allow)).json()
        await root.post("/admin/rules", json={**RULE, "enabled": False})

        elsewhere = await ask(root, "bash", arguments=build)
        assert elsewhere["verdict"] == "ask"
        (named,) = elsewhere["matching_rules"]
        assert (named["id"], named["applies"], named["why_not"]) == (rule["id"], False, "scope")
        assert named["conditions"] == allow["match"]
        there = await ask(root, "bash", arguments=build, project_id=project)
        assert (there["verdict"], there["covered_by"]) == ("allow", [rule["id"]])
        assert there["matching_rules"][0]["applies"] is True
        pushed = await ask(root, "bash", arguments={"command": "git push"})
        assert pushed["verdict"] == "allow"
        assert [one["why_not"] for one in pushed["matching_rules"]] == ["disabled"]


async def test_a_standing_approval_is_explained(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path)) as running, user(running, "root", "admin") as root:
        session = running.session()
        call = CallRequest("c1", "bash", {"command": "rm -f nothing"})
        watcher = Watcher()
        session.log.subscribers.add(watcher)
        run = await running.service.runs.call_tools(session, [call], caller="websocket")
        asked = await watcher.until("tool_confirmation_request")
        answer = {"option_id": "approve_always", "digest": asked["digest"]}
        path = f"/confirmations/{asked['confirmation_id']}"
        assert (await root.post(path, json=answer)).status_code == 200
        await run.done

        reported = await ask(root, "bash", arguments={"command": "rm -f nothing"})
        assert reported["verdict"] == "allow"
        assert reported["grant"]["id"] == reported["grant_id"]
        assert (reported["grant"]["created_by"], reported["grant"]["scope"]) == ("root", "always")
        assert "rm -f nothing" in reported["grant"]["covers"]


def test_the_terminal_names_the_rules_that_match(tmp_path: Path) -> None:
    new_database(tmp_path / "tollgate.db")
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps([RULE, {**RULE, "scope": "project:web"}]), encoding="utf-8")
    assert tollgate(tmp_path, "rules", "add", str(rules)).returncode == 0

    denied = tollgate(tmp_path, "can-i", "bash", "command=git push")
    assert 'matches: deny bash {"argv": ["git", "push", "..."]}, global' in denied.stdout
    assert "does not apply (it is for other agents, projects or sessions)" in denied.stdout
    refused = tollgate(tmp_path, "can-i", "bash", "command=ls", "--session", "ses_1")
    assert refused.returncode == 2
    assert "--session needs a running service" in refused.stderr
