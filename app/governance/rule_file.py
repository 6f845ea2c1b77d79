"""Rules in a file: a YAML or JSON list, kept with a deployment and read when it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from app.core.errors import ConfigurationError

MAX_BYTES = 4 << 20


def read_rule_file(path: Path, *, single: bool = False) -> list[Any]:
    """The entries, whatever they hold: each is checked by itself.

    Raises:
        ConfigurationError: it cannot be read, or is no list. Starting without rules that
            somebody wrote would be worse than not starting.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"rules file {str(path)!r}: {error.strerror}") from None
    return parse_rules(data, f"rules file {str(path)!r}", single=single)


def parse_rules(data: bytes, name: str, *, single: bool = False) -> list[Any]:
    """The entries of a document; with `single`, one rule alone is a list of one.

    Raises:
        ConfigurationError: it is too large, no YAML, or no list.
    """
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"{name} is larger than {MAX_BYTES} bytes")
    try:
        # Every JSON document is YAML; a date stays text, as a rule wants it.
        entries = yaml.load(data, Loader=_Loader)  # noqa: S506 - a safe loader with fewer types
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        told = " ".join(str(error).split())
        raise ConfigurationError(f"{name} is not valid YAML: {told}") from None
    if isinstance(entries, dict) and list(entries) == ["rules"]:
        entries = entries["rules"]
    if single and isinstance(entries, dict):
        entries = [entries]
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise ConfigurationError(f"{name} must contain a list of rules")
    return entries


class _Loader(yaml.SafeLoader):
    """Plain JSON types only."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
