"""Going on for ever, saying more than anybody can hold, and dying in strange ways."""

from __future__ import annotations

from tests.escape.attempt import Attempt, Judge, Limits
from tests.escape.judges import output_overused, service_harmed, time_overrun

# Nothing here ends by itself, so that only the limit can end it, however short that is.
_SHORT = Limits(wall_s=0.5)
_LONG = Limits(wall_s=20.0)

_TIME = {
    "spin": "while True:\n    pass",
    "sleep": "import time\ntime.sleep(600)",
    "deaf-spin": """
import signal
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
""",
    "blocked-signals": """
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
time.sleep(600)
""",
    "huge-power": "print(len(str(7 ** 10 ** 9)))",
    "slow-pattern": "import re\nre.match('(a+)+b', 'a' * 64)",
    "read-own-input": "import sys\nwhile True:\n    sys.stdin.read()",
    "uninterruptible-threads": """
import threading, time
for _ in range(8):
    threading.Thread(target=lambda: time.sleep(600)).start()
""",
    "stop-itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "closed-outputs": """
import os, time
for number in range(256):
    try:
        os.close(number)
    except OSError:
        pass
time.sleep(600)
""",
    "endless-repr": """
class Slow:
    def __repr__(self):
        while True:
            pass
Slow()
print(Slow())
""",
    "endless-end": "import atexit\n@atexit.register\ndef stay():\n    while True:\n        pass",
}

_OUTPUT = {
    "flood": "line = 'x' * (1 << 16)\nfor _ in range((1 << 30) >> 16):\n    print(line)",
    "flood-errors": """
import os
line = b"x" * (1 << 16)
for _ in range((1 << 30) >> 16):
    os.write(2, line)
""",
    "flood-without-line-end": """
import os
block = b"x" * (1 << 20)
for _ in range(1 << 10):
    os.write(1, block)
""",
}

_SHELL: dict[str, tuple[Judge, str, Limits]] = {
    "shell-flood": (output_overused, "head -c 1073741824 /dev/zero", _LONG),
    "shell-yes": (output_overused, "yes | head -c 1073741824; yes >&2 | head -c 1", _LONG),
    "shell-spin": (time_overrun, "while :; do :; done", _SHORT),
    "shell-deaf": (time_overrun, 'trap "" TERM INT HUP; while :; do sleep 1; done', _SHORT),
}

_INTERNAL = (
    (
        "deep-recursion",
        "def down(n):\n    return down(n + 1)\nimport sys\nsys.setrecursionlimit(10**9)\ndown(0)",
    ),
    ("crash", "import ctypes\nctypes.string_at(0)"),
    (
        "crash-by-code",
        "f = lambda: 1\nf.__code__ = f.__code__.replace(co_code=bytes([100, 255, 83, 0]) * 9)\nf()",
    ),
    ("abort", "import os\nos.abort()"),
    ("end-hard", "import os\nos.kill(os.getpid(), 9)"),
    ("strange-status", "import os\nos._exit(300)"),
)

ENDLESS: tuple[Attempt, ...] = (
    *(
        Attempt(name, "resources", source, time_overrun, limits=_SHORT)
        for name, source in _TIME.items()
    ),
    *(
        Attempt(name, "resources", source, output_overused, limits=_LONG)
        for name, source in _OUTPUT.items()
    ),
    *(
        Attempt(name, "resources", source, harm, shell=True, limits=limits)
        for name, (harm, source, limits) in _SHELL.items()
    ),
    *(
        Attempt(
            name,
            "resources",
            source,
            service_harmed,
            unseen="only its own process dies of it",
            limits=_SHORT if name == "deep-recursion" else Limits(),
        )
        for name, source in _INTERNAL
    ),
)
