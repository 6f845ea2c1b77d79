"""Checks of `tollgate doctor` on tools: their requirements, and disabled tools."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from importlib.util import find_spec

from app.config.settings import Settings
from app.core.errors import ConfigurationError, StorageUnavailable, TollgateError
from app.core.escaping import visible
from app.execution.doctor.check import Check
from app.resolver.reasons import DisabledReason


def tool_checks(
    settings: Settings, disabled: Callable[[], Mapping[str, DisabledReason]]
) -> Iterator[Check]:
    """Check what tools need besides programs, and list each disabled tool."""
    yield _full_text()
    yield _images(settings)
    yield _search(settings)
    yield _weather(settings)
    yield _source_keys(settings)
    yield from _sqlite_folders(settings)
    yield from _tools_off(disabled)


def _full_text() -> Check:
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        except sqlite3.DatabaseError:
            return Check("fts5", "broken", "not_available")
    return Check("fts5", "ok", "available")


def _images(settings: Settings) -> Check:
    chosen = settings.images
    if chosen.provider == "off":
        return Check("images.none", "info", "none")
    if chosen.provider == "draw":
        return Check("images", "info", "images.draw")
    url = visible(chosen.base_url)
    if chosen.api_key is None:
        return Check("images.keyless", "info", "images.keyless", url=url)
    return Check("images", "ok", "images.keyed", url=url)


def _search(settings: Settings) -> Check:
    provider = settings.web.provider
    if provider is None:
        return Check("search.none", "info", "none")
    if provider == "ddgs" and find_spec("ddgs") is None:
        return Check("search.absent", "warning", "search.absent")
    return Check("search", "ok", "provider", provider=provider)


def _weather(settings: Settings) -> Check:
    provider = settings.weather.provider
    if provider == "open-meteo":
        return Check("weather", "ok", "provider", provider=provider)
    if provider == "off":
        return Check("weather", "info", "off")
    return Check("weather", "info", "weather.simulated", provider=provider)


def _source_keys(settings: Settings) -> Check:
    if settings.sources.keys is not None:
        from app.knowledge.sources.encryption import keys_of_setting

        try:
            keys_of_setting(settings.sources.keys)
        except ConfigurationError as error:
            return Check("source_keys.broken", "broken", "error", error=error.message)
        return Check("source_keys", "ok", "source_keys.setting")
    path = settings.data_dir.absolute() / "keys" / "sources.key"
    try:
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        return Check("source_keys", "info", "source_keys.none")
    except OSError as error:
        code = "source_keys.unreadable"
        return Check(code, "warning", code, path=path, error=error.strerror)
    if mode & 0o077:
        code = "source_keys.exposed"
        return Check(code, "warning", code, path=path, mode=f"{mode:o}")
    return Check("source_keys", "ok", "path", path=path)


def _sqlite_folders(settings: Settings) -> Iterator[Check]:
    for folder in settings.sources.sqlite_folders:
        shown = visible(str(folder))
        if folder.is_dir():
            yield Check("sqlite_folder", "ok", "path", path=shown)
        else:
            yield Check("sqlite_folder", "warning", "sqlite_folder.none", path=shown)


def _tools_off(disabled: Callable[[], Mapping[str, DisabledReason]]) -> Iterator[Check]:
    try:
        reasons = disabled()
    except StorageUnavailable:
        return  # reported by the database check
    except TollgateError as error:
        yield Check("tools", "broken", "error", error=error.message)
        return
    for name, reason in reasons.items():
        yield Check(
            "tool",
            "info",
            "off",
            tool=visible(name),
            reason=reason.code,
            message=visible(reason.message),
            fix=reason.fix,
        )
