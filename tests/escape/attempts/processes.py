"""Touching processes that do not belong to the run: an innocent one, the service, the launcher."""

from __future__ import annotations

from tests.escape.attempt import Attempt, Judge, Limits
from tests.escape.judges import process_left, service_signalled, time_overrun, victim_touched

_SYSTEM = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
"""

_PARENT = """
import os, time
parent = os.getppid()
assert parent != SERVICE, "there is nobody between the service and the run"
"""

_VICTIM = {
    "end": "import os\nos.kill(VICTIM, 15)",
    "stop": "import os, time\nos.kill(VICTIM, 19)\ntime.sleep(HOLD)",
    "end-group": "import os\nos.killpg(VICTIM, 15)",
    "end-thread": _SYSTEM + "libc.syscall(234, VICTIM, VICTIM, 15)",
    "end-by-old-call": _SYSTEM + "libc.syscall(200, VICTIM, 15)",
    "end-by-descriptor": "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(VICTIM), 15)",
    "end-by-queue": _SYSTEM
    + """
info = ctypes.create_string_buffer(struct.pack("iiiiii", 15, 0, -1, 0, 0, 0), 128)
libc.syscall(129, VICTIM, 15, info)
""",
    "end-by-owner-of-pipe": """
import fcntl, os
read, write = os.pipe()
fcntl.fcntl(read, fcntl.F_SETSIG if hasattr(fcntl, "F_SETSIG") else 10, 15)
fcntl.fcntl(read, fcntl.F_SETOWN, VICTIM)
fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
os.write(write, b"x")
""",
    "end-by-owner-of-socket": """
import fcntl, socket, struct
mine, other = socket.socketpair()
fcntl.fcntl(mine, 10, 15)
fcntl.ioctl(mine, 0x8901, struct.pack("i", VICTIM))
fcntl.fcntl(mine, fcntl.F_SETFL, 0o20000)
other.send(b"x")
""",
    "end-by-other-owner": """
import fcntl, os, struct
read, write = os.pipe()
fcntl.fcntl(read, 10, 15)
fcntl.fcntl(read, 15, struct.pack("ii", 1, VICTIM))
fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
os.write(write, b"x")
""",
    "end-by-folder-notice": """
import fcntl, os
folder = os.open(".", os.O_RDONLY)
fcntl.fcntl(folder, 10, 15)
fcntl.fcntl(folder, fcntl.F_SETOWN, VICTIM)
fcntl.fcntl(folder, 1026, 4)
open("new.txt", "w").close()
""",
    "slow-down": "import os\nos.setpriority(os.PRIO_PROCESS, VICTIM, 15)",
    "slow-down-user": "import os\nos.setpriority(os.PRIO_PGRP, VICTIM, 15)",
    "pin": "import os\nos.sched_setaffinity(VICTIM, {0})",
    "schedule": "import os\nos.sched_setscheduler(VICTIM, os.SCHED_IDLE, os.sched_param(0))",
    "schedule-by-attributes": _SYSTEM
    + """
attributes = ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 3, 0, 5, 0, 0, 0, 0), 48)
libc.syscall(314, VICTIM, attributes, 0)
""",
    "limit": "import resource\nresource.prlimit(VICTIM, resource.RLIMIT_CORE, (0, 4096))",
    "offer-to-oom-killer": "open(f'/proc/{VICTIM}/oom_score_adj', 'w').write('1000')",
    "trace": _SYSTEM
    + """
import time
libc.ptrace(16, VICTIM, None, None)
time.sleep(HOLD)
""",
    "seize": _SYSTEM
    + """
import time
libc.ptrace(0x4206, VICTIM, None, None)
time.sleep(HOLD)
""",
    "write-by-memory-file": """
import os
for line in open(f"/proc/{VICTIM}/maps"):
    if "r-xp" in line and "libc" in line:
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
memory = os.open(f"/proc/{VICTIM}/mem", os.O_RDWR)
os.pwrite(memory, bytes([0xCC]) * 64, start)
""",
    "write-by-memory-call": _SYSTEM
    + """
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
for line in open(f"/proc/{VICTIM}/maps"):
    if "[stack]" in line:
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
junk = ctypes.create_string_buffer(b"A" * 8192)
libc.process_vm_writev(VICTIM, ctypes.byref(Vector(ctypes.addressof(junk), 8192)), 1,
                       ctypes.byref(Vector(end - 8192, 8192)), 1, 0)
""",
}

_LAUNCHER = {
    "signal-service": (service_signalled, "import os\nos.kill(SERVICE, 12)"),
    "signal-service-by-descriptor": (
        service_signalled,
        "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(SERVICE), 12)",
    ),
    "signal-ancestors": (
        service_signalled,
        """
import os
pid = os.getppid()
while pid > 1:
    if pid == SERVICE:
        os.kill(pid, 12)
        break
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
""",
    ),
    "end-parent": (
        process_left,
        _PARENT + "os.kill(parent, 9)\ntime.sleep(600)",
    ),
    "stop-parent": (
        time_overrun,
        _PARENT + "os.kill(parent, 19)\ntime.sleep(600)",
    ),
    "trace-parent": (
        time_overrun,
        _SYSTEM + _PARENT + "libc.ptrace(16, parent, None, None)\ntime.sleep(600)",
    ),
}

_SHELL: dict[str, tuple[Judge, str]] = {
    "shell-end": (victim_touched, 'kill -9 "$VICTIM"'),
    "shell-slow-down": (victim_touched, 'renice -n 15 -p "$VICTIM"'),
    "shell-pin": (victim_touched, 'taskset -p 1 "$VICTIM"'),
    "shell-limit": (victim_touched, 'prlimit --pid "$VICTIM" --core=0:4096'),
    "shell-signal-service": (service_signalled, 'kill -USR2 "$SERVICE"'),
}

PROCESSES: tuple[Attempt, ...] = (
    *(
        Attempt(f"victim-{name}", "processes", source, victim_touched)
        for name, source in _VICTIM.items()
    ),
    *(
        Attempt(name, "processes", source, harm, limits=Limits(wall_s=1.0))
        for name, (harm, source) in _LAUNCHER.items()
    ),
    *(
        Attempt(name, "processes", source, harm, shell=True)
        for name, (harm, source) in _SHELL.items()
    ),
)
