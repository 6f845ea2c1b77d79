"""Origin of the value of each setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from app.config.setting_files import ConfigFile, EnvFile, Environment

Origin = Literal["argument", "environment", "env_file", "config_file", "default"]
# `("sandbox", "weaker")`; what stands in no section has one part.
SettingPath = tuple[str, ...]


def setting_fields(model: type[BaseModel]) -> Iterator[tuple[SettingPath, FieldInfo]]:
    """Every setting of the model, those of its sections one by one."""
    for name, field in model.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            for path, inner in setting_fields(section):
                yield (name, *path), inner
        else:
            yield (name,), field


@cache
def _fields_of(model: type[BaseModel]) -> tuple[tuple[SettingPath, FieldInfo], ...]:
    return tuple(setting_fields(model))


def env_name(path: SettingPath) -> str:
    """The environment variable of a setting."""
    if path[0].startswith(("anthropic_", "openai_")):
        return path[0].upper()
    return "TOLLGATE_" + "__".join(path).upper()


def origins_of(
    model: type[BaseSettings], arguments: Mapping[str, Any], folder: Path
) -> dict[SettingPath, Origin]:
    """Return the source of each setting, read in the same way as the model reads them.

    Args:
        model: whose settings they are.
        arguments: what the model was made with.
        folder: the data folder, which has the files of settings.

    Returns:
        The strongest source that names the setting; what none names is missing.
    """
    has_env_file = arguments.get("_env_file", "") is not None
    sources: dict[Origin, Mapping[str, Any]] = {
        "argument": arguments,
        "environment": Environment(model)(),
        "env_file": EnvFile(model, folder if has_env_file else None)(),
        "config_file": ConfigFile(model, folder)(),
    }
    found: dict[SettingPath, Origin] = {}
    speaking = [(origin, values) for origin, values in sources.items() if values]
    for path, _ in _fields_of(model):
        for origin, values in speaking:
            if _names(values, path):
                found[path] = origin
                break
    return found


def _names(values: object, path: SettingPath) -> bool:
    """Return whether a value exists at the path; a value that is not a section covers everything
    below it.
    """
    name, *rest = path
    if isinstance(values, BaseModel):
        values = {key: getattr(values, key) for key in values.model_fields_set}
    if not isinstance(values, Mapping):
        return True
    # Variables without our prefix keep the case that they were written in.
    inner = [value for key, value in values.items() if str(key).lower() == name]
    if not inner:
        return False
    return not rest or _names(inner[0], tuple(rest))
