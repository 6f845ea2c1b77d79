"""Probe of this kernel's layers, in a real child that tries each."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from app.operations.sandbox.jail_programs import inside, inside_environment

_log = logging.getLogger(__name__)

_PROBE_LIMIT_S = 30.0
_SHOWN = 400
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Probe:
    """Supported layers.

    Attributes:
        layers: installable layers, named as in `SandboxReport`.
        missing: reason for each of the others, one line.
        landlock_abi: version of the kernel's Landlock; 0 for none.
        failed: why the probe failed, or None.
    """

    layers: frozenset[str]
    missing: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    landlock_abi: int = 0
    platform: str = sys.platform
    failed: str | None = None

    def has(self, *layers: str) -> bool:
        return self.layers.issuperset(layers)


@cache
def probe(uid: int | None = None) -> Probe:
    """Try every layer in a child; blocks, once per process and target user."""
    if sys.platform != "linux":
        return Probe(frozenset(), failed=f"{sys.platform} has none of the kernel layers")
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and program
            inside("probe", "-" if uid is None else str(uid)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_LIMIT_S,
            env=inside_environment(),
            cwd="/",
            check=True,
        )
        return _read(json.loads(done.stdout))
    except (OSError, ValueError, TypeError, AttributeError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or b""
        _log.warning("the probe failed: %s %s", error, said.decode("utf-8", "replace")[-_SHOWN:])
        return Probe(frozenset(), failed=f"the probe failed: {type(error).__name__}")


def _read(raw: dict[str, Any]) -> Probe:
    return Probe(
        layers=frozenset(str(layer) for layer in raw["layers"]),
        missing={str(layer): str(why) for layer, why in raw["missing"].items()},
        landlock_abi=int(raw["landlock_abi"]),
    )
