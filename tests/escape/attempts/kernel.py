"""Parts of the kernel that ordinary programs have no use for."""

from __future__ import annotations

from tests.escape.attempt import Attempt, Judge
from tests.escape.judges import (
    kernel_memory_left,
    kernel_object_held,
    namespace_made,
    outside_changed,
    personality_changed,
    secret_reported,
    system_setting_changed,
    terminal_written,
    victim_touched,
)

_SYSTEM = """
import ctypes, mmap, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
"""
_HOLD = "\ntime.sleep(HOLD)"

_HELD = {
    "io-uring": "area = ctypes.create_string_buffer(120)\nlibc.syscall(425, 4, area)",
    "performance-counter": """
area = ctypes.create_string_buffer(struct.pack("IIQQQQQ", 1, 112, 1, 0, 0, 0, 1 << 5), 112)
libc.syscall(298, area, 0, -1, -1, 0)
""",
    "kernel-program": """
area = ctypes.create_string_buffer(struct.pack('IIIII', 1, 4, 4, 1, 0), 72)
libc.syscall(321, 0, area, 72)
""",
    "page-faults": "libc.syscall(323, 1)",
    "unnamed-file": "os.memfd_create('x')",
    "unnamed-program": """
program = os.memfd_create("x")
os.write(program, open("/bin/sleep", "rb").read())
os.set_inheritable(program, True)
if os.fork() == 0:
    os.execve(program, ["sleep", "1." + TOKEN], {})
""",
    "secret-memory": "libc.syscall(447, 0)",
    "file-notices": "libc.syscall(300, 0, 0)",
    "new-file-system": "libc.syscall(430, b'tmpfs', 0)",
    "kernel-log": "os.open('/dev/kmsg', os.O_RDONLY)",
    "crypto-socket": "import socket\nkept = socket.socket(38, 5, 0)",
    "machine-socket": "import socket\nkept = socket.socket(40, 1, 0)",
    "packet-socket": "import socket\nkept = socket.socket(17, 3, 0)",
    "raw-socket": "import socket\nkept = socket.socket(2, 3, 1)",
    "multipath-socket": "import socket\nkept = socket.socket(2, 1, 262)",
}

_NAMESPACES = {
    "unshare-user": """
if os.fork() == 0:
    libc.unshare(0x10000000)
    time.sleep(HOLD)
    os._exit(0)
""",
    "unshare-mounts": """
if os.fork() == 0:
    libc.unshare(0x20000)
    time.sleep(HOLD)
    os._exit(0)
""",
    "unshare-network": """
if os.fork() == 0:
    libc.unshare(0x10000000 | 0x40000000)
    time.sleep(HOLD)
    os._exit(0)
""",
    "clone-into-user": """
if libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0) == 0:
    time.sleep(HOLD)
    os._exit(0)
""",
    "clone3-into-user": """
area = ctypes.create_string_buffer(struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)
if libc.syscall(435, area, 64) == 0:
    time.sleep(HOLD)
    os._exit(0)
""",
}

_INT80 = """
code = {code}
area = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, 7)
place = ctypes.addressof(ctypes.c_char.from_buffer(area))
area[1024:1024 + len(MARKER) + 1] = MARKER.encode() + bytes(1)
path = place + 1024
def call(number, first, second):
    machine = (b"\\x53\\xb8" + struct.pack("I", number) + b"\\xbb" + struct.pack("I", first)
               + b"\\xb9" + struct.pack("I", second) + b"\\xcd\\x80\\x5b\\xc3")
    area[0:len(machine)] = machine
    return ctypes.CFUNCTYPE(ctypes.c_int)(place)()
call(*code())
"""

