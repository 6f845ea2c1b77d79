"""Settings: where values come from, and what is said about those that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.errors import ConfigurationError
from app.core.settings import load_settings


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)


def test_the_environment_wins_over_the_config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "config.yml").write_text("port: 9000\nmodel: from-the-file\n")
    monkeypatch.setenv("TOLLGATE_PORT", "9001")

    settings = load_settings()

    assert (settings.port, settings.model) == (9001, "from-the-file")


def test_a_list_fits_into_one_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOLLGATE_ALLOWED_ORIGINS", "https://a.example, https://b.example,")

    assert load_settings().allowed_origins == ["https://a.example", "https://b.example"]


def test_every_value_that_does_not_fit_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOLLGATE_PORT", "many")
    monkeypatch.setenv("TOLLGATE_SUB_AGENT__MAX_ITERATIONS", "0")

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    named = [line.split(":")[0] for line in refused.value.details["errors"]]
    assert sorted(named) == ["port", "sub_agent.max_iterations"]


def test_a_config_file_that_is_no_yaml_is_named(tmp_path: Path):
    (tmp_path / "config.yml").write_text("port: [1, 2\n")

    with pytest.raises(ConfigurationError, match=r"config\.yml is not valid YAML"):
        load_settings()


def test_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")

    assert "sk-very-secret" not in repr(load_settings())
