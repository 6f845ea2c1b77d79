"""From an attempt to the text that a runner is given."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace

from app.operations.protocols.sandbox import Level
from tests.escape.attempt import BEGUN, Attempt, Limits
from tests.escape.world import World

HOW_MANY = "TOLLGATE_TEST_ESCAPES"  # "every" is the gate before a release

# How long races are run: a tenth of it is enough where nothing confines them.
_RACE_S = 1.5 if os.environ.get(HOW_MANY) == "every" else 0.5

# What each level of Python allows by itself, whatever an attempt asks for (bytes).
_OF_LEVEL = {
    "strict": {"memory_bytes": 512 << 20, "disk_bytes": 0, "processes": 1, "open_files": 64},
    "standard": {"memory_bytes": 1 << 30, "disk_bytes": 0, "processes": 1, "open_files": 128},
    "lenient": {"memory_bytes": 2 << 30, "disk_bytes": 1 << 30, "file_bytes": 256 << 20},
}

# Python that was given less than all builtins takes them back, and is then run as it stands.
_REGAIN = """
_all = None
for _class in ().__class__.__base__.__subclasses__():
    try:
        _all = _class.__init__.__globals__["__builtins__"]
        _all = _all if _all.__class__ is {{}}.__class__ else _all.__dict__
        _all["__import__"], _all["exec"]
        break
    except Exception:
        _all = None
_all["exec"](_all["compile"]({source!r}, "<attempt>", "exec"),
             {{"__name__": "__main__", "__builtins__": _all}})
"""

# A name that is seen from outside: forked children keep it.
_MARK = """
try:
    import ctypes
    ctypes.CDLL(None).prctl(15, TOKEN.encode(), 0, 0, 0)
except Exception:
    pass
"""


# The most that any run gets in the sandbox for attempts to use it up.
TIGHT = {"memory_bytes": 256 << 20, "disk_bytes": 16 << 20}
TIGHT_FILES = 2_000


def limits_at(level: Level, attempt: Attempt) -> Limits:
    """What counts for an attempt at a level."""
    limits = replace(attempt.limits, **_OF_LEVEL.get(level, {}))
    if attempt.tight:
        most = {name: min(getattr(limits, name), most) for name, most in TIGHT.items()}
        limits = replace(limits, files=TIGHT_FILES, **most)
    return limits


def text_of(attempt: Attempt, level: Level, world: World, limits: Limits, *, helped: bool) -> str:
    """The source for one run; `helped` lets Python that may lack builtins regain them."""
    names: dict[str, str | int | float] = {**world.names(), **_amounts(limits)}
    if attempt.then is not None:
        names["FIRST"] = world.secrets["first"]
    if attempt.shell:
        reported = [f"{name}={shlex.quote(str(value))}" for name, value in names.items()]
        return "\n".join([*reported, f"echo {shlex.quote(BEGUN)}", attempt.source])
    reported = [f"{name} = {value!r}" for name, value in names.items()]
    begin = [*reported, f"print({BEGUN!r}, flush=True)"] if attempt.begins else reported
    if attempt.raw:
        return "\n".join([*begin, attempt.source])
    if helped and level in ("strict", "standard"):
        return _REGAIN.format(source="\n".join([*begin, attempt.source]))
    return "\n".join([*begin, _MARK, attempt.source])


def _amounts(limits: Limits) -> dict[str, int | float]:
    """How much is certainly too much, and how long what was got is kept."""
    return {
        "HOLD": limits.hold_s,
        "RACE": _RACE_S,
        "MEMORY": limits.memory_bytes + (512 << 20),
        "DISK": limits.disk_bytes + (400 << 20),
        "FILES": limits.files * 2,
        "PROCESSES": limits.processes + 60,
        "DESCRIPTORS": limits.open_files + 800,
        "OUTPUT": limits.output_bytes + (16 << 20),
    }
