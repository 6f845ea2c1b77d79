"""Levels available on this machine, with their layers, and the texts for people.

A level whose requirements are not met is off. An administrator may allow it in a weaker form; then
each call needs approval. Without a system call filter nothing runs, regardless of settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from app.operations.protocols.sandbox import LEVELS, Lack, Level, LevelStatus, SandboxStatus
from app.operations.sandbox.kernel_probe import Probe

Weaker = Literal["refuse", "ask"]
PYTHON = "python"  # name among missing layers: our Python, for the user that runs commands

_BASE = ("rlimits", "no_new_privs", "caps-dropped")
_LANDLOCK = ("landlock-fs", "landlock-net", "landlock-scope")
_CONFINED = "Confined: files, network and processes."
_PURE = "Confined: no files, no network, no processes."
_NO_FILTER = "Off: this kernel offers no system-call filter (seccomp)."
_NO_FILES = "this kernel cannot confine files (Landlock): commands could read and write whatever \
the service can"
_SIGNALS = "commands share the service's user and could signal it or outlive their call: use \
Linux 6.12 or later, allow user namespaces, or set a separate user"
_METADATA = "commands could change permissions and times of the service's files: allow user \
namespaces or system-call notification, or set a separate user"
_ROOT = "commands would be root as the service is, whose processes no kernel limit counts: run the \
service as an ordinary user, allow namespaces, or set a separate user"
_LAZY = "Confined by the system-call filter alone, as strict is; this kernel has no Landlock."


def judge(
    probe: Probe, *, weaker: Weaker = "refuse", uid: int | None = None, root: bool = False
) -> SandboxStatus:
    """Evaluate `probe` for each level.

    Args:
        weaker: administrator's settings for levels whose requirements are not met.
        uid: the separate user of commands.
        root: whether the service is root.
    """
    as_root = root and uid is None
    levels = {
        level: _judge_level(level, probe, _wanted(level, probe, uid), weaker, as_root=as_root)
        for level in LEVELS
    }
    return SandboxStatus(levels, _summary(probe, levels), probe.missing, probe.landlock_abi)


def _summary(probe: Probe, levels: Mapping[Level, LevelStatus]) -> str:
    """Return one line for a banner."""
    if probe.failed is not None:
        return f"Nothing runs: {probe.failed}"
    off = [level for level, found in levels.items() if not found.available]
    asking = [level for level, found in levels.items() if found.asks]
    if not off and not asking:
        return levels["bash"].sentence
    parts = [
        f"{', '.join(names)} {verb}" for names, verb in ((off, "off"), (asking, "ask")) if names
    ]
    return f"{'; '.join(parts)}. {levels[(off + asking)[-1]].sentence}"


def _wanted(level: Level, probe: Probe, uid: int | None) -> tuple[str, ...]:
    """Return the layers a level uses, in the order of installation."""
    drop = () if uid is None else ("uid-drop",)
    if level in ("strict", "standard"):
        return (*drop, *_BASE, *_LANDLOCK, "seccomp")
    # one of the two guards of file metadata outside; a separate user protects it as well
    outer = ("namespaces",) if probe.has("namespaces") else ()
    guard = ("metadata-guard",) if not outer and not drop else ()
    return (*drop, *outer, *_BASE, *_LANDLOCK, *guard, "seccomp")


def _judge_level(
    level: Level, probe: Probe, wanted: tuple[str, ...], weaker: Weaker, *, as_root: bool
) -> LevelStatus:
    layers = tuple(layer for layer in wanted if layer in probe.layers)
    missing = tuple(layer for layer in wanted if layer not in probe.layers)
    refusal = _refusal(probe)
    if refusal is not None:
        return LevelStatus(
            available=False,
            asks=False,
            layers=layers,
            missing=missing,
            minimum_met=False,
            sentence=refusal,
            code="no_filter" if probe.failed is None else "failed",
            why=probe.failed or "",
        )
    lack = _lack(level, probe, wanted, as_root=as_root)
    code, sentence = _said(level, probe, lack, weaker)
    return LevelStatus(
        available=lack is None or weaker == "ask",
        asks=lack is not None and weaker == "ask",
        layers=layers,
        missing=missing,
        minimum_met=lack is None,
        sentence=sentence,
        code=code,
        why="" if lack is None else lack.why,
    )


def _refusal(probe: Probe) -> str | None:
    """Return why nothing may run, or None."""
    if probe.failed is not None:
        return f"Off: {probe.failed}."
    if not probe.has("seccomp", "no_new_privs"):
        return _NO_FILTER
    return None


class _Lack(NamedTuple):
    """Missing requirement of a level: code, sentence, and the machine's message."""

    code: Lack
    sentence: str
    why: str = ""


def _lack(level: Level, probe: Probe, wanted: tuple[str, ...], *, as_root: bool) -> _Lack | None:
    """Return the missing requirement of the level, or None."""
    if "uid-drop" in wanted and not probe.has("uid-drop"):
        why = probe.missing.get("uid-drop", "it is not root")
        return _Lack("no_user", f"the service cannot become the user set for commands: {why}", why)
    if level in ("strict", "standard"):
        return None
    if not probe.has("landlock-fs"):
        return _Lack("no_files", _NO_FILES)
    if not probe.has("landlock-scope") and "namespaces" not in wanted:
        return _Lack("signals", _SIGNALS)
    if "metadata-guard" in wanted and not probe.has("metadata-guard"):
        return _Lack("metadata", _METADATA)
    if as_root and "namespaces" not in wanted:
        return _Lack("root", _ROOT)
    return _no_python(level, probe)


def _no_python(level: Level, probe: Probe) -> _Lack | None:
    """Return why lenient Python would find no modules; other levels have them preloaded."""
    why = probe.missing.get(PYTHON)
    if level != "lenient" or why is None:
        return None
    return _Lack("no_python", f"{why}: install it where they can", why)


def _said(level: Level, probe: Probe, lack: _Lack | None, weaker: Weaker) -> tuple[str, str]:
    """Return the status code and its sentence."""
    if lack is not None:
        code, how = ("asks", "Each call asks") if weaker == "ask" else ("off", "Off")
        return f"{code}.{lack.code}", f"{how}: {lack.sentence}."
    if level in ("lenient", "bash"):
        return "confined", _CONFINED
    if level == "standard" and not probe.has("landlock-fs"):
        return "filter_only", _LAZY
    return "pure", _PURE
