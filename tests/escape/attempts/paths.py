"""Changing what lies outside the workspace, or drawing it in."""

from __future__ import annotations

from tests.escape.attempt import Attempt, Judge
from tests.escape.judges import outside_changed, outside_linked

_PYTHON = {
    "write-file": "open(MARKER, 'w').write('changed')",
    "append-file": "open(MARKER, 'a').write('changed')",
    "write-by-parent": "open(WS + '/../outside/marker.txt', 'w').write('changed')",
    "write-sibling": "open(WS + '-evil/secret.txt', 'w').write('changed')",
    "write-database": """
import sqlite3
database = sqlite3.connect(DATABASE)
database.execute("DELETE FROM tokens")
database.commit()
""",
    "create-file": "open(OUTSIDE + '/new.txt', 'x').close()",
    "create-unnamed": """
import ctypes, os
descriptor = os.open(OUTSIDE, os.O_TMPFILE | os.O_WRONLY)
source = f"/proc/self/fd/{descriptor}".encode()
ctypes.CDLL(None).linkat(-100, source, -100, f"{OUTSIDE}/n".encode(), 0x400)
""",
    "write-through-link": """
import os
os.symlink(MARKER, "link")
open("link", "w").write("changed")
""",
    "write-through-folder-link": """
import os
os.symlink(OUTSIDE, "linked")
open("linked/marker.txt", "w").write("changed")
""",
    "write-through-own-root": "open('/proc/self/root' + MARKER, 'w').write('changed')",
    "write-through-service": "open(f'/proc/{SERVICE}/root' + MARKER, 'w').write('changed')",
    "write-through-magic-link": """
import os
folder = os.open(OUTSIDE, os.O_PATH)
open(f"/proc/self/fd/{folder}/marker.txt", "w").write("changed")
""",
    "reopen-for-writing": """
import os
descriptor = os.open(MARKER, os.O_PATH)
open(f"/proc/self/fd/{descriptor}", "w").write("changed")
""",
    "delete-file": "import os\nos.unlink(MARKER)",
    "delete-folder": "import os\nos.rmdir(OUTSIDE + '/folder')",
    "make-folder": "import os\nos.mkdir(OUTSIDE + '/new')",
    "make-link": "import os\nos.symlink('x', OUTSIDE + '/new')",
    "make-fifo": "import os\nos.mkfifo(OUTSIDE + '/new')",
    "make-socket": "import socket\nsocket.socket(socket.AF_UNIX).bind(OUTSIDE + '/new')",
    "rename-out": "import os\nopen('mine', 'w').close()\nos.rename('mine', OUTSIDE + '/new')",
    "rename-in": "import os\nos.rename(MARKER, 'mine')",
    "exchange": """
import ctypes
open("mine", "w").close()
ctypes.CDLL(None).renameat2(-100, b"mine", -100, MARKER.encode(), 2)
""",
    "truncate-by-path": "import os\nos.truncate(MARKER, 0)",
    "change-mode": "import os\nos.chmod(MARKER, 0o777)",
    "change-mode-of-folder": "import os\nos.chmod(OUTSIDE, 0o777)",
    "change-mode-by-descriptor": """
import os
descriptor = os.open(WS, os.O_RDONLY)
folder = os.open("..", os.O_RDONLY, dir_fd=descriptor)
os.fchmod(folder, 0o777)
""",
    "change-mode-at": """
import os
os.chmod("marker.txt", 0o777, dir_fd=os.open(OUTSIDE, os.O_PATH))
""",
    "change-mode-of-path-descriptor": """
import ctypes, os
descriptor = os.open(MARKER, os.O_PATH)
ctypes.CDLL(None).syscall(452, descriptor, b"", 0o777, 0x1000)
os.chmod(f"/proc/self/fd/{descriptor}", 0o770)
""",
    "change-time": "import os\nos.utime(MARKER, (1, 1))",
    "change-time-of-descriptor": """
import os
os.utime(os.open("/proc/self/cwd/../outside", os.O_RDONLY), (1, 1))
""",
    "change-time-at": """
import os
os.utime("marker.txt", (1, 1), dir_fd=os.open(OUTSIDE, os.O_PATH))
""",
    "change-attribute": "import os\nos.setxattr(MARKER, 'user.x', b'x')",
    "change-owner": "import os\nos.chown(MARKER, 65534, 65534)",
    "change-attribute-flags": """
import fcntl, os, struct
descriptor = os.open(MARKER, os.O_RDONLY)
fcntl.ioctl(descriptor, 0x40086602, struct.pack("l", 0x40))
""",
    "lengthen": """
import os
os.posix_fallocate(os.open(MARKER, os.O_WRONLY), 0, 1 << 16)
""",
    "mapped-write": """
import mmap, os
mmap.mmap(os.open(MARKER, os.O_RDWR), 0)[0:1] = b"X"
""",
    "write-inherited-descriptors": """
import os
for number in range(3, 256):
    try:
        os.pwrite(number, b"changed", 0)
    except OSError:
        pass
""",
    "plant-in-shared-folders": """
import os
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/root", os.path.expanduser("~")):
    try:
        open(folder + "/esc" + TOKEN, "w").close()
    except OSError:
        pass
""",
    "race-mode": """
import os, threading, time
os.mkdir("d")
open("d/marker.txt", "w").close()
os.symlink(OUTSIDE, "l")
end = time.monotonic() + RACE
def flip():
    while time.monotonic() < end:
        os.rename("d", "t"); os.rename("l", "d"); os.rename("d", "l"); os.rename("t", "d")
threading.Thread(target=flip).start()
while time.monotonic() < end:
    for change, value in ((os.chmod, 0o755), (os.utime, (5, 5))):
        try:
            change("d/marker.txt", value)
        except OSError:
            pass
""",
    "race-argument": """
import ctypes, threading, time
libc = ctypes.CDLL(None)
inside, outside = WS.encode() + b"/mine", MARKER.encode()
open(inside, "w").close()
size = max(len(inside), len(outside)) + 1
path = ctypes.create_string_buffer(inside, size)
end = time.monotonic() + RACE
def flip():
    while time.monotonic() < end:
        ctypes.memmove(path, outside + bytes(1), len(outside) + 1)
        ctypes.memmove(path, inside + bytes(1), len(inside) + 1)
threading.Thread(target=flip).start()
while time.monotonic() < end:
    libc.chmod(path, 0o711)
""",
}

