"""The templates that an operator copies are read as they stand."""

import re

import pytest

from app.config.settings import Settings, load_settings
from tests.docs.pages import read

ASSIGNMENT = re.compile(r"^# ([A-Z_]+)=(.*)$", re.MULTILINE)


@pytest.fixture
def defaults(tmp_path, monkeypatch) -> Settings:
    """Settings of a folder without files, in an environment without settings."""
    for name, _ in ASSIGNMENT.findall(read(".env.example")):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return load_settings(data_dir=tmp_path)


def test_the_env_template_changes_nothing_as_it_stands(defaults, tmp_path):
    (tmp_path / ".env").write_text(read(".env.example"), encoding="utf-8")
    assert load_settings(data_dir=tmp_path).model_dump() == defaults.model_dump()


def test_the_env_template_holds_the_defaults_when_it_is_uncommented(defaults, tmp_path):
    given = [f"{name}={value}" for name, value in ASSIGNMENT.findall(read(".env.example")) if value]
    (tmp_path / ".env").write_text("\n".join(given), encoding="utf-8")
    assert load_settings(data_dir=tmp_path).model_dump() == defaults.model_dump()
    assert len(given) > 30


@pytest.mark.requirement("CFG-01")
def test_a_value_of_the_env_template_is_read_under_its_name(defaults, tmp_path):
    lines = ("TOLLGATE_SUB_AGENT__MAX_ITERATIONS=7", "ANTHROPIC_API_KEY=key", "TOLLGATE_PORT=1")
    (tmp_path / ".env").write_text("\n".join(lines), encoding="utf-8")
    settings = load_settings(data_dir=tmp_path)
    assert settings.anthropic_api_key is not None
    assert settings.anthropic_api_key.get_secret_value() == "key"
    assert (settings.sub_agent.max_iterations, settings.port) == (7, 1)


@pytest.mark.requirement("CFG-01")
def test_the_config_template_is_read_with_the_keys_of_the_seeds(defaults, tmp_path):
    (tmp_path / "config.yml").write_text(read("config.example.yml"), encoding="utf-8")
    settings = load_settings(data_dir=tmp_path)
    extra = {"standard": ["numpy", "pandas"], "strict": ["numpy"]}
    assert settings.code_execution.extra_allowed_modules == extra
    assert settings.code_execution.default_strictness == "standard"
    assert settings.sub_agent == defaults.sub_agent