_SINGLE: dict[str, tuple[Judge, str]] = {
    "old-call-ends-victim": (
        victim_touched,
        _INT80.format(code="lambda: (37, VICTIM, 15)"),
    ),
    "old-call-changes-mode": (
        outside_changed,
        _INT80.format(code="lambda: (15, path, 0o777)"),
    ),
    "x32-call-ends-victim": (victim_touched, "libc.syscall(0x40000000 + 62, VICTIM, 15)"),
    "written-code-ends-victim": (
        victim_touched,
        """
area = mmap.mmap(-1, 4096, prot=3)
machine = (b"\\xb8" + struct.pack("I", 62) + b"\\xbf" + struct.pack("I", VICTIM)
           + b"\\xbe" + struct.pack("I", 15) + b"\\x0f\\x05\\xc3")
area[0:len(machine)] = machine
place = ctypes.addressof(ctypes.c_char.from_buffer(area))
libc.mprotect(ctypes.c_void_p(place), 4096, 5)
ctypes.CFUNCTYPE(ctypes.c_int)(place)()
""",
    ),
    "personality": (personality_changed, "libc.personality(0x0040000)" + _HOLD),
    "system-setting": (
        system_setting_changed,
        "value = int(open(SETTING).read())\nopen(SETTING, 'w').write(str(value + 1))",
    ),
    "shared-memory": (kernel_memory_left, "libc.shmget(KEY, 4096, 0o1600)"),
    "message-queue": (kernel_memory_left, "libc.msgget(KEY, 0o1600)"),
    "semaphores": (kernel_memory_left, "libc.semget(KEY, 1, 0o1600)"),
    "kernel-key": (
        kernel_memory_left,
        "libc.syscall(248, b'user', b'esc' + TOKEN.encode(), b'x', 1, -4)",
    ),
    "shared-memory-file": (outside_changed, "open('/dev/shm/esc' + TOKEN, 'w').write('x')"),
    "terminal-write": (
        terminal_written,
        "os.write(os.open(TTY, os.O_WRONLY | os.O_NOCTTY), b'typed')",
    ),
    "terminal-typing": (
        terminal_written,
        """
import fcntl
os.setsid() if os.getsid(0) != os.getpid() else None
terminal = os.open(TTY, os.O_RDWR)
fcntl.ioctl(terminal, 0x540E, 1)
for letter in b"typed":
    fcntl.ioctl(terminal, 0x5412, bytes([letter]))
""",
    ),
    "mount-over": (
        outside_changed,
        "libc.mount(b'tmpfs', OUTSIDE.encode(), b'tmpfs', 0, None)",
    ),
    "bind-in": (
        secret_reported,
        """
os.mkdir("here")
libc.mount(OUTSIDE.encode(), b"here", None, 4096, None)
print(open("here/secret.txt").read())
""",
    ),
    "moved-root": (
        secret_reported,
        """
libc.setns(os.open(f"/proc/{SERVICE}/ns/mnt", os.O_RDONLY), 0)
print(open(SECRET).read())
""",
    ),
    "ring-reads-secret": (
        secret_reported,
        """
parameters = (ctypes.c_uint * 30)()
ring = libc.syscall(425, 4, parameters)
size = 4 * 64
entries = mmap.mmap(ring, size, offset=0x10000000)
queue = mmap.mmap(ring, parameters[10 + 6] + 16, offset=0)
path = ctypes.create_string_buffer(SECRET.encode())
place = ctypes.addressof(path)
entries[0:64] = struct.pack("BBHiQQIIQ", 18, 0, 0, -100, 0, place, 0, 0, 1) + bytes(24)
tail, array = parameters[11], parameters[16]
queue[array:array + 4] = struct.pack("I", 0)
queue[tail:tail + 4] = struct.pack("I", 1)
libc.syscall(426, ring, 1, 1, 1, 0, 0)
done = mmap.mmap(ring, parameters[25] + 256, offset=0x8000000)
result = struct.unpack("i", done[parameters[25] + 8:parameters[25] + 12])[0]
print(os.read(result, 99))
""",
    ),
}

_NOT_EVERYWHERE = {
    "system-setting": "there is one for the whole machine, which other tests look at",
    "crypto-socket": "many kernels have no such sockets",
    "machine-socket": "many kernels have no such sockets",
    "x32-call-ends-victim": "hardly any kernel takes such calls",
    "old-call-ends-victim": "only x86 has such calls, and not every kernel takes them",
    "old-call-changes-mode": "only x86 has such calls, and not every kernel takes them",
    "terminal-typing": "kernels since 6.2 may have it off",
    "io-uring": "administrators turn it off",
    "ring-reads-secret": "administrators turn it off",
}

KERNEL: tuple[Attempt, ...] = (
    *(
        Attempt(
            f"hold-{name}",
            "kernel",
            _SYSTEM + source + _HOLD,
            kernel_object_held,
            unseen=_NOT_EVERYWHERE.get(name),
        )
        for name, source in _HELD.items()
    ),
    *(
        Attempt(name, "kernel", _SYSTEM + source + _HOLD, namespace_made)
        for name, source in _NAMESPACES.items()
    ),
    *(
        Attempt(name, "kernel", _SYSTEM + source, harm, unseen=_NOT_EVERYWHERE.get(name))
        for name, (harm, source) in _SINGLE.items()
    ),
)
