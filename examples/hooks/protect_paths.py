"""A command hook: agents do not write pipelines, and a person looks at deployments first."""
# ruff: noqa: INP001 - a program, not a module of a package

import json
import posixpath
import sys

call = json.load(sys.stdin)
parts = posixpath.normpath(call["tool_input"].get("path", "")).split("/")
if ".github" in parts:
    sys.stderr.write("Pipelines are changed by hand: say what should change")
    sys.exit(2)
if "deploy" in parts:
    json.dump({"decision": "ask", "reason": "This changes a deployment"}, sys.stdout)
