"""A name that no setting has is seen, wherever it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config.setting_names import refuse_misspelt, wrong_names
from app.config.settings import Settings, load_settings
from app.core.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def found() -> dict[str, str | None]:
    return {wrong.name: wrong.meant for wrong in wrong_names(Settings, Path())}


def test_every_setting_is_known_as_a_variable_and_in_the_file(monkeypatch: pytest.MonkeyPatch):
    for name, value in (
        ("TOLLGATE_LOG_LEVEL", "info"),
        ("tollgate_port", "0"),
        ("TOLLGATE_SANDBOX__WEAKER", "ask"),
        ("TOLLGATE_WEB", '{"per_host": 1}'),
        ("TOLLGATE_MODEL_PRICES", "{}"),
        ("TOLLGATE_CODE_EXECUTION__EXTRA_ALLOWED_MODULES__STRICT", "[]"),
        ("TOLLGATE_URL", "http://127.0.0.1:1"),
        ("ANTHROPIC_API_KEY", "x"),
        ("NOT_OURS", "x"),
    ):
        monkeypatch.setenv(name, value)
    Path("config.yml").write_text("confirm_dangerous: true\nweb: {per_host: 1}\n")
    Path(".env").write_text("TOLLGATE_PORT=0\nOTHER=1\n")
    assert found() == {}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("TOLLGATE_CONFIRM_DANGEROUSS", "TOLLGATE_CONFIRM_DANGEROUS"),
        ("TOLLGATE_RULE_FILE", "TOLLGATE_RULES_FILE"),
        ("TOLLGATE_SANDBOX_WEAKER", "TOLLGATE_SANDBOX__WEAKER"),
        ("TOLLGATE_WEB__PER_HOSTT", "TOLLGATE_WEB__PER_HOST"),
        ("tollgate_tokn", "TOLLGATE_TOKEN"),
    ],
)
@pytest.mark.parametrize("place", ["environment", ".env"])
def test_a_misspelt_variable_is_refused_with_the_one_that_was_meant(
    place: str, written: str, meant: str, monkeypatch: pytest.MonkeyPatch
):
    if place == "environment":
        monkeypatch.setenv(written, "1")
    else:
        Path(".env").write_text(f"{written}=1\n")
    assert found() == {written.upper(): meant}
    with pytest.raises(ConfigurationError, match=f"did you mean {meant}") as refused:
        refuse_misspelt(wrong_names(Settings, Path()))
    assert place in refused.value.message


@pytest.mark.parametrize(
    ("text", "name", "meant"),
    [
        ("confirm_dangerouss: false", "confirm_dangerouss", "confirm_dangerous"),
        ("web: {per_hostt: 1}", "web.per_hostt", "web.per_host"),
        ("rulesfile: rules.yml", "rulesfile", "rules_file"),
        ("something: 1", "something", None),
    ],
)
def test_an_unknown_key_of_the_file_is_refused(text: str, name: str, meant: str | None):
    Path("config.yml").write_text(text)
    assert found() == {name: meant}
    with pytest.raises(ConfigurationError, match=name):
        refuse_misspelt(wrong_names(Settings, Path()))


def test_variables_of_other_programs_are_said_and_not_refused(monkeypatch: pytest.MonkeyPatch):
    # What Kubernetes makes for a service that is called tollgate.
    monkeypatch.setenv("TOLLGATE_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("TOLLGATE_PORT_8420_TCP_ADDR", "10.0.0.1")
    monkeypatch.setenv("TOLLGATE_PORT", "tcp://10.0.0.1:8420")
    monkeypatch.setenv("TOLLGATE_SANDBOX_WEAKER", "tcp://10.0.0.1:8420")
    assert set(found().values()) == {None}
    assert len(found()) == 4
    refuse_misspelt(wrong_names(Settings, Path()))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"sandbox": {"weakr": "ask"}},
            "unknown setting sandbox.weakr; did you mean sandbox.weaker?",
        ),
        (
            {"adaptive_thinking": True, "thinking_budget": 100},
            "thinking_budget and adaptive_thinking cannot be combined",
        ),
        ({"port": "x"}, "port: Input should be a valid integer"),
    ],
)
def test_what_is_wrong_with_a_value_is_said_without_the_words_of_a_library(given, said: str):
    with pytest.raises(ConfigurationError) as refused:
        load_settings(**given)
    assert refused.value.message.startswith(f"Invalid settings: {said}")
    assert "Value error" not in refused.value.message


def test_the_data_folder_is_the_user_s_own_when_nothing_names_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.delenv("TOLLGATE_DATA_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    usual = tmp_path / ".local" / "share" / "tollgate"
    assert load_settings().data_dir == usual
    assert load_settings(data_dir="").data_dir == usual
    assert load_settings(data_dir="~/other").data_dir == tmp_path / "other"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert load_settings().data_dir == tmp_path / "xdg" / "tollgate"
