"""Reading what is not for the run: files, the service, other processes, what was inherited."""

from __future__ import annotations

from tests.escape.attempt import FORKING_LEVELS, Attempt
from tests.escape.judges import secret_reported

_PYTHON = {
    "read-secret-file": "print(open(SECRET).read())",
    "read-sibling-folder": "print(open(WS + '/../ws-evil/secret.txt').read())",
    "read-sibling-absolute": "print(open(SIBLING).read())",
    "read-bootstrap-token": "print(open(BOOTSTRAP).read())",
    "read-database-file": "print(open(DATABASE, 'rb').read())",
    "query-database": """
import sqlite3
database = sqlite3.connect("file:" + DATABASE + "?immutable=1", uri=True)
print(database.execute("SELECT * FROM tokens").fetchall())
""",
    "own-environment": "import os\nprint(os.environ)",
    "own-environment-in-proc": "print(open('/proc/self/environ', 'rb').read())",
    "environment-of-service": "print(open(f'/proc/{SERVICE}/environ', 'rb').read())",
    "environment-of-parent": "import os\nprint(open(f'/proc/{os.getppid()}/environ', 'rb').read())",
    "environment-of-victim": "print(open(f'/proc/{VICTIM}/environ', 'rb').read())",
    "environment-of-ancestors": """
import os
pid = os.getpid()
while pid not in (0, 1):
    try:
        print(pid, open(f"/proc/{pid}/environ", "rb").read())
        if pid == SERVICE:
            break
    except OSError as error:
        print(error)
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
""",
    "memory-of-service": """
import os
for line in open(f"/proc/{SERVICE}/maps"):
    if "[stack]" in line:
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
memory = os.open(f"/proc/{SERVICE}/mem", os.O_RDONLY)
data = os.pread(memory, end - start, start)
place = data.find(b"ESCAPE_SERVICE_SECRET=")
print(data[place:place + 80])
""",
    "memory-of-victim-by-call": """
import ctypes
for line in open(f"/proc/{VICTIM}/maps"):
    if "[stack]" in line:
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
size = end - start
data = ctypes.create_string_buffer(size)
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
ctypes.CDLL(None).process_vm_readv(
    VICTIM, ctypes.byref(Vector(ctypes.addressof(data), size)), 1,
    ctypes.byref(Vector(start, size)), 1, 0)
place = data.raw.find(b"ESCAPE_VICTIM_SECRET=")
print(data.raw[place:place + 80])
""",
    "trace-victim": """
import ctypes, os, struct
libc = ctypes.CDLL(None)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long] * 4
attach, peek, detach = 16, 2, 17
libc.ptrace(attach, VICTIM, 0, 0)
os.waitpid(VICTIM, 0)
for line in open(f"/proc/{VICTIM}/maps"):
    if "[stack]" in line:
        end = int(line.split()[0].split("-")[1], 16)
words = [libc.ptrace(peek, VICTIM, place, 0) for place in range(end - 4096, end, 8)]
libc.ptrace(detach, VICTIM, 0, 0)
data = struct.pack(f"{len(words)}q", *words)
print(data[data.find(b"ESCAPE_VICTIM_SECRET="):][:80])
""",
    "folder-of-service": "print(open(f'/proc/{SERVICE}/root' + SECRET).read())",
    "descriptors-of-service": """
import os
for name in range(3, 64):
    try:
        print(os.pread(os.open(f"/proc/{SERVICE}/fd/{name}", os.O_RDONLY), 4096, 0))
    except OSError:
        pass
""",
    "stolen-descriptors": """
import ctypes, os
libc = ctypes.CDLL(None)
pidfd = libc.syscall(434, SERVICE, 0)
for name in range(3, 64):
    mine = libc.syscall(438, pidfd, name, 0)
    if mine >= 0:
        try:
            print(os.pread(mine, 4096, 0))
        except OSError:
            pass
""",
    "inherited-descriptors": """
import os
for number in range(3, 256):
    try:
        print(os.pread(number, 4096, 0))
    except OSError:
        pass
""",
    "link-to-secret": """
import os
os.symlink(SECRET, "link.txt")
print(open("link.txt").read())
""",
    "linked-folder": """
import os
os.symlink(OUTSIDE, "linked")
print(open("linked/secret.txt").read())
""",
    "hard-link": """
import os
os.link(SECRET, "linked.txt")
print(open("linked.txt").read())
""",
    "through-own-root": "print(open('/proc/self/root' + SECRET).read())",
    "through-own-folder": "print(open('/proc/self/cwd/../outside/secret.txt').read())\n",
    "through-thread": "import threading\nprint(open(f'/proc/thread-self/root{SECRET}').read())",
    "open-by-handle": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]
