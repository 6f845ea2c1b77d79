"""What runs where a worker should: programs that speak the protocol, or do not.

Each is Python that a pool or `SandboxedWorkers` starts instead of the worker's own program.
"""

from __future__ import annotations

import textwrap

READY = '{"type":"ready","pid":1,"tools":["read_file"]}'
_SPEAKS = f"""
import json, os, socket, sys, time
def say(line): os.write(1, line.encode() + b"\\n")
say('{READY}')
"""


def program(body: str) -> str:
    """`body`, after it has said that it is ready; it has `say`, json, os, socket, sys."""
    return _SPEAKS + textwrap.dedent(body)


WAITS = program("sys.stdin.read()")
NEVER_READY = "import sys; sys.stdin.read()"
ENDS_AT_ONCE = "import sys; print('no such module', file=sys.stderr); sys.exit(7)"
TRIES = program(
    """
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["type"] != "execute":
            continue
        try:
            text = str(eval(frame["arguments"]["code"]))
        except OSError as error:
            text = type(error).__name__
        say(json.dumps({
            "type": "executed", "execution_id": frame["execution_id"],
            "success": True, "text": text,
        }))
    """
)
"""Answers each `Execute` with what its `code` comes to, or the name of the system's refusal."""
