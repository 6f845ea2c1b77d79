"""The data folder whose files of settings are read, and what they may say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel
from pydantic_settings import InitSettingsSource, PydanticBaseSettingsSource

from app.config.origins import Origin, SettingPath
from app.config.setting_files import CONFIG_FILE, ENV_FILE, Environment
from app.config.user_folders import data_folder, data_home
from app.core.errors import ConfigurationError

FILES: Mapping[Origin, str] = MappingProxyType({"env_file": ENV_FILE, "config_file": CONFIG_FILE})


def named_folder(arguments: PydanticBaseSettingsSource, environment: Environment) -> Path:
    """The data folder that an argument or the environment names, else that of this user."""
    assert isinstance(arguments, InitSettingsSource)
    given = arguments.init_kwargs.get("data_dir")
    if given is None:
        given = environment.env_vars.get("tollgate_data_dir")
    folder = data_folder("" if given is None else given)
    return folder if isinstance(folder, Path) else data_home()


def require_folder(data_dir: Path, origins: dict[SettingPath, Origin], folder: Path) -> None:
    """Let a file of a data folder name no other one.

    Raises:
        ConfigurationError: it does.
    """
    origin = origins.get(("data_dir",))
    if origin is None or origin not in FILES:
        return
    if data_dir.absolute() != folder.absolute():
        raise ConfigurationError(
            f"data_dir in {folder / FILES[origin]} names another folder: set the data "
            "folder with --data-dir or TOLLGATE_DATA_DIR instead"
        )
    del origins[("data_dir",)]


def start_where_the_file_is(
    settings: BaseModel, origins: Mapping[SettingPath, Origin], folder: Path
) -> None:
    """Read a relative path in a file from the file's folder, wherever a command starts."""
    for path, origin in origins.items():
        if origin not in FILES:
            continue
        *sections, name = path
        section = reduce(getattr, sections, settings)
        value = getattr(section, name)
        if isinstance(value, Path):
            setattr(section, name, folder / value)
