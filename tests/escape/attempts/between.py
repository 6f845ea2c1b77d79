"""What one run leaves for the next one, which is somebody else's."""

from __future__ import annotations

from tests.escape.attempt import FORKING_LEVELS, PYTHON_LEVELS, Attempt
from tests.escape.judges import secret_reported

_SYSTEM = """
import ctypes, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = libc.shmat.restype = ctypes.c_void_p
"""
_ONE_PROCESS = "without a sandbox each run is a process of its own"

# In the interpreter, which a warm worker keeps.
_INTERPRETER: dict[str, tuple[str, str]] = {
    "builtins": (
        "import builtins\nbuiltins.kept = FIRST",
        "import builtins\nprint(builtins.kept)",
    ),
    "modules": (
        "import math, sys\nmath.kept = FIRST\nsys.modules['kept'] = FIRST",
        "import math, sys\nprint(sys.modules.get('kept'), math.kept)",
    ),
    "patched-function": (
        """
import json
whole = json.dumps
json.dumps = lambda *given, **more: FIRST
""",
        "import json\nprint(json.dumps(1))",
    ),
    "class": (
        "import collections\ncollections.OrderedDict.kept = FIRST",
        "import collections\nprint(collections.OrderedDict.kept)",
    ),
    "defaults": (
        "import textwrap\ntextwrap.dedent.__defaults__ = (FIRST,)",
        "import textwrap\nprint(textwrap.dedent.__defaults__)",
    ),
    "collector": (
        "import gc\nkept = [FIRST]\nkept.append(kept)\ngc.freeze()",
        """
import gc
gc.unfreeze()
print([found for found in gc.get_objects() if found.__class__ is list and len(found) < 4
       and any(one.__class__ is str and len(one) == 32 for one in found)])
""",
    ),
    "import-hook": (
        """
import sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        print(FIRST)
sys.meta_path.insert(0, Finder)
sys.path_hooks.insert(0, lambda path: print(FIRST))
""",
        "import sys\ntry:\n    import nothing_like_it\nexcept ImportError:\n    pass",
    ),
    "audit-hook": (
        "import sys\nsys.addaudithook(lambda *given: print(FIRST))",
        "import sys\nsys.audit('next')",
    ),
    "trace": (
        """
import sys, threading
sys.settrace(lambda *given: print(FIRST))
threading.setprofile(lambda *given: print(FIRST))
""",
        "def anything():\n    pass\nanything()",
    ),
    "end-function": (
        "import atexit\natexit.register(print, FIRST)",
        "import time\ntime.sleep(0.2)",
    ),
    "environment": (
        "import os\nos.environ['KEPT'] = FIRST\nos.putenv('KEPT', FIRST)",
        "import os\nprint(os.environ, os.popen('env').read() if hasattr(os, 'popen') else '')",
    ),
    "streams": (
        "import sys\nsys.stdout.write(FIRST)\nsys.stderr.write(FIRST)",
        "import time\ntime.sleep(0.2)",
    ),
    "thread": (
        """
import threading, time
def go_on():
    while True:
        print(FIRST, flush=True)
        time.sleep(0.05)
threading.Thread(target=go_on, daemon=True).start()
""",
        "import time\ntime.sleep(0.4)",
    ),
    "alarm": (
        """
import signal
signal.signal(signal.SIGALRM, lambda *given: print(FIRST))
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
""",
        "import time\ntime.sleep(0.5)",
    ),
}

# In the machine.
_MACHINE: dict[str, tuple[str, str]] = {
    "temporary-folders": (
        """
import os, tempfile
for folder in ("/tmp", "/var/tmp", "/dev/shm", tempfile.gettempdir(), os.path.expanduser("~")):
    try:
        open(f"{folder}/esc{TOKEN}", "w").write(FIRST)
    except OSError:
        pass
""",
        """
import os, tempfile
for folder in ("/tmp", "/var/tmp", "/dev/shm", tempfile.gettempdir(), os.path.expanduser("~")):
    try:
        print(open(f"{folder}/esc{TOKEN}").read())
    except OSError:
        pass
""",
    ),
    "shared-memory": (
        _SYSTEM
        + """
place = libc.shmat(libc.shmget(KEY, 4096, 0o1666), None, 0)
ctypes.memmove(place, FIRST.encode(), 32)
""",
        _SYSTEM
        + """
print(ctypes.string_at(libc.shmat(libc.shmget(KEY, 4096, 0o666), None, 0), 32))
""",
    ),
    "messages": (
        _SYSTEM
        + """
message = ctypes.create_string_buffer(struct.pack("l", 1) + FIRST.encode())
libc.msgsnd(libc.msgget(KEY, 0o1666), message, 32, 0)
""",
        _SYSTEM
        + """
message = ctypes.create_string_buffer(64)
libc.msgrcv(libc.msgget(KEY, 0o666), message, 32, 0, 0o4000)
print(message.raw)
""",
    ),
    "key": (
        _SYSTEM
        + """
secret = FIRST.encode()
key = libc.syscall(248, b"user", b"esc" + TOKEN.encode(), secret, 32, -4)
libc.syscall(250, 5, key, 0x3F3F0000)
""",
        _SYSTEM
        + """
key = libc.syscall(250, 10, -4, b"user", b"esc" + TOKEN.encode(), 0)
data = ctypes.create_string_buffer(64)
libc.syscall(250, 11, key, data, 64)
print(data.raw)
""",
    ),
    "socket-without-a-path": (
        """
import os, socket, time
server = socket.socket(socket.AF_UNIX)
server.bind(chr(0) + "kept" + TOKEN)
server.listen()
if os.fork() == 0:
    os.setsid()
    client = server.accept()[0]
    client.send(FIRST.encode())
    os._exit(0)
""",
        """
import socket
client = socket.socket(socket.AF_UNIX)
client.connect(chr(0) + "kept" + TOKEN)
print(client.recv(99))
""",
    ),
    "process": (
        """
import os, time
if os.fork() == 0:
    os.setsid()
    os.execve("/bin/sleep", ["sleep", "20." + TOKEN], {"KEPT": FIRST})
time.sleep(0.3)
""",
        """
import os
for name in os.listdir("/proc"):
    try:
        data = open(f"/proc/{name}/environ", "rb").read()
    except OSError:
        continue
    if b"KEPT=" in data:
        print(data)
""",
    ),
}

BETWEEN: tuple[Attempt, ...] = (
    *(
        Attempt(
            f"kept-in-{name}",
            "introspection",
            first,
            secret_reported,
            levels=PYTHON_LEVELS,
            unseen=_ONE_PROCESS,
            then=second,
        )
        for name, (first, second) in _INTERPRETER.items()
    ),
    *(
        Attempt(f"kept-in-{name}", "secrets", first, secret_reported, then=second)
        for name, (first, second) in _MACHINE.items()
    ),
    Attempt(
        "kept-in-shell",
        "secrets",
        'for place in ~ /tmp /var/tmp; do echo "$FIRST" > "$place/esc$TOKEN"; done',
        secret_reported,
        shell=True,
        levels=FORKING_LEVELS,
        then='cat ~/"esc$TOKEN" "/tmp/esc$TOKEN" "/var/tmp/esc$TOKEN"; env',
    ),
)
