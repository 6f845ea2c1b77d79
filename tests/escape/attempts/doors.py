"""Ways out that need no more than one unusual call."""

from __future__ import annotations

from tests.escape.attempt import Attempt, Judge
from tests.escape.judges import (
    canary_reached,
    kernel_object_held,
    outside_changed,
    outside_linked,
    secret_reported,
    service_signalled,
    trap_set,
    victim_touched,
)

_SYSTEM = """
import ctypes, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
"""

_SECRETS = {
    "opened-as-tree": _SYSTEM
    + """
folder = libc.syscall(428, -100, OUTSIDE.encode(), 0x80000)
print(os.read(os.open("secret.txt", os.O_RDONLY, dir_fd=folder), 99))
""",
    "copied-tree": _SYSTEM
    + """
folder = libc.syscall(428, -100, OUTSIDE.encode(), 0x80001)
print(os.read(os.open("secret.txt", os.O_RDONLY, dir_fd=folder), 99))
""",
    "bound-in-own-namespace": _SYSTEM
    + """
os.mkdir("here")
libc.unshare(0x10000000 | 0x20000)
libc.mount(OUTSIDE.encode(), b"here", None, 4096 | 16384, None)
print(open("here/secret.txt").read())
""",
    "namespaces-of-victim": _SYSTEM
    + """
libc.setns(libc.syscall(434, VICTIM, 0), 0x20000)
print(open(SECRET).read())
""",
    "roots-of-others": """
import os
for pid in (1, os.getppid(), VICTIM, SERVICE):
    for way in (f"/proc/{pid}/root{SECRET}", f"/proc/{pid}/cwd{SECRET}"):
        try:
            print(open(way).read())
        except OSError:
            pass
""",
    "environment-of-threads": """
for pid in (SERVICE, VICTIM):
    try:
        print(open(f"/proc/{pid}/task/{pid}/environ", "rb").read())
    except OSError:
        pass
""",
    "environment-in-own-memory": """
import ctypes
names = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
number = 0
while names[number]:
    print(names[number])
    number += 1
""",
    "handle-of-own-parent": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]
handle, mount = Handle(size=128), ctypes.c_int()
places = ctypes.byref(handle), ctypes.byref(mount)
assert not libc.name_to_handle_at(-100, OUTSIDE.encode(), *places, 0)
folder = libc.open_by_handle_at(os.open("/", os.O_RDONLY), ctypes.byref(handle), os.O_RDONLY)
print(os.read(os.open("secret.txt", os.O_RDONLY, dir_fd=folder), 99))
""",
    "descriptor-over-a-socket": """
import os, socket
mine, other = socket.socketpair()
for path in (SECRET, OUTSIDE):
    try:
        socket.send_fds(mine, [b"x"], [os.open(path, os.O_PATH)])
        taken = socket.recv_fds(other, 1, 1)[1][0]
        print(open(f"/proc/self/fd/{taken}").read())
    except OSError:
        pass
folder = os.open(OUTSIDE, os.O_PATH)
print(open(f"/dev/fd/{folder}/secret.txt").read())
""",
    "other-name-for-folder": """
import os
for way in (f"/proc/self/cwd/..{SECRET[SECRET.rindex('/outside'):]}", f"//{SECRET}",
            f"/dev/fd/../..{SECRET}", f"/./{SECRET}", f"/usr/..{SECRET}", f"/proc/../{SECRET}"):
    try:
        print(open(way).read())
    except OSError:
        pass
""",
    "copied-by-the-kernel": """
import os
mine = os.open("mine", os.O_CREAT | os.O_RDWR)
os.copy_file_range(os.open(SECRET, os.O_RDONLY), mine, 99)
print(os.pread(mine, 99, 0))
""",
    "spliced": """
import os
read, write = os.pipe()
os.splice(os.open(SECRET, os.O_RDONLY), write, 99)
print(os.read(read, 99))
""",
}

_OUTSIDE = {
    "emptied-for-reading": "import os\nos.open(MARKER, os.O_RDONLY | os.O_TRUNC)",
    "made-at-a-path-descriptor": """