handle, mount = Handle(size=128), ctypes.c_int()
places = ctypes.byref(handle), ctypes.byref(mount)
assert not libc.name_to_handle_at(-100, SECRET.encode(), *places, 0)
folder = os.open(".", os.O_RDONLY)
print(os.read(libc.open_by_handle_at(folder, ctypes.byref(handle), os.O_RDONLY), 99))
""",
    "openat2-in-root": """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_RDONLY, 0, 0), 24)
print(os.read(libc.syscall(437, -100, SECRET.encode(), how, 24), 99))
""",
    "escape-by-chroot": """
import os
here = os.open("/", os.O_RDONLY)
os.mkdir("jail")
os.chroot("jail")
os.fchdir(here)
for _ in range(20):
    os.chdir("..")
os.chroot(".")
print(open(SECRET).read())
""",
    "execute-secret": """
import subprocess
print(subprocess.run(["/bin/bash", SECRET], capture_output=True))
""",
    "mapped-file": """
import mmap, os
descriptor = os.open(SECRET, os.O_RDONLY)
print(mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)[:])
""",
    "sent-file": """
import os
os.sendfile(1, os.open(SECRET, os.O_RDONLY), 0, 99)
""",
}
_SHELL = {
    "cat-secret": 'cat "$SECRET"',
    "cat-parents": "cat ../outside/secret.txt ../ws-evil/secret.txt ../data/bootstrap.token",
    "shell-read": 'echo "$(<"$SECRET")"; read -r line < "$SIBLING"; echo "$line"',
    "find-token": (  # nearest first: a whole machine may take longer than a command may
        'find "${OUTSIDE%/*}" /tmp / -name bootstrap.token -path "*$TOKEN*"'
        " -exec cat {} \\; -quit 2>/dev/null"
    ),
    "archive": 'tar -cf - -C / "${SECRET#/}" 2>/dev/null',
    "git-grep": """
git --no-pager grep --no-index -e . -- "$OUTSIDE" 2>&1
git -C "$OUTSIDE" --no-pager diff --no-index /dev/null "$SECRET"
""",
    "environment": """
env; tr "\\0" "\\n" < "/proc/$PPID/environ"; tr "\\0" "\\n" < "/proc/$SERVICE/environ"
""",
    "descriptor-folders": """
for d in /proc/$$/fd/{3..99}; do timeout 1 head -c 200 "$d"; done 2>/dev/null
""",
    "folder-of-service-shell": 'cat "/proc/$SERVICE/cwd/secret.txt" "/proc/$SERVICE/root$SECRET"',
    "loaded-library": 'LD_PRELOAD="$SECRET" /bin/true; LD_AUDIT="$SECRET" /bin/true; cat "$SECRET"',
    "changed-folder": 'cd "$OUTSIDE" && cat secret.txt; pushd ../outside && cat secret.txt',
    "perl": "perl -e 'open(F, shift); print <F>' \"$SECRET\"",
    "substituted": 'diff <(cat "$SECRET") /dev/null; cat < <(dd if="$SECRET" 2>/dev/null)',
    "here-script": '. "$SECRET"; bash "$SECRET"',
}

SECRETS: tuple[Attempt, ...] = (
    *(
        Attempt(
            name,
            "secrets",
            source,
            secret_reported,
            levels=FORKING_LEVELS if "../" in source else ("strict", "standard", "lenient", "bash"),
        )
        for name, source in _PYTHON.items()
    ),
    *(
        Attempt(name, "secrets", source, secret_reported, shell=True)
        for name, source in _SHELL.items()
    ),
)
