"""Living on after the end of the run."""

from __future__ import annotations

from tests.escape.attempt import FORKING_LEVELS, Attempt, Limits
from tests.escape.judges import process_left

_PYTHON = {
    "fork": "import os, time\nif os.fork() == 0:\n    time.sleep(20)",
    "daemon": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(256):
            try:
                os.close(number)
            except OSError:
                pass
        time.sleep(20)
    os._exit(0)
""",
    "deaf-daemon": """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    os.setpgid(0, 0) if os.getpgid(0) != os.getpid() else None
    time.sleep(20)
""",
    "chase": """
import os, time
if os.fork() == 0:
    end = time.monotonic() + 8
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
""",
    "eight-chases": """
import os, time
end = time.monotonic() + 8
for _ in range(8):
    if os.fork() == 0:
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
        os._exit(0)
time.sleep(0.2)
""",
    "new-session-program": """
import subprocess
subprocess.Popen(["/bin/sleep", "20." + TOKEN], start_new_session=True)
""",
    "child-of-the-launcher": """
import ctypes, os, time
clone_parent, end_signal = 0x8000, 17
if ctypes.CDLL(None).syscall(56, clone_parent | end_signal, 0, 0, 0, 0) == 0:
    time.sleep(20)
""",
    "silent-child": """
import ctypes, time
if ctypes.CDLL(None).syscall(56, 0, 0, 0, 0, 0) == 0:
    time.sleep(20)
""",
    "adopting-daemon": """
import ctypes, os, time
libc = ctypes.CDLL(None)
if os.fork() == 0:
    libc.prctl(36, 1, 0, 0, 0)
    libc.prctl(1, 0, 0, 0, 0)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(20)
        os._exit(0)
    time.sleep(20)
""",
    "stopped-child": """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(20)
time.sleep(0.1)
""",
    "unreadable-child": """
import ctypes, os, time
if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    time.sleep(20)
time.sleep(0.1)
""",
    "other-user-child": """
import os, time
if os.fork() == 0:
    os.setsid()
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    time.sleep(20)
time.sleep(0.1)
""",
    "child-in-own-namespaces": """
import ctypes, os, time
if os.fork() == 0:
    ctypes.CDLL(None).unshare(0x10000000 | 0x20000000)
    if os.fork() == 0:
        os.setsid()
        time.sleep(20)
    os._exit(0)
time.sleep(0.2)
""",
    "main-thread-gone": """
import ctypes, os, threading, time
if os.fork() == 0:
    os.setsid()
    threading.Thread(target=time.sleep, args=(20,)).start()
    ctypes.CDLL(None).syscall(60, 0)
time.sleep(0.2)
""",
    "many-grandchildren": """
import os, time
for _ in range(30):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(20)
        os._exit(0)
time.sleep(0.1)
""",
}

# These last beyond their limit, so that ending them is what is tried.
_ENDED = {
    "deaf-at-the-limit": """
import os, signal, time
for number in (1, 2, 3, 15, 18, 20, 21, 22, 24, 25):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
time.sleep(600)
""",
    "forks-when-asked-to-end": """
import os, signal, time
def answer(number, frame):
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            time.sleep(20)
signal.signal(15, answer)
while True:
    time.sleep(600)
""",
    "chase-at-the-limit": """
import os, time
end = time.monotonic() + 10
for _ in range(4):
    if os.fork() == 0:
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
        os._exit(0)
time.sleep(600)
""",
    "exponential-bomb": """
import os, time
end = time.monotonic() + 90
while time.monotonic() < end:
    try:
        os.fork()
    except OSError:
        pass
""",
    "busy-guard": """
import os, time
for _ in range(24):
    if os.fork() == 0:
        break
open(f"mine{os.getpid()}", "w").close()
while True:
    for change, value in ((os.chmod, 0o600), (os.utime, (5, 5))):
        change(f"mine{os.getpid()}", value)
""",
    "refilling-bomb": """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
end = time.monotonic() + 90
while time.monotonic() < end:
    try:
        if os.fork() == 0:
            os.setsid()
            time.sleep(0.05)
            os._exit(0)
    except OSError:
        pass
""",
}

_SHELL = {
    "shell-background": 'sleep "20.$TOKEN" &',
    "shell-nohup": 'nohup sleep "20.$TOKEN" > /dev/null 2>&1 & disown',
    "shell-session": 'setsid -f sleep "20.$TOKEN"',
    "shell-daemon": """
( ( trap "" HUP TERM INT; setsid sleep "20.$TOKEN" < /dev/null > /dev/null 2>&1 & ) & )
""",
    "shell-coprocess": 'coproc sleep "20.$TOKEN"',
    "shell-relaunch": """
f() { sleep 0.05; [ $SECONDS -lt 10 ] && (f) & }; for i in 1 2 3; do (f) & done; sleep 0.1
""",
    "shell-exit-trap": "trap 'setsid sleep \"20.$TOKEN\" & exit' EXIT TERM; true",
}

SURVIVORS: tuple[Attempt, ...] = (
    *(
        Attempt(name, "survivors", source, process_left, levels=FORKING_LEVELS)
        if name in ("many-grandchildren", "eight-chases")
        else Attempt(name, "survivors", source, process_left)
        for name, source in _PYTHON.items()
    ),
    *(
        Attempt(
            name,
            "survivors",
            source,
            process_left,
            limits=Limits(wall_s=0.8),
            unseen="it would take the machine down" if name == "exponential-bomb" else None,
        )
        for name, source in _ENDED.items()
    ),
    *(
        Attempt(name, "survivors", source, process_left, shell=True)
        for name, source in _SHELL.items()
    ),
    *(
        Attempt(
            f"{name}-on-a-terminal", "survivors", source, process_left, shell=True, terminal=True
        )
        for name, source in _SHELL.items()
        if name in ("shell-nohup", "shell-daemon")
    ),
)
