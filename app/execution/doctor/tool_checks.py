"""What `tollgate doctor` says about tools: what they need, and which are off, and why."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from importlib.util import find_spec

from app.core.errors import ConfigurationError, StorageUnavailable, TollgateError
from app.core.settings import Settings
from app.core.visible import visible
from app.execution.doctor.check import Check
from app.resolver.reasons import DisabledReason

_IMAGES = "makes images for text_to_image and image_to_image"
_SEARCH = "answers web_search"
_WEATHER = "answers get_weather"
_KEYS = "seals the passwords of data sources; without it they are lost"


def tool_checks(
    settings: Settings, disabled: Callable[[], Mapping[str, DisabledReason]]
) -> Iterator[Check]:
    """What tools need besides programs, and each tool that is off for everybody."""
    yield _full_text()
    yield _images(settings)
    yield _search(settings)
    yield _weather(settings)
    yield _source_keys(settings)
    yield from _sqlite_folders(settings)
    yield from _tools_off(disabled)


def _full_text() -> Check:
    meaning = "finds memories"
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        except sqlite3.DatabaseError:
            fix = "use a Python whose SQLite is built with FTS5"
            return Check("SQLite FTS5", "broken", "not available", meaning, fix)
    return Check("SQLite FTS5", "ok", "available", meaning)


def _images(settings: Settings) -> Check:
    chosen = settings.images
    name = "image provider"
    if chosen.provider == "off":
        fix = (
            "set TOLLGATE_IMAGES__PROVIDER to openai, with TOLLGATE_IMAGES__API_KEY, or to draw"
            " for trials"
        )
        return Check(name, "info", "none", _IMAGES, fix)
    if chosen.provider == "draw":
        return Check(name, "info", "draw: simulated, shapes only", _IMAGES)
    where = f"openai, {visible(chosen.base_url)}"
    if chosen.api_key is None:
        fix = "set TOLLGATE_IMAGES__API_KEY, unless that server wants no key"
        return Check(name, "info", f"{where}, no key", _IMAGES, fix)
    return Check(name, "ok", f"{where}, key set", _IMAGES)


def _search(settings: Settings) -> Check:
    provider = settings.web.provider
    if provider is None:
        fix = (
            "set TOLLGATE_WEB__SEARXNG_URL, TOLLGATE_WEB__BRAVE_API_KEY or"
            " TOLLGATE_WEB__TAVILY_API_KEY"
        )
        return Check("search engine", "info", "none", _SEARCH, fix)
    if provider == "ddgs" and find_spec("ddgs") is None:
        fix = "install the package ddgs, or choose another TOLLGATE_WEB__SEARCH_PROVIDER"
        return Check("search engine", "warning", "ddgs is not installed", _SEARCH, fix)
    return Check("search engine", "ok", provider, _SEARCH)


def _weather(settings: Settings) -> Check:
    provider = settings.weather.provider
    if provider == "open-meteo":
        return Check("weather", "ok", provider, _WEATHER)
    fix = "set TOLLGATE_WEATHER__PROVIDER=open-meteo for real weather"
    found = "off" if provider == "off" else f"{provider}: every value is invented"
    return Check("weather", "info", found, _WEATHER, fix)


def _source_keys(settings: Settings) -> Check:
    name = "key of data sources"
    if settings.sources.keys is not None:
        from app.knowledge.sources.sealing import keys_of_setting

        try:
            keys_of_setting(settings.sources.keys)
        except ConfigurationError as error:
            fix = "`openssl rand -base64 32` makes one"
            return Check(name, "broken", error.message, _KEYS, fix)
        return Check(name, "ok", "TOLLGATE_SOURCES__KEYS is set", _KEYS)
    path = settings.data_dir.absolute() / "keys" / "sources.key"
    try:
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        return Check(name, "info", "none yet: the first password makes it", _KEYS)
    except OSError as error:
        return Check(name, "warning", f"{path}: {error.strerror}", _KEYS, "make it readable")
    if mode & 0o077:
        fix = f"chmod 600 {path}, then POST /api/v1/admin/sources/keys/rotate"
        found = f"others may read {path} (mode {mode:o}), so it is not used"
        return Check(name, "warning", found, _KEYS, fix)
    return Check(name, "ok", str(path), _KEYS)


def _sqlite_folders(settings: Settings) -> Iterator[Check]:
    meaning = "its files may be data sources"
    fix = "make it, or change TOLLGATE_SOURCES__SQLITE_FOLDERS"
    for folder in settings.sources.sqlite_folders:
        shown = visible(str(folder))
        if folder.is_dir():
            yield Check("SQLite folder", "ok", shown, meaning)
        else:
            yield Check("SQLite folder", "warning", f"{shown} is not a folder", meaning, fix)


def _tools_off(disabled: Callable[[], Mapping[str, DisabledReason]]) -> Iterator[Check]:
    try:
        reasons = disabled()
    except StorageUnavailable:
        return  # the check of the database says so
    except TollgateError as error:
        yield Check("tools", "broken", error.message, "which of them are on")
        return
    for name, reason in reasons.items():
        yield Check(f"tool {visible(name)}", "info", "off", visible(reason.message), reason.fix)
