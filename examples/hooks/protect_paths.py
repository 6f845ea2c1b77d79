"""A command hook: deny changes to pipelines, and ask before changes to deployments."""
# ruff: noqa: INP001 - a program, not a module of a package

import json
import posixpath
import re
import sys
from collections.abc import Iterator

WORDS = re.compile(r"[\s'\"`;|&<>()=,:]+")
PROSE = {"content", "old_text", "new_text"}


def parts(value: object, name: str = "") -> Iterator[str]:
    """Yield the parts of every path in a field, a list, a patch or a command."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from parts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from parts(item, name)
    elif isinstance(value, str) and name not in PROSE:
        for word in (value, *WORDS.split(value)):
            yield from posixpath.normpath(word.replace("\\", "/")).casefold().split("/")


named = set(parts(json.load(sys.stdin)["tool_input"]))
if ".github" in named:
    sys.stderr.write("Pipelines are changed manually: describe the change instead")
    sys.exit(2)
if "deploy" in named:
    json.dump({"decision": "ask", "reason": "This changes a deployment"}, sys.stdout)
