"""Effective settings and their origin, as operators see them; secrets as nobody does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.config.settings import Settings
from tests.support.service import settings_for

OWNER = "operator-secret-0123456789"
KEY = "k-5f0c-plain-looking-key"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("TOLLGATE_MAX_ITERATIONS", "7")
    monkeypatch.setenv("TOLLGATE_SOURCES__SQLITE_FOLDERS", "/usr/share")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://ann:hidden-word@127.0.0.1:9/v1?key=hidden-too")
    monkeypatch.setenv("TOLLGATE_REDACT_PATTERNS", "hidden-[0-9]+")
    monkeypatch.setenv(
        "TOLLGATE_HOOKS", '[{"name": "h", "event": "tool_skip", "command": "true hidden-word"}]'
    )
    return settings_for(tmp_path, token=OWNER)


@pytest.fixture
async def rows(client: httpx2.AsyncClient) -> dict[str, dict[str, Any]]:
    answer = await client.get("/admin/settings", headers={"authorization": f"Bearer {OWNER}"})
    assert answer.status_code == 200
    assert not [word for word in (OWNER, KEY, "hidden") if word in answer.text]
    return {row["name"]: row for row in answer.json()["settings"]}


async def test_a_value_is_reported_with_its_default_and_origin(rows: dict[str, dict[str, Any]]):
    assert rows["max_iterations"] == {
        "name": "max_iterations",
        "environment_name": "TOLLGATE_MAX_ITERATIONS",
        "value": "7",
        "default": "15",
        "origin": "environment",
        "help": "Maximum model requests per run.",
        "is_secret": False,
        "needs_restart": False,
    }
    assert rows["sources.sqlite_folders"]["value"] == '["/usr/share"]'
    assert (rows["workspace"]["value"], rows["workspace"]["origin"]) == (None, "default")
    assert rows["allow_anonymous"]["origin"] == "argument"
    assert rows["rules_file"]["help"]
    assert rows["rules_file"]["needs_restart"]
    # A number is written one way, however it was given.
    assert (rows["login_idle_s"]["value"], rows["login_idle_s"]["default"]) == ("43200", "43200")


async def test_secrets_are_set_or_not_set(rows: dict[str, dict[str, Any]]):
    secret = {name: row["value"] for name, row in rows.items() if row["is_secret"]}
    assert (secret["token"], secret["anthropic_api_key"]) == ("set", "set")
    assert (secret["openai_api_key"], secret["sources.keys"]) == ("not set", "not set")
    assert {"triggers.keys", "images.api_key", "web.tavily_api_key"} <= set(secret)
    assert (rows["hooks"]["value"], rows["redact_patterns"]["value"]) == ("1 given", "1 given")
    assert rows["anthropic_base_url"]["value"] == "http://«redacted»@127.0.0.1:9/v1?«redacted»"


async def test_what_the_default_agent_decides_stands_in_the_database_at_once(
    client: httpx2.AsyncClient,
):
    owner = {"authorization": f"Bearer {OWNER}"}
    profile = {"id": "default", "max_iterations": 25, "adaptive_thinking": True}
    made = await client.post("/admin/agents", headers=owner, json=profile)
    assert made.status_code in (200, 201)

    reported = (await client.get("/admin/settings", headers=owner)).json()["settings"]
    rows = {row["name"]: (row["value"], row["origin"]) for row in reported}

    assert rows["max_iterations"] == ("25", "database")
    assert rows["adaptive_thinking"] == ("true", "database")
    assert rows["thinking_budget"] == ("0", "database")
    assert rows["max_tokens"] == ("8192", "default")


@pytest.mark.usefixtures("rows")
async def test_nobody_else_reads_them(client: httpx2.AsyncClient):
    assert (await client.get("/admin/settings")).status_code == 401