import os
folder = os.open(OUTSIDE, os.O_PATH)
for make in (lambda: os.mkdir("new", dir_fd=folder), lambda: os.mkfifo("fifo", dir_fd=folder),
             lambda: os.symlink("x", "link", dir_fd=folder)):
    try:
        make()
    except OSError:
        pass
""",
    "made-through-a-link": """
import os
os.symlink(OUTSIDE, "linked")
os.makedirs("linked/new/deep")
""",
    "deleted-through-a-link": """
import os
os.symlink(OUTSIDE, "linked")
os.unlink("linked/marker.txt")
""",
    "renamed-through-a-link": """
import os
os.symlink(OUTSIDE, "linked")
os.rename("linked/marker.txt", "linked/renamed.txt")
""",
    "folder-exchanged": """
import ctypes, os
os.mkdir("mine")
ctypes.CDLL(None).renameat2(-100, b"mine", -100, f"{OUTSIDE}/folder".encode(), 2)
""",
    "hard-link-out": "import os\nopen('mine', 'w').close()\nos.link('mine', OUTSIDE + '/new')",
    "unnamed-file-out": """
import ctypes, os
mine = os.open(WS, os.O_TMPFILE | os.O_WRONLY)
way = f"/proc/self/fd/{mine}".encode()
ctypes.CDLL(None).linkat(-100, way, -100, f"{OUTSIDE}/new".encode(), 0x400)
""",
    "mounted-by-descriptor": _SYSTEM
    + """
system = libc.syscall(430, b"tmpfs", 0)
libc.syscall(431, system, 6, None, None, 0)
mount = libc.syscall(432, system, 0, 0)
libc.syscall(429, mount, b"", -100, OUTSIDE.encode(), 4)
""",
    "made-writable": _SYSTEM
    + """
attributes = ctypes.create_string_buffer(struct.pack("4Q", 0, 1, 0, 0), 32)
libc.syscall(442, -100, b"/", 0x8000, attributes, 32)
open(MARKER, "w").write("changed")
""",
    "group-of-processes-made": "import os\nos.mkdir('/sys/fs/cgroup/esc' + TOKEN)",
    "race-write": """
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
    for flags in (os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_CREAT | os.O_APPEND):
        try:
            os.write(os.open("d/marker.txt", flags), b"x")
        except OSError:
            pass
""",
    "race-exchange": """
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
os.mkdir("d")
open("d/marker.txt", "w").close()
os.symlink(OUTSIDE, "l")
end = time.monotonic() + RACE
def flip():
    while time.monotonic() < end:
        libc.renameat2(-100, b"d", -100, b"l", 2)
threading.Thread(target=flip).start()
while time.monotonic() < end:
    try:
        os.rename("d/marker.txt", "d/new.txt")
        os.rename("d/new.txt", "d/marker.txt")
    except OSError:
        pass
""",
}

_HELD = {
    "folder-notices": "libc.syscall(294, 0)",
    "page-faults-by-device": """
import fcntl
fcntl.ioctl(os.open("/dev/userfaultfd", os.O_RDWR), 0xAA00, 1)
""",
    "kernel-memory": "os.open('/proc/kcore', os.O_RDONLY)",
    "disk": """
for name in os.listdir("/dev"):
    if name.startswith(("sd", "vd", "nvme", "mem", "port")):
        try:
            os.open("/dev/" + name, os.O_RDONLY)
        except OSError:
            pass
""",
    "routes-socket": "import socket\nkept = socket.socket(16, 3, 0)",
    "ping-socket": "import socket\nkept = socket.socket(2, 2, 1)",
    "odd-sockets": """
import socket
kept = []
for family in set(range(3, 46)) - {10, 16, 17, 38, 40}:
    for kind in (1, 2, 3, 5):
        try:
            kept.append(socket.socket(family, kind, 0))
        except OSError:
            pass
for protocol in (132, 33, 136, 115):
    for kind in (1, 2, 5):
        try:
            kept.append(socket.socket(2, kind, protocol))
        except OSError:
            pass
