"""What doctor and the banner say about the sandbox: what is there, what is not, why."""

from __future__ import annotations

from collections.abc import Iterator

from app.execution.doctor.check import Check, State
from app.operations.protocols.sandbox import LevelStatus, SandboxStatus

FILES_BENEATH = "file tools cannot leave the workspace"
_FIX = (
    "see docs/sandbox.md; TOLLGATE_SANDBOX__WEAKER=ask lets it run when a person agrees to each"
    " call"
)
_MEANINGS = {
    "landlock-fs": "limits which files a program reaches",
    "landlock-net": "limits where a program may connect to",
    "landlock-scope": "keeps signals and abstract sockets of a program inside",
    "seccomp": "limits which system calls a program makes",
    "namespaces": "give a program a machine of its own, and end it for certain",
    "metadata-guard": "keeps modes and times of files outside; needed only without namespaces",
    "uid-drop": "runs programs as another user; only for a service that is root",
}
_LEVELS = {
    "bash": "programs that tools start",
    "lenient": "execute_python without restrictions",
    "standard": "execute_python as it is by default",
    "strict": "execute_python that only computes",
}


def sandbox_checks(status: SandboxStatus) -> Iterator[Check]:
    """Each level with what it is worth here, and each layer that is there or is missing."""
    for level, found in status.levels.items():
        yield _level(level, found)
    installed = {layer for found in status.levels.values() for layer in found.layers}
    for layer, meaning in _MEANINGS.items():
        there = layer in installed
        why = status.missing.get(layer, "not needed here")
        yield Check(f"layer {layer}", "ok" if there else "info", "used" if there else why, meaning)
    abi = status.landlock_abi
    yield Check(
        "Landlock", "info", f"ABI {abi}" if abi else "not available", "version of the kernel's"
    )


def sandbox_line(status: SandboxStatus) -> str:
    """For the banner: what holds commands, and which layers do."""
    layers = ", ".join(status.levels["bash"].layers)
    return f"{status.sentence.rstrip('.')} ({layers or 'no layer'}); {FILES_BENEATH}"


def _level(level: str, found: LevelStatus) -> Check:
    state: State = "ok" if found.minimum_met else "warning"
    told = found.sentence
    if found.missing:
        told += f" Missing: {', '.join(found.missing)}."
    return Check(f"sandbox {level}", state, told, _LEVELS[level], "" if found.minimum_met else _FIX)
