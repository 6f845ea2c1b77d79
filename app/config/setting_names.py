"""Names that somebody wrote as a setting and that are none."""

from __future__ import annotations

import difflib
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, SettingsError

from app.config.deprecated_settings import RENAMED, DeprecatedSetting
from app.config.origins import SettingPath, env_name, setting_fields
from app.config.setting_files import (
    CONFIG_FILE,
    ENV_FILE,
    PREFIX,
    ConfigFile,
    EnvFile,
    Environment,
    is_service_link,
)
from app.core.errors import ConfigurationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

ALIKE = 0.8
# What commands and the programs of the project read themselves.
NO_SETTINGS = frozenset({"TOLLGATE_URL", "TOLLGATE_DESKTOP_TOKEN", "TOLLGATE_VENV"})

Source = Literal["environment", "env_file", "config_file"]
WORDS: Mapping[Source, str] = {
    "environment": "the environment",
    "env_file": ENV_FILE,
    "config_file": CONFIG_FILE,
}


@dataclass(frozen=True, slots=True)
class WrongName:
    """A name that no setting has.

    Attributes:
        meant: the setting that is most like it, named as it is written there; None without one.
    """

    name: str
    source: Source
    meant: str | None

    @property
    def is_misspelt(self) -> bool:
        """Whether the name was certainly intended as a setting.

        A variable similar to no setting may belong to another program.
        """
        return self.meant is not None or self.source == "config_file"

    @property
    def sentence(self) -> str:
        meant = "" if self.meant is None else f"; did you mean {self.meant}?"
        return f"unknown setting {self.name} in {WORDS[self.source]}{meant}"


def wrong_names(model: type[BaseSettings], folder: Path) -> list[WrongName]:
    """Every name in the files of a data folder and in the environment that no setting has."""
    paths = [path for path, _ in setting_fields(model)]
    dotted = [".".join(path) for path in paths]
    variables = [env_name(path).removeprefix(PREFIX) for path in paths]
    found = [
        WrongName(name, "config_file", _nearest(name, dotted))
        for name in _unknown_keys(model, ConfigFile(model, folder)())
    ]
    written: dict[Source, Mapping[str, Any]] = {
        "env_file": EnvFile(model, folder).env_vars,
        "environment": os.environ,
    }
    for source, names in written.items():
        for name in sorted({name.upper() for name in names if name.upper().startswith(PREFIX)}):
            own = name.removeprefix(PREFIX)
            is_link = source == "environment" and is_service_link(name, os.environ.get(name))
            is_known = own.lower() in RENAMED or _is_known(model, tuple(own.lower().split("__")))
            if name in NO_SETTINGS or (is_known and not is_link):
                continue
            meant = None if is_link else _nearest(own, variables)
            found.append(WrongName(name, source, PREFIX + meant if meant else None))
    return found


def deprecated_forms(model: type[BaseSettings], folder: Path) -> list[str]:
    """One sentence for each old name or value in the environment and a data folder's files."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecatedSetting)
        for source in (Environment(model), EnvFile(model, folder), ConfigFile(model, folder)):
            source()
    used = [str(found.message) for found in caught if found.category is DeprecatedSetting]
    return list(dict.fromkeys(used))


def refuse_misspelt(names: list[WrongName]) -> None:
    """Make sure that no name was meant as a setting and is none.

    Raises:
        ConfigurationError: there are such names; the message has each with what may be meant.
    """
    misspelt = [wrong.sentence for wrong in names if wrong.is_misspelt]
    if misspelt:
        raise ConfigurationError("Invalid settings: " + "; ".join(misspelt), errors=misspelt)


def refusal_of(
    model: type[BaseSettings], error: ValidationError | SettingsError
) -> ConfigurationError:
    """Describe invalid setting values, one sentence each."""
    if isinstance(error, ValidationError):
        found = error.errors(include_url=False, include_input=False)
        lines = [_sentence(model, item) for item in found]
    else:
        named = re.search(r'field "([^"]+)"', str(error))
        lines = [f"{named[1] if named else 'a setting'}: must be JSON text"]
    return ConfigurationError("Invalid settings: " + "; ".join(lines), errors=lines)


def _sentence(model: type[BaseSettings], problem: ErrorDetails) -> str:
    """Describe an invalid setting; problems of several settings name them in the message."""
    name = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        meant = _nearest(name, [".".join(path) for path, _ in setting_fields(model)])
        return f"unknown setting {name}" + (f"; did you mean {meant}?" if meant else "")
    message = problem["msg"].removeprefix("Value error, ")
    return f"{name}: {message}" if name else message


def _nearest(name: str, known: list[str]) -> str | None:
    found = difflib.get_close_matches(name, known, n=1, cutoff=ALIKE)
    return found[0] if found else None


def _unknown_keys(
    model: type[BaseModel], values: Mapping[str, Any], above: SettingPath = ()
) -> Iterator[str]:
    known = {name.lower() for name in _names(model)}
    for key, value in values.items():
        path = (*above, str(key))
        if str(key).lower() not in known:
            yield ".".join(path)
            continue
        section = _section(model, str(key).lower())
        if section is not None and isinstance(value, Mapping):
            yield from _unknown_keys(section, value, path)


def _is_known(model: type[BaseModel], path: SettingPath) -> bool:
    name, *rest = path
    if name not in model.model_fields:
        return False
    section = _section(model, name)
    if section is not None:
        return not rest or _is_known(section, tuple(rest))
    # A mapping may be filled key by key.
    return not rest or _is_mapping(model.model_fields[name].annotation)


def _names(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.alias, str):
            yield field.alias


def _section(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    field = model.model_fields.get(name)
    found = None if field is None else field.annotation
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


def _is_mapping(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return any(_is_mapping(part) for part in get_args(annotation))
    return get_origin(annotation) is dict or annotation is dict