""",
}

_NETWORK = {
    "tcp-bound-first": """
import socket
client = socket.socket()
client.bind(("127.0.0.1", 0))
client.connect(("127.0.0.1", TCP))
""",
    "udp-mapped-address": """
import socket
socket.socket(10, 2).sendto(b"x", ("::ffff:127.0.0.1", UDP))
""",
    "connected-anew": """
import socket, struct
client = socket.socket()
client.setblocking(False)
client.connect_ex(("127.0.0.1", 443))
client.setblocking(True)
import ctypes
nothing = ctypes.create_string_buffer(16)
ctypes.CDLL(None).connect(client.fileno(), nothing, 16)
client.connect(("127.0.0.1", TCP))
""",
    "name-look-up": """
import socket
question = b"\\x06secret\\x07example\\x00\\x00\\x10\\x00\\x01"
query = b"\\x12\\x34\\x01\\x00\\x00\\x01" + bytes(6) + question
for kind, port in ((2, UDP), (1, TCP)):
    try:
        client = socket.socket(2, kind)
        client.settimeout(1)
        client.connect(("127.0.0.1", port))
        client.send(query)
    except OSError:
        pass
""",
}

_OTHERS: dict[str, tuple[Judge, str]] = {
    "signal-everybody": (service_signalled, "import os\nos.kill(-1, 23)"),
    "signal-group-of-service": (
        service_signalled,
        "import os\nos.killpg(os.getpgid(SERVICE), 23)",
    ),
    "written-code-by-key": (
        victim_touched,
        _SYSTEM
        + """
import mmap
area = mmap.mmap(-1, 4096, prot=3)
machine = (b"\\xb8" + struct.pack("I", 62) + b"\\xbf" + struct.pack("I", VICTIM)
           + b"\\xbe" + struct.pack("I", 15) + b"\\x0f\\x05\\xc3")
area[0:len(machine)] = machine
place = ctypes.addressof(ctypes.c_char.from_buffer(area))
libc.syscall(329, ctypes.c_void_p(place), 4096, 5, -1)
ctypes.CFUNCTYPE(ctypes.c_int)(place)()
""",
    ),
    "linked-by-descriptor": (
        outside_linked,
        _SYSTEM
        + """
secret = os.open(SECRET, os.O_PATH)
libc.linkat(secret, b"", -100, WS.encode() + b"/mine", 0x1000)
libc.linkat(-100, f"/proc/self/fd/{secret}".encode(), -100, WS.encode() + b"/own", 0x400)
""",
    ),
    "whiteout": (
        trap_set,
        _SYSTEM
        + """
open(WS + "/a", "w").close()
libc.renameat2(-100, WS.encode() + b"/a", -100, WS.encode() + b"/b", 4)
""",
    ),
}

_UNSEEN = {
    "page-faults-by-device": "not every machine has this device",
    "kernel-memory": "many kernels do not show it",
    "disk": "a machine may have no disk that it shows",
    "ping-socket": "administrators say whose groups may have them",
    "odd-sockets": "many kernels have none of them",
    "written-code-by-key": "not every processor has such keys",
    "race-write": "whoever confines nothing may write outside at once",
    "race-exchange": "whoever confines nothing may write outside at once",
}

DOORS: tuple[Attempt, ...] = (
    *(Attempt(name, "secrets", source, secret_reported) for name, source in _SECRETS.items()),
    *(
        Attempt(name, "paths", source, outside_changed, unseen=_UNSEEN.get(name))
        for name, source in _OUTSIDE.items()
    ),
    *(
        Attempt(
            f"hold-{name}",
            "kernel",
            f"{_SYSTEM}{source}\ntime.sleep(HOLD)",
            kernel_object_held,
            unseen=_UNSEEN.get(name),
        )
        for name, source in _HELD.items()
    ),
    *(Attempt(name, "network", source, canary_reached) for name, source in _NETWORK.items()),
    *(
        Attempt(name, "processes", source, harm, unseen=_UNSEEN.get(name))
        for name, (harm, source) in _OTHERS.items()
    ),
)