_PLANTED = """
trap = "open(" + repr(MARKER) + ", 'w').write('planted')"
import os
os.makedirs("encodings", exist_ok=True)
for name in ("ctypes.py", "json.py", "os.py", "sitecustomize.py", "usercustomize.py",
             "conftest.py", "encodings/__init__.py", "_strptime.py"):
    open(name, "w").write(trap)
for name in ("pre-commit", "post-checkout", "fsmonitor-watchman"):
    path = ".git/hooks/" + name
    if os.path.isdir(".git/hooks"):
        open(path, "w").write("#!/bin/sh\\necho planted > " + MARKER)
        os.chmod(path, 0o755)
"""

_SHELL = {
    "shell-redirect": 'echo changed > "$MARKER"',
    "shell-tools": """
touch "$OUTSIDE/new"
cp hello.txt "$OUTSIDE/"
tee "$MARKER" < hello.txt
rm -rf "$OUTSIDE/folder"
""",
    "shell-in-place": 'sed -i s/untouched/changed/ "$MARKER"',
    "shell-link": """
ln -s "$MARKER" here; echo changed > here; ln "$MARKER" hard; echo changed > hard
""",
    "shell-archive": """
mkdir -p a; echo x > a/new; tar -cf t.tar -C a new; tar -xf t.tar -C "$OUTSIDE" -P
""",
    "shell-git-folder": 'git init -q --separate-git-dir="$OUTSIDE/git" other',
    "shell-mode": 'chmod 777 "$MARKER" "$OUTSIDE"; touch -d 2001-01-01 "$MARKER"',
    "shell-log": """
exec 5>>"$MARKER"
echo changed >&5
bash -c "set -o history
HISTFILE=$MARKER
history -s x
history -w"
""",
    "shell-home": 'echo x > ~/"esc$TOKEN"; echo x > "/tmp/esc$TOKEN"; echo x > "/root/esc$TOKEN"',
    "shell-moved-root": """
mkdir -p d && cd d && mv "$PWD" "$OUTSIDE/moved"; echo x > "$OLDPWD/../outside/new"
""",
}


def _attempt(
    name: str,
    source: str,
    harm: Judge = outside_changed,
    *,
    shell: bool = False,
    again: bool = False,
) -> Attempt:
    return Attempt(name, "paths", source, harm, shell=shell, again=again)


PATHS: tuple[Attempt, ...] = (
    *(_attempt(name, source) for name, source in _PYTHON.items() if not name.startswith("race")),
    *(
        Attempt(
            name,
            "paths",
            source,
            outside_changed,
            unseen=None if name == "race-mode" else "without a guard nobody reads the path twice",
        )
        for name, source in _PYTHON.items()
        if name.startswith("race")
    ),
    _attempt("hard-link-in", "import os\nos.link(MARKER, WS + '/mine')", outside_linked),
    _attempt("planted-modules", _PLANTED, again=True),
    *(_attempt(name, source, shell=True) for name, source in _SHELL.items()),
)
