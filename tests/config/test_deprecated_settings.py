"""Old names and values of settings work as aliases, and name the new ones."""

import warnings
from pathlib import Path

import pytest

from app.config.deprecated_settings import RENAMED
from app.config.setting_names import deprecated_forms, refuse_misspelt, wrong_names
from app.config.settings import Settings, load_settings

OLD = {
    "open_house": ("true", "allow_anonymous", True),
    "event_ring": ("77", "event_buffer_size", 77),
    "prompt_without": ("todo,date", "prompt_exclude", ["todo", "date"]),
    "cache_ttl": ("7", "cache_ttl_s", 7),
    "grant_session_s": ("1", "grant_session_ttl_s", 1),
    "grant_agent_s": ("2", "grant_agent_ttl_s", 2),
    "grant_always_s": ("3", "grant_always_ttl_s", 3),
}


def test_each_old_name_is_tried():
    assert OLD.keys() == RENAMED.keys()


@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize("place", ["environment", ".env", "config.yml", "argument"])
def test_an_old_name_sets_the_new_one_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, place: str
):
    text, new, value = OLD[name]
    arguments = {}
    if place == "environment":
        monkeypatch.setenv(f"TOLLGATE_{name.upper()}", text)
    elif place == "argument":
        arguments = {name: value}
    else:
        line = f"TOLLGATE_{name.upper()}={text}" if place == ".env" else f"{name}: {text}"
        (tmp_path / place).write_text(line + "\n", encoding="utf-8")
    with pytest.warns(DeprecationWarning, match=rf"(?i){name} is deprecated; use \S*{new} "):
        settings = load_settings(data_dir=tmp_path, **arguments)
    assert getattr(settings, new) == value
    assert settings.origin((new,)) == {".env": "env_file", "config.yml": "config_file"}.get(
        place, place
    )
    said = deprecated_forms(Settings, tmp_path)
    assert len(said) == (0 if place == "argument" else 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        refuse_misspelt(wrong_names(Settings, tmp_path))


def test_the_new_name_is_stronger_than_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOLLGATE_CACHE_TTL", "1")
    monkeypatch.setenv("TOLLGATE_CACHE_TTL_S", "2")
    with pytest.warns(DeprecationWarning, match="use TOLLGATE_CACHE_TTL_S"):
        assert load_settings(data_dir=tmp_path, _env_file=None).cache_ttl_s == 2


def test_an_old_value_is_read_as_the_new_one(tmp_path: Path):
    (tmp_path / "config.yml").write_text("unattended: park\n", encoding="utf-8")
    with pytest.warns(DeprecationWarning, match="use unattended=suspend instead"):
        assert load_settings(data_dir=tmp_path).unattended == "suspend"


def test_new_names_say_nothing(tmp_path: Path):
    (tmp_path / "config.yml").write_text("cache_ttl_s: 5\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_settings(data_dir=tmp_path).cache_ttl_s == 5
    assert deprecated_forms(Settings, tmp_path) == []


def test_variables_of_other_programs_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CACHE_TTL", "1")
    monkeypatch.setenv("UNATTENDED", "park")
    (tmp_path / ".env").write_text("EVENT_RING=5\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings = load_settings(data_dir=tmp_path)
    assert (settings.unattended, settings.cache_ttl_s) == ("deny", Settings().cache_ttl_s)
    assert deprecated_forms(Settings, tmp_path) == []


def test_only_own_warnings_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def warns(*_: object) -> dict[str, str]:
        warnings.warn("of a library", UserWarning, stacklevel=1)
        return {}

    monkeypatch.setattr("app.config.setting_names.Environment.__call__", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert deprecated_forms(Settings, tmp_path) == []
