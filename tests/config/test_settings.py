"""Settings: where values come from, and what is said about those that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config.setting_files import unread_here
from app.config.settings import Settings, load_settings
from app.core.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOLLGATE_DATA_DIR", str(tmp_path))


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


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.yml", b"on: true", "the name True is not text"),
        (".env", b"\xff\xfe=1", "not UTF-8 text"),
        ("config.yml", b"\xff: 1", "not UTF-8 text"),
        ("config.yml", b"- port", "must contain settings as `name: value`"),
        ("config.yml", b"port", "must contain settings as `name: value`"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, said: str):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    assert refused.value.message.startswith(str(tmp_path / name))
    assert said in refused.value.message


@pytest.mark.parametrize("name", ["LIMITS", "MODEL_PRICES", "SUB_AGENT"])
def test_a_section_that_is_no_json_is_named(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(f"TOLLGATE_{name}", "{secret")

    with pytest.raises(ConfigurationError, match=f"{name.lower()}: must be JSON text") as refused:
        load_settings()

    assert "{secret" not in refused.value.message


def test_what_kubernetes_sets_for_a_service_is_no_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".env").write_text("TOLLGATE_PORT=9000\n")
    monkeypatch.setenv("TOLLGATE_PORT", "tcp://10.0.0.1:80")
    monkeypatch.setenv("TOLLGATE_WEB", "tcp://10.0.0.1:80")

    settings = load_settings()

    assert settings.port == 9000
    assert settings.origin(("port",)) == "env_file"
    assert settings.origin(("web", "per_host")) == "default"


def test_the_files_of_the_current_folder_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    here, own = tmp_path / "repository", tmp_path / "own"
    here.mkdir()
    own.mkdir()
    (here / ".env").write_text("TOLLGATE_PORT=1\nTOLLGATE_PLUGIN_DIR=plugins\n")
    (here / "config.yml").write_text("rules_file: rules.yml\n")
    (own / "config.yml").write_text("rules_file: rules.yml\nskills: {folder: mine}\n")
    monkeypatch.chdir(here)

    settings = load_settings(data_dir=own)

    assert settings.files == (own / "config.yml",)
    assert (settings.port, settings.plugin_dir) == (8420, None)
    assert settings.rules_file == own / "rules.yml"
    assert settings.skills.folder == own / "mine"
    assert unread_here(Settings, own) == (here / ".env", here / "config.yml")
    (here / ".env").write_text("OTHER=1\n")
    (here / "config.yml").write_text("something: 1\n")
    assert unread_here(Settings, own) == ()


def test_a_file_of_a_data_folder_names_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TOLLGATE_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    usual = tmp_path / "tollgate"
    usual.mkdir()
    (usual / "config.yml").write_text("data_dir: /elsewhere\n")

    with pytest.raises(ConfigurationError, match="TOLLGATE_DATA_DIR"):
        load_settings()

    (usual / "config.yml").write_text(f"data_dir: {usual}\n")
    assert load_settings().origin(("data_dir",)) == "default"


def test_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")

    assert "sk-very-secret" not in repr(load_settings())


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", []),
        ("github.com:22,443", ["github.com:22,443"]),
        ("github.com:22,443,example.com", ["github.com:22,443", "example.com"]),
        ("github.com:22,443 *.example.com", ["github.com:22,443", "*.example.com"]),
        ("Example.com:443, preset:go,\n10.0.0.1,", ["example.com", "preset:go", "10.0.0.1"]),
        ("[2001:db8::7]:80,443,a.example", ["[2001:db8::7]:80,443", "a.example"]),
    ],
)
def test_allowed_hosts_with_ports_fit_into_one_variable(
    text: str, hosts: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TOLLGATE_SANDBOX__ALLOWED_HOSTS", text)

    assert load_settings().sandbox.allowed_hosts == hosts


def test_allowed_hosts_are_a_list_in_the_config_file(tmp_path: Path):
    (tmp_path / "config.yml").write_text("sandbox: {allowed_hosts: [github.com, 'preset:go']}\n")

    assert load_settings().sandbox.allowed_hosts == ["github.com", "preset:go"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ALLOWED_HOSTS", "github.com:22, 443", "invalid host '443'"),
        ("ALLOWED_HOSTS", "https://github.com", "invalid host 'https://github.com'"),
        ("ALLOWED_HOSTS", "preset:cobol", "unknown preset 'cobol'"),
        ("ALLOW_NETWORKS", "10.1.0.0/16,10.0.0.1/8", "'10.0.0.1/8' is not a network"),
    ],
)
def test_a_bad_host_or_network_is_named(
    name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(f"TOLLGATE_SANDBOX__{name}", value)

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    (error,) = refused.value.details["errors"]
    assert error.startswith(f"sandbox.{name.lower()}: {said}")


def test_settings_list_hosts_or_ports_and_never_both(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOLLGATE_SANDBOX__ALLOWED_HOSTS", "github.com")
    monkeypatch.setenv("TOLLGATE_SANDBOX__ALLOW_NETWORKS", "10.1.0.0/16, fd00::/8")
    assert load_settings().sandbox.allow_networks == ["10.1.0.0/16", "fd00::/8"]

    monkeypatch.setenv("TOLLGATE_SANDBOX__TCP_PORTS", "443")

    with pytest.raises(ConfigurationError, match=r"allowed_hosts .* tcp_ports"):
        load_settings()
