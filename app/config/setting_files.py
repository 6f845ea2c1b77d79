"""Sources of settings: the environment, and `.env` and `config.yml` in the data folder.

The current folder is no source of settings: whoever stands in a repository of others would work
with what its author chose, plugins and programs to start among it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    YamlConfigSettingsSource,
)

from app.config.deprecated_settings import with_new_names
from app.core.errors import ConfigurationError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PREFIX = "TOLLGATE_"
ENV_FILE = ".env"
CONFIG_FILE = "config.yml"
_MOST_BYTES = 1 << 20
# `TOLLGATE_PORT=tcp://10.0.0.1:80`, and what comes with it.
_LINK = re.compile(r"(?:tcp|udp|sctp)://[^/]+:\d+", re.IGNORECASE)
_LINK_NAME = re.compile(
    r"_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$",
    re.IGNORECASE,
)


def is_service_link(name: str, value: str | None) -> bool:
    """Return whether Kubernetes created the variable for a service called tollgate."""
    return _LINK.fullmatch(value or "") is not None or _LINK_NAME.search(name) is not None


class Environment(EnvSettingsSource):
    """The variables of this process that are settings."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        found = super()._load_env_vars()
        own = {name: value for name, value in found.items() if not is_service_link(name, value)}
        return with_new_names(own, PREFIX)


class EnvFile(DotEnvSettingsSource):
    """The `.env` of a folder."""

    def __init__(self, model: type[BaseSettings], folder: Path | None) -> None:
        super().__init__(model, env_file=None if folder is None else folder / ENV_FILE)

    def _read_env_file(self, file_path: Path) -> Mapping[str, str | None]:
        """Return the content of the file.

        Raises:
            ConfigurationError: it cannot be read.
        """
        try:
            found = super()._read_env_file(file_path)
        except (OSError, ValueError) as error:
            raise ConfigurationError(_unreadable(file_path, error)) from None
        return with_new_names(found, PREFIX)


class ConfigFile(YamlConfigSettingsSource):
    """The `config.yml` of a folder.

    What reads YAML is loaded only where there is a file: it takes as long as all other sources.
    """

    def __init__(self, model: type[BaseSettings], folder: Path) -> None:
        super().__init__(model, yaml_file=folder / CONFIG_FILE)

    def _read_file(self, file_path: Path | Traversable) -> dict[str, Any]:
        """Return the content of the file.

        Raises:
            ConfigurationError: it cannot be read, is not YAML, or holds no settings.
        """
        from yaml import YAMLError

        try:
            found: Any = super()._read_file(file_path)
        except YAMLError as error:
            message = f"{file_path} is not valid YAML: {' '.join(str(error).split())}"
            raise ConfigurationError(message) from None
        except (OSError, ValueError) as error:
            raise ConfigurationError(_unreadable(file_path, error)) from None
        if not isinstance(found, dict):
            raise ConfigurationError(f"{file_path} must contain settings as `name: value`")
        for name in found:
            if not isinstance(name, str):
                message = f"{file_path}: the name {name!r} is not text; quote names such as `on`"
                raise ConfigurationError(message)
        return with_new_names(found)


def files_in(folder: Path) -> tuple[Path, ...]:
    """The files of settings that a folder has."""
    named = (folder / ENV_FILE, folder / CONFIG_FILE)
    return tuple(path.absolute() for path in named if path.is_file())


def unread_here(model: type[BaseSettings], folder: Path) -> tuple[Path, ...]:
    """The files of the current folder that name settings and are not read.

    Args:
        model: whose settings they are.
        folder: the data folder, which has the files that are read.
    """
    here = Path.cwd()
    if here == folder.resolve():
        return ()
    return tuple(path for path in files_in(here) if _names_settings(model, path))


def _names_settings(model: type[BaseSettings], path: Path) -> bool:
    """Return whether a file, possibly of another user, names at least one setting."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return False
        if path.name == ENV_FILE:
            return any(name.upper().startswith(PREFIX) for name in _variables(path))
        return not model.model_fields.keys().isdisjoint(ConfigFile(model, path.parent)())
    except (OSError, ValueError, ConfigurationError):
        return False


def _variables(path: Path) -> Mapping[str, str | None]:
    from dotenv import dotenv_values

    return dotenv_values(path, interpolate=False)


def _unreadable(path: Path | Traversable, error: OSError | ValueError) -> str:
    why = getattr(error, "strerror", None) or "not UTF-8 text"
    return f"{path} cannot be read: {why}"
