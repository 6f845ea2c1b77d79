"""What doctor says about what tools need, before an agent misses them."""

from __future__ import annotations

import sqlite3
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from app.cli.local_doctor import disabled_tools
from app.config.settings import Settings, load_settings
from app.execution.doctor.check import Check
from app.execution.doctor.tool_checks import tool_checks
from tests.support.database import new_database

KEY = b64encode(bytes(32)).decode()


def installation(folder: Path, **fields: Any) -> Settings:
    return load_settings(data_dir=folder, anthropic_api_key=None, _env_file=None, **fields)


def checks(folder: Path, **fields: Any) -> dict[str, Check]:
    settings = installation(folder, **fields)
    found = tool_checks(settings, lambda: disabled_tools(settings))
    return {check.name: check for check in found}


def test_what_is_not_configured_names_its_setting_and_breaks_nothing(tmp_path: Path):
    found = checks(tmp_path)
    assert "TOLLGATE_IMAGES__PROVIDER" in found["image provider"].fix
    assert (found["search engine"].state, found["search engine"].found) == ("ok", "duckduckgo")
    off = checks(tmp_path, web={"search_provider": "off"})["search engine"]
    assert "TOLLGATE_WEB__SEARXNG_URL" in off.fix
    assert found["weather"].state == "ok"
    assert found["key of data sources"].found.startswith("none yet")
    assert "broken" not in {check.state for check in found.values()}
    assert not list(tmp_path.iterdir()), "a check before the first start makes nothing"


def test_what_is_configured_is_fine_and_shows_no_key(tmp_path: Path):
    found = checks(
        tmp_path,
        images={"provider": "openai", "api_key": "sk-image-key"},
        web={"search_provider": "brave", "brave_api_key": "brave-key"},
        sources={"keys": KEY, "sqlite_folders": str(tmp_path)},
    )
    names = ("image provider", "search engine", "key of data sources", "SQLite folder")
    assert [found[name].state for name in names] == ["ok"] * 4
    reported = repr(found)
    assert not any(secret in reported for secret in ("sk-image-key", "brave-key", KEY))


def test_what_is_only_for_trials_says_so(tmp_path: Path):
    found = checks(tmp_path, images={"provider": "draw"}, weather={"provider": "simulated"})
    assert (found["image provider"].state, found["weather"].state) == ("info", "info")
    assert "simulated" in found["image provider"].found
    assert "made up" in found["weather"].found
    assert checks(tmp_path, weather={"provider": "off"})["weather"].found == "off"


def test_a_provider_without_its_key_or_package_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    keyless = checks(tmp_path, images={"provider": "openai"})["image provider"]
    assert (keyless.state, "TOLLGATE_IMAGES__API_KEY" in keyless.fix) == ("info", True)
    monkeypatch.setattr("sys.path", [])
    absent = checks(tmp_path, web={"search_provider": "ddgs"})["search engine"]
    assert (absent.state, "install" in absent.fix) == ("warning", True)


def test_a_key_file_that_others_may_read_is_a_warning_with_the_command(tmp_path: Path):
    path = tmp_path / "keys" / "sources.key"
    path.parent.mkdir()
    path.write_text(KEY)
    path.chmod(0o644)
    seen = checks(tmp_path)["key of data sources"]
    assert (seen.state, f"chmod 600 {path}" in seen.fix) == ("warning", True)
    path.chmod(0o600)
    assert checks(tmp_path)["key of data sources"].state == "ok"


def test_keys_of_the_settings_that_are_none_are_broken_and_not_repeated(tmp_path: Path):
    found = checks(tmp_path, sources={"keys": "not-a-key"})["key of data sources"]
    assert (found.state, "TOLLGATE_SOURCES__KEYS" in found.found) == ("broken", True)
    assert "not-a-key" not in repr(found)


def test_a_folder_for_databases_that_is_not_there_is_a_warning(tmp_path: Path):
    found = checks(tmp_path, sources={"sqlite_folders": "/no/such/folder"})["SQLite folder"]
    assert (found.state, "/no/such/folder" in found.found) == ("warning", True)


def test_a_sqlite_without_full_text_search_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert checks(tmp_path)["SQLite FTS5"].state == "ok"

    def no_modules(*_: object) -> sqlite3.Connection:
        database = real(":memory:")
        database.set_authorizer(
            lambda action, *_: (
                sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_CREATE_VTABLE else sqlite3.SQLITE_OK
            )
        )
        return database

    real = sqlite3.connect
    monkeypatch.setattr("app.execution.doctor.tool_checks.sqlite3.connect", no_modules)
    assert checks(tmp_path)["SQLite FTS5"].state == "broken"


def test_every_tool_that_is_off_says_why_once_there_is_a_database(tmp_path: Path):
    new_database(tmp_path / "tollgate.db")
    off = checks(tmp_path)["tool text_to_image"]
    assert (off.state, off.found) == ("info", "off")
    assert "images.provider" in off.meaning
    assert off.fix
    on = checks(tmp_path, images={"provider": "draw"})
    assert "tool text_to_image" not in on


def test_a_gate_that_cannot_be_opened_is_broken(tmp_path: Path):
    new_database(tmp_path / "tollgate.db")
    found = checks(tmp_path, workspace=str(tmp_path))["tools"]
    assert (found.state, "TOLLGATE_WORKSPACE" in found.found) == ("broken", True)
