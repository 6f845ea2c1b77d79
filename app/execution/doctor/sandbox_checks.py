"""Checks of doctor and the start banner on the sandbox."""

from __future__ import annotations

from collections.abc import Iterator

from app.execution.doctor.check import Check, State
from app.operations.protocols.sandbox import LevelStatus, SandboxStatus

FILES_BENEATH = "file tools cannot leave the workspace"
_LAYERS = (
    "landlock-fs",
    "landlock-net",
    "landlock-scope",
    "seccomp",
    "namespaces",
    "metadata-guard",
    "uid-drop",
)


def sandbox_checks(status: SandboxStatus) -> Iterator[Check]:
    """Check each sandbox level with its strength here, and each present or missing layer."""
    for level, found in status.levels.items():
        yield from _level(level, found)
    installed = {layer for found in status.levels.values() for layer in found.layers}
    for layer in _LAYERS:
        why = status.missing.get(layer)
        if layer in installed:
            yield Check(f"layer.{layer}", "ok", "used")
        elif why is None:
            yield Check(f"layer.{layer}", "info", "not_needed")
        else:
            yield Check(f"layer.{layer}", "info", "error", error=why)
    yield _network(status)
    abi = status.landlock_abi
    yield Check("landlock", "info", "landlock.version" if abi else "not_available", abi=abi)


def sandbox_line(status: SandboxStatus) -> str:
    """Return the banner's line: the sandbox and its active layers."""
    layers = ", ".join(status.levels["bash"].layers)
    return f"{status.sentence.rstrip('.')} ({layers or 'no layer'}); {FILES_BENEATH}"


def _network(status: SandboxStatus) -> Check:
    bash = status.levels.get("bash")
    if bash is not None and "namespaces" in bash.layers:
        return Check("network_by_host", "ok", "network.by_host")
    return Check("network_by_host", "info", "network.lacks_namespaces")


def _level(level: str, found: LevelStatus) -> Iterator[Check]:
    state: State = "ok" if found.minimum_met else "warning"
    said = {"sentence": found.sentence, "why": found.why}
    yield Check(f"sandbox.{level}", state, f"sandbox.{found.code}", **said)
    if found.missing:
        layers = ", ".join(found.missing)
        yield Check(f"sandbox.{level}", "info", "sandbox.lacks", layers=layers)
