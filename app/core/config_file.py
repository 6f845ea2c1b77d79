"""`config.yml` as a source of settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_settings import YamlConfigSettingsSource

from app.core.errors import ConfigurationError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


class ConfigFile(YamlConfigSettingsSource):
    """Loads what reads YAML only where there is a file: it takes as long as all other sources."""

    def _read_file(self, file_path: Path | Traversable) -> dict[str, Any]:
        """What the file says.

        Raises:
            ConfigurationError: it is not YAML.
        """
        from yaml import YAMLError

        try:
            return super()._read_file(file_path)
        except YAMLError as error:
            message = f"config.yml is not valid YAML: {' '.join(str(error).split())}"
            raise ConfigurationError(message) from None
