"""Call the tools of a running service that run programs, and verify the results.

    python -m scripts.prove_tools URL TOKEN

The default project should be empty, the token an administrator's. Prints a line for each call;
exits with 1 if a result is wrong.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CALL_SECONDS = 120
SHOWN = 300
FAULTY = "import os\nimport sys\n\nprint(sys.version)\n"
CODE = "def double(number: int) -> int:\n    return number * 2\n\n\ndouble(21)\n"
COMMIT = "git -c user.name=A -c user.email=a@example.org commit --quiet --message first"


@dataclass(frozen=True)
class Probe:
    """Call, and the pattern that its text must contain; or must not, with `absent`."""

    tool: str
    arguments: Mapping[str, object]
    expected: str
    absent: str | None = None


def probes() -> Iterator[Probe]:
    """Yield the calls in order: later ones depend on earlier ones."""
    yield Probe("write_file", {"path": "kept/note.txt", "content": "from the tool\n"}, "note.txt")
    yield bash("echo from the command >> kept/note.txt && mv kept/note.txt kept/moved.txt", "")
    yield Probe("read_file", {"path": "kept/moved.txt"}, "from the command")
    edit = {"path": "kept/moved.txt", "old_string": "the tool", "new_string": "both"}
    yield Probe("edit_file", edit, "both")
    yield bash("cat kept/moved.txt && chmod 600 kept/moved.txt && rm -r kept && ls -a", "from both")
    yield bash("mkdir made && echo 1 > made/one && chmod 700 made", "")
    yield Probe("read_file", {"path": "made/one"}, "1")
    yield Probe("write_file", {"path": "made/two", "content": "2"}, "two")
    yield bash("cat made/two; id -u; echo home $HOME; touch $HOME/x $TMPDIR/y && echo made", "made")
    yield bash("seq 1 200000 | sort -R | sort -n | tail -1; sleep 0.1 & wait; echo over", "200000")
    yield bash("cat /etc/passwd; chmod 755 /usr; kill -0 1 || echo kept", "kept", absent="root:")
    for level in ("strict", "standard"):
        yield python(level, "sum(range(10))", r"\b45\b")
        yield python(level, "import statistics\nprint(statistics.mean([1, 3]))", "2")
    yield python("standard", "import json\njson.dumps({'a': 1})", '"a": 1')
    yield Probe("write_file", {"path": "faulty.py", "content": FAULTY}, "faulty")
    yield Probe("lint", {"paths": ["faulty.py"]}, "F401")
    yield Probe("lint_fix", {"paths": ["faulty.py"]}, "faulty.py")
    yield bash("cat faulty.py", "import sys", absent="import os")
    yield Probe("write_file", {"path": "code.py", "content": CODE}, "code.py")
    where = {"operation": "goToDefinition", "path": "code.py", "line": 5, "character": 2}
    yield Probe("lsp", where, r"code\.py:1")
    yield bash(f"git init --quiet && git add code.py && {COMMIT} && git log --oneline", "first")
    yield bash("echo >> code.py", "")
    yield Probe("git", {"operation": "status"}, "code.py")
    yield Probe("git", {"operation": "log"}, "first")
    yield Probe("git", {"operation": "diff"}, "code.py")


def bash(command: str, expected: str, *, absent: str | None = None) -> Probe:
    """Return a command with its expected output."""
    return Probe("bash", {"command": command}, expected, absent)


def python(level: str, code: str, expected: str) -> Probe:
    """Return Python at a level, with its expected output or value."""
    return Probe("execute_python", {"code": code, "strictness": level}, expected)


class Service:
    """Running service, and its caller's token."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Return the result of one call, or the problem instead."""
        return self._post(f"tools/{tool}/call", {"arguments": arguments})

    def allow(self, tool: str) -> None:
        """Allow the tool without approval."""
        self._post("admin/rules", {"tool": tool, "decision": "allow"})

    def _post(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        address = f"{self._url}/api/v1/{path}"
        data = json.dumps(body).encode()
        request = urllib.request.Request(address, data, self._headers)  # noqa: S310 - given by us
        try:
            with urllib.request.urlopen(request, timeout=CALL_SECONDS) as answer:  # noqa: S310
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            return {"status": str(error.code), "text": error.read().decode()}

    def health(self) -> dict[str, Any]:
        """Return the service's health."""
        address = f"{self._url}/api/v1/health"
        with urllib.request.urlopen(address, timeout=CALL_SECONDS) as answer:  # noqa: S310
            return dict(json.load(answer))


def judge(service: Service, probe: Probe) -> bool:
    """Make one call, print the result, and return whether it is right."""
    answer = service.call(probe.tool, probe.arguments)
    text = str(answer.get("text"))
    right = re.search(probe.expected, text) is not None
    right &= probe.absent is None or re.search(probe.absent, text) is None
    right &= answer.get("status") == "success"
    argument = next(iter(probe.arguments.values()))
    print(f"  {'ok   ' if right else 'WRONG'} {probe.tool} {str(argument)[:80]!r}", flush=True)
    if not right:
        print(f"        {answer.get('status')}: {text[-SHOWN:]!r}", flush=True)
    return right


def main(arguments: Sequence[str]) -> int:
    """Make all calls."""
    url, token = arguments
    service = Service(url, token)
    level = service.health()["sandbox"]["levels"]["bash"]
    print(f"  bash: {level['sentence']} {', '.join(level['layers'])}", flush=True)
    service.allow("bash")
    wrong = [probe for probe in probes() if not judge(service, probe)]
    print(f"  {len(wrong)} answers are wrong" if wrong else "  every tool answers", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
