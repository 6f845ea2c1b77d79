"""The folders of this user for what belongs to no current folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from app.core.errors import ConfigurationError

NAME = "tollgate"
DATABASE = "tollgate.db"
FORMER_DATA = Path("data")
"""Where earlier versions kept the data: in the current folder."""


def data_home() -> Path:
    """The one data folder of this user, wherever a command starts.

    Raises:
        ConfigurationError: this user has no home folder.
    """
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / NAME
    return _base("XDG_DATA_HOME", ".local/share") / NAME


def config_home() -> Path:
    """Return the folder of this user's sign-in.

    Raises:
        ConfigurationError: this user has no home folder.
    """
    return _base("XDG_CONFIG_HOME", ".config") / NAME


def state_home() -> Path:
    """Return the folder where running services of this user are recorded.

    Raises:
        ConfigurationError: this user has no home folder.
    """
    return _base("XDG_STATE_HOME", ".local/state") / NAME


def data_folder(value: Any) -> Any:
    """Return the data folder named by a variable, with `~` expanded; None if it is empty."""
    if not isinstance(value, str):
        return value
    return Path(value).expanduser() if value.strip() else data_home()


DataFolder = Annotated[Path, BeforeValidator(data_folder)]


def holds_database(folder: Path) -> bool:
    """Return whether a service has stored its data in a folder."""
    return (folder / DATABASE).is_file()


def _base(variable: str, below_home: str) -> Path:
    # The specification says so: a relative path is not used.
    chosen = os.environ.get(variable, "")
    return Path(chosen) if chosen.startswith("/") else _home() / below_home


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise ConfigurationError(
            "This user has no home folder: set the data folder with TOLLGATE_DATA_DIR"
        ) from None
