"""Old names and values of settings, which work as aliases for two minor releases."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

# What 0.2 renames may be gone in 0.4.
RENAMED = {
    "open_house": "allow_anonymous",
    "event_ring": "event_buffer_size",
    "prompt_without": "prompt_exclude",
    "cache_ttl": "cache_ttl_s",
    "grant_session_s": "grant_session_ttl_s",
    "grant_agent_s": "grant_agent_ttl_s",
    "grant_always_s": "grant_always_ttl_s",
}
RENAMED_VALUES = {("unattended", "park"): "suspend"}


class DeprecatedSetting(DeprecationWarning):
    """An old name or value of a setting was used."""


def with_new_names(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of one source of settings under the names of today.

    Each old form warns at each reading. Where a source has both forms of a name, the new one
    applies.

    Args:
        prefix: of the settings' names in that source, such as `TOLLGATE_`; other names are
            returned as they are.
    """
    found: dict[str, Any] = {}
    for written, value in values.items():
        if not written.lower().startswith(prefix.lower()):
            found[written] = value
            continue
        name = written[len(prefix) :].lower()
        new = RENAMED.get(name)
        if new is not None:
            _warn(_shown(written, prefix), _shown(prefix + new, prefix))
            if any(other.lower() == f"{prefix}{new}".lower() for other in values):
                continue
        instead = RENAMED_VALUES.get((name, value)) if isinstance(value, str) else None
        if instead is not None:
            shown = _shown(written, prefix)
            _warn(f"{shown}={value}", f"{shown}={instead}")
        key = written if new is None else written[: len(prefix)] + new
        found[key] = value if instead is None else instead
    return found


def _shown(name: str, prefix: str) -> str:
    """The name as it is documented; variables are read in lower case."""
    return name.upper() if prefix else name


def _warn(old: str, new: str) -> None:
    sentence = f"The setting {old} is deprecated; use {new} instead"
    warnings.warn(sentence, DeprecatedSetting, stacklevel=2)
