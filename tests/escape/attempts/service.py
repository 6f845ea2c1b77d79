"""Turning what a run hands back against the one who reads it: reports, values, files, folders."""

from __future__ import annotations

from tests.escape.attempt import FORKING_LEVELS, PYTHON_LEVELS, Attempt, Judge, Limits
from tests.escape.judges import folders_left, outside_changed, secret_reported, service_harmed

_REPORT = """
import os
def report(data):
    for number in (3, 4, 5, 6):
        try:
            sent = 0
            while sent < len(data):
                sent += os.write(number, data[sent:])
        except OSError:
            pass
"""
_REPORTS = {
    "nested-report": 'report(b"[" * 200_000)',
    "unbalanced-report": 'report(b"{" * 5 + bytes([255, 254, 0]))',
    "report-of-a-number": 'report(b"1" * 900_000)',
    "report-of-strange-types": """
report(b'{"value": [1], "error": {"a": 1}, "files": 7}\\n'); os._exit(0)
""",
    "report-twice": """report(b'{"value": "1", "error": null}{"value": "2"}'); os._exit(0)""",
    "report-of-half-characters": """
report(b'{"value": "' + b'\\\\ud800' * 9 + b'"}'); os._exit(0)
""",
    "huge-report": "for _ in range(400):\n    report(b'x' * (1 << 20))",
    "report-of-a-long-value": """
report(b'{"value": "' + b"x" * (300 << 20) + b'"}'); os._exit(0)
""",
}
_SEEN = {"nested-report", "unbalanced-report", "report-of-a-number", "report-twice"}

_VALUES = {
    "huge-value": "'x' * (200 << 20)",
    "failing-value": """
class Bad:
    def __repr__(self):
        raise SystemExit("no")
Bad()
""",
    "value-that-is-no-text": """
class Bad(str):
    def __repr__(self):
        return Bad(chr(0xd800) * 3)
Bad()
""",
    "failing-error": """
class Bad(BaseException):
    def __str__(self):
        raise Bad()
    __repr__ = __str__
raise Bad()
""",
    "huge-error": "raise ValueError('x' * (200 << 20))",
    "endless-chain-of-errors": """
error = ValueError("x")
for _ in range(100_000):
    fresh = ValueError("x")
    fresh.__cause__ = error
    error = fresh
raise error
""",
    "error-caused-by-itself": """
error = ValueError("x")
error.__context__ = error
error.__cause__ = error
raise error
""",
    "forged-names": """
import sys
sys.stdout = sys.stderr = sys.excepthook = None
sys.exit(["x"] * 1000)
""",
    "bytes-that-are-no-text": "import os\nos.write(1, bytes(range(256)) * 4096)",
    "terminal-commands": "print(chr(27) + ']0;owned' + chr(7) + chr(27) + '[2J' + chr(0) * 99)",
}

# Files that the code leaves behind are handed over by the service.
_FILES: dict[str, tuple[Judge, str, bool]] = {
    "link-as-result": (secret_reported, "import os\nos.symlink(SECRET, 'result.txt')", True),
    "folder-link-as-result": (secret_reported, "import os\nos.symlink(OUTSIDE, 'results')", False),
    "linked-twice-as-result": (
        secret_reported,
        "import os\nos.symlink(SECRET, 'a')\nos.symlink('a', 'result.png')",
        True,
    ),
    "relative-link-as-result": (
        secret_reported,
        "import os\nos.symlink('../' * 30 + SECRET[1:], 'result.txt')",
        True,
    ),
    "magic-link-as-result": (
        secret_reported,
        "import os\nos.symlink('/proc/self/environ', 'r')\nos.symlink('/proc/self/fd', 'fds')",
        False,
    ),
    "hard-link-as-result": (
        secret_reported,
        "import os\nos.link(SECRET, 'result.txt')",
        True,
    ),
    "pipe-as-result": (service_harmed, "import os\nos.mkfifo('result.txt')", False),
    "socket-as-result": (
        service_harmed,
        "import socket\nsocket.socket(socket.AF_UNIX).bind('result.sock')",
        False,
    ),
    "sparse-result": (service_harmed, "open('result.bin', 'wb').truncate(200 << 20)", False),
    "thousands-of-results": (
        service_harmed,
        "for number in range(2000):\n    open(f'r{number}', 'w').write('x')",
        False,
    ),
    "names-that-are-no-text": (
        service_harmed,
        "import os\nopen(os.fsencode('r') + bytes([255, 10, 27]), 'w').close()",
        False,
    ),
    "unreadable-result": (
        service_harmed,
        "import os\nopen('r', 'w').close()\nos.chmod('r', 0)\nos.chmod('.', 0)",
        False,
    ),
    "link-to-itself-as-result": (service_harmed, "import os\nos.symlink('r', 'r')", False),
}

# Private folders are removed afterwards.
_FOLDERS: dict[str, tuple[Judge, str]] = {
    "deep-folders": (  # deeper than any path can be long
        folders_left,
        "import os\nfor _ in range(2100):\n    os.mkdir('d')\n    os.chdir('d')",
    ),
    "locked-folders": (
        folders_left,
        "import os\nos.makedirs('a/b/c')\nos.chmod('a/b', 0)\nos.chmod('a', 0)",
    ),
    "folder-that-leads-out": (
        outside_changed,
        """
import os, tempfile
for place in (".", tempfile.gettempdir()):
    try:
        os.symlink(OUTSIDE, place + "/out" + TOKEN)
    except OSError:
        pass
""",
    ),
    "folder-swapped-while-removed": (
        outside_changed,
        """
import os, threading
for number in range(200):
    os.makedirs(f"d{number}/folder")
    os.symlink(OUTSIDE, f"l{number}")
def swap():
    while True:
        for number in range(200):
            for old, new in (("d", "t"), ("l", "d"), ("t", "l")):
                os.rename(f"{old}{number}", f"{new}{number}")
threading.Thread(target=swap, daemon=True).start()
if os.fork():
    os._exit(0)
swap()
""",
    ),
}

_SOURCES = {
    "nested-source": "(" * 50_000 + ")" * 50_000,
    "long-source": "x = 1\n" * 30_000,
    "deep-source": "-" * 90_000 + "1",
    "endless-line": "x = [" + "1," * 60_000 + "]",
}


def _service(
    name: str,
    source: str,
    harm: Judge = service_harmed,
    *,
    seen: bool = False,
    forking: bool = False,
) -> Attempt:
    levels = FORKING_LEVELS if forking else PYTHON_LEVELS
    unseen = None if seen else "a runner that hands nothing back has nothing to lose"
    return Attempt(
        name, "resources", source, harm, levels=levels, unseen=unseen, limits=Limits(wall_s=12.0)
    )


SERVICE: tuple[Attempt, ...] = (
    *(_service(name, _REPORT + source, seen=name in _SEEN) for name, source in _REPORTS.items()),
    *(_service(name, source) for name, source in _VALUES.items()),
    *(
        _service(name, source, harm, seen=seen, forking=True)
        for name, (harm, source, seen) in _FILES.items()
    ),
    *(_service(name, source, harm, forking=True) for name, (harm, source) in _FOLDERS.items()),
    *(
        Attempt(
            name,
            "resources",
            source,
            service_harmed,
            raw=True,
            levels=PYTHON_LEVELS,
            begins=False,
            unseen="only its own process dies of it",
        )
        for name, source in _SOURCES.items()
    ),
)
