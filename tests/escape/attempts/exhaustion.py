"""Using up more of the machine than the run was given."""

from __future__ import annotations

from tests.escape.attempt import EVERY_LEVEL, FORKING_LEVELS, Attempt, Judge, Limits
from tests.escape.judges import (
    descriptors_overused,
    disk_overused,
    files_overused,
    memory_overused,
    processes_overused,
)

_SMALL = Limits(wall_s=8.0, memory_bytes=96 << 20, disk_bytes=16 << 20)
_MANY = Limits(wall_s=40.0, files=2_000)
_SHELL_LIMITS = Limits(wall_s=20.0, disk_bytes=16 << 20)
_ONLY_FORKING = ("many-children", "behind-a-busy-guard", "fill-from-children")

_MEMORY = {
    "allocate": """
import time
kept = []
while sum(map(len, kept)) < MEMORY:
    kept.append(b"x" * (16 << 20))
time.sleep(HOLD)
""",
    "map-shared": """
import mmap, time
kept = []
for _ in range(MEMORY >> 24):
    kept.append(mmap.mmap(-1, 16 << 20))
    for place in range(0, 16 << 20, 4096):
        kept[-1][place] = 1
time.sleep(HOLD)
""",
    "many-children": """
import os, time
for _ in range(16):
    if os.fork() == 0:
        kept = b"x" * (MEMORY // 16)
        time.sleep(1.5)
        os._exit(0)
time.sleep(1.2)
""",
    "unnamed-file": """
import os, time
file = os.memfd_create("x")
for _ in range(MEMORY >> 24):
    os.write(file, b"x" * (16 << 20))
import mmap
view = mmap.mmap(file, 0)
for place in range(0, len(view), 4096):
    view[place]
time.sleep(HOLD)
""",
    "behind-a-busy-guard": """
import os, time
open("mine", "w").close()
for _ in range(24):
    if os.fork() == 0:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            os.chmod("mine", 0o600)
        os._exit(0)
kept = []
while sum(map(len, kept)) < MEMORY:
    kept.append(b"x" * (16 << 20))
time.sleep(HOLD)
""",
    "threads": """
import threading, time
def fill(kept):
    kept.append(b"x" * (MEMORY // 32))
    time.sleep(1)
kept = []
for _ in range(32):
    threading.Thread(target=fill, args=(kept,)).start()
""",
}

_DISK = {
    "fill-one": """
with open("big", "wb") as file:
    for _ in range(DISK >> 20):
        file.write(b"x" * (1 << 20))
""",
    "fill-many": """
for number in range(DISK >> 22):
    with open(f"big{number}", "wb") as file:
        file.write(b"x" * (4 << 20))
""",
    "fill-deleted": """
import os, time
for number in range(DISK >> 22):
    file = os.open("big", os.O_CREAT | os.O_WRONLY)
    os.unlink("big")
    os.write(file, b"x" * (4 << 20))
    os.fsync(file)
""",
    "fill-from-children": """
import os
for number in range(8):
    if os.fork() == 0:
        with open(f"big{number}", "wb") as file:
            for _ in range(DISK >> 23):
                file.write(b"x" * (1 << 20))
        os._exit(0)
for _ in range(8):
    os.wait()
""",
    "reserve": """
import os
for number in range(DISK >> 24):
    os.posix_fallocate(os.open(f"big{number}", os.O_CREAT | os.O_WRONLY), 0, 16 << 20)
import time
time.sleep(HOLD)
""",
}

_OTHERS: dict[str, tuple[Judge, str]] = {
    "processes": (
        processes_overused,
        """
import os, time
for _ in range(PROCESSES):
    try:
        if os.fork() == 0:
            time.sleep(2)
            os._exit(0)
    except OSError:
        pass
time.sleep(1)
""",
    ),
    "descriptors": (
        descriptors_overused,
        """
import os, resource, time
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS + 20,) * 2)
except (OSError, ValueError):
    pass
for _ in range(DESCRIPTORS):
    os.dup(1)
time.sleep(HOLD)
""",
    ),
    "files": (
        files_overused,
        """
import os
for folder in range(FILES // 1000):
    os.mkdir(f"d{folder}")
    for number in range(1000):
        os.close(os.open(f"d{folder}/{number}", os.O_CREAT | os.O_WRONLY))
""",
    ),
}

_SHELL: dict[str, tuple[Judge, str]] = {
    "shell-bomb": (
        processes_overused,
        'for ((i = 0; i < PROCESSES; i++)); do sleep "2.$TOKEN" & done; sleep 1',
    ),
    "shell-fill": (disk_overused, 'head -c "$DISK" /dev/zero > big; sync big'),
}


def _of(harm: Judge, sources: dict[str, str]) -> list[Attempt]:
    return [
        Attempt(
            name,
            "resources",
            source,
            harm,
            limits=_SMALL,
            tight=True,
            levels=FORKING_LEVELS if name in _ONLY_FORKING else EVERY_LEVEL,
        )
        for name, source in sources.items()
    ]


EXHAUSTION: tuple[Attempt, ...] = (
    *_of(memory_overused, _MEMORY),
    *_of(disk_overused, _DISK),
    *(
        Attempt(name, "resources", source, harm, limits=_MANY, tight=harm is files_overused)
        for name, (harm, source) in _OTHERS.items()
    ),
    *(
        Attempt(name, "resources", source, harm, shell=True, limits=_SHELL_LIMITS)
        for name, (harm, source) in _SHELL.items()
    ),
)
