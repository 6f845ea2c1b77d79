"""What stands between a process and the machine, as results and health report it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Level = Literal["strict", "standard", "lenient", "bash"]
LEVELS: tuple[Level, ...] = get_args(Level)
# What a level may need and not have.
Lack = Literal["no_user", "no_files", "signals", "metadata", "root", "no_python"]
LACKS: tuple[Lack, ...] = get_args(Lack)


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """The sandbox of one run.

    Attributes:
        level: which policy it ran under; `none` for a process that nothing confined.
        layers: what was really installed, in the order of installation: `rlimits`,
            `no_new_privs`, `landlock-fs`, `landlock-net`, `landlock-scope`, `seccomp`,
            `metadata-guard`, `namespaces`, `uid-drop`, `caps-dropped`.
        missing: layers this kernel does not have although the level uses them.
        kill: how the tree was ended: `pidns`, `landlock`, `scan` or `session`.
    """

    level: Level | Literal["none"]
    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    kill: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a result's `sandbox`."""
        return {
            "level": self.level,
            "layers": list(self.layers),
            "missing": list(self.missing),
            "kill": self.kill,
        }


@dataclass(frozen=True, slots=True)
class LevelStatus:
    """What one level is worth here.

    Attributes:
        available: whether anything runs at this level.
        asks: it is less than the level needs, so each call asks.
        layers: what is installed for a run, to be asked of the supervisor.
        missing: layers that the level uses and this machine does not have.
        minimum_met: nothing that the level needs is missing.
        sentence: all this for people, in English.
        code: the same for programs: `confined`, `pure` (no files either), `filter_only`,
            `unconfined`, `failed`, `no_filter`, or `off.` and `asks.` before what is lacking.
        why: what the machine itself says of it; may be empty.
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
        """As administrators see it."""
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
    """All levels.

    Attributes:
        sentence: one line for a banner.
        missing: why layers that this kernel could have are not there.
        landlock_abi: version of the kernel's Landlock; 0 for none.
    """

    levels: Mapping[Level, LevelStatus]
    sentence: str
    missing: Mapping[str, str] = field(default_factory=dict)
    landlock_abi: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As health and diagnostics show it."""
        return {
            "kernel": any(found.layers for found in self.levels.values()),
            "landlock_abi": self.landlock_abi,
            "missing": dict(self.missing),
            "message": self.sentence,
            "levels": {level: found.to_dict() for level, found in self.levels.items()},
        }
