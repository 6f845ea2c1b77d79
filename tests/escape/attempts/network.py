"""Reaching a server, or being one."""

from __future__ import annotations

from tests.escape.attempt import Attempt
from tests.escape.judges import canary_reached, port_opened

_PYTHON = {
    "tcp": "import socket\nsocket.create_connection(('127.0.0.1', TCP), 1)",
    "tcp6": "import socket\nsocket.create_connection(('::1', TCP6), 1)",
    "tcp-mapped-address": """
import socket
socket.socket(socket.AF_INET6).connect(("::ffff:127.0.0.1", TCP))
""",
    "tcp-any-address": "import socket\nsocket.socket().connect(('0.0.0.0', TCP))",
    "multipath-tcp": """
import socket
socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(("127.0.0.1", TCP))
""",
    "tcp-fast-open": """
import socket
socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", TCP))
""",
    "tcp-fast-open-message": """
import socket
socket.socket().sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", TCP))
""",
    "tcp-without-waiting": """
import socket, time
client = socket.socket()
client.setblocking(False)
client.connect_ex(("127.0.0.1", TCP))
time.sleep(0.2)
""",
    "http": "import urllib.request\nurllib.request.urlopen(f'http://127.0.0.1:{TCP}/', timeout=1)",
    "udp": "import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP))",
    "udp-connected": """
import socket
client = socket.socket(type=socket.SOCK_DGRAM)
client.connect(("127.0.0.1", UDP))
client.send(b"x")
""",
    "udp-many": """
import ctypes, socket, struct
client = socket.socket(type=socket.SOCK_DGRAM)
here = bytes((127, 0, 0, 1))
address = ctypes.create_string_buffer(struct.pack("=HH4s8x", 2, socket.htons(UDP), here))
text = ctypes.create_string_buffer(b"x")
vector = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(text), 1))
parts = ctypes.addressof(address), 16, ctypes.addressof(vector), 1, 0, 0, 0, 0, 0
message = ctypes.create_string_buffer(struct.pack("PIxxxxPNPNiI4xI4x", *parts))
ctypes.CDLL(None).sendmmsg(client.fileno(), message, 1, 0)
""",
    "raw-udp": """
import socket, struct
client = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
client.sendto(struct.pack(">HHHH", 9, UDP, 9, 0) + b"x", ("127.0.0.1", 0))
""",
    "unix": "import socket\nsocket.socket(socket.AF_UNIX).connect(UNIX)",
    "unix-by-descriptor": """
import os, socket
folder = os.open(OUTSIDE, os.O_PATH)
socket.socket(socket.AF_UNIX).connect(f"/proc/self/fd/{folder}/canary.sock")
""",
    "unix-through-link": """
import os, socket
os.symlink(UNIX, "s")
socket.socket(socket.AF_UNIX).connect("s")
""",
    "unix-datagram": """
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', UNIX_DGRAM)
""",
    "unix-pair-datagram": """
import socket
mine, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
mine.sendto(b"x", UNIX_DGRAM)
""",
    "unix-pair-connected-anew": """
import socket
mine, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
mine.connect(UNIX_DGRAM)
mine.send(b"x")
""",
    "abstract": "import socket\nsocket.socket(socket.AF_UNIX).connect(chr(0) + ABSTRACT)",
    "abstract-datagram": """
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", chr(0) + ABSTRACT_DGRAM)
""",
    "abstract-pair-datagram": """
import socket
mine, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
mine.sendto(b"x", chr(0) + ABSTRACT_DGRAM)
""",
    "in-namespace-of-service": """
import ctypes, os, socket
ctypes.CDLL(None).setns(os.open(f"/proc/{SERVICE}/ns/net", os.O_RDONLY), 0)
socket.create_connection(("127.0.0.1", TCP), 1)
""",
}

_LISTENING = {
    "listen": """
import socket, time
server = socket.socket()
server.bind(("0.0.0.0", LISTEN))
server.listen()
time.sleep(HOLD)
""",
    "listen-everywhere": """
import socket, time
server = socket.socket(socket.AF_INET6)
server.bind(("::", LISTEN))
server.listen()
time.sleep(HOLD)
""",
    "listen-multipath": """
import socket, time
server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
server.bind(("127.0.0.1", LISTEN))
server.listen()
time.sleep(HOLD)
""",
}

_SHELL = {
    "shell-tcp": 'exec 3<>"/dev/tcp/127.0.0.1/$TCP"',
    "shell-udp": 'echo x > "/dev/udp/127.0.0.1/$UDP"',
    "shell-git-clone": """
timeout 1 git clone -q "http://127.0.0.1:$TCP/x" x
timeout 1 git ls-remote "git://127.0.0.1:$TCP/x"
""",
    "shell-perl": """
perl -MIO::Socket::INET -e 'IO::Socket::INET->new("127.0.0.1:$ARGV[0]")' "$TCP"
""",
}

NETWORK: tuple[Attempt, ...] = (
    *(Attempt(name, "network", source, canary_reached) for name, source in _PYTHON.items()),
    *(Attempt(name, "network", source, port_opened) for name, source in _LISTENING.items()),
    *(
        Attempt(name, "network", source, canary_reached, shell=True)
        for name, source in _SHELL.items()
    ),
)
