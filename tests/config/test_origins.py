"""Where a setting's value comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config.origins import env_name, setting_fields
from app.config.sections import SandboxSettings
from app.config.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOLLGATE_DATA_DIR", str(tmp_path))


def test_each_source_is_reported_and_the_strongest_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "config.yml").write_text("port: 1\nmodel: m\nsandbox:\n  weaker: ask\n")
    (tmp_path / ".env").write_text("TOLLGATE_PORT=2\nTOLLGATE_LOG_LEVEL=debug\n")
    monkeypatch.setenv("TOLLGATE_PORT", "3")
    monkeypatch.setenv("TOLLGATE_SANDBOX__MEMORY_MB", "512")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")

    settings = load_settings(host="127.0.0.2")

    assert settings.port == 3
    assert settings.origin(("port",)) == "environment"
    assert settings.origin(("anthropic_api_key",)) == "environment"
    assert settings.origin(("sandbox", "memory_mb")) == "environment"
    assert settings.origin(("sandbox", "weaker")) == "config_file"
    assert settings.origin(("model",)) == "config_file"
    assert settings.origin(("log_level",)) == "env_file"
    assert settings.origin(("host",)) == "argument"
    assert settings.origin(("sandbox", "uid")) == "default"


def test_a_section_given_as_an_argument_speaks_for_what_it_sets():
    settings = load_settings(sandbox=SandboxSettings(warm_workers=0), _env_file=None)

    assert settings.origin(("sandbox", "warm_workers")) == "argument"
    assert settings.origin(("sandbox", "weaker")) == "default"


def test_an_env_file_that_is_switched_off_says_nothing(tmp_path: Path):
    (tmp_path / ".env").write_text("TOLLGATE_PORT=2\n")

    assert load_settings(_env_file=None).origin(("port",)) == "default"


def test_every_setting_is_walked_with_its_variable():
    names = {env_name(path) for path, _ in setting_fields(Settings)}

    assert {"TOLLGATE_PORT", "TOLLGATE_SANDBOX__WEAKER", "OPENAI_API_KEY"} <= names
    assert "TOLLGATE_SANDBOX" not in names
