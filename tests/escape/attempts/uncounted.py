"""Using up more than the run was given where it may not be counted."""

from __future__ import annotations

from tests.escape.attempt import EVERY_LEVEL, FORKING_LEVELS, Attempt, Judge, Limits
from tests.escape.judges import disk_overused, memory_overused

_HIDE = """
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.prctl(4, 0, 0, 0, 0)
"""
_ONLY_FORKING = ("hidden-children", "fill-by-unreadable-program", "fill-unseen")
_SMALL = Limits(wall_s=8.0, memory_bytes=96 << 20, disk_bytes=16 << 20)

_SOURCES: dict[str, tuple[Judge, str]] = {
    "hidden-children": (
        memory_overused,
        _HIDE
        + """
for _ in range(16):
    if os.fork() == 0:
        libc.prctl(4, 0, 0, 0, 0)
        kept = b"x" * (MEMORY // 16)
        time.sleep(2.5)
        os._exit(0)
time.sleep(2.2)
""",
    ),
    "fill-unseen": (
        disk_overused,
        _HIDE
        + """
for number in range(DISK >> 22):
    with open(f"big{number}", "wb") as file:
        file.write(b"x" * (4 << 20))
time.sleep(HOLD)
""",
    ),
    "fill-by-unreadable-program": (
        disk_overused,
        """
import os, shutil, subprocess
shutil.copy("/bin/dd", "tool")
os.chmod("tool", 0o111)
for number in range(DISK >> 24):
    subprocess.run(["./tool", "if=/dev/zero", f"of=big{number}", "bs=1M", "count=16"])
""",
    ),
    "fill-by-mapping": (
        disk_overused,
        """
import mmap, os
for number in range(DISK >> 23):
    file = os.open(f"big{number}", os.O_CREAT | os.O_RDWR)
    os.ftruncate(file, 8 << 20)
    area = mmap.mmap(file, 8 << 20)
    for place in range(0, 8 << 20, 4096):
        area[place] = 1
    area.flush()
    area.close()
    os.close(file)
""",
    ),
    "fill-unnamed": (
        disk_overused,
        """
import os
kept = []
for number in range(DISK >> 22):
    kept.append(os.open(WS, os.O_TMPFILE | os.O_WRONLY))
    os.write(kept[-1], b"x" * (4 << 20))
    os.fsync(kept[-1])
""",
    ),
    "fill-beyond-raised-limits": (
        disk_overused,
        """
import os, resource
for kind in range(16):
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY,) * 2)
    except (OSError, ValueError):
        pass
file = os.open("big", os.O_CREAT | os.O_WRONLY)
for _ in range(DISK >> 20):
    os.write(file, b"x" * (1 << 20))
""",
    ),
}

UNCOUNTED: tuple[Attempt, ...] = tuple(
    Attempt(
        name,
        "resources",
        source,
        harm,
        limits=_SMALL,
        tight=True,
        levels=FORKING_LEVELS if name in _ONLY_FORKING else EVERY_LEVEL,
    )
    for name, (harm, source) in _SOURCES.items()
)
