"""What doctor finds, as operators see it in the admin pages."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest

from app.config.settings import Settings
from tests.support.service import Running, settings_for

OWNER = "operator-secret-0123456789"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "guard.py").write_text("HOOKS = [")
    return settings_for(
        tmp_path,
        token=OWNER,
        anthropic_api_key=None,
        sources={"sqlite_folders": "/no/such/folder"},
        images={"provider": "openai", "base_url": f"http://127.0.0.1:9/{OWNER}"},
    )


async def test_every_finding_says_what_it_means_and_what_to_do(
    serving: Running, client: httpx2.AsyncClient
):
    answer = await client.get("/admin/doctor", headers={"authorization": f"Bearer {OWNER}"})
    report = answer.json()
    found = {check["name"]: check for check in report["checks"]}

    assert (answer.status_code, report["is_complete"]) == (200, True)
    assert found["python"]["state"] == "ok"
    assert found["model key"] == {
        "code": "model_key",
        "found_code": "not_set",
        "values": {"setting": "ANTHROPIC_API_KEY"},
        "name": "model key",
        "state": "warning",
        "found": "not set",
        "meaning": "needed to chat with a model; tools work without it",
        "fix": "set ANTHROPIC_API_KEY",
    }
    assert found["SQLite folder"]["state"] == "warning"
    assert (found["tokens"]["found"], "address" in found) == ("TOLLGATE_TOKEN is set", False)
    assert sum(report["counts"].values()) == len(report["checks"])


async def test_what_is_broken_is_not_ok_and_no_secret_is_reported(
    serving: Running, client: httpx2.AsyncClient
):
    answer = await client.get("/admin/doctor", headers={"authorization": f"Bearer {OWNER}"})
    report = answer.json()
    broken = [check for check in report["checks"] if check["state"] == "broken"]

    assert (report["ok"], report["counts"]["broken"]) == (False, len(broken))
    assert "hook plugin guard" in {check["name"] for check in broken}
    assert OWNER not in json.dumps(report)


async def test_nobody_else_examines(serving: Running, client: httpx2.AsyncClient):
    secret, _ = await serving.service.tokens.create("ann", ["audit:read", "chat"])

    refused = await client.get("/admin/doctor", headers={"authorization": f"Bearer {secret}"})

    assert (refused.status_code, refused.json()["details"]) == (403, {"scope": "admin"})
