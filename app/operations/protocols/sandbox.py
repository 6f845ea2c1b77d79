"""Isolation of a process, as reported in results and health."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Level = Literal["strict", "standard", "lenient", "bash"]
LEVELS: tuple[Level, ...] = get_args(Level)
# Requirements of a level that may be missing.
Lack = Literal["no_user", "no_files", "signals", "metadata", "root", "no_python"]
LACKS: tuple[Lack, ...] = get_args(Lack)


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """Sandbox of one run.

    Attributes:
        level: policy of the run; `none` without a sandbox.
        layers: installed layers, in order: `rlimits`, `no_new_privs`, `landlock-fs`,
            `landlock-net`, `landlock-scope`, `seccomp`, `metadata-guard`, `namespaces`, `uid-drop`,
            `caps-dropped`.
        missing: layers of the level that this kernel does not support.
        kill: method used to end the tree: `pidns`, `landlock`, `scan` or `session`.
    """

    level: Level | Literal["none"]
    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    kill: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the form of a result's `sandbox`."""
        return {
            "level": self.level,
            "layers": list(self.layers),
            "missing": list(self.missing),
            "kill": self.kill,
        }


@dataclass(frozen=True, slots=True)
class LevelStatus:
    """Strength of one level on this machine.

    Attributes:
        available: whether code can run at this level.
        asks: the isolation is weaker than required, so each call needs approval.
        layers: layers to request from the supervisor.
        missing: layers of the level that this machine does not support.
        minimum_met: all requirements of the level are met.
        sentence: summary for people, in English.
        code: its code for programs: `confined`, `pure` (no files either), `filter_only`,
            `unconfined`, `failed`, `no_filter`, or `off.` and `asks.` followed by the missing
            requirement.
        why: message of the machine; may be empty.
    """

    available: bool
    asks: bool
    layers: tuple[str, ...]
    missing: tuple[str, ...]
    minimum_met: bool
    sentence: str
    code: str = "unconfined"
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the form for administrators."""
        return {
            "available": self.available,
            "asks": self.asks,
            "layers": list(self.layers),
            "missing": list(self.missing),
            "minimum_met": self.minimum_met,
            "sentence": self.sentence,
            "code": self.code,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """Status of all levels.

    Attributes:
        sentence: one line for a banner.
        missing: why missing layers are not available.
        landlock_abi: version of the kernel's Landlock; 0 for none.
    """

    levels: Mapping[Level, LevelStatus]
    sentence: str
    missing: Mapping[str, str] = field(default_factory=dict)
    landlock_abi: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the form for health and diagnostics."""
        return {
            "kernel": any(found.layers for found in self.levels.values()),
            "landlock_abi": self.landlock_abi,
            "missing": dict(self.missing),
            "message": self.sentence,
            "levels": {level: found.to_dict() for level, found in self.levels.items()},
        }
