"""Ways to a host, in the words of the programs that try them."""

from __future__ import annotations

# `FREE` is set where nothing confines the program: names lead nowhere there, so that even a plain
# connection goes through the proxy that checks nothing.
WAYS = r"""
import socket, struct
PATIENCE = 0.1 if FREE else 2

def proxy():
    return socket.create_connection(("127.0.0.1", PROXY), PATIENCE)

def bare(host):
    return host[1:-1] if host.startswith("[") else host

def encoded(text):
    return text.encode("utf-8", "surrogatepass")

def connect(host, port):
    client = proxy()
    name = encoded(f"{host}:{port}")
    client.sendall(b"CONNECT " + name + b" HTTP/1.1\r\nHost: " + name + b"\r\n\r\n")
    client.recv(4096)
    return client

def plain(host, port):
    client = proxy()
    name = encoded(f"{host}:{port}")
    client.sendall(b"GET http://" + name + b"/ HTTP/1.1\r\nHost: " + name + b"\r\n\r\n")
    client.recv(4096)
    return client

def socks(kind, target, port):
    client = proxy()
    client.sendall(bytes((5, 1, 0)))
    client.recv(2)
    client.sendall(bytes((5, 1, 0, kind)) + target + struct.pack(">H", port))
    client.recv(99)
    return client

def socks_name(host, port):
    name = encoded(bare(host))
    return socks(3, bytes((len(name),)) + name, port)

def socks_address(host, port):
    name = bare(host).partition("%")[0]
    if ":" in name:
        return socks(4, socket.inet_pton(socket.AF_INET6, name), port)
    return socks(1, socket.inet_aton(name), port)

def opened(host, port):
    if FREE:
        return socks_name(host, port)
    return socket.create_connection((bare(host).replace("%25", "%"), port), PATIENCE)

def sized(data, size=2):
    return len(data).to_bytes(size) + data

def hello(name, *more, marked=True):
    extensions = b"".join(struct.pack(">H", kind) + sized(data) for kind, data in more)
    if name is not None:
        extensions = b"\0\0" + sized(sized(b"\0" + sized(name.encode()))) + extensions
    session = MARK.encode() if marked else b""
    body = b"\3\3" + bytes(32) + sized(session, 1) + sized(b"\x13\x01") + sized(b"\0", 1)
    body += sized(extensions)
    message = b"\1" + sized(body, 3)
    return b"\x16\3\1" + sized(message)

def request(host, path="/"):
    return encoded(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")

def post(fields, body=""):
    return f"POST / HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n\r\n{body}".encode()

def every_way(host, port):
    for way in (connect, plain, socks_name, socks_address, opened):
        try:
            with way(host, port) as client:
                client.settimeout(PATIENCE)
                client.sendall(hello(MARK) if port == 443 else request(f"{host}:{port}"))
        except (OSError, ValueError):
            pass

def sent(way, host, port, *parts):
    "Send these parts and wait for the end, or for what a server would say."
    try:
        with way(host, port) as client:
            client.settimeout(0.1 if FREE else 1)
            for part in parts:
                client.sendall(part)
            client.recv(4096)
    except OSError:
        pass

def packed(name, kind=1, kind_of_net=1):
    labels = b"".join(sized(part.encode()[:63], 1) for part in name.split("."))
    return labels + b"\0" + struct.pack(">HH", kind, kind_of_net)

def ask(name, kind=1, kind_of_net=1, more=b"", count=1, server="127.0.0.1", port=53, wait=1):
    edns = 1 if more and count == 1 else 0
    query = struct.pack(">6H", 7, 256, count, 0, 0, edns) + packed(name, kind, kind_of_net) + more
    if FREE:
        server, port = "127.0.0.1", UDP
    try:
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as client:
            client.settimeout(min(wait, PATIENCE))
            client.sendto(query, (server, port))
            client.recv(4096)
    except OSError:
        pass

def ask_tcp(name, server="127.0.0.1"):
    query = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + packed(name)
    try:
        place = ("127.0.0.1", TCP) if FREE else (server, 53)
        with socket.create_connection(place, 1) as client:
            client.sendall(sized(query))
            client.recv(4096)
    except OSError:
        pass
"""
