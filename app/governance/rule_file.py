"""Rules file: a YAML or JSON list of a deployment, read at startup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from app.core.errors import ConfigurationError

MAX_BYTES = 4 << 20


def read_rule_file(path: Path, *, single: bool = False) -> list[Any]:
    """Return the entries unvalidated: each is checked separately.

    Raises:
        ConfigurationError: it is unreadable or not a list. Starting without configured rules would
            be worse than not starting.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"rules file {str(path)!r}: {error.strerror}") from None
    return parse_rules(data, f"rules file {str(path)!r}", single=single)


def parse_rules(data: bytes, name: str, *, single: bool = False) -> list[Any]:
    """Return the entries of a document; with `single`, one rule counts as a list of one.

    Raises:
        ConfigurationError: it is too large, not YAML, or not a list.
    """
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"{name} is larger than {MAX_BYTES} bytes")
    try:
        # Every JSON document is YAML; dates stay text, as rules expect.
        entries = yaml.load(data, Loader=_Loader)  # noqa: S506 - a safe loader with fewer types
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        message = " ".join(str(error).split())
        raise ConfigurationError(f"{name} is not valid YAML: {message}") from None
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
    """Loader of plain JSON types only."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
